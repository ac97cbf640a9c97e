package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"holdfast/internal/check"
	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
	"holdfast/internal/surface"
)

// DefaultLockWait is how long a save waits for its turn.
const DefaultLockWait = 5 * time.Second

// Options of Open.
type Options struct {
	Dir    string // the --project flag; empty: as the environment and the working directory say
	Caller Caller
}

// Project is one opened project, as one caller uses it. It is safe for
// concurrent use. Between calls it holds no lock and no open file of the ledger;
// the index may stay open.
type Project struct {
	*core
	caller Caller
}

// core is what all callers of an opened project share.
type core struct {
	w      *World
	loc    *location
	m      *filelog.Machine
	log    *filelog.Log
	screen *secret.Screen
	hashes *surface.Cache // of surfaces, for later looks
	txns   foldedTxns     // guarded by mu

	hashMu      sync.Mutex // guards inputHashes
	inputHashes *check.Cache

	mu    sync.Mutex // guards what follows
	idx   *index.Index
	tail  []ledger.Entry // behind what the index holds, up to the head seen last
	dirty bool           // saved since HANDOFF.md was written
	// lookOnly: nothing is written, not even what is only remembered.
	lookOnly bool
	plain    plain // what needs no asking
	// met is what was known of redactions when they were last settled, and hidden
	// are the hashes of entries whose bodies ought to be erased and can't be.
	clean  ledger.Pos // up to which no redaction was left to settle
	met    string
	hidden map[string]bool
	locked bool // under the ledger's lock, which tryMutate holds
	// unstamped is the first revision that was saved since stamps were last kept, 0
	// for none.
	unstamped int64
	base      struct { // the merge-base found last
		key    [2]string // commit and the default branch's tip
		commit string
	}
}

// Open finds the project. It makes nothing and reads no ledger. The error is a
// *NoPlaceError where there can be none.
func Open(ctx context.Context, w *World, o Options) (*Project, error) {
	loc, err := locate(ctx, w, o.Dir)
	if err != nil {
		return nil, err
	}
	wait := DefaultLockWait
	if v := w.Getenv("HOLDFAST_LOCK_TIMEOUT"); v != "" {
		if wait, err = time.ParseDuration(v); err != nil || wait < 0 {
			return nil, &UsageError{Why: "HOLDFAST_LOCK_TIMEOUT is not a duration such as 5s"}
		}
	}
	m := &filelog.Machine{
		State: w.stateFolders(), Layer: w.Layer, Rand: w.Rand, Now: w.Now, LockWait: wait,
		Owner: fmt.Sprintf("pid %d, started %s, on %s", w.PID, w.Start, w.Host), Tool: w.Version,
	}
	if id := w.Getenv("HOLDFAST_ADOPT"); id != "" && (o.Caller.Via == ledger.ViaMCP || o.Caller.Kind == ledger.Person) {
		m.Adopted = []string{id}
	}
	p := &Project{core: &core{w: w, loc: loc, m: m, log: filelog.New(m, loc.place), hashes: surface.NewCache()}, caller: o.Caller}
	p.screen = secret.New(p.allowed)
	return p, nil
}

// As gives the same project as another caller uses it: a server learns its
// client's name with each call.
func (p *Project) As(c Caller) *Project { return &Project{core: p.core, caller: c} }

// Path is the ledger's folder.
func (p *Project) Path() string { return p.log.Dir() }

// Top is the folder that paths in records are relative to.
func (p *Project) Top() string { return p.loc.top }

// Close lets the index and HANDOFF.md follow what was saved, and frees what the
// project holds. Nothing that was acknowledged depends on it.
func (p *Project) Close(ctx context.Context) error {
	err := p.Settle(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, p.closeIndex())
}

// Settle lets the index and HANDOFF.md follow what was saved. Failing harms
// nothing: both are made anew from the ledger whenever they are wanting.
func (p *Project) Settle(ctx context.Context) error {
	p.mu.Lock()
	dirty := p.dirty
	p.dirty = false
	p.mu.Unlock()
	if !dirty {
		return nil
	}
	return errors.Join(p.follow(ctx), p.stampSaved(ctx), p.writeHandoff(ctx), p.SweepOriginals(), p.sweepKept(ctx))
}

// Idle gives back memory that only a burst of work needs: the detector and the
// index, which the next call opens again. One that isn't in the cache folder
// would have to be made anew, and stays.
func (p *Project) Idle() error {
	p.screen.Idle()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idx == nil || p.idx.Where() != index.InCache && p.idx.Where() != index.InReadOnly {
		return nil
	}
	return p.closeIndex()
}

// closeIndex closes the index, if it is open. p.mu is held.
func (p *Project) closeIndex() error {
	if p.idx == nil {
		return nil
	}
	err := p.idx.Close()
	p.idx, p.tail = nil, nil
	return err
}

// openIndex opens the index of the ledger, once. p.mu is held.
func (p *Project) openIndex(ctx context.Context) error {
	if p.idx != nil {
		return nil
	}
	id := p.log.ID()
	dir := ""
	if c := p.w.cacheFolder(); c != "" && id != "" {
		dir = filepath.Join(c, id)
	}
	o := index.Options{Dir: dir, TempDir: p.w.Temp, Ledger: id}
	if p.lookOnly {
		o.TempDir, o.ReadOnly = "", true
	}
	idx, err := index.Open(ctx, o)
	if err != nil {
		return fmt.Errorf("open index: %w", err)
	}
	p.idx = idx
	return nil
}

// bulk is how many entries may be folded in memory before the index is brought
// up to date first.
const bulk = 128

// background is how long the tail may be before the index follows behind an
// answer.
const background = 16

// followBehind lets the index follow without holding up whoever saved.
func (p *Project) followBehind(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	go func() {
		// The index is made anew or caught up with whenever it is asked: failing
		// here costs the next reader a little time.
		_ = p.follow(ctx)
	}()
}

// view gives a reader of the state at head, which the log has just given. p.mu
// is held.
func (p *Project) view(ctx context.Context, head ledger.Pos) (*index.View, error) {
	if err := p.openIndex(ctx); err != nil {
		return nil, err
	}
	if head.Hash == "" || p.clean == head && p.reaches(head) {
		return p.idx.View(ctx, p.tail)
	}
	if err := p.catchUp(ctx, head); err != nil {
		return nil, err
	}
	if err := p.meetRedactions(ctx, head); err != nil {
		return nil, err
	}
	return p.idx.View(ctx, p.tail)
}

// reaches: what the index was last known to hold, and the tail, end at head. A
// view made of them notices if the index isn't there any more.
func (p *Project) reaches(head ledger.Pos) bool {
	known := p.idx.Known()
	if n := len(p.tail); n > 0 {
		return p.tail[0].Prev == known.Hash && p.tail[n-1].Pos() == head
	}
	return known == head
}

// added: the save that just stood is behind what was read, so the next look
// need not read it again. p.mu is held.
func (p *Project) added(after ledger.Pos) {
	e, ok := p.log.Added()
	if !ok || e.Prev != after.Hash || p.idx == nil || !p.reaches(after) {
		return
	}
	p.tail = append(p.tail, e)
	if p.clean == after && e.Type != ledger.TypeRedact {
		p.clean = e.Pos()
	}
}

// catchUp makes index and tail together end at head.
func (p *Project) catchUp(ctx context.Context, head ledger.Pos) error {
	base := p.idx.Base()
	p.trim(base)
	last := base
	if head.Rev-base.Rev > bulk || base.Hash == "" {
		err := p.idx.Follow(ctx, p.checkedLog())
		var regressed *index.RegressedError
		if errors.As(err, &regressed) {
			return p.regressed(ctx, head, regressed)
		}
		if err != nil {
			return fmt.Errorf("update index: %w", err)
		}
		// Others may have brought the index further since: what is behind it must
		// follow what it was found to hold last.
		last = p.idx.Base()
		p.trim(last)
	}
	if n := len(p.tail); n > 0 {
		last = p.tail[n-1].Pos()
	}
	if last == head {
		return nil
	}
	if there, err := p.holds(ctx, last, head); err != nil {
		return err
	} else if !there {
		return p.regressed(ctx, head, &index.RegressedError{Base: last})
	}
	for e, err := range p.checkedLog().Entries(ctx, last) {
		if err != nil {
			return err
		}
		p.tail = append(p.tail, e)
	}
	return nil
}

// holds reports whether the ledger, whose head is given, has what the index held
// last. An index that is ahead of the head may have followed another's save.
func (p *Project) holds(ctx context.Context, last, head ledger.Pos) (bool, error) {
	if last.Hash == "" || last.Rev == head.Rev {
		return last.Hash == "", nil
	}
	if last.Rev > head.Rev {
		now, err := p.log.Head(ctx)
		if err != nil || now.Rev < last.Rev {
			return false, err
		}
	}
	e, err := p.log.Entry(ctx, last.Rev)
	return e.Hash == last.Hash, err
}

// trim drops from the tail what the index holds, and all of it when it doesn't
// follow the index.
func (p *Project) trim(base ledger.Pos) {
	for i := range p.tail {
		if p.tail[i].Prev == base.Hash {
			p.tail = append([]ledger.Entry(nil), p.tail[i:]...)
			return
		}
	}
	p.tail = nil
}

// regressed: the index holds a head that the ledger has not. Unless a recovery
// replaced it, that counts like the mirror's head: the ledger lost saves.
func (p *Project) regressed(ctx context.Context, head ledger.Pos, r *index.RegressedError) error {
	for e, err := range p.log.Entries(ctx, ledger.Pos{}) {
		if err != nil {
			return err
		}
		if e.Type == ledger.TypeRecover && !e.Void() {
			for _, q := range e.Replaces {
				if q.Rev >= r.Base.Rev {
					if err := p.idx.Discard(ctx); err != nil {
						return fmt.Errorf("rebuild index: %w", err)
					}
					p.tail = nil
					return p.catchUp(ctx, head)
				}
			}
		}
	}
	return &filelog.DamageError{Kind: filelog.DamageRegressed, Rev: r.Base.Rev, Path: p.Path(),
		Why: fmt.Sprintf("the index saw revision %d, which the ledger has not or has otherwise", r.Base.Rev)}
}

// follow brings the index up to the end of the tail, or to the head where there
// is none.
func (p *Project) follow(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idx == nil {
		return nil
	}
	if err := p.idx.Follow(ctx, remembered{p.tail, p.checkedLog()}); err != nil {
		return fmt.Errorf("update index: %w", err)
	}
	p.trim(p.idx.Base())
	return nil
}

// state is what a look at a ledger can be asked: the index, or for a damaged
// ledger the fold of what verifies.
type state interface {
	ledger.Reader
	Search(ctx context.Context, q index.SearchQuery) (index.SearchResult, error)
}

// reading is one consistent look at a ledger.
type reading struct {
	view  state
	place ledger.Place
	scope *ledger.Scope
	head  ledger.Pos
	seals func() ledger.Seals // the keys of this machine, read when first asked for
}

// read looks at the ledger as it is now, from the caller's branch. Without a
// ledger the view is empty and head is zero. p.mu is held.
func (p *Project) read(ctx context.Context) (*reading, error) {
	head, err := p.log.Head(ctx)
	if err != nil {
		return nil, err
	}
	if d := p.log.NotedDamage(p.log.ID()); d != nil && head.Hash != "" {
		return nil, d
	}
	place, err := p.where(ctx)
	if err != nil {
		return nil, err
	}
	return p.readAt(ctx, head, place)
}

// readAt looks at the ledger up to head, as seen from place.
func (p *Project) readAt(ctx context.Context, head ledger.Pos, place ledger.Place) (*reading, error) {
	view, err := p.view(ctx, head)
	if err != nil {
		p.noteDamage(err)
		return nil, err
	}
	scope, err := p.scope(ctx, view, place)
	if err != nil {
		return nil, err
	}
	return &reading{view: view, place: place, scope: scope, head: head, seals: p.seals()}, nil
}

// noteDamage remembers damage, so that every save refuses until it is cleared.
func (p *Project) noteDamage(err error) {
	if d, ok := errors.AsType[*filelog.DamageError](err); ok && p.log.ID() != "" && !p.lookOnly {
		// The refusal itself reaches the caller; a note that can't be written
		// only means that the next save looks for itself.
		_ = p.log.NoteDamage(p.log.ID(), d, p.w.Now())
	}
}
