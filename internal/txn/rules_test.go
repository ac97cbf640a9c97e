package txn

import (
	"fmt"
	"strings"
	"testing"
)

func TestSets(t *testing.T) {
	for _, tt := range []struct {
		n, m          Set
		below, graver bool
	}{
		{"000", "111", true, false},
		{"011", "111", true, false},
		{"111", "111", false, false},
		{"112", "111", false, true},
		{"012", "111", false, true}, // one mended, one graver
		{"100", "011", false, true}, // two mended, one new
		{"211", "311", true, false}, // less grave
		{"11", "111", false, true},  // not of one transaction
		{"", "", false, false},
	} {
		if got := tt.n.below(tt.m); got != tt.below {
			t.Errorf("%q below %q: %v", tt.n, tt.m, got)
		}
		if got := tt.n.graver(tt.m); got != tt.graver {
			t.Errorf("%q graver than %q: %v", tt.n, tt.m, got)
		}
	}
}

// ops makes operations from "kind source destination" and postconditions.
func testOp(kind, src, dst string, posts ...Post) Operation {
	o := Operation{Kind: kind, Posts: posts}
	if src != "" {
		o.Source = &Place{Surface: src}
	}
	if dst != "" {
		o.Destination = &Place{Surface: dst}
	}
	return o
}

func testPost(surface string, kv ...string) Post {
	p := Post{Place: Place{Surface: surface}, Expect: Expect{Values: map[string]string{}}}
	for i := 0; i < len(kv); i += 2 {
		if name, ok := strings.CutPrefix(kv[i], "contains "); ok {
			if p.Expect.Contains == nil {
				p.Expect.Contains = map[string]string{}
			}
			p.Expect.Contains[name] = kv[i+1]
			continue
		}
		p.Expect.Values[kv[i]] = kv[i+1]
	}
	return p
}

// testLook is a look at w from a short form: "-", "?", "f:CONTENT", "l:TARGET",
// "d:TREE name=CONTENT …", "o:" or key=value facts.
func testLook(w *Want, s string) Look {
	l := Look{Key: w.Key, State: "present"}
	body := s[min(len(s), 2):]
	switch {
	case s == "-":
		l.State = "absent"
	case s == "?":
		l.State = "unknown"
	case strings.HasPrefix(s, "f:"):
		l.Facts = map[string]string{"type": "file", "sha256": body, "size": fmt.Sprint(len(body)), "mode": "0644"}
	case strings.HasPrefix(s, "l:"):
		l.Facts = map[string]string{"type": "link", "link": body}
	case strings.HasPrefix(s, "o:"):
		l.Facts = map[string]string{"type": "other", "mode": "0644"}
	case strings.HasPrefix(s, "d:"):
		tree, rest, _ := strings.Cut(body, " ")
		l.Facts = map[string]string{"type": "dir", "mode": "0755", "tree": tree}
		l.Names = map[string]map[string]string{}
		for _, e := range strings.Fields(rest) {
			name, content, _ := strings.Cut(e, "=")
			switch content {
			case "?":
				l.Names[name] = map[string]string{"state": "unknown"}
			case "dir":
				l.Names[name] = map[string]string{"type": "dir", "mode": "0755"}
			default:
				l.Names[name] = map[string]string{"type": "file", "sha256": content, "mode": "0644"}
			}
		}
	default:
		l.Facts = map[string]string{"type": "x"}
		for _, f := range strings.Fields(s) {
			k, v, _ := strings.Cut(f, "=")
			l.Facts[k] = v
		}
	}
	return l
}

func looksOf(m *model, by map[string]string) Looks {
	out := Looks{}
	for i := range m.wants {
		if s, ok := by[m.wants[i].Surface]; ok {
			out[m.wants[i].Key] = testLook(&m.wants[i], s)
		}
	}
	return out
}

// TestSeverity holds the three grades, and what is no grade at all.
func TestSeverity(t *testing.T) {
	sum := testOp("write", "", "file:a", testPost("file:a", "sha256", "new"))
	gone := testOp("delete", "", "file:a", testPost("file:a", "state", "absent"))
	there := testOp("write", "", "file:a", testPost("file:a", "state", "present"))
	bits := testOp("chmod", "", "file:a", testPost("file:a", "mode", "0755"))
	link := testOp("link", "", "file:a", testPost("file:a", "link", "t"))
	size := testOp("write", "", "file:a", testPost("file:a", "size", "9"))
	list := testOp("write", "", "dir:a", testPost("dir:a", "contains x", "new"))
	tree := testOp("write", "", "dir:a", testPost("dir:a", "tree", "new"))
	ref := testOp("move-ref", "", "git:ref:refs/heads/a", testPost("git:ref:refs/heads/a", "oid", "new"))
	rec := testOp("save", "", "record:a", testPost("record:a", "revision", "7"))
	said := testOp("upload", "", "reported:a", testPost("reported:a", "etag", "new"))
	for _, tt := range []struct {
		name      string
		op        Operation
		base, now string
		want      Set
	}{
		{"holds", sum, "f:old", "f:new", "0"},
		{"not touched", sum, "f:old", "f:old", "1"},
		{"something else wrote", sum, "f:old", "f:half", "3"},
		{"lost", sum, "f:old", "-", "3"},
		{"was never there", sum, "-", "-", "2"},
		{"new and wrong", sum, "-", "f:half", "1"},
		{"a link in its place", sum, "f:old", "l:x", "3"},
		{"a folder in its place from the first", sum, "d:", "d:", "1"},
		{"unreadable", sum, "f:old", "?", "?"},
		{"must go and is there", gone, "f:old", "f:old", "2"},
		{"must go and is something else", gone, "f:old", "d:", "2"},
		{"gone", gone, "f:old", "-", "0"},
		{"must be there", there, "-", "-", "2"},
		{"is a device", there, "-", "o:", "1"},
		{"bits only", bits, "f:old", "f:old", "1"},
		{"bits, and the content changed", bits, "f:old", "f:other", "1"},
		{"bits of what is gone", bits, "f:old", "-", "3"},
		{"another target", link, "l:x", "l:x", "1"},
		{"a file in place of a link", link, "l:x", "f:t", "3"},
		{"size", size, "f:old", "f:old", "1"},
		{"entry missing", list, "d:", "d:", "2"},
		{"entry lost", list, "d: x=old", "d:", "3"},
		{"entry lost with its folder", list, "d: x=old", "-", "3"},
		{"entry wrong", list, "d: x=old", "d: x=old", "1"},
		{"entry is a folder", list, "d:", "d: x=dir", "1"},
		{"entry unreadable", list, "d: x=old", "d: x=?", "?"},
		{"the folder is a file", list, "-", "f:x", "2"},
		{"a fuller folder is no loss", tree, "d:old", "d:half", "1"},
		{"the whole folder lost", tree, "d:old", "-", "3"},
		{"ref moved elsewhere", ref, "oid=old", "oid=other", "3"},
		{"ref not moved", ref, "oid=old", "oid=old", "1"},
		{"a record keeps its history", rec, "revision=5", "revision=6", "1"},
		{"the drive has another version", said, "etag=old", "etag=other", "3"},
	} {
		m := newModel([]Operation{tt.op}, "main", nil, nil)
		surface := tt.op.Destination.Surface
		base := m.view(looksOf(m, map[string]string{surface: tt.base}), nil).contents
		if got := m.view(looksOf(m, map[string]string{surface: tt.now}), base).set; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestSeverityOfAMove(t *testing.T) {
	op := testOp("move", "file:a", "file:b", testPost("file:a", "state", "absent"), testPost("file:b", "sha256", "A"))
	m := newModel([]Operation{op}, "main", nil, nil)
	base := m.view(looksOf(m, map[string]string{"file:a": "f:A", "file:b": "-"}), nil).contents
	for _, tt := range []struct {
		a, b string
		want Set
	}{
		{"f:A", "-", "22"}, {"f:A", "f:A", "20"}, {"-", "f:A", "00"},
		{"-", "-", "03"},      // at neither end
		{"-", "f:half", "03"}, // and what arrived isn't it
		{"f:A", "f:half", "21"},
		{"?", "-", "?2"},
	} {
		got := m.view(looksOf(m, map[string]string{"file:a": tt.a, "file:b": tt.b}), base).set
		if got != tt.want {
			t.Errorf("a %s, b %s: %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestMissingLookIsUnknown(t *testing.T) {
	m := newModel([]Operation{testOp("delete", "", "file:a", testPost("file:a", "state", "absent"))}, "main", nil, nil)
	if v := m.view(nil, nil); v.set != "?" || v.state != "" || len(v.unknown) != 1 {
		t.Errorf("nothing was looked at, and it is %q in state %q", v.set, v.state)
	}
}

func TestStateDigest(t *testing.T) {
	ops := []Operation{testOp("write", "", "dir:d", testPost("dir:d", "contains x", "new")), testOp("write", "file:s", "file:a", testPost("file:a", "sha256", "new"))}
	m := newModel(ops, "main", nil, nil)
	digestOf := func(d, s, a string) string {
		return m.view(looksOf(m, map[string]string{"dir:d": d, "file:s": s, "file:a": a}), nil).state
	}
	first := digestOf("d: x=1", "f:s", "f:a")
	if first == "" || digestOf("d: x=1 y=2", "f:s", "f:a") != first {
		t.Error("an entry that nobody asked for changes the state")
	}
	seen := map[string]bool{first: true}
	for _, other := range [][3]string{{"d: x=2", "f:s", "f:a"}, {"d:", "f:s", "f:a"}, {"-", "f:s", "f:a"}, {"d: x=1", "-", "f:a"}, {"d: x=1", "f:s", "f:b"}, {"d: x=1", "f:s", "l:a"}} {
		s := digestOf(other[0], other[1], other[2])
		if seen[s] {
			t.Errorf("%v has the state of another world", other)
		}
		seen[s] = true
	}
	for _, unread := range [][3]string{{"?", "f:s", "f:a"}, {"d: x=?", "f:s", "f:a"}, {"d: x=1", "?", "f:a"}} {
		if s := digestOf(unread[0], unread[1], unread[2]); s != "" {
			t.Errorf("%v has a state", unread)
		}
	}
	ops[1].Ignore = []string{"mode"}
	m = newModel(ops, "main", nil, nil)
	looks := looksOf(m, map[string]string{"dir:d": "d: x=1", "file:s": "f:s", "file:a": "f:a"})
	before := m.view(looks, nil).state
	for i := range m.wants {
		if l := looks[m.wants[i].Key]; m.wants[i].Surface == "file:a" {
			l.Facts["mode"] = "0600"
		}
	}
	if m.view(looks, nil).state != before {
		t.Error("permission bits count though they are ignored")
	}
}

func TestOverlaps(t *testing.T) {
	tops := map[string]string{"main": "/p", "inner": "/p/wt/inner"}
	one := func(surface, worktree string, names ...string) area {
		return areaOf(&Place{Surface: surface, Outside: strings.HasPrefix(surface, "file:/"), Fold: worktree == "fold"}, worktree, names)
	}
	for _, tt := range []struct {
		a, b area
		want bool
	}{
		{one("file:a", "main"), one("file:a", "main"), true},
		{one("file:a", "main"), one("file:b", "main"), false},
		{one("file:a", "main"), one("file:ab", "main"), false},
		{one("file:a", "main"), one("file:a", "side"), false},
		{one("dir:d", "main"), one("file:d/x/y", "main"), true},
		{one("dir:.", "main"), one("file:d/x", "main"), true},
		{one("dir:d", "main"), one("dir:d/e", "main"), true},
		{one("dir:d", "main", "x"), one("file:d/x", "main"), true},
		{one("dir:d", "main", "x"), one("file:d/y", "main"), false},
		{one("dir:d", "main", "x"), one("dir:d", "main", "y"), true}, // the folder itself
		{one("dir:d", "main", "x/y"), one("dir:d/x", "main"), true},
		{one("file:d", "main"), one("file:d/x", "main"), true},
		{one("file:wt/inner/a", "main"), one("file:a", "inner"), true},
		{one("dir:wt", "main"), one("file:a", "inner"), true},
		{one("file:/p/a", "main"), one("file:a", "main"), true},
		{one("file:A", "fold"), one("file:a", "fold"), true},
		{one("file:A", "main"), one("file:a", "main"), false},
		{one("file:é", "main"), one("file:e\u0301", "main"), true},
		{one("git:ref:refs/heads/x", "main"), one("git:ref:refs/heads/x", "side"), true},
		{one("git:ref:HEAD", "main"), one("git:ref:HEAD", "side"), false},
		{one("git:ref:refs/heads/x", "main"), one("file:refs/heads/x", "main"), false},
		{one("record:r", "main"), one("record:r", "side"), true},
		{one("reported:r", "main"), one("reported:r", "side"), true},
		{one("reported:r", "main"), one("record:r", "main"), false},
		{one("probe:p", "main"), one("probe:p", "side"), false},
	} {
		if got := tt.a.overlaps(&tt.b, tops); got != tt.want {
			t.Errorf("%+v and %+v: %v", tt.a, tt.b, got)
		}
		if got := tt.b.overlaps(&tt.a, tops); got != tt.want {
			t.Errorf("%+v and %+v: %v", tt.b, tt.a, got)
		}
	}
}

func TestMoment(t *testing.T) {
	then := Moment{Wall: 1000, Boot: "b", Up: 500}
	for _, tt := range []struct {
		now  Moment
		want int64
	}{
		{Moment{Wall: 0, Boot: "b", Up: 700}, 200},   // the wall clock was set back
		{Moment{Wall: 99999, Boot: "b", Up: 501}, 1}, // or forth
		{Moment{Wall: 4000, Boot: "c", Up: 3}, 3000}, // another boot
		{Moment{Wall: 4000}, 3000},                   // unknown
		{Moment{Wall: 4000, Boot: "", Up: 9999}, 3000},
	} {
		if got := tt.now.since(then); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.now, got, tt.want)
		}
	}
}
