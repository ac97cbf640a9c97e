package project

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/internal/client"
	"holdfast/internal/durable"
)

// originalsKept is how long originals of edited files stay in quarantine.
const originalsKept = 30 * 24 * time.Hour

const originalPrefix = "setup-"

var errFileChanged = errors.New("it changed while setup was running; look at the plan again")

// ApplySetup writes the plan: op.begin, the originals into quarantine, the files
// in order, op.end. A file that changed since it was planned is left alone and
// told; so is one that can't be written. Dying in between leaves op.begin
// without its end, which the next run completes.
func (p *Project) ApplySetup(ctx context.Context, s *SetupPlan) (SetupAnswer, error) {
	if err := s.refusesSetup(); err != nil {
		return SetupAnswer{}, err
	}
	a := p.Planned(s)
	if !s.needsEntry() {
		a.verify(ctx, p, s)
		return a, nil
	}
	body, err := p.opBegin(s)
	if err != nil {
		return SetupAnswer{}, err
	}
	out, err := p.saveOp(ctx, s, body, nil)
	if err != nil {
		return SetupAnswer{}, err
	}
	body.Begin = out.Rev
	defer p.oneSetup(ctx)()
	if err := p.keepOriginals(s, body.Files); err != nil {
		return SetupAnswer{}, &interruptedSetup{err}
	}
	done, err := p.writeFiles(ctx, s, &a)
	if err != nil {
		return SetupAnswer{}, &interruptedSetup{err}
	}
	p.removeFolders(s, done)
	out, err = p.saveOp(ctx, s, body, func(now *setupOps, b *opBody) {
		b.Files, b.Open = s.owed(done, now), p.leftOpen(s, now, body.Begin)
	})
	if err != nil {
		return SetupAnswer{}, &interruptedSetup{err}
	}
	a.Revision, a.Applied = out.Rev, true
	a.Notices = append(a.Notices, out.Warnings...)
	a.settle(s)
	a.verify(ctx, p, s)
	return a, nil
}

// opBegin is what op.begin says: each file with its hash before and after, and
// all that a later run needs if this one dies.
func (p *Project) opBegin(s *SetupPlan) (opBody, error) {
	run, err := p.runName()
	if err != nil {
		return opBody{}, err
	}
	body := opBody{Op: opSetup, Remove: s.req.Remove, Clients: s.Clients, Command: s.Command, Remind: s.plan.Remind, Absolute: s.absolute}
	for i := range s.changes {
		ch := &s.changes[i]
		ch.Undo = p.storable(ch.Undo)
		if ch.Change == client.Create && ch.Undo != nil {
			undo := *ch.Undo
			undo.Folders = union(undo.Folders, p.missingFolders(s.files[ch.Path].real), s.ops.folders(ch.Path))
			ch.Undo = &undo
		}
		if writes(ch.Change) {
			of := opFile{Path: ch.Path, Change: ch.Change, Before: fileSum(ch.Old), After: fileSum(ch.New), Undo: ch.Undo}
			if ch.Old.Exists {
				of.Original = fmt.Sprintf("%s-%02d-%s", run, i, strings.ReplaceAll(strings.TrimPrefix(ch.Path, "."), "/", "_"))
			}
			body.Files = append(body.Files, of)
		}
	}
	return body, nil
}

// setupWait is how long a run waits for another one in the same ledger.
const setupWait = 20 * time.Second

// oneSetup lets runs take turns. Where there can be no lock they don't: each file
// is looked at before it is written all the same.
func (p *Project) oneSetup(ctx context.Context) (unlock func()) {
	for _, root := range p.m.State {
		top, err := p.w.Layer.OpenDir(root)
		if err != nil {
			continue
		}
		dir, err := top.MakeSub(p.log.ID(), 0o700)
		top.Close()
		if err != nil {
			continue
		}
		lock, err := dir.Lock(ctx, "setup.lock", setupWait, p.m.Owner)
		dir.Close()
		if err == nil {
			return func() { _ = lock.Unlock() } // it ends with the process anyway
		}
	}
	return func() {}
}

// interruptedSetup: files may be written, and op.end is missing.
type interruptedSetup struct{ err error }

func (e *interruptedSetup) Error() string { return "setup was interrupted: " + e.err.Error() }
func (e *interruptedSetup) Unwrap() error { return e.err }

func (e *interruptedSetup) explain() Problem {
	p := Explain(e.err)
	p.Message = "setup was interrupted, and some files may be written: " + strings.TrimSuffix(p.Message, "; nothing was saved")
	p.Next = "run it again, which is safe; what is missing is shown by: holdfast setup --check"
	return p
}

// needsEntry: a file changes, what is kept for removal does, or an interrupted
// run wants its end.
func (s *SetupPlan) needsEntry() bool {
	return len(s.ops.open) > 0 || slices.ContainsFunc(s.changes, func(ch client.FileChange) bool {
		return writes(ch.Change) || digest(ch.Undo) != digest(s.ops.last.undo(ch.Path))
	})
}

func (p *Project) runName() (string, error) {
	b := make([]byte, 4)
	if _, err := io.ReadFull(p.w.Rand, b); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	return originalPrefix + strconv.FormatInt(p.w.Now().Unix(), 10) + "-" + hex.EncodeToString(b), nil
}

// keepOriginals puts what will be edited or deleted aside, readable to this user
// alone: settings may hold keys.
func (p *Project) keepOriginals(s *SetupPlan, files []opFile) error {
	q, err := p.makeQuarantine()
	if err != nil {
		return fmt.Errorf("keep originals: %w", err)
	}
	defer q.Close()
	p.dropOriginals(q)
	for _, f := range files {
		if f.Original == "" {
			continue
		}
		if _, err := q.Publish(nil, f.Original, s.plan.Files[f.Path].Data, 0o600); err != nil {
			return fmt.Errorf("keep original of %s: %w", f.Path, err)
		}
	}
	return nil
}

// dropOriginals removes those that are old enough. One that can't be removed
// waits for the next run.
func (p *Project) dropOriginals(q *durable.Dir) {
	names, err := q.Names()
	if err != nil {
		return
	}
	for _, n := range names {
		rest, ours := strings.CutPrefix(n, originalPrefix)
		at, _, _ := strings.Cut(rest, "-")
		if sec, err := strconv.ParseInt(at, 10, 64); ours && err == nil && p.w.Now().Sub(time.Unix(sec, 0)) > originalsKept {
			_ = q.Remove(n)
		}
	}
}

// SweepOriginals drops from quarantine the originals of setups that are older
// than 30 days.
func (p *Project) SweepOriginals() error {
	q, err := p.w.Layer.OpenDir(p.quarantine())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open quarantine: %w", err)
	}
	defer q.Close()
	p.dropOriginals(q)
	return nil
}

// writeFiles writes the files in order and gives what is kept for removing each.
// The error is that nothing more can be done; a file's own is told in a.
func (p *Project) writeFiles(ctx context.Context, s *SetupPlan, a *SetupAnswer) (map[string]*client.Undo, error) {
	done := map[string]*client.Undo{}
	for i := range s.changes {
		ch := &s.changes[i]
		if !writes(ch.Change) {
			if ch.Change != client.Refused {
				done[ch.Path] = ch.Undo
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return done, err
		}
		err := p.writeFile(s, ch)
		switch {
		case errors.Is(err, errFileChanged) && p.stands(ch):
			err = nil // another run made the same change, and answers for it
		case err == nil || p.stands(ch):
			done[ch.Path] = ch.Undo
		case ch.Change == client.Create:
			p.dropFolders(ch.Undo)
		}
		switch {
		case err == nil:
		case durable.DiskFull(err):
			return done, err
		case durable.NotWritable(err):
			a.fail(ch, "it is not writable"+pathOf(err))
		default:
			a.fail(ch, problemOf(err))
		}
	}
	return done, nil
}

// stands: a file is as it was to be, though a step failed: the disk may not have
// confirmed it.
func (p *Project) stands(ch *client.FileChange) bool {
	now := p.setupFacts(ch.Path)
	return now.Problem == "" && fileSum(now.File) == fileSum(ch.New)
}

// dropFolders takes out the folders that were made for nothing.
func (p *Project) dropFolders(u *client.Undo) {
	if u == nil {
		return
	}
	for _, f := range slices.Backward(u.Folders) {
		p.removeFolder(filepath.Join(p.loc.top, filepath.FromSlash(f)))
	}
}

// writeFile makes one change, if the file is still as it was planned.
func (p *Project) writeFile(s *SetupPlan, ch *client.FileChange) error {
	now := p.setupFacts(ch.Path)
	f := s.files[ch.Path]
	if now.Problem != "" || now.real != f.real || now.Exists != ch.Old.Exists || !bytes.Equal(now.Data, ch.Old.Data) {
		return errFileChanged
	}
	folder, name := filepath.Dir(f.real), filepath.Base(f.real)
	if ch.Change == client.Create {
		if err := p.w.Layer.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	dir, err := p.w.Layer.OpenForeignDir(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	// What a killed run left is ours by its name; failing to tidy harms nothing.
	_, _ = dir.Sweep(p.w.Now().Add(-time.Minute))
	switch ch.Change {
	case client.Create:
		if _, err = dir.Publish(nil, name, ch.New.Data, modeOf(ch.Path)); errors.Is(err, durable.ErrExists) {
			err = errFileChanged
		}
	case client.Edit:
		err = dir.ReplaceKeeping(nil, name, ch.New.Data)
		if _, mounted := errors.AsType[*durable.MountedError](err); mounted {
			err = dir.WriteInPlace(name, ch.New.Data) // the original is in quarantine
		}
	case client.Delete:
		err = dir.RemoveSync(name)
	}
	return err
}

// modeOf is the mode of a new file. Those in which people put keys are theirs
// alone.
func modeOf(path string) fs.FileMode {
	if strings.HasSuffix(path, ".md") {
		return 0o644
	}
	return 0o600
}

// missingFolders names the folders that a file lacks, as seen from the project.
func (p *Project) missingFolders(file string) []string {
	var out []string
	for d := filepath.Dir(file); !lexists(d) && d != filepath.Dir(d); d = filepath.Dir(d) {
		out = append(out, p.relative(d))
	}
	return out
}

func union(lists ...[]string) []string {
	out := slices.Concat(lists...)
	slices.Sort(out)
	return slices.Compact(out) // nil for nothing
}

// removeFolders takes out the folders that setup made for files that are gone.
// One that still holds a file of ours goes with that file.
func (p *Project) removeFolders(s *SetupPlan, done map[string]*client.Undo) {
	if !s.req.Remove {
		return
	}
	var folders []string
	for _, path := range client.Paths() {
		if now := p.setupFacts(path); !now.Exists && now.Problem == "" {
			folders = union(folders, s.ops.folders(path))
		}
	}
	for _, f := range slices.Backward(folders) { // an outer one stands before what is in it
		path := filepath.Join(p.loc.top, filepath.FromSlash(f))
		if !p.removeFolder(path) {
			s.passOn(f, done)
		}
	}
}

// removeFolder takes out an empty folder of the project.
func (p *Project) removeFolder(path string) bool {
	if _, inside := within(p.loc.top, path); !inside || !isDir(path) {
		return !lexists(path)
	}
	dir, err := p.w.Layer.OpenForeignDir(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer dir.Close()
	if sub, err := p.w.Layer.OpenForeignDir(path); err == nil {
		names, err := sub.Names()
		if err == nil && !slices.ContainsFunc(names, func(n string) bool { return !durable.IsTemporary(n) }) {
			_, _ = sub.Sweep(p.w.Now()) // of a run that was killed; else the removal fails
		}
		sub.Close()
	}
	return dir.RemoveSync(filepath.Base(path)) == nil // else it isn't empty
}

// passOn lets another file of ours in a folder answer for it.
func (s *SetupPlan) passOn(folder string, done map[string]*client.Undo) {
	for _, path := range client.Paths() {
		undo, now := done[path]
		if !now {
			undo = s.files[path].Undo
		}
		if undo != nil && strings.HasPrefix(path, folder+"/") {
			with := *undo
			with.Folders = union(undo.Folders, []string{folder})
			done[path] = &with
			return
		}
	}
}
