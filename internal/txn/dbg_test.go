package txn_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

func TestDebug(t *testing.T) {
	ids := os.Getenv("DBG")
	if ids == "" {
		t.Skip()
	}
	s := seeded(t, *simSeed, txn.Engine{}, false)
	for _, h := range s.hubs {
		old := h.saved
		h.saved = func(d *ledger.Draft) {
			for _, id := range strings.Split(ids, ",") {
				if d.Txn.Transaction == id {
					b, _ := json.Marshal(d.Txn)
					fmt.Println("ENTRY", d.Type, string(b), string(d.Body.Txn), "dropped", s.w.dropped, "bad", s.w.bad, "files", s.w.files)
				}
			}
			old(d)
		}
	}
	fault := s.run(simSteps)
	fmt.Println("FAULT", fault)
	for _, id := range strings.Split(ids, ",") {
		x := s.ck.txs[id]
		if x == nil {
			continue
		}
		fmt.Printf("CK %s wt=%s state=%s ops=%v set=%v floor=%v\n states=%q\n", id, x.wt, x.state, x.ops, s.ck.set(x), x.floor, x.states)
		for _, a := range x.atts {
			fmt.Printf("  att %+v\n", *a)
		}
	}
}
