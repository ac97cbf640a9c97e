package ledger_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// livesets says, by replaying, which revisions count after each one. recovers
// maps the revision of a recover entry to its base.
func livesets(n int64, recovers map[int64]int64) []map[int64]bool {
	var after []map[int64]bool
	now := map[int64]bool{}
	for rev := int64(0); rev < n; rev++ {
		if base, ok := recovers[rev]; ok {
			now = map[int64]bool{}
			if base >= 0 {
				for r := range after[min(base, rev-1)] {
					now[r] = true
				}
			}
		}
		next := map[int64]bool{rev: true}
		for r := range now {
			next[r] = true
		}
		after = append(after, next)
		now = next
	}
	return after
}

// Spans knows what a replay of everything as of each base says, recoveries of
// recoveries included.
func TestSpansAgainstReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 40).Draw(t, "entries")
		recovers := map[int64]int64{}
		var order []int64
		for rev := int64(1); rev < n; rev++ {
			if rapid.IntRange(0, 2).Draw(t, "recover") == 0 {
				recovers[rev] = rapid.Int64Range(-1, rev-1).Draw(t, "base")
				order = append(order, rev)
			}
		}
		want := livesets(n, recovers)
		var s ledger.Spans
		for rev := int64(0); rev < n; rev++ {
			if base, ok := recovers[rev]; ok {
				s.Recover(rev, base)
			}
			for r := int64(0); r <= rev; r++ {
				if s.Live(r) != want[rev][r] {
					t.Fatalf("after %d, recoveries %v: revision %d live: %v", rev, recovers, r, s.Live(r))
				}
			}
		}
		// A cache that keeps the marks has the same.
		var again ledger.Spans
		marks := s.Marks()
		for i, m := range marks {
			if m != [2]int64{order[i], recovers[order[i]]} {
				t.Fatalf("mark %d = %v, want %d back to %d", i, m, order[i], recovers[order[i]])
			}
			again.Recover(m[0], m[1])
		}
		for r := range n + 3 {
			if again.Live(r) != s.Live(r) {
				t.Fatalf("revision %d: live %v, rebuilt from marks %v", r, s.Live(r), again.Live(r))
			}
		}
	})
}

// A base that isn't there yet takes nothing back.
func TestRecoverToItselfOrLater(t *testing.T) {
	for _, base := range []int64{2, 3, 1000} {
		s := fold(t, note("n-1"), note("n-2"), ledgertest.Recover("gen-1", base))
		if got := find(t, s, ledger.Query{}); !cmp.Equal(got, []string{"n-2", "n-1"}) {
			t.Errorf("recovered at 3 to %d: %v", base, got)
		}
	}
	d := ledgertest.Recover("gen-1", 0)
	d.Base = nil
	s := fold(t, note("n-1"), d)
	if got := find(t, s, ledger.Query{}); !cmp.Equal(got, []string{"n-1"}) || s.Recovery() != "gen-1" {
		t.Errorf("recovered without a base: %v, generation %q", got, s.Recovery())
	}
}

// model replays a history with plain lists: whatever goes back is taken from
// the list as it was right behind the base.
type model struct {
	versions []ledger.Version // all of them, oldest first
	live     map[int64]bool
	keys     map[string][]int64
	carries  []int64
	confirms map[ledger.Ref][]int64
	types    map[int64]string
}

func replay(es []ledger.Entry) model {
	recovers := map[int64]int64{}
	for _, e := range es {
		if e.Type == ledger.TypeRecover && !e.Void() && !e.Newer {
			recovers[e.Rev] = *e.Base
		}
	}
	m := model{keys: map[string][]int64{}, confirms: map[ledger.Ref][]int64{}, types: map[int64]string{}}
	m.live = livesets(int64(len(es)), recovers)[len(es)-1]
	for _, e := range es {
		m.types[e.Rev] = e.Type
		body, there, _ := e.Body()
		if e.Newer || e.Void() {
			continue
		}
		if e.KeySHA256 != "" {
			m.keys[e.KeySHA256] = append(m.keys[e.KeySHA256], e.Rev)
		}
		if !there {
			continue
		}
		for _, r := range body.Records {
			m.versions = append(m.versions, ledger.Version{Record: r, Rev: e.Rev, ContentRev: e.Rev, Author: body.Actor})
		}
		if c := body.Change; c != nil && c.Category == "" {
			m.versions = append(m.versions, m.changed(e, c))
		}
		if body.Carry != nil {
			m.carries = append(m.carries, e.Rev)
		}
		for _, r := range body.Confirms {
			m.confirms[r] = append(m.confirms[r], e.Rev)
		}
	}
	return m
}

func (m *model) changed(e ledger.Entry, c *ledger.Change) ledger.Version {
	v := ledger.Version{Record: ledger.Record{ID: c.ID}, ContentRev: c.Replaces, Redacted: true}
	for _, old := range m.versions {
		if old.ID == c.ID && old.Rev == c.Replaces {
			v = old
		}
	}
	v.Rev, v.Replaces = e.Rev, c.Replaces
	switch e.Type {
	case ledger.TypeStatus:
		v.Status = c.Status
	default:
		v.Retracted = e.Type == ledger.TypeRetract
	}
	return v
}

// The state of any history is that of the model, and applying is pure: the
// same entries give the same state, and are not changed by it.
func TestStateAgainstReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		es := h.Entries(ledgertest.Key())
		before := slices.Clone(join(es))
		var s, twin ledger.State
		for i := range es {
			if err := s.Apply(es[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range es {
			again, err := ledger.Parse(slices.Clone(e.Raw))
			if err != nil {
				t.Fatal(err)
			}
			if err := twin.Apply(again); err != nil {
				t.Fatal(err)
			}
		}
		if string(before) != string(join(es)) {
			t.Fatal("applying changed an entry")
		}
		m := replay(es)
		m.compare(t, &s)
		if diff, err := ledgertest.Compare(t.Context(), h, &s, &twin); diff != "" || err != nil {
			t.Fatalf("the same entries gave two states (%v): %s", err, diff)
		}
	})
}

func (m *model) compare(t *rapid.T, s *ledger.State) {
	ids := map[string][]ledger.Version{}
	for _, v := range m.versions {
		if _, ok := ids[v.ID]; !ok {
			ids[v.ID] = nil
		}
		if m.live[v.Rev] {
			ids[v.ID] = append(ids[v.ID], v)
		}
	}
	for id, want := range ids {
		got, err := s.Versions(t.Context(), id)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s has %d versions, want %d (%v)", id, len(got), len(want), err)
		}
		for i, v := range got {
			w := want[i]
			if v.Rev != w.Rev || v.Text != w.Text || v.Kind != w.Kind || v.Status != w.Status || v.Retracted != w.Retracted ||
				v.Redacted != w.Redacted || v.ContentRev != w.ContentRev || v.Author != w.Author || v.Replaces != w.Replaces {
				t.Fatalf("version %d of %s = %+v, want %+v", i, id, v, w)
			}
			if by := m.confirmed(&w); v.Confirmed != by {
				t.Fatalf("version at %d of %s confirmed by %d, want %d", v.Rev, id, v.Confirmed, by)
			}
		}
	}
	for key, revs := range m.keys {
		want := int64(-1)
		for _, r := range slices.Backward(revs) {
			if m.live[r] || !ledger.GoesBack(m.types[r]) {
				want = r
			}
		}
		u, ok, err := s.KeyUse(t.Context(), key)
		if err != nil || ok != (want >= 0) || ok && u.Rev != want {
			t.Fatalf("key used by %d (%v, %v), want %d", u.Rev, ok, err, want)
		}
	}
	var carries []int64
	for _, r := range m.carries {
		if m.live[r] {
			carries = append(carries, r)
		}
	}
	got, _ := s.Carries(t.Context())
	if !slices.EqualFunc(got, carries, func(c ledger.CarryUse, r int64) bool { return c.Rev == r }) {
		t.Fatalf("carries = %v, want those of %v", got, carries)
	}
}

func (m *model) confirmed(v *ledger.Version) int64 {
	by := int64(0)
	for _, rev := range []int64{v.Rev, v.ContentRev} {
		for _, c := range m.confirms[ledger.Ref{ID: v.ID, Rev: rev}] {
			if m.live[c] {
				by = max(by, c)
			}
		}
	}
	return by
}

// Every record is either in force for a reader or counted as elsewhere, and
// what is open, finished or retracted is in force.
func TestEveryRecordIsSomewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Histories().Draw(t, "history")
		var s ledger.State
		ids := map[string]bool{}
		for _, e := range h.Entries(ledgertest.Key()) {
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		page, _ := s.Find(t.Context(), ledger.Query{Scope: ledger.All(), State: ledger.FindAny})
		for _, cur := range page.Items {
			ids[cur.ID] = true
		}
		for _, r := range h.Readers() {
			scope, err := ledgertest.Scope(t.Context(), &s, r.Place, r.Code)
			if err != nil {
				t.Fatal(err)
			}
			here, _ := s.Find(t.Context(), ledger.Query{Scope: scope, State: ledger.FindAny})
			elsewhere, _ := s.Elsewhere(t.Context(), scope)
			n := here.Total
			for _, k := range elsewhere {
				n += k
			}
			if n != len(ids) {
				t.Fatalf("%s: %d in force and %v elsewhere, of %d", r.Name, here.Total, elsewhere, len(ids))
			}
			seen := map[string]bool{}
			for _, f := range []ledger.FindState{ledger.FindOpen, ledger.FindFinished, ledger.FindRetracted} {
				p, _ := s.Find(t.Context(), ledger.Query{Scope: scope, State: f})
				for _, cur := range p.Items {
					if seen[cur.ID] {
						t.Fatalf("%s: %s is found twice", r.Name, cur.ID)
					}
					seen[cur.ID] = true
				}
			}
		}
	})
}
