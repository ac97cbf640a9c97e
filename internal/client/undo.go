package client

import (
	"bytes"
	"slices"
)

// Undo is what Remove needs to take out again what Apply put in. It holds only
// text that setup wrote, text that setup replaced, and digests; it is kept
// outside the file and may be lost.
type Undo struct {
	Created    bool              `json:"created,omitempty"`    // the file was not there before
	Before     string            `json:"before,omitempty"`     // SHA-256 of the file before the first edit; empty when others changed the file between our edits
	After      string            `json:"after,omitempty"`      // SHA-256 of the file after the last edit
	Steps      []Step            `json:"steps,omitempty"`      // in the order they were made; none for a created file
	Containers []string          `json:"containers,omitempty"` // objects and lists we created, outermost first, keys joined by "/"
	Values     map[string]string `json:"values,omitempty"`     // digest of what was written, by item
	Clients    []string          `json:"clients,omitempty"`    // the clients the file was written for
	Folders    []string          `json:"folders,omitempty"`    // for the caller: folders it created for this file
}

// Step is one replacement: at offset At, Was became Text.
type Step struct {
	At   int    `json:"at"`
	Was  string `json:"was,omitempty"`
	Text string `json:"text,omitempty"`
}

// apply makes the step. ok is false when Was does not stand there.
func (s Step) apply(data []byte) (out []byte, ok bool) {
	if s.At < 0 || s.At > len(data) || !bytes.HasPrefix(data[s.At:], []byte(s.Was)) {
		return nil, false
	}
	out = make([]byte, 0, len(data)+len(s.Text)-len(s.Was))
	out = append(out, data[:s.At]...)
	out = append(out, s.Text...)
	return append(out, data[s.At+len(s.Was):]...), true
}

func (s Step) inverse() Step { return Step{At: s.At, Was: s.Text, Text: s.Was} }

// run makes steps in order.
func run(data []byte, steps []Step) ([]byte, bool) {
	for _, s := range steps {
		next, ok := s.apply(data)
		if !ok {
			return nil, false
		}
		data = next
	}
	return data, true
}

// rewind takes steps back, the last first.
func rewind(data []byte, steps []Step) ([]byte, bool) {
	for _, s := range slices.Backward(steps) {
		next, ok := s.inverse().apply(data)
		if !ok {
			return nil, false
		}
		data = next
	}
	return data, true
}

// shortest is the length below which a text is too common to be found again.
const shortest = 12

// relocate takes steps back in a file that changed elsewhere: each text must
// stand there exactly once, and in a format of lines two of them must not
// become one by its leaving. The caller has to check the outcome by value.
func relocate(data []byte, steps []Step, ofLines bool) ([]byte, bool) {
	if len(steps) == 0 {
		return nil, false
	}
	for _, s := range slices.Backward(steps) {
		text := []byte(s.Text)
		if len(text) < shortest || bytes.Count(data, text) != 1 {
			return nil, false
		}
		s.At = bytes.Index(data, text)
		rest := data[s.At+len(text):]
		glued := s.At > 0 && data[s.At-1] != '\n' && len(rest) > 0 && rest[0] != '\n' && rest[0] != '\r'
		if ofLines && s.Was == "" && bytes.HasSuffix(text, []byte("\n")) && glued {
			return nil, false
		}
		data, _ = s.inverse().apply(data)
	}
	return data, true
}

// extend adds an edit to what earlier runs left. cur is the hash of the file
// that the edit started from; owed says whether anything of ours stood in it.
func (u *Undo) extend(next Undo, cur string, owed bool) *Undo {
	if u == nil || (u.After != cur && !owed) {
		return &next
	}
	out := *u
	if u.After != cur {
		out.Before = ""
	}
	out.After = next.After
	if !u.Created {
		out.Steps = append(slices.Clone(u.Steps), next.Steps...)
	}
	out.Containers = slices.Clone(u.Containers)
	for _, c := range next.Containers {
		if !slices.Contains(out.Containers, c) {
			out.Containers = append(out.Containers, c)
		}
	}
	out.Values = make(map[string]string, len(u.Values)+len(next.Values))
	for _, m := range []map[string]string{u.Values, next.Values} {
		for k, v := range m {
			out.Values[k] = v
		}
	}
	return &out
}

// with adds clients to those the file was written for.
func (u *Undo) with(clients []string) *Undo {
	if u == nil {
		return nil
	}
	out := *u
	out.Clients = slices.Clone(u.Clients)
	for _, c := range clients {
		if !slices.Contains(out.Clients, c) {
			out.Clients = append(out.Clients, c)
		}
	}
	return &out
}
