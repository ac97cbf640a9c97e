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
	fault  string // built into the binary under test on purpose
	states int    // crash states for each scenario and model
	rounds int    // kills for each kind of victim
	seed   uint64
	only   map[string]bool // scenarios; nil means all
}

// serveMount as the first argument makes this the process behind a mount.
const serveMount = "serve-mount"

func main() {
	if len(os.Args) == 4 && os.Args[1] == serveMount {
		if err := serve(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
			os.Exit(1)
		}
		return
	}
	t := &torture{}
	groups := flag.String("groups", "replay,kill,mounts", "what to run")
	scenarios := flag.String("scenarios", "", "of replay and kill, only these")
	flag.StringVar(&t.fault, "sabotage", "", "a fault to build in, which must be found out: see internal/durable/sabotage.go")
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
	args := []string{"build", "-trimpath", "-ldflags=-s -w"}
	if t.fault != "" {
		args = []string{"build", "-trimpath", "-tags=sabotage", "-ldflags=-s -w -X holdfast/internal/durable.Sabotage=" + t.fault}
	}
	build := exec.Command("go", append(args, "-o", t.bin, "./cmd/holdfast")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	groups := map[string]func() error{"replay": t.replay, "kill": t.kill, "mounts": t.mounts}
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
