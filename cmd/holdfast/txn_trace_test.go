package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// traces are those of the engine's own tests.
const traces = "../../internal/txn/testdata/traces/*.json"

type traceStep struct {
	Begin, Observe, Attempt, Report json.RawMessage
	Expect                          any
	ExpectError                     string `json:"expect_error"`
	Save                            map[string]string
	World                           *traceWorld
	WaitMS                          int `json:"wait_ms"`
	Kill                            bool
	Check                           map[string]*string
}

type traceWorld struct {
	Write, Append, Chmod, Symlink map[string]string
	Remove, Mkdir                 []string
	Rename                        [][2]string
}

func TestTracesThroughTheServer(t *testing.T)      { eachTrace(t, true) }
func TestTracesThroughTheCommandLine(t *testing.T) { eachTrace(t, false) }

func eachTrace(t *testing.T, mcp bool) {
	files, err := filepath.Glob(traces)
	if err != nil || len(files) < 26 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := traceRun{b: newBox(t), saved: map[string]string{}}
			if mcp {
				r.s = r.b.serve()
			}
			r.play(data)
		})
	}
}

// traceRun plays one trace; s is nil at the command line.
type traceRun struct {
	b     *box
	s     *server
	saved map[string]string
}

var traceSum = regexp.MustCompile(`\{\{sha256:((?s:.*?))\}\}`)

func (r *traceRun) play(data []byte) {
	t := r.b.t
	data = traceSum.ReplaceAllFunc(data, func(m []byte) []byte {
		var text string
		if err := json.Unmarshal([]byte(`"`+string(traceSum.FindSubmatch(m)[1])+`"`), &text); err != nil {
			t.Fatal(err)
		}
		return []byte(sum(text))
	})
	var tr struct {
		Files map[string]string
		Steps []traceStep
	}
	if err := json.Unmarshal(data, &tr); err != nil {
		t.Fatal(err)
	}
	r.change(&traceWorld{Write: tr.Files})
	for i := range tr.Steps {
		s := &tr.Steps[i]
		switch {
		case s.World != nil:
			r.change(s.World)
		case s.WaitMS > 0:
			time.Sleep(time.Duration(s.WaitMS) * time.Millisecond)
		case s.Kill && r.s != nil:
			r.s.cmd.Process.Kill()
			r.s.cmd.Wait()
			r.s = r.b.serve()
		case s.Kill:
		case s.Check != nil:
			r.check(s.Check)
		default:
			r.step(s, i)
		}
	}
}

func (r *traceRun) step(s *traceStep, i int) {
	t := r.b.t
	verb, args := "begin", s.Begin
	for v, a := range map[string]json.RawMessage{"observe": s.Observe, "attempt": s.Attempt, "report": s.Report} {
		if a != nil {
			verb, args = v, a
		}
	}
	for name, value := range r.saved {
		args = []byte(strings.ReplaceAll(string(args), `"$`+name+`"`, strconv.Quote(value)))
	}
	got, code := r.ask(verb, args)
	if code != s.ExpectError {
		t.Fatalf("step %d: %s: error %q, want %q\n%v", i, verb, code, s.ExpectError, got)
	}
	if why := lacks(got, s.Expect); why != "" {
		t.Fatalf("step %d: %s: %s\nanswer %v", i, verb, why, got)
	}
	for name, field := range s.Save {
		v, _ := got[field].(string)
		if v == "" {
			t.Fatalf("step %d: %s: no %s in the answer", i, verb, field)
		}
		r.saved[name] = v
	}
	if next, _ := got["next"].(string); next == "" {
		t.Fatalf("step %d: %s: no next step in the answer", i, verb)
	}
}

// ask gives the answer, and the code of a refused call.
func (r *traceRun) ask(verb string, args []byte) (map[string]any, string) {
	t := r.b.t
	var got map[string]any
	if r.s != nil {
		var line bytes.Buffer // a message is one line
		if err := json.Compact(&line, args); err != nil {
			t.Fatal(err)
		}
		m := r.s.call("holdfast_txn_"+verb, line.String())
		if err := json.Unmarshal(m.Result.StructuredContent, &got); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
		if m.Result.IsError {
			return got, got["code"].(string)
		}
		return got, ""
	}
	a := r.b.feed(strings.NewReader(string(args)), cliArgs(t, verb, args, r.b)...)
	if err := json.Unmarshal([]byte(a.out), &got); err != nil {
		t.Fatalf("%s: exit %d: %v\n%s%s", verb, a.code, err, a.out, a.err)
	}
	if e, ok := got["error"].(map[string]any); ok {
		if a.code == 0 {
			t.Fatalf("%s: an error with exit 0", verb)
		}
		return e, e["code"].(string)
	}
	if want := verb == "attempt" && got["granted"] != true || verb != "begin" && got["state"] == "blocked"; (a.code == 4) != want {
		t.Fatalf("%s: exit %d for %s", verb, a.code, a.out)
	}
	return got, ""
}

func cliArgs(t *testing.T, verb string, raw []byte, b *box) []string {
	if verb == "begin" {
		return []string{"txn", "begin", "--json", "--file", "-"}
	}
	var q struct {
		Transaction, Attempt, Outcome, Detail string
		Operation                             json.Number
		Reported                              json.RawMessage
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		t.Fatal(err)
	}
	args := []string{"txn", verb, "--json", q.Transaction}
	switch verb {
	case "attempt":
		args = append(args, q.Operation.String())
	case "report":
		args = append(args, q.Attempt, q.Outcome)
		if q.Detail != "" {
			args = append(args, "--detail", q.Detail)
		}
	}
	if q.Reported != nil {
		name := filepath.Join(b.home, "reported.json")
		if err := os.WriteFile(name, q.Reported, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--reported", name)
	}
	return args
}

// lacks says what of want is not in got.
func lacks(got, want any) string {
	w, ok := want.(map[string]any)
	if !ok {
		if got != want && want != nil {
			return fmt.Sprintf("got %v, want %v", got, want)
		}
		return ""
	}
	if m, ok := got.(map[string]any); ok && m == nil {
		return "nothing"
	}
	list, _ := got.([]any)
	if n, ok := w["$len"]; ok {
		if float64(len(list)) != n {
			return fmt.Sprintf("got %v, want %v entries", got, n)
		}
		return ""
	}
	if names, ok := w["$surfaces"]; ok {
		have, wanted := map[string]bool{}, map[string]bool{}
		for _, m := range list {
			have[m.(map[string]any)["surface"].(string)] = true
		}
		for _, n := range names.([]any) {
			wanted[n.(string)] = true
		}
		if !maps.Equal(have, wanted) || len(list) != len(have) {
			return fmt.Sprintf("got surfaces %v, want %v", have, wanted)
		}
		return ""
	}
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("got %v, want an object", got)
	}
	for _, k := range slices.Sorted(maps.Keys(w)) {
		if why := lacks(g[k], w[k]); why != "" {
			return k + ": " + why
		}
	}
	return ""
}

func (r *traceRun) change(c *traceWorld) {
	t, b := r.b.t, r.b
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range c.Mkdir {
		do(os.MkdirAll(b.path(p), 0o755))
	}
	for p, text := range c.Write {
		do(os.MkdirAll(filepath.Dir(b.path(p)), 0o755))
		do(os.WriteFile(b.path(p), []byte(text), 0o644))
	}
	for p, text := range c.Append {
		old, err := os.ReadFile(b.path(p))
		if !errors.Is(err, os.ErrNotExist) {
			do(err)
		}
		do(os.WriteFile(b.path(p), append(old, text...), 0o644))
	}
	for _, p := range c.Remove {
		do(os.RemoveAll(b.path(p)))
	}
	for _, x := range c.Rename {
		do(os.Rename(b.path(x[0]), b.path(x[1])))
	}
	for p, bits := range c.Chmod {
		n, err := strconv.ParseUint(bits, 8, 12)
		do(err)
		do(os.Chmod(b.path(p), os.FileMode(n)))
	}
	for p, target := range c.Symlink {
		do(os.Symlink(target, b.path(p)))
	}
}

func (r *traceRun) check(want map[string]*string) {
	for p, text := range want {
		data, err := os.ReadFile(r.b.path(p))
		switch {
		case text == nil && !errors.Is(err, os.ErrNotExist):
			r.b.t.Errorf("%s is there", p)
		case text != nil && (err != nil || string(data) != *text):
			r.b.t.Errorf("%s: %q, %v; want %q", p, data, err, *text)
		}
	}
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}
