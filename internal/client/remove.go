package client

import (
	"bytes"
	"slices"
)

// Remove takes every item of t out of f. With an Undo and nothing else changed
// the bytes are those before Apply; with an Undo and other changes exactly ours
// goes, with the containers we created and that are empty now; without one,
// what equals by value goes and containers stay. An item that was edited by
// hand is kept and reported. A second Remove changes nothing.
func Remove(t Target, f File, o Options) (Result, error) {
	if !f.Exists {
		return Result{File: f, Items: absent(t)}, nil
	}
	e := &editor{t: t, o: o, data: f.Data, removing: true}
	if err := checkText(f.Data); err != nil {
		return Result{}, refuse(t, f.Data, err)
	}
	if u := o.Undo; u != nil && u.Before != "" && u.After == sum256(f.Data) {
		if u.Created {
			return Result{Changed: true, Items: removed(t)}, nil
		}
		if data, ok := rewind(f.Data, u.Steps); ok && sum256(data) == u.Before {
			return e.finish(f, data, false)
		}
	}
	if err := e.load(f.Data); err != nil {
		return Result{}, refuse(t, f.Data, err)
	}
	if o.Undo != nil {
		if data, ok := relocate(f.Data, o.Undo.Steps, t.Kind != JSON); ok && e.sameBut(data) {
			return e.finish(f, data, false)
		}
	}
	return e.finish(f, f.Data, true)
}

// finish cuts by value what is left of ours in data. After an exact restoration
// that is an entry that stood there before setup wrote anything, as in a clone.
func (e *editor) finish(f File, data []byte, byValue bool) (Result, error) {
	res := Result{File: f}
	if err := e.load(data); err != nil {
		if byValue {
			return Result{}, refuse(e.t, data, err)
		}
		// It was read when setup edited it; whatever this is, it is the original.
		return Result{File: File{Exists: true, Data: data}, Changed: true, Items: removed(e.t)}, nil
	}
	gone := false
	for _, it := range slices.Backward(e.t.Items) {
		if it.Role == Frame {
			continue
		}
		st, err := e.take(&it, byValue)
		if err != nil {
			return Result{}, refuse(e.t, data, err)
		}
		gone = gone || st.Action == Cut && it.Role == Body
		e.states = append(e.states, st)
	}
	slices.Reverse(e.states)
	res.Items = e.states
	if u := e.o.Undo; u != nil && byValue {
		if err := e.sweep(u); err != nil {
			return Result{}, refuse(e.t, data, err)
		}
		gone = gone || u.Created && !bytes.Equal(e.data, f.Data) && e.doc.bare(e.t.Items)
	}
	res.Changed = gone || !bytes.Equal(e.data, f.Data)
	if res.Changed {
		res.File = File{Exists: !gone}
		if !gone {
			res.File.Data = e.data
		}
	}
	return res, nil
}

// maxCopies is how many copies of one item are taken out.
const maxCopies = 100

// take cuts one item by value, every copy of it.
func (e *editor) take(it *Item, byValue bool) (ItemState, error) {
	out := ItemState{ID: it.ID, State: Absent, Action: None}
	for {
		all, err := e.doc.look(it)
		if err != nil {
			return out, err
		}
		if len(all) > maxCopies {
			return out, flawAt(-1, "there are more than %d copies of one entry of ours", maxCopies)
		}
		state, f := e.judge(it, all)
		if out.Action == None {
			out.State = state
		}
		if state == Absent || state == Removed {
			return out, nil
		}
		if !e.cuts(it, state, byValue) {
			if out.Action == None && it.Role != FileName {
				out.Action = Keep
			}
			return out, nil
		}
		before := e.doc.outline([]found{f}, nil)
		steps, err := e.doc.cut(it, f)
		if err != nil {
			return out, err
		}
		if err := e.step(steps); err != nil {
			return out, err
		}
		if before != e.doc.outline(nil, nil) {
			return out, errVerify
		}
		out.Action = Cut
	}
}

// cuts decides whether an item in this state may go.
func (e *editor) cuts(it *Item, state State, byValue bool) bool {
	if it.Role == FileName {
		// A name that a person may have put there: it goes only if we know that
		// we wrote it, and restoring has taken it out already if it could.
		return state == Present && byValue && e.o.Undo != nil && e.o.Undo.Values[it.ID] == digest(e.nameValue(it))
	}
	switch state {
	case Present, SameValue, Outdated:
		return true
	case Changed, Foreign:
		return e.o.Force
	}
	return false
}

func (e *editor) nameValue(it *Item) any {
	if all, err := e.doc.look(it); err == nil && len(all) > 0 {
		return all[0].value
	}
	return nil
}

// sweep takes out the containers we created, innermost first, and the frames
// we added where nothing is left that they frame.
func (e *editor) sweep(u *Undo) error {
	for _, c := range slices.Backward(u.Containers) {
		steps, ok := e.doc.prune(c)
		if !ok {
			continue
		}
		before := e.doc.outline(nil, []string{c})
		if err := e.step(steps); err != nil {
			return err
		}
		if before != e.doc.outline(nil, nil) {
			return errVerify
		}
	}
	j, ok := e.doc.(*jdoc)
	if !ok || j.framed(e.t.Items) {
		return nil
	}
	for _, it := range e.t.Items {
		if it.Role != Frame || u.Values[it.ID] == "" || u.Created {
			continue
		}
		if _, err := e.take(&it, true); err != nil {
			return err
		}
	}
	return nil
}

// sameBut reports whether data says the same as the current text, our items
// and containers aside.
func (e *editor) sameBut(data []byte) bool {
	if checkText(data) != nil {
		return false
	}
	doc, err := parse(e.t.Kind, data)
	if err != nil {
		return false
	}
	var here, there []found
	for i := range e.t.Items {
		a, err := e.doc.look(&e.t.Items[i])
		b, err2 := doc.look(&e.t.Items[i])
		if err != nil || err2 != nil {
			return false
		}
		here, there = append(here, a...), append(there, b...)
	}
	bare := e.o.Undo.Containers
	return e.doc.outline(here, bare) == doc.outline(there, bare)
}

func absent(t Target) []ItemState  { return all(t, Absent, None) }
func removed(t Target) []ItemState { return all(t, Present, Cut) }

func all(t Target, s State, a Action) []ItemState {
	var out []ItemState
	for _, it := range t.Items {
		if it.Role != Frame {
			out = append(out, ItemState{ID: it.ID, State: s, Action: a})
		}
	}
	return out
}
