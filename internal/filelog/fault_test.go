package filelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// faulty fails the n-th step that its layer is asked for, or all from there on.
type faulty struct {
	n       int
	err     error
	forever bool
	only    func(op durable.Op, path string) bool // nil: any step

	step  int
	fired []string
	ops   []durable.Op
}

func (f *faulty) layer() *durable.Layer {
	return &durable.Layer{Sleep: func(time.Duration) {}, Fault: func(op durable.Op, path string) error {
		if f.only != nil && !f.only(op, path) {
			return nil
		}
		f.step++
		if f.step < f.n || f.step > f.n && !f.forever {
			return nil
		}
		if _, short := f.err.(*durable.ShortWrite); short && op != durable.OpWrite {
			if !f.forever {
				f.n++ // the next write
			}
			return nil
		}
		f.fired = append(f.fired, fmt.Sprintf("%s %s", op, path))
		f.ops = append(f.ops, op)
		return f.err
	}}
}

// deed is one thing done to a ledger, for the walks over all its steps.
type deed struct {
	name string
	make func(t *testing.T) (*Log, ledger.Pos)
	do   func(l *Log, p ledger.Pos) (ledger.Saved, error)
}

func deeds() []deed {
	ctx := context.Background()
	save := func(l *Log, p ledger.Pos) (ledger.Saved, error) { return l.Append(ctx, p, note("saved under a fault")) }
	old := func(t *testing.T) (*Log, ledger.Pos) { return grown(t, quickLog(t), 2) }
	return []deed{
		{"create", func(t *testing.T) (*Log, ledger.Pos) { return quickLog(t), ledger.Pos{} },
			func(l *Log, p ledger.Pos) (ledger.Saved, error) {
				return l.Append(ctx, p, ledger.Draft{Type: ledger.TypeLedger, At: time.Now()})
			}},
		{"save", old, save},
		{"save in a session", func(t *testing.T) (*Log, ledger.Pos) { return grown(t, quickLog(t), 2) },
			func(l *Log, p ledger.Pos) (ledger.Saved, error) {
				if _, err := l.Head(ctx); err != nil {
					return ledger.Saved{}, err
				}
				return save(l, p)
			}},
		{"save that completes the mirror", func(t *testing.T) (*Log, ledger.Pos) {
			l, p := grown(t, quickLog(t), 3)
			put(t, l.mirror(), strings.Join(strings.SplitAfter(get(t, l.mirror()), "\n")[:2], "")+"{\"torn")
			return l, p
		}, save},
		{"save that begins the mirror", func(t *testing.T) (*Log, ledger.Pos) {
			l, p := grown(t, quickLog(t), 3)
			check(t, os.RemoveAll(filepath.Dir(l.mirror())))
			return l, p
		}, save},
		{"save without a note", func(t *testing.T) (*Log, ledger.Pos) {
			l, p := grown(t, quickLog(t), 1)
			check(t, os.RemoveAll(l.paths()))
			return l, p
		}, save},
		{"adopt", func(t *testing.T) (*Log, ledger.Pos) {
			l, p := grown(t, quickLog(t), 2)
			return l.stranger(t), p
		}, func(l *Log, p ledger.Pos) (ledger.Saved, error) { return l.Adopt(ctx, p, typed(ledgertest.Adopt(""))) }},
		{"adopt a copy", func(t *testing.T) (*Log, ledger.Pos) {
			l, p := grown(t, quickLog(t), 2)
			other := l.elsewhere(filepath.Join(t.TempDir(), "copy"))
			copyTree(t, l.p.Dir, other.p.Dir)
			return other, p
		}, func(l *Log, p ledger.Pos) (ledger.Saved, error) {
			return l.AdoptCopy(ctx, p, typed(ledgertest.Adopt("")))
		}},
	}
}

// Each step of each verb fails in each way, once and for ever. The error reaches
// the caller, as an error or, once the save stands, as a warning; nothing that
// was acknowledged is lost; nothing temporary stays; and without the fault the
// same thing works.
func TestCaseC005_EveryErrorReachesTheCaller(t *testing.T) {
	faults := map[string]error{"EIO": errIO, "ENOSPC": errFull}
	if torture() {
		faults["EROFS"], faults["EACCES"] = errReadOnly, errDenied
		faults["short write"] = &durable.ShortWrite{N: 7, Err: errFull}
	}
	for _, d := range deeds() {
		for name, err := range faults {
			for _, forever := range []bool{false, true} {
				if !torture() && forever != (name == "ENOSPC") {
					continue // a short run: one of them once, the other for ever
				}
				t.Run(fmt.Sprintf("%s/%s/forever=%v", d.name, name, forever), func(t *testing.T) {
					t.Parallel()
					for n := 1; walkOne(t, d, &faulty{n: n, err: err, forever: forever}); n++ {
						if t.Failed() {
							return
						}
					}
				})
			}
		}
	}
}

// walkOne reports whether the fault was met.
func walkOne(t *testing.T, d deed, f *faulty) bool {
	l, p := d.make(t)
	before := acknowledged(t, l, p)
	bad := l.with(f.layer())
	saved, err := d.do(bad, p)
	if len(f.fired) == 0 {
		check(t, err)
		return false
	}
	where := fmt.Sprintf("at %q", f.fired[0])
	if err == nil && len(saved.Warnings) == 0 && !harmless(l, f) {
		t.Errorf("%s: nobody was told: %+v", where, saved)
	}
	if err == nil && saved.Protected && len(saved.Warnings) == 0 && !f.forever && mattered(f) {
		t.Errorf("%s: protected in spite of it: %+v", where, saved)
	}
	if left := l.temporaries(t); len(left) > 0 && !cannotRemove(f) {
		t.Errorf("%s: left %v", where, left)
	}
	after := survivors(t, l)
	if len(after) < len(before) || !slices.Equal(before, after[:len(before)]) {
		t.Errorf("%s: %d acknowledged entries, %d now", where, len(before), len(after))
	}
	unknown := errors.As(err, new(*ledger.UnknownOutcomeError))
	switch {
	case err == nil && (len(after) == 0 || after[len(after)-1] != saved.Pos):
		t.Errorf("%s: acknowledged %v, there is %v", where, saved.Pos, after)
	case err != nil && !unknown && len(after) != len(before):
		t.Errorf("%s: error %v, and the save appeared", where, err)
	}
	goesOn(t, l, d, p, where, after)
	return true
}

// acknowledged are the positions that stand.
func acknowledged(t *testing.T, l *Log, p ledger.Pos) []ledger.Pos {
	if p.Hash == "" {
		return nil
	}
	return survivors(t, l)
}

// survivors are the positions in the ledger, whoever's it is.
func survivors(t *testing.T, l *Log) (ps []ledger.Pos) {
	t.Helper()
	reader := l.with(&durable.Layer{})
	if id := l.id(); id != "" {
		reader.m.Adopted = []string{id}
	}
	p := ledger.Pos{}
	for e, err := range reader.Entries(t.Context(), ledger.Pos{}) {
		if errors.As(err, new(*LostError)) {
			break
		}
		check(t, err)
		if e.Prev != p.Hash {
			t.Fatalf("revision %d doesn't follow", e.Rev)
		}
		p = e.Pos()
		ps = append(ps, p)
	}
	return ps
}

// goesOn: without the fault the same thing works, or is refused since it is done.
func goesOn(t *testing.T, l *Log, d deed, p ledger.Pos, where string, after []ledger.Pos) {
	t.Helper()
	good := l.with(&durable.Layer{})
	if n := len(after); n > 0 && after[n-1] != p {
		if d.name != "adopt" && d.name != "adopt a copy" {
			if _, err := d.do(good, p); !errors.As(err, new(*ledger.ConflictError)) {
				t.Errorf("%s: repeated after it stood: %v", where, err)
			}
		}
		p = after[n-1]
	}
	if d.name == "create" && p.Hash != "" {
		d = deeds()[1]
	}
	saved, err := d.do(good, p)
	if err != nil || !saved.Protected || len(saved.Warnings) > 0 {
		t.Errorf("%s: without the fault: %+v, %v", where, saved, err)
		return
	}
	verify(t, good, saved.Pos)
	wantMirrored(t, good, saved.Pos)
}

// harmless: steps whose failure changes nothing of what was promised. A file
// that a reading can't see is as if it weren't there; what is then written
// meets the error itself, or another folder serves.
func harmless(l *Log, f *faulty) bool {
	state := filepath.Dir(l.m.State[0]) // flushed again with the mirror's first line
	for _, op := range f.ops {
		switch op {
		case durable.OpStat, durable.OpOpen, durable.OpRead, durable.OpReadDir, durable.OpClose, durable.OpChmod, durable.OpTruncate, durable.OpLock:
		default:
			first := f.fired[0]
			return strings.HasSuffix(first, "/"+lockName) || strings.HasSuffix(first, mirrorLockName) ||
				errors.Is(f.err, errDenied) && op == durable.OpLink || // taken for a file system without links
				!f.forever && first == "syncdir "+state || !f.forever && strings.Contains(first, "/state") && !strings.Contains(first, mirrorName) // tried again for the seal
		}
	}
	return true
}

// mattered: a failed step of the mirror.
func mattered(f *faulty) bool {
	return strings.HasSuffix(f.fired[0], mirrorName) && (f.ops[0] == durable.OpWrite || f.ops[0] == durable.OpSync)
}

// cannotRemove: the fault keeps temporaries from being removed.
func cannotRemove(f *faulty) bool {
	return slices.Contains(f.ops, durable.OpRemove) || f.forever
}
