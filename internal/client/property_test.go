package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// laws are what every edit of every file has to keep. It reports whether the
// file was edited at all.
func laws(t interface {
	Helper()
	Fatalf(string, ...any)
}, target Target, data []byte) bool {
	t.Helper()
	f := File{Exists: true, Data: bytes.Clone(data)}
	res, err := Apply(target, f, Options{})
	if !bytes.Equal(f.Data, data) {
		t.Fatalf("the input was written to")
	}
	if err != nil {
		var r *RefusedError
		if !errors.As(err, &r) || r.Why == "" {
			t.Fatalf("not a refusal: %v", err)
		}
		return false
	}
	again, err := Apply(target, res.File, Options{Undo: res.Undo})
	if err != nil || again.Changed {
		t.Fatalf("a second run: %v\n%s", err, Diff("f", res.File.Data, again.File.Data))
	}
	if !res.Changed {
		return false
	}
	if !insertedOnly(data, res) {
		t.Fatalf("bytes outside the inserted text differ:\n%s", Diff("f", data, res.File.Data))
	}
	raw, err := json.Marshal(res.Undo)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var undo Undo
	if err := json.Unmarshal(raw, &undo); err != nil {
		t.Fatalf("%v", err)
	}
	back, err := Remove(target, res.File, Options{Undo: &undo})
	if err != nil || !stoodThere(res) && (!back.File.Exists || !bytes.Equal(back.File.Data, data)) {
		t.Fatalf("not restored: %v\n%s\n%q\n%q", err, Diff("f", data, back.File.Data), data, back.File.Data)
	}
	value, err := Remove(target, res.File, Options{})
	if err != nil {
		t.Fatalf("remove by value: %v\n%s", err, res.File.Data)
	}
	for _, s := range value.Items {
		if s.Action != Cut && s.ID != "context.fileName" && s.State != Changed && s.State != Foreign {
			t.Fatalf("by value: %+v", value.Items)
		}
	}
	twice, err := Remove(target, value.File, Options{})
	if err != nil || twice.Changed {
		t.Fatalf("a second removal: %v", err)
	}
	return true
}

// stoodThere reports whether an entry of ours was in the file before: then
// removal takes it out as well, and the old bytes do not come back.
func stoodThere(res Result) bool {
	for _, s := range res.Items {
		if s.State == Present || s.State == SameValue || s.State == Outdated && s.ID != "instructions" {
			return true
		}
	}
	return false
}

func insertedOnly(before []byte, res Result) bool {
	data := string(res.File.Data)
	for i := len(res.Undo.Steps) - 1; i >= 0; i-- {
		s := res.Undo.Steps[i]
		if !strings.HasPrefix(data[s.At:], s.Text) {
			return false
		}
		data = data[:s.At] + s.Was + data[s.At+len(s.Text):]
	}
	return data == string(before)
}

// jsonValue reads with a parser that is not ours.
func jsonValue(t *rapid.T, data []byte) map[string]any {
	std, err := hujson.Standardize(bytes.Clone(bytes.TrimPrefix(data, []byte(bom))))
	if err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	dec := json.NewDecoder(bytes.NewReader(std))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, std)
	}
	return v
}

func plainValue(t *rapid.T, v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// object gives Obj a JSON form for plainValue.
func object(v any) any {
	switch v := v.(type) {
	case Obj:
		m := map[string]any{}
		for _, f := range v {
			m[f.Key] = object(f.Val)
		}
		return m
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = object(e)
		}
		return out
	}
	return v
}

// plus adds the items of a target to a value, by the plainest means.
func plus(t *rapid.T, v map[string]any, target Target) map[string]any {
	for _, it := range target.Items {
		if it.Role == Frame {
			continue
		}
		m := v
		at := it.At
		if it.Role == Hook {
			at = at[:len(at)-1]
		}
		for _, k := range at {
			if m[k] == nil {
				m[k] = map[string]any{}
			}
			m = m[k].(map[string]any)
		}
		want := plainValue(t, object(it.Want))
		switch it.Role {
		case Hook:
			list, _ := m[it.At[len(it.At)-1]].([]any)
			m[it.At[len(it.At)-1]] = append(list, want)
		case FileName:
			m[it.Name] = plainValue(t, it.Also[0])
		default:
			m[it.Name] = want
		}
	}
	return v
}

func TestPropertyJSON(t *testing.T) {
	targets := []Target{claudeTarget(t), targetOf(t, Claude, claudeFile), targetOf(t, VSCode, vscodeMCP), targetOf(t, OpenCode, "opencode.json"), geminiTarget(t)}
	edited, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		target := rapid.SampledFrom(targets).Draw(t, "target")
		data := genJSON(t, "mcpServers", "servers", "hooks", "context")
		all++
		if !laws(t, target, data) {
			return
		}
		edited++
		res, _ := Apply(target, File{Exists: true, Data: data}, Options{})
		if got, want := jsonValue(t, res.File.Data), plus(t, jsonValue(t, data), target); !reflect.DeepEqual(got, want) {
			t.Fatalf("not the old value plus ours:\n%q\n%q", data, res.File.Data)
		}
		if json.Valid(data) && !json.Valid(res.File.Data) {
			t.Fatalf("strict JSON became loose: %q", res.File.Data)
		}
	})
	if edited*2 < all {
		t.Errorf("only %d of %d documents were edited: the generator is too odd", edited, all)
	}
}

func TestPropertyTOML(t *testing.T) {
	target := codexTarget(t)
	edited, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		data := genTOML(t)
		all++
		if !laws(t, target, data) {
			return
		}
		edited++
		res, _ := Apply(target, File{Exists: true, Data: data}, Options{})
		var before, after map[string]any
		if err := toml.Unmarshal(bytes.TrimPrefix(data, []byte(bom)), &before); err != nil {
			t.Fatal(err)
		}
		if err := toml.Unmarshal(bytes.TrimPrefix(res.File.Data, []byte(bom)), &after); err != nil {
			t.Fatal(err)
		}
		if got, want := canon(after), canon(plus(t, before, target)); got != want {
			t.Fatalf("not the old value plus ours:\n%s\n%s", got, want)
		}
		value, err := Remove(target, res.File, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var left map[string]any
		if err := toml.Unmarshal(bytes.TrimPrefix(value.File.Data, []byte(bom)), &left); err != nil {
			t.Fatal(err)
		}
	})
	if edited*2 < all {
		t.Errorf("only %d of %d documents were edited: the generator is too odd", edited, all)
	}
}

func TestPropertyMarkdown(t *testing.T) {
	target := agentsTarget(t)
	edited, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		all++
		if laws(t, target, genMarkdown(t)) {
			edited++
		}
	})
	if edited*2 < all {
		t.Errorf("only %d of %d documents were edited: the generator is too odd", edited, all)
	}
}

// TestPropertyRemoveAfterOthers changes the file elsewhere between the edit and
// the removal: exactly ours goes, and the other change stays.
func TestPropertyRemoveAfterOthers(t *testing.T) {
	for name, c := range map[string]struct {
		target Target
		gen    func(*rapid.T) []byte
		change func(*rapid.T, []byte) ([]byte, bool)
	}{
		"json": {claudeTarget(t), func(t *rapid.T) []byte { return genJSON(t, "mcpServers") }, func(t *rapid.T, d []byte) ([]byte, bool) {
			old := []byte(`"theme"`)
			return bytes.ReplaceAll(d, old, []byte(`"changed"`)), bytes.Contains(d, old)
		}},
		"toml": {codexTarget(t), genTOML, func(t *rapid.T, d []byte) ([]byte, bool) {
			return append(append(bytes.Clone(d[:bomLen(d)]), "first = 1 # new\n"...), d[bomLen(d):]...), true
		}},
		"markdown": {agentsTarget(t), genMarkdown, func(t *rapid.T, d []byte) ([]byte, bool) {
			return append(append(bytes.Clone(d[:bomLen(d)]), "new first line\n"...), d[bomLen(d):]...), true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				data := c.gen(t)
				res, err := Apply(c.target, File{Exists: true, Data: data}, Options{})
				if err != nil || !res.Changed {
					return
				}
				want, ok := c.change(t, data)
				if !ok {
					return
				}
				after, _ := c.change(t, res.File.Data)
				back, err := Remove(c.target, File{Exists: true, Data: after}, Options{Undo: res.Undo})
				if err != nil || !bytes.Equal(back.File.Data, want) {
					t.Fatalf("%v\n%s\n%q\n%q", err, Diff("f", want, back.File.Data), want, back.File.Data)
				}
			})
		})
	}
}
