package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/internal/client"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// opBody is what op.begin and op.end say. op.end lists every file that setup
// still owes something to, so that the newest one is enough.
type opBody struct {
	Op       string   `json:"op"` // setup
	Begin    int64    `json:"begin,omitempty"`
	Remove   bool     `json:"remove,omitempty"`
	Clients  []string `json:"clients"`
	Command  string   `json:"command"`
	Remind   bool     `json:"remind,omitempty"`
	Absolute bool     `json:"absolute,omitempty"`
	Files    []opFile `json:"files"`
	Open     []int64  `json:"open,omitempty"` // of op.end: interrupted runs about other files, by revision
}

// opFile is one file of a run.
type opFile struct {
	Path     string        `json:"path"` // slash path, relative to the worktree's top
	Change   client.Change `json:"change"`
	Before   string        `json:"before"` // SHA-256; empty: not there
	After    string        `json:"after"`
	Original string        `json:"original,omitempty"` // its name in quarantine
	Undo     *client.Undo  `json:"undo,omitempty"`
}

const opSetup = "setup"

// setupOps is what the ledger says of earlier runs in this worktree.
type setupOps struct {
	last     opBody            // of the newest run that ended
	open     map[int64]*opBody // runs without an end, by revision
	recovery string
}

// opEvents is how many runs are looked at: the newest ended one says it all.
const opEvents = 50

// setupOps reads the runs of this worktree. p.mu is held.
func (p *Project) setupOps(ctx context.Context, r *reading) (setupOps, error) {
	ops := setupOps{open: map[int64]*opBody{}}
	if r.head.Hash == "" {
		return ops, nil
	}
	ops.recovery = r.view.Recovery()
	ended := map[int64]bool{}
	err := p.eachOp(ctx, r, ledger.TypeOpEnd, -1, func(rev int64, b *opBody) bool {
		if len(ended) == 0 {
			ops.last = *b
		}
		ended[b.Begin] = true
		return rev > ops.last.Begin // older ones ended before the newest began
	})
	if err != nil {
		return ops, err
	}
	for _, rev := range ops.last.Open {
		if b, err := p.opAt(ctx, r, rev); err == nil && b != nil && !ended[rev] {
			ops.open[rev] = b
		}
	}
	err = p.eachOp(ctx, r, ledger.TypeOpBegin, max(ops.last.Begin, -1), func(rev int64, b *opBody) bool {
		if !ended[rev] {
			ops.open[rev] = b
		}
		return true
	})
	return ops, err
}

// eachOp gives the entries of a type in this worktree, behind a revision, newest
// first, as long as fn wants more. Those that this machine didn't seal are left
// out: what others wrote says nothing about files here.
func (p *Project) eachOp(ctx context.Context, r *reading, kind string, since int64, fn func(int64, *opBody) bool) error {
	events, err := r.view.Events(ctx, ledger.EventQuery{Since: since, Kind: kind, Limit: opEvents})
	if err != nil {
		return err
	}
	for _, ev := range events {
		b, err := p.opAt(ctx, r, ev.Rev)
		if err != nil {
			return err
		}
		if b != nil && !fn(ev.Rev, b) {
			return nil
		}
	}
	return nil
}

// opAt is the entry of a run; nil for one that says nothing here.
func (p *Project) opAt(ctx context.Context, r *reading, rev int64) (*opBody, error) {
	e, err := p.log.Entry(ctx, rev)
	if err != nil {
		return nil, err
	}
	body, ok, err := e.Body()
	if err != nil || !ok || body.Worktree != p.loc.worktree || !r.sealedHere(e.SealKey) {
		return nil, nil
	}
	b := &opBody{}
	if json.Unmarshal(body.Op, b) != nil || b.Op != opSetup {
		return nil, nil
	}
	return b, nil
}

// leftOpen are the interrupted runs that this one doesn't close: it didn't look
// at one of their files, which is not as it was to be, nor did it take all their
// clients out.
func (p *Project) leftOpen(s *SetupPlan, now *setupOps, own int64) []int64 {
	var out []int64
	for rev, b := range now.open {
		one := setupOps{open: map[int64]*opBody{rev: b}}
		left := slices.ContainsFunc(p.missing(&one), func(path string) bool {
			return !slices.ContainsFunc(s.changes, func(ch client.FileChange) bool { return ch.Path == path })
		})
		all := !slices.ContainsFunc(b.Clients, func(c string) bool { return !slices.Contains(s.Clients, c) })
		if left && rev != own && !(s.req.Remove && all) {
			out = append(out, rev)
		}
	}
	slices.Sort(out)
	return out
}

// undo is what the ledger knows of a file: of an interrupted run if the file is
// as that run would have left it, else of the last one that ended.
// The folders are those that any of them made.
func (o *setupOps) undo(path string, f *setupFile) *client.Undo {
	found := o.last.undo(path)
	for _, b := range o.open {
		for _, of := range b.Files {
			if of.Path == path && of.Undo != nil && of.After == fileSum(f.File) && f.Exists {
				found = of.Undo
			}
		}
	}
	if found == nil {
		return nil
	}
	with := *found
	with.Folders = union(found.Folders, o.folders(path))
	return &with
}

// folders are those that earlier runs made, or were about to make, for a file.
func (o *setupOps) folders(path string) []string {
	var out []string
	for _, b := range append(slices.Collect(maps.Values(o.open)), &o.last) {
		if u := b.undo(path); u != nil {
			out = union(out, u.Folders)
		}
	}
	return out
}

func (b *opBody) undo(path string) *client.Undo {
	for _, f := range b.Files {
		if f.Path == path {
			return f.Undo
		}
	}
	return nil
}

func (o *setupOps) wroteFor(id string) bool {
	return slices.ContainsFunc(o.last.Files, func(f opFile) bool { return f.Undo != nil && slices.Contains(f.Undo.Clients, id) })
}

// fileSum is the SHA-256 of a file, empty for one that is not there.
func fileSum(f client.File) string {
	if !f.Exists {
		return ""
	}
	sum := sha256.Sum256(f.Data)
	return hex.EncodeToString(sum[:])
}

// missing names the files of interrupted runs that are not as they were to be.
func (p *Project) missing(o *setupOps) []string {
	var out []string
	for _, b := range o.open {
		for _, f := range b.Files {
			if !known(f.Path) || !writes(f.Change) {
				continue
			}
			if now := p.setupFacts(f.Path); fileSum(now.File) != f.After || now.Problem != "" {
				out = append(out, f.Path)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isOp: the tool's own work, no save of anybody.
func isOp(kind string) bool { return kind == ledger.TypeOpBegin || kind == ledger.TypeOpEnd }

func known(path string) bool { return slices.Contains(client.Paths(), path) }

// Unfinished is a setup that was begun in this worktree and has no end.
type Unfinished struct {
	Revision int64    `json:"revision"`
	Missing  []string `json:"missing"` // files that are not as they were to be
}

// UnfinishedSetup tells of a setup that was interrupted; nil when none was.
func (p *Project) UnfinishedSetup(ctx context.Context) (*Unfinished, error) {
	var u *Unfinished
	err := p.look(ctx, "", func(r *reading) (err error) {
		u, err = p.unfinished(ctx, r)
		return err
	})
	return u, err
}

func (p *Project) unfinished(ctx context.Context, r *reading) (*Unfinished, error) {
	ops, err := p.setupOps(ctx, r)
	if err != nil || len(ops.open) == 0 {
		return nil, err
	}
	u := &Unfinished{Missing: p.missing(&ops)}
	for rev := range ops.open {
		u.Revision = max(u.Revision, rev)
	}
	return u, nil
}

// notice is the line about an interrupted setup in a briefing.
func (u *Unfinished) notice() string {
	if len(u.Missing) == 0 {
		return "a setup of the coding tools was interrupted; every file is written, and running it again closes it: holdfast setup"
	}
	return fmt.Sprintf("a setup of the coding tools was interrupted; not as it was to be: %s; running it again is safe: holdfast setup", listNames(u.Missing, 8))
}

// saveOp commits op.begin, or with finish op.end: that fills in what depends on
// the state under the lock, since another run may have ended meanwhile.
func (p *Project) saveOp(ctx context.Context, s *SetupPlan, b opBody, finish func(*setupOps, *opBody)) (outcome, error) {
	kind := ledger.TypeOpBegin
	if finish != nil {
		kind = ledger.TypeOpEnd
	}
	m := mutation{kind: kind, creates: kind == ledger.TypeOpBegin, recovery: s.req.Recovery, request: b}
	if m.recovery == nil {
		m.recovery = &s.ops.recovery
	}
	m.fields = []secret.Field{{Name: "command", Text: b.Command}}
	m.build = func(ctx context.Context, r *reading) (ledger.Draft, error) {
		if finish != nil {
			now, err := p.setupOps(ctx, r)
			if err != nil {
				return ledger.Draft{}, err
			}
			finish(&now, &b)
		}
		raw, err := json.Marshal(b)
		if err != nil {
			return ledger.Draft{}, fmt.Errorf("encode setup: %w", err)
		}
		return ledger.Draft{Body: ledger.Body{Op: raw}}, nil
	}
	out, err := p.mutate(ctx, m)
	if err == nil {
		s.ops.recovery = out.Recovery
	}
	return out, err
}

// maxUndo keeps an entry well below the largest revision, in bytes.
const maxUndo = 150 << 10

// storable is an Undo as the ledger may hold it: without texts that look like
// secrets, which an entry that was replaced may have held, and not endless.
// Removing then goes by value.
func (p *Project) storable(u *client.Undo) *client.Undo {
	if u == nil {
		return nil
	}
	var texts strings.Builder
	for _, st := range u.Steps {
		texts.WriteString(st.Was + "\n" + st.Text + "\n")
	}
	if texts.Len() < maxUndo/8 && len(p.screen.Check([]secret.Field{{Name: "undo", Text: texts.String()}})) == 0 {
		return u
	}
	bare := *u
	bare.Steps, bare.Before = nil, ""
	return &bare
}

// owed lists, for op.end, every file that setup still owes something to.
func (s *SetupPlan) owed(done map[string]*client.Undo, ops *setupOps) []opFile {
	out := []opFile{}
	for _, path := range client.Paths() {
		undo, now := done[path]
		if !now || undo == nil && !s.req.Remove {
			f := s.files[path]
			undo = ops.undo(path, &f)
		}
		if undo != nil {
			out = append(out, opFile{Path: path, Change: client.Unchanged, Undo: undo, Before: undo.Before, After: undo.After})
		}
	}
	return out
}

func (p *Project) quarantine() string { return filepath.Join(p.Path(), filelog.QuarantineName) }
