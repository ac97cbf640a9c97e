package filelog

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// ErrNotRedacted refuses to erase what no redact entry names that a person of
// this machine made or, with the whole ledger, adopted.
var ErrNotRedacted = errors.New("no redact entry of this machine names the revision")

// Redaction is a revision whose body a redact entry names.
type Redaction struct {
	ledger.Pos
	By     int64 // the redact entry
	Erased bool  // its body is gone from the current generation
}

// Erasure is what Redact did.
type Erasure struct {
	Redactions []Redaction
	Files      []string // rewritten or removed
}

// Redactions lists what the ledger's redact entries name, oldest first. Entries
// that another machine sealed count once a person of this one adopted the
// ledger after them; entries without a seal never do.
func (l *Log) Redactions(ctx context.Context) ([]Redaction, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.legible(ctx)
	if err != nil {
		return nil, err
	}
	defer v.close()
	ts, err := v.targets(ctx, nil)
	return list(ts), err
}

// Redact erases the bodies of revisions, or with none given of all, that redact
// entries in the ledger name: in every generation and every one in the making,
// in packs, in the mirrors and manifests of all state folders, by temporary file
// and rename; temporary files that a crash left go too. The current generation
// comes last, so that whatever stops it, the next call goes on; one that finds
// nothing to do changes nothing. It works under the ledger's lock, which it
// takes unless Lock gave it out before. It goes on after an error.
//
// Index, HANDOFF.md and quarantine are the caller's.
func (l *Log) Redact(ctx context.Context, revs []int64) (done Erasure, err error) {
	unlock, err := l.underLock(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.legible(ctx)
	if err != nil {
		return done, err
	}
	defer v.close()
	ts, err := v.targets(ctx, revs)
	if err != nil || len(ts) == 0 {
		return done, err
	}
	l.seen.listing, l.seen.tails = nil, nil
	x := &eraser{l: l, v: v, byHash: map[string]*target{}}
	for _, t := range ts {
		x.byHash[t.Hash] = t
	}
	err = x.everywhere(context.WithoutCancel(ctx))
	return Erasure{list(ts), x.files}, err
}

// target is one body to erase.
type target struct {
	Redaction
	erased    []byte   // the line without the body
	marks     [][]byte // by which a damaged copy of the line is known
	manifests []string
}

func list(ts []*target) []Redaction {
	out := make([]Redaction, 0, len(ts))
	for _, t := range ts {
		out = append(out, t.Redaction)
	}
	return out
}

// targets finds what the redact entries name of revs, or of everything when it
// is empty. It reads from the end and no further than it must.
func (v *view) targets(ctx context.Context, revs []int64) ([]*target, error) {
	by := map[int64]int64{} // revision to redact entry
	adopted, found := false, map[int64]*target{}
	err := v.back(ctx, func(e *ledger.Entry) bool {
		adopted = adopted || adoptsHere(e, v.seals, v.f.id)
		if e.Type == ledger.TypeRedact && trusted(e, v.seals, adopted) {
			for _, r := range e.Revisions {
				if _, named := by[r]; !named && r < e.Rev && (len(revs) == 0 || slices.Contains(revs, r)) {
					by[r] = e.Rev
				}
			}
		}
		if at, named := by[e.Rev]; named {
			found[e.Rev] = newTarget(e, at)
		}
		return len(revs) > 0 && len(found) == len(revs)
	})
	if err != nil {
		return nil, err
	}
	var out []*target
	for _, t := range found {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *target) int { return int(a.Rev - b.Rev) })
	for _, r := range revs {
		if found[r] == nil {
			return nil, fmt.Errorf("erase revision %d: %w", r, ErrNotRedacted)
		}
	}
	return out, nil
}

func newTarget(e *ledger.Entry, by int64) *target {
	erased := e.Erase()
	t := &target{Redaction: Redaction{e.Pos(), by, e.BodyRaw == nil}, erased: erased.Raw, marks: [][]byte{e.HeadRaw}}
	t.learn(e)
	return t
}

// learn takes from a body what else belongs to it.
func (t *target) learn(e *ledger.Entry) {
	b, there, err := e.Body()
	if !there || err != nil {
		return
	}
	if salt, err := hex.DecodeString(b.Salt); err == nil && len(salt) == 16 {
		t.marks = append(t.marks, []byte(`"salt":"`+b.Salt+`"`))
	}
	if b.Receipt == nil {
		return
	}
	m := b.Receipt.Inputs.Manifest
	if sum, err := hex.DecodeString(m); err == nil && len(sum) == 32 && !slices.Contains(t.manifests, m) {
		t.manifests = append(t.manifests, m)
	}
}

// removeManifests removes the manifests of the bodies that are erased.
func (x *eraser) removeManifests() error {
	var problem error
	for _, d := range append([]*durable.Dir{x.v.f.top}, x.stateDirs()...) {
		m, err := d.Sub(ManifestsName)
		if notThere(err) {
			continue
		}
		if err != nil {
			problem = errors.Join(problem, err)
			continue
		}
		for _, t := range x.byHash {
			for _, sum := range t.manifests {
				if err := x.remove(m, sum+".gz"); err != nil {
					problem = errors.Join(problem, err)
				}
			}
		}
		m.Close()
	}
	return problem
}
