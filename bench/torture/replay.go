package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// step is one traced command and the records that its answer promises.
type step struct {
	args   []string
	saves  []string
	person bool // at a terminal
}

// scenario is what is traced, on what, and what must hold after a cut.
type scenario struct {
	name   string
	before func(*place) ([]step, error) // prepares and says what to trace
	after  func(*place) error           // sees what the traced commands left
	// also checks what the scenario promises beyond its saves, with the number
	// of answers given before the cut. It is "" or what is wrong.
	also func(p *place, answered int) string
}

// replay traces each scenario once with the real binary and lets the power go
// at random moments of it.
func (t *torture) replay() error {
	if _, err := exec.LookPath("strace"); err != nil {
		fmt.Println("replay: SKIPPED, strace is not installed: no power cut was tried")
		return nil
	}
	bad := 0
	for _, s := range scenarios() {
		if !t.wants(s.name) {
			continue
		}
		n, err := t.replayOne(s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		bad += n
	}
	if bad > 0 {
		return fmt.Errorf("%d crash states lost something", bad)
	}
	return nil
}

// film is a traced scenario.
type film struct {
	*recorder
	p       *place
	s       *scenario
	steps   []step
	folders map[int]bool
}

// cacheAfter is where the cache is kept as it was after n answers.
func (f *film) cacheAfter(n int) string { return fmt.Sprintf("%s-%d", f.p.cache, n) }

func (f *film) keepCache(n int) error { return os.CopyFS(f.cacheAfter(n), os.DirFS(f.p.cache)) }

func (t *torture) film(s *scenario) (*film, error) {
	p, err := t.place("replay-" + s.name)
	if err != nil {
		return nil, err
	}
	steps, err := s.before(p)
	if err != nil {
		return nil, err
	}
	r, err := newRecorder(p.tree)
	if err != nil {
		return nil, err
	}
	f := &film{r, p, s, steps, map[int]bool{}}
	if err := f.keepCache(0); err != nil {
		return nil, err
	}
	for i, st := range steps {
		if err := r.trace(p, st.person, st.args...); err != nil {
			return nil, err
		}
		if err := f.keepCache(i + 1); err != nil {
			return nil, err
		}
	}
	for ino := range r.dirs {
		f.folders[ino] = true
	}
	if s.after != nil {
		if err := s.after(p); err != nil {
			return nil, err
		}
	}
	// The replay of everything must be what the binary left: else the trace was
	// misread, and the crash states would be of nothing.
	all := make([]byte, len(r.ops))
	for i := range all {
		all[i] = 1
	}
	return f, f.same(apply(r.base, r.ops, all))
}

// same compares a tree with what is on the disk.
func (f *film) same(t tree) error {
	n := 0
	err := filepath.Walk(f.p.tree, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		n++
		_, ino := f.find(path)
		b, err := os.ReadFile(path)
		if err == nil && string(b) != string(t.files[ino]) {
			err = fmt.Errorf("the replay of every call differs from what the binary left: %s", path)
		}
		return err
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("the binary left no file")
	}
	return err
}

func (t *torture) replayOne(s *scenario) (bad int, err error) {
	f, err := t.film(s)
	if err != nil {
		return 0, err
	}
	count := map[opKind]int{}
	for _, o := range f.ops {
		count[o.kind]++
	}
	for _, model := range []string{ordered, anyOrder} {
		begin, lost, first := time.Now(), 0, ""
		rnd := rand.New(rand.NewPCG(t.seed, uint64(len(model))))
		flushed := flushedAt(f.ops, model)
		for i := range t.states {
			cut := 1 + rnd.IntN(len(f.ops))
			wrong, err := f.cut(cut, survive(f.ops, flushed, cut, model, rnd), i%2 == 0)
			if err != nil {
				return bad, err
			}
			if wrong != "" {
				lost++
				if first == "" {
					first = fmt.Sprintf("\n    state %d, cut after call %d of %d: %s", i, cut, len(f.ops), wrong)
				}
			}
		}
		fmt.Printf("replay %-8s model %-8s %d states, %d wrong; %d flushes, %d answers in the trace; %.0f ms a state%s\n", s.name, model, t.states, lost,
			count[opFlush], count[opAck], float64(time.Since(begin).Milliseconds())/float64(max(t.states, 1)), first)
		bad += lost
	}
	return bad, nil
}

// cut puts one crash state on the disk and lets the binary go on from it. The
// cache is gone or as the last answered command left it: it learns of a save
// only after that save was flushed.
func (f *film) cut(cut int, survived []byte, withCache bool) (wrong string, err error) {
	state := apply(f.base, f.ops, survived)
	if err := state.write(f.p.tree, f.folders); err != nil {
		return "", err
	}
	answered := 0
	for _, o := range f.ops[:cut] {
		if o.kind == opAck {
			answered++
		}
	}
	if err := os.RemoveAll(f.p.cache); err != nil {
		return "", err
	}
	if withCache {
		if err := os.CopyFS(f.p.cache, os.DirFS(f.cacheAfter(answered))); err != nil {
			return "", err
		}
	}
	var acked []string
	for _, st := range f.steps[:answered] {
		acked = append(acked, st.saves...)
	}
	if f.s.also != nil {
		if wrong := f.s.also(f.p, answered); wrong != "" {
			return wrong, nil
		}
	}
	return f.p.intact(acked, "after"), nil
}
