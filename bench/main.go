// Command bench measures the bars of docs/BENCHMARKS.md against the shipped
// binary, as ratios within one run: what the tool adds to the bare system calls,
// to git status, or to itself with fewer entries. It prints a table and says
// which bars are met; it never fails for being slow.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"text/tabwriter"
)

type row struct{ what, figure, bar, met string }

type run struct {
	bin   string // the binary under test
	dir   string // scratch folder, on the disk that is measured
	short bool
	sizes []int
	rows  []row
}

func main() {
	short := flag.Bool("short", false, "fewer rounds and no ledger over 10,000 entries")
	only := flag.String("only", "", "run one group: save, many, resume, search, start, index, verify")
	dir := flag.String("dir", "", "scratch folder (default: a temporary one)")
	keep := flag.Bool("keep", false, "leave the scratch folder, and say where it is")
	flag.Parse()
	if err := benchmark(*short, *only, *dir, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func benchmark(short bool, only, dir string, keep bool) error {
	tmp, err := os.MkdirTemp(dir, "holdfast-bench-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, "scratch folder:", tmp)
	} else {
		defer os.RemoveAll(tmp)
	}
	r := &run{bin: filepath.Join(tmp, "holdfast"), dir: tmp, short: short, sizes: []int{100, 10_000, 100_000}}
	if short {
		r.sizes = r.sizes[:2]
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", r.bin, "./cmd/holdfast")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	groups := []struct {
		name string
		do   func() error
	}{{"start", r.start}, {"save", r.save}, {"many", r.many}, {"resume", r.resume}, {"search", r.search}}
	for _, g := range groups {
		if only != "" && only != g.name {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", g.name)
		if err := g.do(); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	r.print()
	return nil
}

func (r *run) add(what, figure, bar string, met bool) {
	m := "yes"
	if !met {
		m = "NO"
	}
	r.rows = append(r.rows, row{what, figure, bar, m})
}

func (r *run) print() {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %s/%s, %d CPUs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintln(w, "what\tmeasured\tbar\tmet")
	for _, x := range r.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.what, x.figure, x.bar, x.met)
	}
	w.Flush()
}
