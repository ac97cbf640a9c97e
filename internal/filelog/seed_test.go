package filelog

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

// seeded is a ledger with n entries behind revision 0, as a long life leaves it:
// packs, at most MaxLoose loose revisions, a whole mirror. It is written without
// flushes.
func seeded(t testing.TB, l *Log, n int64, text func(rev int64) string) (*Log, ledger.Pos) {
	t.Helper()
	p := create(t, l)
	key, err := l.m.Key()
	check(t, err)
	mirror, err := os.OpenFile(l.mirror(), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	defer mirror.Close()
	loose := n
	for loose > MaxLoose {
		loose -= PackSize
	}
	mkdir(t, l.at("gen/0001/pack"))
	var pk bytes.Buffer
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	for rev := int64(1); rev <= n; rev++ {
		d := note(text(rev))
		d.At = at.Add(time.Duration(rev) * time.Millisecond)
		e, err := ledger.Encode(p, d, fmt.Appendf(nil, "%016d", rev), key)
		check(t, err)
		if rev > n-loose {
			check(t, os.WriteFile(l.rev(rev), e.Raw, sealedMode))
		} else {
			pk.Write(e.Raw)
			if rev%PackSize == 0 {
				check(t, os.WriteFile(l.packed(packOf(rev)), pk.Bytes(), sealedMode))
				pk.Reset()
			}
		}
		_, err = mirror.Write(e.Raw)
		check(t, err)
		p = e.Pos()
	}
	return l, p
}

func plain(int64) string { return "A fact that is worth keeping for whoever comes next." }
