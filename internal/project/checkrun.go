package project

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/internal/check"
	"holdfast/internal/ledger"
)

// runPlanned looks at the inputs, runs the command, and looks again.
func (p *Project) runPlanned(ctx context.Context, q *CheckRequest, out *RanCheck) error {
	rec := &out.Receipt
	before := p.inspect(ctx, rec)
	then := before.inputs(ctx, rec)
	if then.err != nil {
		return then.err
	}
	dir := filepath.Join(p.loc.top, filepath.FromSlash(rec.Dir))
	rec.Runtime = before.hasher.Runtime(ctx, rec.Argv, dir, p.w.Env, p.platform())
	rec.Runtime.Version = check.Version(ctx, rec.Runtime.Program, dir, p.w.Env)
	for name := range rec.Env {
		rec.Env[name] = p.keyedEnv(before.key, name)
	}
	run, err := check.Do(ctx, check.Command{
		Argv: rec.Argv, Dir: dir, Env: p.w.Env, In: q.In, Out: q.Out, Err: q.Err, TTY: rec.Options.TTY,
		Timeout: time.Duration(rec.Options.TimeoutMS) * time.Millisecond, Tail: tailBytes(rec.Options.KeepTail), Now: p.w.Now,
	})
	if err != nil {
		return err
	}
	late := context.WithoutCancel(ctx)
	after := p.inspect(late, rec)
	now := after.inputs(late, rec) // what can't be listed any more was changed
	p.keepCache(after)
	changed := check.Changes(then.files, now.files)
	rec.Inputs.Files, rec.Inputs.Count, rec.Inputs.Digest, rec.Inputs.Partial = then.files, len(then.files), then.digest, then.partial
	rec.Inputs.ChangedDuring, rec.InputsStable = check.Named(changed), len(changed) == 0
	p.note(rec, run, out)
	return nil
}

// note puts into the receipt what was seen of the command.
func (p *Project) note(rec *ledger.Receipt, run *check.Run, out *RanCheck) {
	rec.StartedAt = run.Started.UTC().Format(ledger.TimeLayout)
	rec.DurationMS = run.Duration.Milliseconds()
	rec.ExitCode, rec.Signal, rec.TimedOut, rec.Output = run.ExitCode, run.Signal, run.TimedOut, run.Output
	rec.Counts, rec.Flags = run.Told.Counts, run.Told.Flags
	rec.Output.Tail = strings.ToValidUTF8(strings.ReplaceAll(string(run.Tail), "\x00", "\ufffd"), "\ufffd")
	attributable, why := check.Attributable(rec.Argv, p.w.Env)
	rec.Outcome = check.Outcome(run, attributable, rec.InputsStable, run.Told)
	switch rec.Outcome {
	case ledger.NotAttributable:
		rec.Why = why
		if attributable {
			rec.Why = "the output tells of failures that the status doesn't"
		}
	case ledger.InputsChanged:
		rec.Why = "inputs changed while it ran"
	}
	if run.OutErr != nil {
		out.Warnings = append(out.Warnings, "the output could not be passed on to its end: "+run.OutErr.Error())
	}
}

func tailBytes(keep bool) int {
	if keep {
		return keptTail
	}
	return 0
}

func (p *Project) platform() check.Platform { return check.Platform{OS: p.w.OS, Arch: p.w.Arch} }

// keyedEnv is the keyed hash of a variable's value; that of one that isn't set
// is another than that of an empty one.
func (p *Project) keyedEnv(key []byte, name string) string {
	if len(key) == 0 {
		return ""
	}
	v, set := p.w.lookup(name)
	if !set {
		return check.KeyedHash(key, name, "\x00unset")
	}
	return check.KeyedHash(key, name, v)
}

// inspection is one look at the worktree's files. It lists and hashes each set
// of inputs once.
type inspection struct {
	p      *Project
	hasher *check.Hasher
	key    []byte
	lists  map[string]listed
	sets   map[string]inspected
	all    []string // files that were looked at
}

type listed struct {
	files   []string
	partial bool
	err     error
}

type inspected struct {
	files   []ledger.InputFile
	digest  string
	partial bool
	err     error
}

// inspect begins a look at the inputs of some receipts: it lists them, and reads
// what is remembered of their content, side by side.
func (p *Project) inspect(ctx context.Context, recs ...*ledger.Receipt) *inspection {
	key, _ := p.m.Key() // without one, inputs that look like secrets count as unreadable
	i := &inspection{
		p: p, key: key, lists: map[string]listed{}, sets: map[string]inspected{},
		hasher: &check.Hasher{Top: p.loc.top, Key: key, CPUs: p.w.CPUs},
	}
	var whole, parts []*ledger.Receipt // what git lists, and what is looked for
	for _, rec := range recs {
		if len(rec.Inputs.Declared) == 0 {
			whole = append(whole, rec)
		} else {
			parts = append(parts, rec)
		}
	}
	var wg sync.WaitGroup
	var ofWhole map[string]listed
	wg.Go(func() { i.hasher.Cache = p.hashCache(key) })
	wg.Go(func() { ofWhole = p.list(ctx, whole) })
	i.lists = p.list(ctx, parts)
	wg.Wait()
	maps.Copy(i.lists, ofWhole)
	return i
}

// list finds the files of each set once.
func (p *Project) list(ctx context.Context, recs []*ledger.Receipt) map[string]listed {
	tree := &check.Tree{Top: p.loc.top, Repo: p.loc.repo, Env: gitEnv(p.w)}
	out := map[string]listed{}
	for _, rec := range recs {
		if _, done := out[setOf(rec)]; !done {
			var l listed
			l.files, l.partial, l.err = tree.Files(ctx, rec.Inputs.Declared, rec.Dir)
			out[setOf(rec)] = l
		}
	}
	return out
}

// setOf tells sets of inputs apart.
func setOf(rec *ledger.Receipt) string {
	return rec.Dir + "\x00" + strings.Join(rec.Inputs.Declared, "\x00")
}

// inputs gives the inputs of one of the receipts as they are now.
func (i *inspection) inputs(ctx context.Context, rec *ledger.Receipt) inspected {
	key := setOf(rec)
	if s, ok := i.sets[key]; ok {
		return s
	}
	names := i.lists[key]
	s := inspected{partial: names.partial, err: names.err}
	if s.err == nil {
		s.files, s.err = i.hasher.Hash(ctx, names.files)
		s.digest = check.Digest(s.files)
		i.all = append(i.all, names.files...)
	}
	if ctx.Err() == nil {
		i.sets[key] = s
	}
	return s
}

// cacheName is the file, in the cache folder of a ledger, that remembers hashes.
const cacheName = "inputs"

// hashCache is what is remembered of hashed files, read once.
func (p *Project) hashCache(key []byte) *check.Cache {
	p.hashMu.Lock()
	defer p.hashMu.Unlock()
	if p.inputHashes != nil {
		return p.inputHashes
	}
	p.inputHashes = check.NewCache(key, p.w.Now)
	if dir := p.cacheDir(); dir != "" && len(key) > 0 {
		if d, err := p.w.Layer.OpenDir(dir); err == nil {
			if b, err := d.ReadFile(cacheName, check.MaxCacheFile); err == nil {
				_ = p.inputHashes.Decode(b) // one that isn't ours is made anew
			}
			d.Close()
		}
	}
	return p.inputHashes
}

// keepCache writes what was hashed, so that the next process need not. Failing
// costs time alone.
func (p *Project) keepCache(i *inspection) {
	dir := p.cacheDir()
	if dir == "" || len(i.key) == 0 || p.lookOnly || !p.inputHashes.Dirty() {
		return
	}
	slices.Sort(i.all)
	p.inputHashes.Keep(slices.Compact(i.all))
	if err := p.w.Layer.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return
	}
	if d, err := p.w.Layer.OpenDir(dir); err == nil {
		_ = d.Replace(nil, cacheName, p.inputHashes.Encode(), 0o600)
		d.Close()
	}
}

func (p *Project) cacheDir() string {
	c, id := p.w.cacheFolder(), p.log.ID()
	if c == "" || id == "" {
		return ""
	}
	return filepath.Join(c, id)
}
