package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// mutation is one change of the ledger, before it has its place in it.
type mutation struct {
	kind     string         // entry type
	recovery *string        // generation the caller resumed in; nil: none was given
	key      string         // idempotency key
	request  any            // what the key stands for, guards aside
	fields   []secret.Field // every text from outside, for the screening
	person   bool           // only a person may do this
	creates  bool           // may be a ledger's first save
	copied   bool           // adopts a copy: nothing is built
	// anyRecovery: it describes the world, which no recovery changes.
	anyRecovery bool
	// place is where the caller stands, found before the lock.
	place ledger.Place
	// files are looked at before the lock and again under it.
	files []watched
	// build makes the draft from the state under the lock. It checks the guards.
	build func(ctx context.Context, r *reading) (ledger.Draft, error)
}

// outcome is what a mutation did.
type outcome struct {
	ledger.Saved
	Replayed bool
	Recovery string
	entry    *ledger.Entry // of a replay
}

// mutate is the one function that every mutation of the ledger goes through:
// screen, lock, fold what is new, check the guards, append, unlock. Index and
// HANDOFF.md follow later.
func (p *Project) mutate(ctx context.Context, m mutation) (outcome, error) {
	if m.person && p.caller.Kind != ledger.Person {
		return outcome{}, ErrPersonOnly
	}
	if err := p.checkMutation(ctx, &m); err != nil {
		return outcome{}, err
	}
	deadline := p.w.Now().Add(p.m.LockWait)
	for tries := 0; ; {
		out, err := p.tryMutate(ctx, &m)
		conflict, lost := errors.AsType[*ledger.ConflictError](err)
		switch {
		case lost && p.w.Now().After(deadline):
			return outcome{}, &TooBusyError{Err: conflict}
		case !lost && !startOver(err) || tries == 3:
			return out, err
		case !lost:
			tries++
		}
	}
}

// startOver: something that the save rested on changed under it.
func startOver(err error) bool {
	_, damaged := errors.AsType[*index.DamagedError](err)
	return damaged || errors.Is(err, errChangedMeanwhile)
}

func (p *Project) checkMutation(ctx context.Context, m *mutation) error {
	if len(m.key) > ledger.MaxKey {
		return &ledger.LimitError{What: "key", Limit: ledger.MaxKey, Got: len(m.key), Unit: "bytes"}
	}
	if err := ledger.CheckText("key", m.key, 0, ledger.MaxKey); err != nil {
		return err
	}
	fields := append([]secret.Field{{Name: "key", Text: m.key}}, m.fields...)
	// What the tool itself takes from outside is stored too.
	var err error
	if m.place, err = p.where(ctx); err != nil {
		return err
	}
	fields = append(fields, secret.Field{Name: "branch", Text: m.place.Git.Branch},
		secret.Field{Name: "worktree", Text: p.loc.worktree},
		secret.Field{Name: "client", Text: p.caller.Client}, secret.Field{Name: "client version", Text: p.caller.Version})
	if found := p.screen.Check(fields); len(found) > 0 {
		return &secret.FoundError{Findings: found}
	}
	return nil
}

// tryMutate is one turn under the lock.
func (p *Project) tryMutate(ctx context.Context, m *mutation) (out outcome, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unlock, err := p.log.Lock(ctx)
	if err != nil {
		return out, located(err, p.Path())
	}
	p.locked = true
	defer func() {
		p.locked = false
		// The save stands or not by now; a lock that can't be given back is told.
		if uerr := unlock(); uerr != nil && err == nil {
			out.Warnings = append(out.Warnings, "unlock: "+uerr.Error())
		}
	}()
	if m.copied {
		return p.takeCopy(ctx, m)
	}
	head, err := p.log.Head(ctx)
	if err != nil {
		p.noteDamage(err)
		return out, err
	}
	if head.Hash == "" {
		if !m.creates {
			return out, filelog.ErrNone
		}
		if head, err = p.createLedger(ctx, m.place); err != nil {
			return out, err
		}
		if w := p.unrecognized(ctx); w != "" {
			defer func() { out.Warnings = append(out.Warnings, w) }()
		}
	}
	r, err := p.readAt(ctx, head, m.place)
	if err != nil {
		return out, err
	}
	if out, done, err := p.guard(ctx, m, r); done || err != nil {
		return out, err
	}
	return p.commit(ctx, m, r)
}

// located completes the path of an error that names a file in dir alone.
func located(err error, dir string) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok && !filepath.IsAbs(pe.Path) {
		return &fs.PathError{Op: pe.Op, Path: filepath.Join(dir, pe.Path), Err: pe.Err}
	}
	return err
}

// guard checks what stands in a save's way, and finds an earlier save with the
// same key.
func (p *Project) guard(ctx context.Context, m *mutation, r *reading) (outcome, bool, error) {
	if !p.plain.at(r.head, r.place.Git) {
		newer, err := r.view.Newer(ctx)
		if err != nil {
			return outcome{}, false, err
		}
		if len(newer) > 0 {
			return outcome{}, false, &filelog.NewerError{Path: p.Path(), Rev: newer[0]}
		}
	}
	recovery := r.view.Recovery()
	given := m.recovery != nil
	if !m.anyRecovery && (given && *m.recovery != recovery || !given && recovery != "" && p.caller.Kind != ledger.Person) {
		expected := ""
		if given {
			expected = *m.recovery
		}
		return outcome{}, false, &RecoveryError{Expected: expected, Current: recovery}
	}
	if m.key == "" {
		return outcome{}, false, nil
	}
	use, found, err := r.view.KeyUse(ctx, ledger.KeyHash(m.key))
	if err != nil || !found {
		return outcome{}, false, err
	}
	if use.Request != "" && use.Request != digest(m.request) {
		return outcome{}, false, &KeyError{Rev: use.Rev}
	}
	return p.replay(ctx, use.Rev, recovery)
}

// replay answers a repeated save with the first answer. It rests on an entry
// that somebody else may have left unflushed, so that is made safe first.
func (p *Project) replay(ctx context.Context, rev int64, recovery string) (outcome, bool, error) {
	e, err := p.log.Entry(ctx, rev)
	if err != nil {
		return outcome{}, false, err
	}
	out := outcome{Saved: ledger.Saved{Pos: e.Pos(), At: e.At, Protected: true}, Replayed: true, Recovery: recovery, entry: &e}
	if err := p.log.Secure(ctx); err != nil {
		out.Protected = false
		out.Warnings = append(out.Warnings, "not protected: "+err.Error())
	}
	return out, true, nil
}

func (p *Project) commit(ctx context.Context, m *mutation, r *reading) (outcome, error) {
	draft, err := m.build(ctx, r)
	if err != nil {
		return outcome{}, err
	}
	for _, f := range m.files {
		if !f.unchanged() {
			return outcome{}, errChangedMeanwhile
		}
	}
	draft.Type, draft.At, draft.Key = m.kind, p.w.Now(), m.key
	if draft.Recovery == "" {
		draft.Recovery = r.view.Recovery()
	}
	if draft.Body.Worktree = p.loc.worktree; draft.Body.Origin == nil { // what is imported says itself where and by whom it was made
		draft.Body.Actor, draft.Body.Git = p.caller.Actor, p.withBase(ctx, r.place)
	}
	if m.key != "" {
		draft.Body.Key, draft.Body.Request = m.key, digest(m.request)
	}
	saved, err := p.log.Append(ctx, r.head, draft)
	if err != nil {
		p.noteDamage(err)
		return outcome{}, err
	}
	p.dirty = true
	if p.unstamped == 0 {
		p.unstamped = saved.Rev
	}
	p.added(r.head)
	p.plain.follow(r.head, saved.Pos, m.kind, draft.Body.Git)
	if len(p.tail) >= background {
		p.followBehind(ctx)
	}
	return outcome{Saved: saved, Recovery: draft.Recovery}, nil
}

// unrecognized warns of a ledger that was made without a seal key: it looks like a
// stranger's, also to this machine, unless a mirror knows it.
func (p *Project) unrecognized(ctx context.Context) string {
	e, err := p.log.Entry(ctx, 0)
	if err != nil || e.SealKey != "" {
		return ""
	}
	return "this ledger can't be told from a stranger's, since no state folder can be written: set HOLDFAST_ADOPT=" + p.log.ID() + " where it is used, or HOME or XDG_STATE_HOME"
}

// createLedger saves revision 0. Somebody else may be first.
func (p *Project) createLedger(ctx context.Context, place ledger.Place) (ledger.Pos, error) {
	saved, err := p.log.Append(ctx, ledger.Pos{}, ledger.Draft{
		Type: ledger.TypeLedger, At: p.w.Now(),
		Body: ledger.Body{Actor: p.caller.Actor, Worktree: p.loc.worktree, Git: p.withBase(ctx, place)},
	})
	if conflict, lost := errors.AsType[*ledger.ConflictError](err); lost {
		return conflict.Head, nil
	}
	if err != nil {
		return ledger.Pos{}, err
	}
	return saved.Pos, p.closeIndex() // it was opened before there was an id
}

// digest is what an idempotency key stands for: SHA-256 of the request as JSON.
func digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		// Requests are plain data; one that can't be encoded equals no other.
		b = fmt.Appendf(nil, "%v", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// age is how long ago a stored time was, never negative.
func age(now time.Time, at string) time.Duration {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return 0
	}
	return max(0, now.Sub(t))
}
