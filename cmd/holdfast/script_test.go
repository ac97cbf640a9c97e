package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/internal/cli"
	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"holdfast": main,
		"person":   func() { os.Exit(person(os.Args[1:])) },
	})
}

// TestScripts runs testdata/script: one file, one behaviour, in a folder of its
// own with its own home, real git, and a new process for every command.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireExplicitExec: true, UpdateScripts: *update,
		Setup: setup, Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exitsCmd, "json": jsonCmd, "keep": keepCmd, "same": sameCmd, "absent": absentCmd},
	})
}

func setup(e *testscript.Env) error {
	home := filepath.Join(e.WorkDir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("USERPROFILE", home)
	e.Setenv("XDG_STATE_HOME", "")
	e.Setenv("XDG_CACHE_HOME", "")
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv("GIT_AUTHOR_NAME", "Test")
	e.Setenv("GIT_AUTHOR_EMAIL", "test@example.com")
	e.Setenv("GIT_COMMITTER_NAME", "Test")
	e.Setenv("GIT_COMMITTER_EMAIL", "test@example.com")
	e.Setenv("TERM", "xterm")
	return os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[init]\n\tdefaultBranch = main\n"), 0o600)
}

// condition adds to testscript's own: person (the tests can act as a person at
// a terminal), namespaces (mounts in a user name space), root.
func condition(name string) (bool, error) {
	switch name {
	case "person":
		return hasPTY && !agentAbove(), nil
	case "namespaces":
		return runtime.GOOS == "linux" && exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() == nil, nil
	case "root":
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %s", name)
}

// agentAbove: the tests were started by a coding agent, whose name among the
// parents makes every command an agent's.
func agentAbove() bool {
	w, _ := cli.System(time.Now)
	w.Env, w.Terminal = nil, true
	return project.CLICaller(w).Kind != ledger.Person
}
