package filelog

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// A process that dies at any step leaves what the next one completes. Death is
// played by a layer that does nothing any more from step n on, so that not even
// temporaries are removed.
func TestDeathAtEveryStep(t *testing.T) {
	for _, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			stride := 3
			if torture() {
				stride = 1
			}
			for n := 1; dieOnce(t, d, n) && !t.Failed(); n += stride {
			}
		})
	}
}

func dieOnce(t *testing.T, d deed, n int) bool {
	l, p := d.make(t)
	before := acknowledged(t, l, p)
	f := &faulty{n: n, err: errDead, forever: true}
	_, err := d.do(l.with(f.layer()), p)
	if len(f.fired) == 0 {
		check(t, err)
		return false
	}
	where := fmt.Sprintf("dead before step %d, %s", n, f.fired[0])
	after := survivors(t, l)
	if len(after) < len(before) || len(after) > len(before)+1 {
		t.Errorf("%s: %d entries before, %d after", where, len(before), len(after))
	}
	goesOn(t, l, d, p, where, after)
	sweepAll(t, l, where)
	return true
}

var errDead = errors.New("the process is dead")

// sweepAll: what is left is removed a day later, and nothing else.
func sweepAll(t *testing.T, l *Log, where string) {
	t.Helper()
	now := head(t, l.with(&durable.Layer{}))
	later := l.with(&durable.Layer{})
	later.m.Now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	left := len(l.temporaries(t))
	n, err := later.Sweep(t.Context())
	if err != nil || n != left || len(l.temporaries(t)) > 0 {
		t.Errorf("%s: swept %d of %d, %v, left %v", where, n, left, err, l.temporaries(t))
	}
	verify(t, l.with(&durable.Layer{}), now)
}

// Unfinished creations, made by hand: each is completed under the id that is
// there already.
func TestUnfinishedCreation(t *testing.T) {
	id := "00112233445566778899aabbccddeeff"
	for name, do := range map[string]func(l *Log){
		"an empty folder":         func(l *Log) { mkdir(t, l.Dir()) },
		"only .gitignore":         func(l *Log) { mkdir(t, l.Dir()); put(t, l.at(ignoreName), "*\n") },
		"FORMAT":                  func(l *Log) { mkdir(t, l.Dir()); put(t, l.at(formatName), string(formatOf(id).bytes())) },
		"FORMAT and gen":          func(l *Log) { mkdir(t, l.at("gen")); put(t, l.at(formatName), string(formatOf(id).bytes())) },
		"FORMAT and a generation": func(l *Log) { mkdir(t, l.at("gen/0001")); put(t, l.at(formatName), string(formatOf(id).bytes())) },
		"FORMAT and empty folders": func(l *Log) {
			mkdir(t, l.at("gen/0001/rev"))
			mkdir(t, l.at("gen/0001/tmp"))
			put(t, l.at(formatName), string(formatOf(id).bytes()))
		},
		"a temporary of revision 0": func(l *Log) {
			mkdir(t, l.at("gen/0001/rev"))
			mkdir(t, l.at("gen/0001/tmp"))
			put(t, l.at("gen/0001/tmp/.holdfast-00112233445566778899aabbccddeeff.tmp"), "{")
			put(t, l.at(formatName), string(formatOf(id).bytes()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := testLog(t)
			do(l)
			if h := head(t, l); h != (ledger.Pos{}) {
				t.Fatalf("head %v", h)
			}
			p := create(t, l.again())
			verify(t, l, p)
			if got := l.id(); name[0] == 'F' && got != id {
				t.Errorf("id %s, want that of FORMAT", got)
			}
		})
	}
}

// Everything above revision 0 is flushed before it is linked, whoever made it.
func TestCreationFlushesWhatItFinds(t *testing.T) {
	l := testLog(t)
	mkdir(t, l.at("gen/0001/rev"))
	mkdir(t, l.at("gen/0001/tmp"))
	put(t, l.at(formatName), string(formatOf("00112233445566778899aabbccddeeff").bytes()))
	flushed := map[string]bool{}
	l = l.with(&durable.Layer{Trace: func(op durable.Op, path string) {
		switch op {
		case durable.OpSyncDir:
			flushed[path] = true
		case durable.OpLink:
			if path != l.rev(0) {
				return
			}
			for _, dir := range []string{l.p.Dir, l.Dir(), l.at("gen"), l.at("gen/0001")} {
				if !flushed[dir] {
					t.Errorf("%s is not flushed before revision 0 is linked", dir)
				}
			}
		}
	}})
	create(t, l)
	if !flushed[l.at("gen/0001/rev")] || !flushed[l.m.State[0]] {
		t.Error("revision 0 or the mirror's folder is not flushed")
	}
}
