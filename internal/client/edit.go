package client

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
)

// document is a file that was read as a whole, in one of the formats.
type document interface {
	// look finds the item, wherever and in whatever form it stands. An error is
	// a *flaw: the shape around it is not what its client reads.
	look(it *Item) ([]found, error)
	insert(it *Item) (edit, error)
	update(it *Item, f found) ([]Step, error)
	cut(it *Item, f found) ([]Step, error)
	// prune takes out a container, if it is empty.
	prune(container string) (steps []Step, ok bool)
	// bare reports whether nothing is left that a person could miss.
	bare(frames []Item) bool
	// outline sums up what the document says without some items and containers;
	// equal outlines mean that nothing else changed.
	outline(skip []found, bare []string) string
}

// found is one place where an item stands.
type found struct {
	value  any
	form   bool  // written as setup writes it
	preset State // decided by the document itself
	place  any   // for the document that found it
}

// edit is an insertion.
type edit struct {
	steps      []Step
	containers []string
}

var errVerify = errors.New("the edited text does not read back as intended")

func parse(kind Kind, data []byte) (document, error) {
	switch kind {
	case JSON:
		return parseJSON(data)
	case TOML:
		return parseTOML(data)
	case Markdown:
		return parseMarkdown(data)
	}
	return &body{d: data}, nil
}

// empty is what a file of ours starts from.
func empty(kind Kind) []byte {
	if kind == JSON {
		return []byte("{}\n")
	}
	return nil
}

// editor carries one file through its edits.
type editor struct {
	t          Target
	o          Options
	data       []byte
	doc        document
	steps      []Step
	containers []string
	values     map[string]string
	states     []ItemState
	created    bool
	removing   bool
}

func (e *editor) load(data []byte) (err error) {
	if err = checkText(data); err != nil {
		return err
	}
	e.data = data
	e.doc, err = parse(e.t.Kind, data)
	return err
}

// Apply puts every item of t into f. Items that are there already, in whatever
// form, are left alone, so a second Apply changes nothing. A refusal is a
// *RefusedError, and then nothing is to be written.
func Apply(t Target, f File, o Options) (Result, error) {
	e := &editor{t: t, o: o, created: !f.Exists, values: map[string]string{}}
	start := f.Data
	if e.created {
		start = empty(t.Kind)
	}
	if err := e.load(start); err != nil {
		return Result{}, refuse(t, start, err)
	}
	owed := false
	for i := range t.Items {
		there, err := e.put(&t.Items[i])
		if err != nil {
			return Result{}, refuse(t, e.data, err)
		}
		owed = owed || there && o.Undo != nil && o.Undo.Values[t.Items[i].ID] != ""
	}
	res := Result{File: f, Undo: o.Undo, Items: e.states}
	if len(e.values) == 0 {
		return res, nil
	}
	if err := e.crossCheck(start); err != nil {
		return Result{}, refuse(t, start, err)
	}
	res.File, res.Changed = File{Exists: true, Data: e.data}, true
	next := Undo{Created: e.created, Before: sum256(f.Data), After: sum256(e.data), Containers: e.containers, Values: e.values}
	if !e.created {
		next.Steps = e.steps
	}
	res.Undo = o.Undo.extend(next, sum256(f.Data), owed)
	return res, nil
}

// put brings one item in and reports whether it stood there before.
func (e *editor) put(it *Item) (there bool, err error) {
	all, err := e.doc.look(it)
	if err != nil {
		return false, err
	}
	state, best := e.judge(it, all)
	if it.Role == Frame {
		if len(all) > 0 || it.New && !e.created {
			return len(all) > 0, nil
		}
	}
	action := None
	switch state {
	case Absent, Removed:
		action = Add
		err = e.add(it)
	case Outdated:
		action = Renew
		e.created = e.created || it.Role == Body // the whole file is ours: taking it out removes it
		err = e.renew(it, best)
	case Changed, Foreign:
		action = Keep
		if e.o.Force && best.preset == "" {
			action = Renew
			err = e.renew(it, best)
		}
	}
	if it.Role != Frame {
		e.states = append(e.states, ItemState{ID: it.ID, State: state, Action: action})
	}
	return state != Absent && state != Removed, err
}

// judge decides the state of an item from the places where it was found.
func (e *editor) judge(it *Item, all []found) (State, found) {
	wrote := ""
	if e.o.Undo != nil {
		wrote = e.o.Undo.Values[it.ID]
	}
	if len(all) == 0 || all[0].preset == Absent {
		if wrote != "" {
			return Removed, found{}
		}
		return Absent, found{}
	}
	rank := []State{Present, SameValue, Outdated, Changed, Foreign}
	best, state := all[0], Foreign
	var mark *regexp.Regexp
	if it.Mark != "" {
		mark = regexp.MustCompile(it.Mark)
	}
	for _, f := range all {
		if s := e.class(it, f, wrote, mark); slices.Index(rank, s) < slices.Index(rank, state) {
			best, state = f, s
		}
	}
	return state, best
}

func (e *editor) class(it *Item, f found, wrote string, mark *regexp.Regexp) State {
	is := func(v any) bool { return canon(f.value) == canon(v) }
	switch {
	case f.preset != "":
		return f.preset
	case is(it.Want) && f.form:
		return Present
	case is(it.Want):
		return SameValue
	case slices.ContainsFunc(it.Also, is), wrote != "" && wrote == digest(f.value):
		return Outdated
	case it.Role == Block && !e.removing && wrote == "":
		return Outdated // the markers say whose it is
	case wrote != "", it.Role == Block, marked(f.value, mark):
		return Changed
	}
	return Foreign
}

func (e *editor) add(it *Item) error {
	ed, err := e.doc.insert(it)
	if err != nil {
		return err
	}
	old := e.doc
	if err := e.step(ed.steps); err != nil {
		return err
	}
	e.containers = append(e.containers, ed.containers...)
	return e.check(it, old.outline(nil, nil), ed.containers)
}

func (e *editor) renew(it *Item, f found) error {
	steps, err := e.doc.update(it, f)
	if err != nil {
		return err
	}
	before := e.doc.outline([]found{f}, nil)
	if err := e.step(steps); err != nil {
		return err
	}
	return e.check(it, before, nil)
}

// check reads the item back and compares all the rest with what it was.
func (e *editor) check(it *Item, before string, containers []string) error {
	all, err := e.doc.look(it)
	if err != nil {
		return err
	}
	state, f := e.judge(it, all)
	if state != Present && state != SameValue {
		return errVerify
	}
	if before != e.doc.outline([]found{f}, containers) {
		return errVerify
	}
	e.values[it.ID] = digest(f.value)
	return nil
}

func (e *editor) step(steps []Step) error {
	data, ok := run(e.data, steps)
	if !ok {
		return errVerify
	}
	e.steps = append(e.steps, steps...)
	return e.load(data)
}

// crossCheck asks parsers that are not ours, and takes the steps back once.
func (e *editor) crossCheck(start []byte) error {
	back, ok := rewind(e.data, e.steps)
	if !ok || !bytes.Equal(back, start) {
		return errVerify
	}
	if e.t.Kind == JSON {
		return secondOpinion(start, e.data)
	}
	return nil
}

// snippet is what a person can paste where setup does not dare to write.
func snippet(t Target) string {
	e := &editor{t: t, values: map[string]string{}}
	if err := e.load(empty(t.Kind)); err != nil {
		return ""
	}
	for i := range t.Items {
		if _, err := e.put(&t.Items[i]); err != nil {
			return ""
		}
	}
	return string(e.data)
}
