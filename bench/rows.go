package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }

func (r *run) rounds(n int) int {
	if r.short {
		return max(3, n/5)
	}
	return n
}

// save: a durable save from request to answer in a running server, against the
// same system calls bare, in turns on the same disk.
func (r *run) save() error {
	perSize := map[int]time.Duration{}
	for _, n := range r.sizes {
		b, err := r.bed(n)
		if err != nil {
			return err
		}
		s, _, err := b.open(r.bin)
		if err != nil {
			return err
		}
		bare, err := newBare(filepath.Join(r.dir, fmt.Sprintf("bare-%d", n)))
		if err != nil {
			return err
		}
		var ours, theirs []time.Duration
		for i := range r.rounds(400) {
			begin := time.Now()
			if err := s.save(fmt.Sprintf("s-%d", i)); err != nil {
				return err
			}
			ours = append(ours, time.Since(begin))
			begin = time.Now()
			if err := bare.save(); err != nil {
				return err
			}
			theirs = append(theirs, time.Since(begin))
		}
		if err := s.close(); err != nil {
			return err
		}
		o, t := median(ours), median(theirs)
		perSize[n] = o
		ratio := float64(o) / float64(t)
		r.add(fmt.Sprintf("durable save at %d entries", n), fmt.Sprintf("%s, %.2f x bare (%s)", ms(o), ratio, ms(t)), "1.4 x bare", ratio <= 1.4)
	}
	first, last := r.sizes[0], r.sizes[len(r.sizes)-1]
	flat := float64(perSize[last]) / float64(perSize[first])
	r.add(fmt.Sprintf("save at %d against %d entries", last, first), fmt.Sprintf("%.2f x", flat), "1.2 x", flat <= 1.2)
	return r.flushes()
}

// flushes counts the flushes of a save with strace.
func (r *run) flushes() error {
	if _, err := exec.LookPath("strace"); err != nil {
		r.add("flushes a save", "strace is not here: not counted", "3", false)
		return nil
	}
	b, err := r.bed(r.sizes[0])
	if err != nil {
		return err
	}
	trace := filepath.Join(r.dir, "trace")
	s, _, err := b.open(r.bin, "strace", "-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,syncfs", "-o", trace)
	if err != nil {
		return err
	}
	const saves = 20
	for i := range saves {
		if err := s.save(fmt.Sprintf("f-%d", i)); err != nil {
			return err
		}
	}
	// Counted while the server still runs: what follows later is not the save's.
	text, err := os.ReadFile(trace)
	if err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	n := float64(strings.Count(string(text), "sync(")) / saves
	r.add("flushes a save, by strace", fmt.Sprintf("%.2f", n), "3", n <= 3.05)
	return nil
}

// bare does what a save asks of the disk and nothing else.
type bare struct {
	dir string
	n   int
}

func newBare(dir string) (*bare, error) {
	for _, sub := range []string{"rev", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return &bare{dir: dir}, nil
}

var line = make([]byte, 800)

func (b *bare) save() error {
	b.n++
	tmp, final := filepath.Join(b.dir, "tmp", strconv.Itoa(b.n)), filepath.Join(b.dir, "rev", fmt.Sprintf("%08d.json", b.n))
	if err := writeSync(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o400); err != nil {
		return err
	}
	if err := errors.Join(os.Link(tmp, final), os.Remove(tmp)); err != nil {
		return err
	}
	d, err := os.Open(filepath.Join(b.dir, "rev"))
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return err
	}
	return writeSync(filepath.Join(b.dir, "mirror"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func writeSync(path string, flag int, mode os.FileMode) error {
	f, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Sync(), f.Close())
}

// many: eight servers at once against one doing all the saves.
func (r *run) many() error {
	each := r.rounds(200)
	run := func(name string, servers, saves int) (time.Duration, error) {
		b, err := r.named(name)
		if err != nil {
			return 0, err
		}
		var ss []*session
		for range servers {
			s, _, err := b.open(r.bin)
			if err != nil {
				return 0, err
			}
			ss = append(ss, s)
		}
		errs := make([]error, servers)
		var wg sync.WaitGroup
		begin := time.Now()
		for i, s := range ss {
			wg.Go(func() {
				for k := range saves {
					if errs[i] = s.save(fmt.Sprintf("m-%d-%d", i, k)); errs[i] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		took := time.Since(begin)
		for _, s := range ss {
			errs = append(errs, s.close())
		}
		return took, errors.Join(errs...)
	}
	one, err := run("one", 1, 8*each)
	if err != nil {
		return err
	}
	eight, err := run("eight", 8, each)
	if err != nil {
		return err
	}
	ratio := float64(eight) / float64(one)
	r.add(fmt.Sprintf("8 processes x %d saves, none refused", each), fmt.Sprintf("%s, %.2f x one process", ms(eight), ratio), "1.5 x", ratio <= 1.5)
	return nil
}

func (r *run) named(name string) (*bed, error) {
	sub := *r
	sub.dir = filepath.Join(r.dir, name)
	return sub.bed(100)
}

// resume: a cold process with a warm file cache, against git status.
func (r *run) resume() error {
	times := map[int]time.Duration{}
	sizes := append([]int{1000}, r.sizes...)
	for _, n := range sizes {
		b, err := r.bed(n)
		if err != nil {
			return err
		}
		var ours, gits []time.Duration
		for range r.rounds(60) {
			for _, x := range []struct {
				cmd *exec.Cmd
				to  *[]time.Duration
			}{{b.command(r.bin, "resume"), &ours}, {b.command("git", "status"), &gits}} {
				begin := time.Now()
				if err := x.cmd.Run(); err != nil {
					return err
				}
				*x.to = append(*x.to, time.Since(begin))
			}
		}
		o, g := median(ours), median(gits)
		times[n] = o
		if n == 10_000 {
			r.add("holdfast resume, cold process, 10000 entries", fmt.Sprintf("%s, %.2f x git status (%s)", ms(o), float64(o)/float64(g), ms(g)), "3 x or 25 ms", o <= max(3*g, 25*time.Millisecond))
		}
	}
	last := sizes[len(sizes)-1]
	ratio := float64(times[last]) / float64(times[1000])
	r.add(fmt.Sprintf("resume at %d against 1000 entries", last), fmt.Sprintf("%.2f x (%s, %s)", ratio, ms(times[last]), ms(times[1000])), "1.5 x", ratio <= 1.5)
	return nil
}

// search: in a running server at the largest size.
func (r *run) search() error {
	n := r.sizes[len(r.sizes)-1]
	b, err := r.bed(n)
	if err != nil {
		return err
	}
	s, _, err := b.open(r.bin)
	if err != nil {
		return err
	}
	for _, q := range []struct {
		what, query string
		bar         time.Duration
	}{{"common word", "importer", 20 * time.Millisecond}, {"two words", "schema timeout", 20 * time.Millisecond},
		{"phrase", `"two writers"`, 20 * time.Millisecond}, {"prefix", "migr*", 50 * time.Millisecond}, {"short prefix", "t*", 50 * time.Millisecond}} {
		var ds []time.Duration
		for range r.rounds(30) {
			begin := time.Now()
			if _, err := s.call("holdfast_search", map[string]any{"query": q.query}); err != nil {
				return err
			}
			ds = append(ds, time.Since(begin))
		}
		m := median(ds)
		r.add(fmt.Sprintf("search, %s, %d entries", q.what, n), ms(m), ms(q.bar), m <= q.bar)
	}
	return s.close()
}

// start: process start to first answer, and memory after a second of idleness.
func (r *run) start() error {
	for _, n := range r.sizes {
		b, err := r.bed(n)
		if err != nil {
			return err
		}
		var ds []time.Duration
		for range r.rounds(30) {
			s, first, err := b.open(r.bin)
			if err != nil {
				return err
			}
			ds = append(ds, first)
			if err := s.close(); err != nil {
				return err
			}
		}
		m := median(ds)
		r.add(fmt.Sprintf("process start to first MCP answer, %d entries", n), ms(m), "50 ms", m <= 50*time.Millisecond)
		if err := r.memory(b, n); err != nil {
			return err
		}
	}
	info, err := os.Stat(r.bin)
	if err != nil {
		return err
	}
	mb := float64(info.Size()) / 1e6
	r.add("binary, stripped", fmt.Sprintf("%.1f MB", mb), "30 MB", mb <= 30)
	return nil
}

func (r *run) memory(b *bed, n int) error {
	s, _, err := b.open(r.bin)
	if err != nil {
		return err
	}
	for _, tool := range []string{"holdfast_resume", "holdfast_search"} {
		if _, err := s.call(tool, map[string]any{}); err != nil {
			return err
		}
	}
	if err := s.save(fmt.Sprintf("mem-%d", n)); err != nil {
		return err
	}
	time.Sleep(1500 * time.Millisecond)
	kb := 0
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err == nil {
		for _, l := range strings.Split(string(text), "\n") {
			if v, ok := strings.CutPrefix(l, "VmRSS:"); ok {
				kb, _ = strconv.Atoi(strings.Fields(v)[0])
			}
		}
	}
	r.add(fmt.Sprintf("memory of an idle server, %d entries", n), fmt.Sprintf("%.1f MB", float64(kb)/1000), "25 MB", kb > 0 && kb <= 25_000)
	return s.close()
}
