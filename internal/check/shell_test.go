package check

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/C061/commands.tsv
var commandsC061 string

func TestCaseC061_ShellTextsAreJudged(t *testing.T) {
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(commandsC061), "\n")[1:] {
		f := strings.Split(line, "\t")
		want := f[0] == "yes" || strings.Contains(f[1], "XXX_none") // that one runs, and runs nothing
		for _, argv := range [][]string{{"sh", "-c", f[1]}, {"bash", "-lc", f[1]}, {"/bin/bash", "-eu", "-c", f[1]}, {"env", "A=b", "bash", "-c", f[1]}} {
			if ok, why := Attributable(argv, nil); ok != want {
				t.Errorf("%q: attributable %v (%s), want %v", argv, ok, why, want)
			}
		}
		n++
	}
	if n != 15 {
		t.Errorf("%d lines", n)
	}
}

func TestAttributable(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"true", true}, {"set -o pipefail && go test ./... | tail -5", true}, {"set +o pipefail && go test ./... | tail -5", false}, {"go test ./... && echo done", true}, {"echo running go test && go test ./...", true},
		{"set -euo pipefail; go test ./... 2>&1 | tee log", true}, {"set -o pipefail; set +o pipefail; go test | tail", false},
		{"go test $(go list ./... | grep -v gen)", true}, {"echo $(go test ./...)", false}, {"test -n \"$(pytest)\"", false}, {"X=$(go test ./...)", false},
		{"(go test ./...)", false}, {"{ go test ./...; }", false}, {"time go test ./...", true}, {"trap 'exit 0' EXIT && go test ./...", false},
		{"alias go=true && go test", false}, {"eval go test", false}, {"sh -c 'go test || true'", false}, {"sh -c 'go test'", true},
		{"timeout 5 sh -c 'pytest; true'", false}, {"while go test; do :; done", false}, {"go test ./... ||", false}, {"", true}, {"# go test", false},
		{": pytest", false}, {"printf '%s' 'go test passed'", false}, {"echo hello", true}, {"cat go.mod", true}, {"'true' pytest", false}, {"exit 0", false},
		{"cd a && cd b && npm test", true}, {"make -i test", false}, {"make -j4 test", true}, {"make test", true}, {"mvn -fn test", false},
		{"go test ./... | tail -5 && true", false}, {"coproc go test", false}, {"go test ./... & wait", false}, {"case x in x) go test;; esac", false},
		{"FOO=1 go test ./...", true}, {"go test ./... > out.txt 2>&1", true}, {"$RUNNER test", true},
	} {
		if ok, why := Attributable([]string{"bash", "-c", c.text}, nil); ok != c.want {
			t.Errorf("%q: %v (%s), want %v", c.text, ok, why, c.want)
		}
	}
	for _, c := range []struct {
		argv string
		want bool
	}{
		{"go test ./...", true}, {"true", true}, {"echo go test passed", false}, {"/bin/true go test", false}, {"bash ci.sh", true}, {"bash -o pipefail -c a|b", true},
		{"bash -c a|b", false}, {"bash -ic pytest", false}, {"make -i", false}, {"make -C internal test", true}, {"bash --norc -ec pytest", true}, {"docker run x sh -c pytest|tail", false},
	} {
		if ok, why := Attributable(strings.Fields(c.argv), nil); ok != c.want {
			t.Errorf("%q: %v (%s), want %v", c.argv, ok, why, c.want)
		}
	}
	if ok, _ := Attributable([]string{"bash", "-c", "go test"}, []string{"BASH_FUNC_go%%=() { true; }"}); ok {
		t.Error("a function from the environment")
	}
}

func FuzzAttributable(f *testing.F) {
	for _, s := range []string{"go test | tail", "a && b", "set -o pipefail; a|b", "$(", "if x; then", "<<E\nx\nE", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ok, why := Attributable([]string{"bash", "-c", s}, nil)
		if !ok && why == "" {
			t.Errorf("%q: no reason", s)
		}
		if ok {
			// What follows a list or swallows a failure never is.
			if again, _ := Attributable([]string{"bash", "-c", "{ " + s + "\n} || true"}, nil); again {
				t.Errorf("%q || true is attributable", s)
			}
		}
	})
}
