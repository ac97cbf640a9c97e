package txn_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

type trace struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"`
	Steps []step            `json:"steps"`
}

type step struct {
	Begin       json.RawMessage   `json:"begin"`
	Observe     json.RawMessage   `json:"observe"`
	Attempt     json.RawMessage   `json:"attempt"`
	Report      json.RawMessage   `json:"report"`
	Expect      any               `json:"expect"`
	ExpectError string            `json:"expect_error"`
	Save        map[string]string `json:"save"`
	World       *change           `json:"world"`
	WaitMS      int               `json:"wait_ms"`
	Kill        bool              `json:"kill"`
	Check       map[string]*string
}

type change struct {
	Write   map[string]string `json:"write"`
	Append  map[string]string `json:"append"`
	Remove  []string          `json:"remove"`
	Rename  [][2]string       `json:"rename"`
	Mkdir   []string          `json:"mkdir"`
	Chmod   map[string]string `json:"chmod"`
	Symlink map[string]string `json:"symlink"`
}

// TestTraces runs every scenario of the trace suite, as a server's client and
// as a terminal would.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/traces/*.json")
	if err != nil || len(files) < 26 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	for _, via := range []string{ledger.ViaMCP, ledger.ViaCLI} {
		for _, file := range files {
			t.Run(via+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				t.Parallel()
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				runTrace(t, b, via)
			})
		}
	}
}

var sumOf = regexp.MustCompile(`\{\{sha256:((?s:.*?))\}\}`)

func runTrace(t *testing.T, b []byte, via string) {
	var tr trace
	b = sumOf.ReplaceAllFunc(b, func(m []byte) []byte {
		var text string
		if err := json.Unmarshal([]byte(`"`+string(sumOf.FindSubmatch(m)[1])+`"`), &text); err != nil {
			t.Fatal(err)
		}
		return []byte(sha(text))
	})
	if err := json.Unmarshal(b, &tr); err != nil {
		t.Fatal(err)
	}
	d := newDisk(t, "main")
	d.change(t, &change{Write: tr.Files})
	h := newHub(t, d, via)
	alive := h.owner
	h.running = func(o txn.Owner) bool { return o == alive }
	saved := map[string]string{}
	for i := range tr.Steps {
		s := &tr.Steps[i]
		switch {
		case s.World != nil:
			d.change(t, s.World)
		case s.WaitMS > 0:
			time.Sleep(time.Duration(s.WaitMS) * time.Millisecond)
		case s.Kill:
			h.restart()
			alive = h.owner
		case s.Check != nil:
			d.check(t, s.Check)
		default:
			s.run(t, h, saved, fmt.Sprintf("step %d", i))
		}
	}
}

// restart is the process killed and started again: what it had in memory is gone.
func (h *hub) restart() {
	h.book = txn.Book{}
	h.owner.PID++
	h.owner.Start = strconv.Itoa(h.owner.PID)
}

func (s *step) run(t *testing.T, h *hub, saved map[string]string, where string) {
	t.Helper()
	verb, args := "begin", s.Begin
	for v, a := range map[string]json.RawMessage{"observe": s.Observe, "attempt": s.Attempt, "report": s.Report} {
		if a != nil {
			verb, args = v, a
		}
	}
	for name, value := range saved {
		args = []byte(strings.ReplaceAll(string(args), `"$`+name+`"`, strconv.Quote(value)))
	}
	answer, err := h.ask(verb, args)
	if s.ExpectError != "" {
		var r *txn.Refusal
		if !errors.As(err, &r) || r.Code != s.ExpectError {
			t.Fatalf("%s: %s: got %v, want refusal %s", where, verb, err, s.ExpectError)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %s: %v", where, verb, err)
	}
	got := toJSON(answer)
	if why := contains(got, s.Expect); why != "" {
		t.Fatalf("%s: %s: %s\nanswer %s", where, verb, why, indent(got))
	}
	for name, field := range s.Save {
		v, _ := got.(map[string]any)[field].(string)
		if v == "" {
			t.Fatalf("%s: %s: no %s in the answer", where, verb, field)
		}
		saved[name] = v
	}
	if next, _ := got.(map[string]any)["next"].(string); next == "" {
		t.Fatalf("%s: %s: no next step in the answer", where, verb)
	}
}

func indent(v any) string { b, _ := json.MarshalIndent(v, "", " "); return string(b) }

// contains says what of want is not in got.
func contains(got, want any) string {
	w, ok := want.(map[string]any)
	if !ok {
		if got != want && want != nil {
			return fmt.Sprintf("got %v, want %v", got, want)
		}
		return ""
	}
	if n, ok := w["$len"]; ok {
		list, isList := got.([]any)
		if !isList || float64(len(list)) != n {
			return fmt.Sprintf("got %v, want %v entries", got, n)
		}
		return ""
	}
	if names, ok := w["$surfaces"]; ok {
		return sameSurfaces(got, names)
	}
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("got %v, want an object", got)
	}
	for k, v := range w {
		if why := contains(g[k], v); why != "" {
			return k + ": " + why
		}
	}
	return ""
}

func sameSurfaces(got, want any) string {
	var have, names []string
	list, _ := got.([]any)
	for _, m := range list {
		have = append(have, m.(map[string]any)["surface"].(string))
	}
	for _, n := range want.([]any) {
		names = append(names, n.(string))
	}
	slices.Sort(have)
	slices.Sort(names)
	if !slices.Equal(have, names) {
		return fmt.Sprintf("got surfaces %v, want %v", have, names)
	}
	return ""
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (d *disk) path(p string) string { return filepath.Join(d.dir, filepath.FromSlash(p)) }

func (d *disk) change(t testing.TB, c *change) {
	t.Helper()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range c.Mkdir {
		do(os.MkdirAll(d.path(p), 0o755))
	}
	for p, text := range c.Write {
		do(os.MkdirAll(filepath.Dir(d.path(p)), 0o755))
		do(os.WriteFile(d.path(p), []byte(text), 0o644))
	}
	for p, text := range c.Append {
		f, err := os.OpenFile(d.path(p), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		do(err)
		_, err = f.WriteString(text)
		do(errors.Join(err, f.Close()))
	}
	for _, p := range c.Remove {
		do(os.RemoveAll(d.path(p)))
	}
	for _, r := range c.Rename {
		do(os.Rename(d.path(r[0]), d.path(r[1])))
	}
	for p, bits := range c.Chmod {
		n, err := strconv.ParseUint(bits, 8, 12)
		do(err)
		do(os.Chmod(d.path(p), os.FileMode(n)))
	}
	for p, target := range c.Symlink {
		do(os.Symlink(target, d.path(p)))
	}
}

func (d *disk) check(t *testing.T, want map[string]*string) {
	t.Helper()
	for p, text := range want {
		b, err := os.ReadFile(d.path(p))
		switch {
		case text == nil && !errors.Is(err, os.ErrNotExist):
			t.Errorf("%s is there", p)
		case text != nil && (err != nil || string(b) != *text):
			t.Errorf("%s: %q, %v; want %q", p, b, err, *text)
		}
	}
}
