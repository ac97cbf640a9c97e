package project

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

// TestTwoRecoveriesAtOnce: of two who apply one preview exactly one does, and the
// other is told.
func TestTwoRecoveriesAtOnce(t *testing.T) {
	for name, damage := range map[string]func(s *sick){
		"entry":      func(*sick) {},
		"generation": func(s *sick) { s.change(s.revision(2), func([]byte) []byte { return nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSick(t, 4)
			s.w.Env = append(s.w.Env, "HOLDFAST_LOCK_TIMEOUT=5s")
			damage(s)
			q := RecoverRequest{}
			if name == "entry" {
				q.At = num(2)
			}
			r, err := s.open(person).Recover(t.Context(), q)
			if err != nil || r.By != name {
				t.Fatalf("%+v, %v", r, err)
			}
			q.Expect = r.Fingerprint
			var wg sync.WaitGroup
			done, errs := make([]Recovery, 4), make([]error, 4)
			for i := range done {
				p := s.open(person)
				wg.Go(func() { done[i], errs[i] = p.Recover(context.Background(), q) })
			}
			wg.Wait()
			applied := 0
			for i := range done {
				if errs[i] == nil && done[i].Applied {
					applied++
				} else if errs[i] == nil || Explain(errs[i]).Exit != ExitConflict {
					t.Errorf("the other: %+v, %v", done[i], errs[i])
				}
			}
			if applied != 1 {
				t.Errorf("%d applied: %v", applied, errs)
			}
			if d, err := s.open(person).Doctor(t.Context(), DoctorRequest{}); err != nil || !d.Healthy {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}

// TestRecoverWhileOthersSave: eight writers save while somebody goes back again and
// again. What was acknowledged is in the ledger's history, whatever is in force, and
// who resumed before a recovery is refused.
func TestRecoverWhileOthersSave(t *testing.T) {
	s := newSick(t, 5)
	s.w.Env = append(s.w.Env, "HOLDFAST_LOCK_TIMEOUT=20s")
	var mu sync.Mutex
	var quiet sync.RWMutex // held by writers for a save, and by a recovery that is to meet none
	saved, refused := map[string]int64{}, 0
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 8 {
		p := s.open(codex)
		wg.Go(func() {
			recovery := ""
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(20+10*i) * time.Millisecond): // a preview holds only until somebody saves
				}
				q := request(ledger.KindNote, fmt.Sprintf("w-%d-%d", i, k), "while others recover")
				q.ExpectedRecovery = &recovery
				quiet.RLock()
				out, err := p.Record(context.Background(), []RecordRequest{q})
				quiet.RUnlock()
				mu.Lock()
				e, old := errors.AsType[*RecoveryError](err)
				switch {
				case err == nil:
					saved[q.ID] = out.Revision
				case old:
					refused++
					recovery = e.Current
				default:
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	recovered := 0
	for n := range 12 {
		time.Sleep(100 * time.Millisecond)
		p := s.open(person)
		if n%2 == 0 { // nobody saves between preview and apply; else whoever is first decides
			quiet.Lock()
		}
		r, err := p.Recover(t.Context(), RecoverRequest{At: num(3)})
		if err == nil {
			r, err = p.Recover(t.Context(), RecoverRequest{At: num(3), Expect: r.Fingerprint})
		}
		if n%2 == 0 {
			quiet.Unlock()
		}
		if err == nil && r.Applied {
			recovered++
		} else if Explain(err).Exit != ExitConflict || n%2 == 0 { // somebody saved after the preview
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
	found := map[string]int64{}
	for e, err := range s.open(codex).log.Entries(t.Context(), ledger.Pos{}) {
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := e.Body()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range b.IDs() {
			found[id] = e.Rev
		}
	}
	for id, rev := range saved {
		if found[id] != rev {
			t.Errorf("%s was acknowledged as revision %d and stands at %d", id, rev, found[id])
		}
	}
	t.Logf("%d saves acknowledged, %d refused, %d recoveries applied", len(saved), refused, recovered)
	if len(saved) < 8 || recovered == 0 || refused == 0 {
		t.Error("too little happened to tell")
	}
	if d, err := s.open(person).Doctor(t.Context(), DoctorRequest{}); err != nil || !d.Healthy {
		t.Errorf("%+v, %v", d, err)
	}
}
