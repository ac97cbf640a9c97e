package txn_test

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdfast/internal/txn"
)

// simOp is one operation of the simulation's pool: what an agent may want.
type simOp struct {
	kind, src, dst string
	items          []simItem
	settle         int64
}

// simItem is one thing that must hold: of a file its content, of the folder d
// one file in it, of something reported its etag. Empty want: absent.
type simItem struct{ surface, name, want string }

func (it simItem) path() string {
	_, p, _ := strings.Cut(it.surface, ":")
	return path.Join(p, it.name)
}

func (it simItem) reported() bool { return strings.HasPrefix(it.surface, "reported:") }

// simFile is an item about one file.
func simFile(p, want string) simItem { return simItem{"file:" + p, "", want} }

// pool holds operations that overlap in every way: the same, parts of one
// another, opposite targets, a folder and files in it.
var pool = []simOp{
	{kind: "write", dst: "file:a", items: []simItem{simFile("a", "1")}},
	{kind: "write", dst: "file:b", items: []simItem{simFile("b", "1")}},
	{kind: "write", dst: "file:a", items: []simItem{simFile("a", "2")}},
	{kind: "write", dst: "file:b", items: []simItem{simFile("a", "1"), simFile("b", "1")}},
	{kind: "move", src: "file:c", dst: "file:d/x", items: []simItem{simFile("c", ""), simFile("d/x", "0")}},
	{kind: "write", dst: "dir:d", items: []simItem{{"dir:d", "x", "1"}, {"dir:d", "y", "1"}, {"dir:d", "z", "1"}}},
	{kind: "write", dst: "dir:d", items: []simItem{{"dir:d", "y", "1"}}},
	{kind: "delete", dst: "file:c", items: []simItem{simFile("c", "")}},
	{kind: "verify", items: []simItem{simFile("a", "1")}},
	{kind: "write", dst: "file:b", items: []simItem{simFile("b", "2")}, settle: 1000},
	{kind: "upload", dst: "reported:r", items: []simItem{{"reported:r", "", "v2"}}},
	{kind: "delete", dst: "dir:d", items: []simItem{{"dir:d", "", ""}}},
	{kind: "write", dst: "file:d/y", items: []simItem{simFile("d/y", "1")}},
	{kind: "write", dst: "file:c", items: []simItem{simFile("c", "1"), simFile("b", "1"), simFile("a", "1")}},
}

var simPaths = []string{"a", "b", "c", "d/x", "d/y", "d/z"}

// simWorld is the truth: what is where, and what can't be read. Where disks is
// set it is mirrored in real folders, which then do the looking.
type simWorld struct {
	files   map[string]string // "worktree:path" -> content
	bad     map[string]bool   // unreadable
	stored  map[string]string // "transaction:path" -> content kept
	drop    func() bool       // whether a look gets lost
	dropped []string          // surfaces whose look got lost in the last call, "worktree:surface"
	disks   map[string]*disk
}

func (w *simWorld) set(wt, p, content string) {
	key := wt + ":" + p
	if content == "" {
		delete(w.files, key)
	} else {
		w.files[key] = content
	}
	if d := w.disks[wt]; d != nil {
		d.put(p, content)
	}
}

// in lists the files of a worktree's folder d that are there.
func (w *simWorld) in(wt string) []string {
	var out []string
	for _, p := range simPaths {
		if strings.HasPrefix(p, "d/") && w.files[wt+":"+p] != "" {
			out = append(out, p)
		}
	}
	return out
}

// view is one worktree of the world: what a hub there sees.
type simView struct {
	*simWorld
	wt string
}

func (v simView) place(s string, _ []string) (txn.Place, error) {
	prefix, p, _ := strings.Cut(s, ":")
	return txn.Place{Surface: prefix + ":" + path.Clean(p)}, nil
}

func (v simView) look(wants []txn.Want) (txn.Looks, error) {
	v.dropped = v.dropped[:0]
	var list []txn.Look
	byDisk := map[string][]txn.Want{}
	lost := map[string]bool{} // by surface: the looks at one share their fate
	for _, w := range wants {
		if strings.HasPrefix(w.Surface, "reported:") {
			continue
		}
		key := w.Worktree + ":" + w.Surface
		if _, ok := lost[key]; !ok {
			if lost[key] = v.drop(); lost[key] {
				v.simWorld.dropped = append(v.simWorld.dropped, key)
			}
		}
		if lost[key] {
			continue
		}
		if v.disks[w.Worktree] != nil {
			byDisk[w.Worktree] = append(byDisk[w.Worktree], w)
			continue
		}
		list = append(list, v.one(&w))
	}
	for wt, ws := range byDisk {
		got, err := v.disks[wt].look(ws)
		if err != nil {
			return nil, err
		}
		list = slices.AppendSeq(list, maps.Values(got))
	}
	return txn.NewLooks(list...), nil
}

func (v simView) one(w *txn.Want) txn.Look {
	prefix, p, _ := strings.Cut(w.Surface, ":")
	l := txn.Look{Key: w.Key, State: "absent"}
	if prefix == "dir" {
		return v.dir(w, p)
	}
	switch content := v.files[w.Worktree+":"+p]; {
	case v.bad[w.Worktree+":"+p]:
		l.State, l.Why = "unknown", "permission denied"
	case content != "":
		l.State, l.Facts = "present", fileFacts(content)
	}
	return l
}

func fileFacts(content string) map[string]string {
	return map[string]string{"type": "file", "sha256": sha(content), "size": strconv.Itoa(len(content)), "mode": "0644"}
}

func (v simView) dir(w *txn.Want, p string) txn.Look {
	files := v.in(w.Worktree)
	if len(files) == 0 {
		return txn.Look{Key: w.Key, State: "absent"}
	}
	l := txn.Look{Key: w.Key, State: "present", Facts: map[string]string{"type": "dir", "mode": "0755"}, Names: map[string]map[string]string{}}
	var all []string
	for _, f := range files {
		key := w.Worktree + ":" + f
		if v.bad[key] && w.Whole {
			return txn.Look{Key: w.Key, State: "unknown", Why: "permission denied"}
		}
		all = append(all, f+"="+v.files[key])
	}
	if w.Whole {
		l.Facts["tree"], l.Facts["files"] = sha(strings.Join(all, " ")), strconv.Itoa(len(all))
	}
	for _, n := range w.Names {
		key := w.Worktree + ":" + path.Join(p, n)
		switch content := v.files[key]; {
		case v.bad[key]:
			l.Names[n] = map[string]string{"state": "unknown"}
		case content != "":
			l.Names[n] = fileFacts(content)
		}
	}
	return l
}

// keep keeps what it is asked to, but for content that is too big for it.
func (v simView) keep(transaction string, wants []txn.Want) (*txn.Kept, error) {
	k := &txn.Kept{}
	for _, w := range wants {
		_, p, _ := strings.Cut(w.Surface, ":")
		paths := map[string]string{}
		switch {
		case w.Whole:
			for _, f := range v.in(w.Worktree) {
				paths[f] = strings.TrimPrefix(f, "d/")
			}
		case len(w.Names) > 0:
			for _, n := range w.Names {
				paths[path.Join(p, n)] = n
			}
		default:
			paths[p] = ""
		}
		for _, f := range slices.Sorted(maps.Keys(paths)) {
			content := v.files[w.Worktree+":"+f]
			if content == "" {
				continue
			}
			x := txn.Preserved{Surface: w.Surface, Name: paths[f], SHA256: sha(content), Size: int64(len(content))}
			if content != "big" {
				x.Kept = true
				v.stored[transaction+":"+f] = content
			}
			k.List = append(k.List, x)
		}
	}
	return k, nil
}

// put mirrors one file on disk. The folder d goes with its last file.
func (d *disk) put(p, content string) {
	full := d.path(p)
	var err error
	if content == "" {
		err = remove(full)
		if dir := filepath.Dir(full); err == nil && dir != d.dir {
			removeIfEmpty(dir)
		}
	} else {
		err = writeFile(full, content)
	}
	if err != nil {
		panic(fmt.Sprintf("mirror %s: %v", p, err))
	}
}

// request is op as an agent may put it: with its own label, in another order,
// with another spelling of its paths.
func (op *simOp) request(pick func(int) int) txn.OperationRequest {
	spell := func(s string) string {
		prefix, p, ok := strings.Cut(s, ":")
		if !ok || prefix == "reported" {
			return s
		}
		return prefix + ":" + []string{"", "./", "d/../", ".//"}[pick(4)] + p
	}
	r := txn.OperationRequest{
		Label: []string{"", "first try", "second try", "something else"}[pick(4)],
		Kind:  op.kind, Source: spell(op.src), Destination: spell(op.dst), SettleMS: op.settle,
	}
	byDir := map[string]map[string]string{}
	for _, it := range op.items {
		if it.name != "" {
			if byDir[it.surface] == nil {
				byDir[it.surface] = map[string]string{}
			}
			byDir[it.surface][it.name] = sha(it.want)
			continue
		}
		x := txn.Expect{Values: map[string]string{"sha256": sha(it.want)}}
		switch {
		case it.want == "":
			x.Values = map[string]string{"state": "absent"}
		case it.reported():
			x.Values = map[string]string{"etag": it.want}
		}
		r.Postconditions = append(r.Postconditions, txn.Postcondition{Surface: spell(it.surface), Expect: x})
	}
	for dir, names := range byDir {
		r.Postconditions = append(r.Postconditions, txn.Postcondition{Surface: spell(dir), Expect: txn.Expect{Contains: names}})
	}
	if pick(2) == 0 {
		slices.Reverse(r.Postconditions)
	}
	return r
}

// identity names the operation whatever an agent calls it.
func (op *simOp) identity(wt string) string {
	items := slices.Clone(op.items)
	slices.SortFunc(items, func(a, b simItem) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return fmt.Sprint(op.kind, " ", op.src, " ", op.dst, " ", items, " ", wt)
}
