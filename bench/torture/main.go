// Command torture tries to make the shipped binary lose an acknowledged save:
// power cuts replayed from a trace of its file calls, kills at random instants,
// two mounts of one folder that don't see each other's locks, damaged bytes.
// It builds the binary itself, prints what it tried and how often, and fails
// when something acknowledged is missing. It must never run on a real ledger:
// every project that it works on is its own, in a temporary folder.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

type torture struct {
	bin    string // the binary under test
	dir    string // scratch folder
	tags   string // build tags of the binary under test
	states int    // crash states for each scenario and model
	rounds int    // kills for each kind of victim
	seed   uint64
	only   map[string]bool // scenarios; nil means all
}

func main() {
	t := &torture{}
	groups := flag.String("groups", "replay", "what to run")
	scenarios := flag.String("scenarios", "", "of replay and kill, only these")
	flag.StringVar(&t.tags, "tags", "", "build tags: a sabotage build, which must be found out")
	flag.StringVar(&t.dir, "dir", "", "scratch folder (default: a temporary one)")
	flag.IntVar(&t.states, "states", 400, "crash states for each scenario and model")
	flag.IntVar(&t.rounds, "rounds", 100, "kills for each kind of victim")
	flag.Uint64Var(&t.seed, "seed", 7, "of the random choices")
	flag.Parse()
	if *scenarios != "" {
		t.only = map[string]bool{}
		for _, s := range strings.Split(*scenarios, ",") {
			t.only[s] = true
		}
	}
	if err := t.run(strings.Split(*groups, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

func (t *torture) run(names []string) error {
	tmp, err := os.MkdirTemp(t.dir, "holdfast-torture-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	t.dir, t.bin = tmp, filepath.Join(tmp, "holdfast")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-tags="+t.tags, "-o", t.bin, "./cmd/holdfast")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	groups := map[string]func() error{"replay": t.replay}
	var found []error
	for _, name := range names {
		do, ok := groups[name]
		if !ok {
			return fmt.Errorf("there is no group %q", name)
		}
		if err := do(); err != nil {
			found = append(found, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(found...)
}

func (t *torture) wants(scenario string) bool { return t.only == nil || t.only[scenario] }
