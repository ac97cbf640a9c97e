package project

import (
	"context"
	"path/filepath"
	"slices"

	"holdfast/internal/client"
	"holdfast/internal/filelog"
)

// SetupRequest asks to connect the coding tools of a project, or to take them
// out again.
type SetupRequest struct {
	Clients  []string // nil: those found; with Remove: all
	Remove   bool
	Check    bool  // only look: what can't be written is no problem
	Absolute *bool // nil: as the last run said
	Remind   *bool // nil: as the last run said
	Force    bool  // a person chose to replace or remove entries that differ
	Recovery *string
}

// SetupPlan is everything that a setup would do. Nothing was written for it.
type SetupPlan struct {
	Clients  []string
	Command  string // what entries run
	absolute bool

	req     SetupRequest
	plan    client.PlanRequest
	changes []client.FileChange
	files   map[string]setupFile
	ops     setupOps
	ledger  error // why the ledger can't be read
}

// PlanSetup reads and edits every file in memory. An unreadable ledger is no
// error yet: a plan can be looked at, and only applying it needs the ledger.
func (p *Project) PlanSetup(ctx context.Context, q SetupRequest) (*SetupPlan, error) {
	if p.loc.top == "" {
		return nil, &UsageError{Why: "a bare repository has no files to set up; run it in a worktree"}
	}
	for _, c := range q.Clients {
		if !client.Known(c) {
			return nil, &UsageError{Why: "there is no client of that name; there are " + listNames(ClientNames(), 10)}
		}
	}
	s := &SetupPlan{req: q, files: map[string]setupFile{}}
	s.ledger = p.look(ctx, "", func(r *reading) (err error) {
		s.ops, err = p.setupOps(ctx, r)
		return err
	})
	if s.ledger != nil && ctx.Err() != nil {
		return nil, s.ledger
	}
	p.chooseClients(s)
	s.plan = client.PlanRequest{Spec: p.setupSpec(s), Clients: s.Clients, Files: map[string]client.FileFacts{}, Force: q.Force}
	s.Command = s.plan.Command
	for _, path := range client.Paths() {
		f := p.setupFacts(path)
		f.Undo = s.ops.undo(path, &f)
		s.files[path], s.plan.Files[path] = f, f.FileFacts
	}
	s.replan()
	return s, nil
}

// replan works the changes out, and again with what turned out not to be
// writable: a file that needs no change need not be.
func (s *SetupPlan) replan() {
	work := client.Plan
	if s.req.Remove {
		work = client.PlanRemove
	}
	s.changes = work(s.plan)
	if s.req.Check {
		return
	}
	again := false
	for _, ch := range s.changes {
		if f := s.files[ch.Path]; writes(ch.Change) && f.locked != "" {
			f.Problem = f.locked
			s.files[ch.Path], s.plan.Files[ch.Path] = f, f.FileFacts
			again = true
		}
	}
	if again {
		s.changes = work(s.plan)
	}
}

func writes(c client.Change) bool {
	return c == client.Create || c == client.Edit || c == client.Delete
}

// ClientNames lists the coding tools that setup knows.
func ClientNames() []string {
	var out []string
	for _, c := range client.Clients() {
		out = append(out, c.ID)
	}
	return out
}

// chooseClients takes the named clients, else those found. Removing is about
// all of them, and a look about those that setup wrote for as well.
func (p *Project) chooseClients(s *SetupPlan) {
	switch {
	case s.req.Clients != nil:
		s.Clients = s.req.Clients
	case s.req.Remove:
		s.Clients = ClientNames()
	default:
		s.Clients = client.Detect(func(name string) bool { return lexists(filepath.Join(p.loc.top, filepath.FromSlash(name))) },
			func(program string) bool { return p.w.lookPath(program, p.w.Getenv("PATH")) != "" })
		for _, c := range ClientNames() {
			if s.ops.wroteFor(c) && !slices.Contains(s.Clients, c) {
				s.Clients = append(s.Clients, c)
			}
		}
	}
}

// setupSpec decides what entries run: the program as it is found on PATH, else
// the running binary by its path.
func (p *Project) setupSpec(s *SetupPlan) client.Spec {
	const name = "holdfast"
	spec := client.Spec{Command: name, Aliases: []string{name}, Windows: p.w.OS == "windows", Remind: s.ops.last.Remind && !s.ops.last.Remove, Transactions: hasTransactions}
	s.absolute = s.ops.last.Absolute && !s.ops.last.Remove
	if s.req.Remind != nil {
		spec.Remind = *s.req.Remind
	}
	if s.req.Absolute != nil {
		s.absolute = *s.req.Absolute
	}
	if p.w.Program != "" {
		spec.Aliases = append(spec.Aliases, p.w.Program)
		if s.absolute || p.w.lookPath(name, p.w.Getenv("PATH")) == "" {
			spec.Command = p.w.Program
		}
	}
	spec.Aliases = slices.DeleteFunc(spec.Aliases, func(a string) bool { return a == spec.Command })
	return spec
}

// hasTransactions says whether the holdfast_txn_* tools are there, so that the
// instruction block names them.
const hasTransactions = true

// Pending reports whether applying the plan would change a file.
func (s *SetupPlan) Pending() bool {
	return slices.ContainsFunc(s.changes, func(ch client.FileChange) bool { return writes(ch.Change) })
}

// Kept reports whether an entry of our name differs from what setup writes, so
// that a person can choose to replace it.
func (s *SetupPlan) Kept() bool {
	return slices.ContainsFunc(s.changes, func(ch client.FileChange) bool {
		return slices.ContainsFunc(ch.Items, func(i client.ItemState) bool { return i.Action == client.Keep })
	})
}

// Force is the same plan with such entries replaced or removed.
func (s *SetupPlan) Force() *SetupPlan {
	forced := *s
	forced.req.Force, forced.plan.Force = true, true
	forced.replan()
	return &forced
}

// Diff shows every change for people. A line around a change that holds what
// looks like a secret is left out.
func (p *Project) Diff(s *SetupPlan) string {
	var out []byte
	for _, ch := range s.changes {
		if writes(ch.Change) {
			out = append(out, p.maskContext(client.Diff(ch.Path, side(ch.Old), side(ch.New)))...)
		}
	}
	return string(out)
}

func side(f client.File) []byte {
	if !f.Exists {
		return nil
	}
	return append([]byte{}, f.Data...)
}

// refusesSetup: without a ledger that can be saved to, nothing is framed.
func (s *SetupPlan) refusesSetup() error {
	if s.ledger == nil || s.ledger == filelog.ErrNone {
		return nil
	}
	return s.ledger
}
