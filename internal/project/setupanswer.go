package project

import (
	"context"
	"fmt"
	"slices"

	"holdfast/internal/client"
)

// SetupAnswer tells, for each client, what was or would be done.
type SetupAnswer struct {
	Clients  []ClientSetup `json:"clients"`
	Command  string        `json:"command"`            // what entries run
	Applied  bool          `json:"applied"`            // false: nothing was written
	Revision int64         `json:"revision,omitempty"` // of op.end
	Diff     string        `json:"diff,omitempty"`
	Notices  []string      `json:"notices,omitempty"`
}

// ClientSetup is one client.
type ClientSetup struct {
	Client   string      `json:"client"`
	Name     string      `json:"name"`
	State    string      `json:"state"` // see the constants
	Files    []SetupFile `json:"files"`
	Todo     []string    `json:"todo"`
	Verified *Verified   `json:"verified,omitempty"`
}

// The states of a client.
const (
	Connected = "connected" // every file is as setup writes it
	Planned   = "planned"   // changes are shown, and not made
	Partly    = "partly"    // a file was refused, an entry kept, or the server did not start
	NotThere  = "absent"    // of a look: nothing of ours is there
	Differs   = "differs"   // of a look: something is not as setup writes it
	Removed   = "removed"
)

// SetupFile is one file of a client.
type SetupFile struct {
	Path    string             `json:"path"`
	Change  client.Change      `json:"change"`
	Items   []client.ItemState `json:"items,omitempty"`
	Line    int                `json:"line,omitempty"`
	Column  int                `json:"column,omitempty"`
	Why     string             `json:"why,omitempty"`     // of a refused file
	Snippet string             `json:"snippet,omitempty"` // what to put in by hand
}

// Planned is the answer for a plan that is not applied.
func (p *Project) Planned(s *SetupPlan) SetupAnswer {
	a := SetupAnswer{Clients: []ClientSetup{}, Command: s.Command, Diff: p.Diff(s)}
	if s.req.Check {
		a.Diff = ""
	}
	if s.ledger != nil {
		a.Notices = append(a.Notices, "the ledger can't be read, so what earlier runs wrote is not known: "+Explain(s.ledger).Message)
	}
	if gone := p.missing(&s.ops); len(s.ops.open) > 0 {
		a.Notices = append(a.Notices, (&Unfinished{Missing: gone}).notice())
	}
	for _, c := range client.Clients() {
		if !slices.Contains(s.Clients, c.ID) {
			continue
		}
		cs := ClientSetup{Client: c.ID, Name: c.Name, Files: []SetupFile{}, Todo: []string{}}
		for i := range s.changes {
			if slices.Contains(s.changes[i].Clients, c.ID) {
				cs.Files = append(cs.Files, fileOf(&s.changes[i], s.givesBack(&s.changes[i])))
			}
		}
		if !s.req.Remove {
			cs.Todo = s.plan.Todo(c.ID)
		}
		cs.State = cs.planned(s.req)
		if s.req.Remove && s.req.Clients == nil && cs.quiet() {
			continue
		}
		a.Clients = append(a.Clients, cs)
	}
	return a
}

// fileOf tells of one file. back says that removing gives it back as it was
// before setup, whatever stood there then.
func fileOf(ch *client.FileChange, back bool) SetupFile {
	f := SetupFile{Path: ch.Path, Change: ch.Change, Items: slices.Clone(ch.Items)}
	for i := range f.Items {
		if back {
			f.Items[i].State, f.Items[i].Action = client.Present, client.Cut
		}
	}
	if ch.Err != nil {
		f.Line, f.Column, f.Why, f.Snippet = ch.Err.Line, ch.Err.Col, ch.Err.Why, ch.Err.Snippet
	}
	return f
}

// givesBack: the file will have the bytes it had before the first setup.
func (s *SetupPlan) givesBack(ch *client.FileChange) bool {
	u := s.files[ch.Path].Undo
	return s.req.Remove && writes(ch.Change) && u != nil && u.Before != "" && u.Before == fileSum(ch.New)
}

// quiet: there is nothing of ours and nothing in the way.
func (c *ClientSetup) quiet() bool {
	return !slices.ContainsFunc(c.Files, func(f SetupFile) bool { return f.Change != client.Unchanged || kept(&f) })
}

func kept(f *SetupFile) bool {
	return slices.ContainsFunc(f.Items, func(i client.ItemState) bool { return i.Action == client.Keep })
}

// ours: something of ours stands in the file, or did.
func ours(f *SetupFile) bool {
	return slices.ContainsFunc(f.Items, func(i client.ItemState) bool { return i.State != client.Absent && i.State != client.Foreign })
}

func (c *ClientSetup) planned(q SetupRequest) string {
	state := Connected
	differs := Differs
	if !slices.ContainsFunc(c.Files, func(f SetupFile) bool { return ours(&f) }) {
		differs = NotThere
	}
	if q.Remove {
		state = Removed
	}
	for i := range c.Files {
		f := &c.Files[i]
		switch {
		case f.Change == client.Refused, kept(f):
			if q.Check {
				return differs
			}
			return Partly
		case writes(f.Change) && q.Check:
			state = differs
		case writes(f.Change):
			state = Planned
		}
	}
	return state
}

// fail tells that a file could not be written after all.
func (a *SetupAnswer) fail(ch *client.FileChange, why string) {
	for i := range a.Clients {
		for j := range a.Clients[i].Files {
			if f := &a.Clients[i].Files[j]; f.Path == ch.Path {
				f.Change, f.Why = client.Refused, why
			}
		}
	}
}

// settle says how the clients stand after the files were written.
func (a *SetupAnswer) settle(s *SetupPlan) {
	a.Diff = ""
	a.Notices = slices.DeleteFunc(a.Notices, func(n string) bool { return len(s.ops.open) > 0 })
	for i := range a.Clients {
		if a.Clients[i].State = a.Clients[i].planned(s.req); a.Clients[i].State == Planned {
			a.Clients[i].State = Connected
			if s.req.Remove {
				a.Clients[i].State = Removed
			}
		}
	}
}

// verify starts the server as each connected client would.
func (a *SetupAnswer) verify(ctx context.Context, p *Project, s *SetupPlan) {
	if s.req.Remove {
		return
	}
	started := map[string]Verified{}
	for i := range a.Clients {
		c := &a.Clients[i]
		if !c.hasServer(a.Applied) {
			continue
		}
		way := digest(client.LaunchOf(c.Client, s.Command, p.loc.top))
		v, same := started[way]
		if !same {
			v = p.Verify(ctx, c.Client, s.Command)
			started[way] = v
		}
		if c.Verified = &v; !v.OK {
			c.State = Partly
		}
		if other := fmt.Sprintf("%s is version %s, and this is %s", s.Command, v.Version, p.w.Version); v.OK && v.Version != p.w.Version && !slices.Contains(a.Notices, other) {
			a.Notices = append(a.Notices, other)
		}
	}
}

// hasServer: the entry of the server stands as setup writes it.
func (c *ClientSetup) hasServer(applied bool) bool {
	for _, f := range c.Files {
		for _, i := range f.Items {
			written := f.Change == client.Unchanged || applied
			if i.ID == "server" && i.Action != client.Keep && f.Change != client.Refused && written {
				return true
			}
		}
	}
	return false
}

// Findings reports whether a person should look: the exit status is 1 then.
func (a *SetupAnswer) Findings() bool {
	return slices.ContainsFunc(a.Clients, func(c ClientSetup) bool { return c.State == Partly || c.State == NotThere || c.State == Differs })
}

// CheckSetup compares what stands in the files of the coding tools with what
// setup writes, and writes nothing. With verify it starts the server as each
// client would whose entry is one that setup writes; any other is not started.
func (p *Project) CheckSetup(ctx context.Context, verify bool) (SetupAnswer, error) {
	s, err := p.PlanSetup(ctx, SetupRequest{Check: true})
	if err != nil {
		return SetupAnswer{}, err
	}
	a := p.Planned(s)
	if verify {
		a.verify(ctx, p, s)
	}
	return a, nil
}
