package txn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/ledger"
)

// Plan is a begin request with its surfaces resolved and its operations
// fingerprinted.
type Plan struct {
	Intent     string
	Operations []Operation
	Worktree   string
	Roots      []string
	Probes     map[string]Probe
	Reported   map[string]json.RawMessage
	Replaces   string

	m *model
}

// Resolver gives the place that a surface's text names. Its errors say why a
// surface can't be one of this project's.
type Resolver func(surface string) (Place, error)

// Resolve makes a plan of a valid request. The error is a *ledger.FieldError
// for a surface or for postconditions that contradict one another, a *Refusal
// for two operations with one fingerprint.
func (e Engine) Resolve(r *BeginRequest, worktree string, places Resolver) (*Plan, error) {
	p := &Plan{
		Intent: r.Intent, Worktree: worktree, Roots: r.AllowRoots, Probes: r.Probes,
		Reported: r.Reported, Replaces: r.Replaces,
	}
	res := resolver{places: places, known: map[string]Place{}}
	for i := range r.Operations {
		op, err := res.operation(&r.Operations[i], at("operations[%d]", i))
		if err != nil {
			return nil, err
		}
		op.Fingerprint = op.fingerprint(worktree)
		if !e.on(ruleFingerprint) {
			op.Fingerprint = digest(op.Fingerprint, op.Label)
		}
		for j := range p.Operations {
			if p.Operations[j].Fingerprint == op.Fingerprint {
				return nil, refuse(CodeSameOperation, at("operations %d and %d are the same operation", j, i))
			}
		}
		p.Operations = append(p.Operations, op)
	}
	if err := contradictions(p.Operations); err != nil {
		return nil, err
	}
	p.m = newModel(p.Operations, worktree, p.Roots, p.Probes)
	return p, checkNamesOf(r.Reported, p.m)
}

// Completes is the state in which the plan's transaction ends when all holds.
func (m *model) completes() string {
	for i := range m.items {
		if m.items[i].family == "reported" {
			return StateCompleteReported
		}
	}
	return StateComplete
}

// checkNamesOf refuses a statement about something that the transaction
// doesn't rest on: it is a misspelt name.
func checkNamesOf(reported map[string]json.RawMessage, m *model) error {
	for name := range reported {
		if m.reported(name) < 0 {
			return &ledger.FieldError{Field: "reported." + clip(name, 60), Why: "is not a surface of this transaction"}
		}
	}
	return nil
}

// reportedName is the form that spellings of a reported surface's name share.
func reportedName(name string) string { return canonicalName(strings.TrimSpace(name), false) }

// reported finds the want of a reported surface, -1 for none.
func (m *model) reported(name string) int {
	name = reportedName(name)
	return slices.IndexFunc(m.areas, func(a area) bool { return a.family.name == "reported" && a.identity == name })
}

type resolver struct {
	places Resolver
	known  map[string]Place
}

func (r *resolver) place(field, text string) (Place, error) {
	if p, ok := r.known[text]; ok {
		return p, nil
	}
	p, err := r.places(text)
	if err != nil {
		return p, fmt.Errorf("%s: %w", field, err)
	}
	r.known[text] = p
	return p, nil
}

func (r *resolver) operation(o *OperationRequest, field string) (Operation, error) {
	op := Operation{Label: o.Label, Kind: o.Kind, SettleMS: o.SettleMS, Ignore: slices.Sorted(slices.Values(o.Ignore))}
	for _, s := range []struct {
		name, text string
		to         **Place
	}{{"source", o.Source, &op.Source}, {"destination", o.Destination, &op.Destination}} {
		if s.text == "" {
			continue
		}
		p, err := r.place(field+"."+s.name, s.text)
		if err != nil {
			return op, err
		}
		*s.to = &p
	}
	for i, pc := range o.Postconditions {
		p, err := r.place(at("%s.postconditions[%d].surface", field, i), pc.Surface)
		if err != nil {
			return op, err
		}
		op.Posts = append(op.Posts, Post{p, pc.Expect.normalised(p.family().name)})
	}
	return op, nil
}

// normalised is x with every value in normal form. A probe is expected to exit
// with 0 where nothing else is said.
func (x Expect) normalised(fam string) Expect {
	out := Expect{Values: make(map[string]string, len(x.Values))}
	for k, v := range x.Values {
		out.Values[k], _ = normal(k, v)
	}
	if _, ok := out.Values["exit"]; !ok && fam == "probe" {
		out.Values["exit"] = "0"
	}
	if x.Contains != nil {
		out.Contains = make(map[string]string, len(x.Contains))
		for n, v := range x.Contains {
			out.Contains[n], _ = normal("sha256", v)
		}
	}
	return out
}

// fingerprint is the operation's identity: the SHA-256 over its kind, its
// canonical source and destination, what must hold (sorted), and the worktree.
// Labels, order, spelling and what is ignored do not change it.
func (o *Operation) fingerprint(worktree string) string {
	id := struct {
		Kind        string      `json:"kind"`
		Source      string      `json:"source"`
		Destination string      `json:"destination"`
		Items       [][4]string `json:"items"`
		Worktree    string      `json:"worktree"`
	}{Kind: o.Kind, Worktree: worktree}
	if o.Source != nil {
		id.Source = o.Source.identity()
	}
	if o.Destination != nil {
		id.Destination = o.Destination.identity()
	}
	for i := range o.Posts {
		p := &o.Posts[i]
		for k, v := range p.Expect.Values {
			id.Items = append(id.Items, [4]string{p.identity(), k, "", v})
		}
		for n, v := range p.Expect.Contains {
			id.Items = append(id.Items, [4]string{p.identity(), keyContains, canonicalName(n, p.Fold), v})
		}
	}
	slices.SortFunc(id.Items, func(a, b [4]string) int { return slices.Compare(a[:], b[:]) })
	id.Items = slices.Compact(id.Items)
	b, err := json.Marshal(id)
	if err != nil { // strings alone: it can't
		panic(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// demand is what postconditions say about one surface or path together.
type demand struct {
	values map[string]string
	from   string
}

// contradictions finds postconditions that can't hold together, whatever the
// order of the operations: all must hold at the end.
func contradictions(ops []Operation) error {
	all := map[string]*demand{}
	for i := range ops {
		for j := range ops[i].Posts {
			p := &ops[i].Posts[j]
			field := at("operations[%d].postconditions[%d]", i, j)
			if err := demands(all, p, field); err != nil {
				return err
			}
		}
	}
	return nil
}

func demands(all map[string]*demand, p *Post, field string) error {
	fam := p.family()
	key := p.identity()
	if fam.path {
		key = "path:" + strings.TrimPrefix(key, fam.prefix)
	}
	values := maps.Clone(p.Expect.Values)
	if values["state"] != stateAbsent {
		values["state"] = statePresent
		values["type"] = typeOf(p)
	}
	if err := demandOf(all, key, values, field); err != nil {
		return err
	}
	for n, sum := range p.Expect.Contains {
		inner := map[string]string{"state": statePresent, "type": "file", "sha256": sum}
		if err := demandPath(all, key+"/"+canonicalName(n, p.Fold), key, inner, field); err != nil {
			return err
		}
	}
	if fam.path && values["state"] == statePresent {
		return demandParents(all, key, "path:", field)
	}
	return nil
}

// demandPath demands values of a path, and that everything between it and
// below top is a folder.
func demandPath(all map[string]*demand, path, top string, values map[string]string, field string) error {
	if err := demandOf(all, path, values, field); err != nil {
		return err
	}
	return demandParents(all, path, top, field)
}

func demandParents(all map[string]*demand, path, top, field string) error {
	for i := strings.LastIndexByte(path, '/'); i > len(top); i = strings.LastIndexByte(path, '/') {
		path = path[:i]
		if err := demandOf(all, path, map[string]string{"state": statePresent, "type": "dir"}, field); err != nil {
			return err
		}
	}
	return nil
}

func demandOf(all map[string]*demand, key string, values map[string]string, field string) error {
	d := all[key]
	if d == nil {
		d = &demand{values: map[string]string{}, from: field}
		all[key] = d
	}
	for k, v := range values {
		if old, ok := d.values[k]; ok && old != v {
			return &ledger.FieldError{Field: field, Why: "contradicts " + d.from + ": both must hold at the end"}
		}
		d.values[k] = v
	}
	if d.values["state"] == stateAbsent && len(d.values) > 1 {
		return &ledger.FieldError{Field: field, Why: "contradicts " + d.from + ": both must hold at the end"}
	}
	return nil
}
