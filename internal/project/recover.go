package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"holdfast/internal/archive"
	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/recovery"
	"holdfast/internal/secret"
	"holdfast/internal/txn"
)

// RecoverRequest asks for a recovery.
type RecoverRequest struct {
	At               *int64 // state as of a revision; nil: the newest
	From             string // an encrypted export, or a source that a list shows; empty: the best of all here
	Passphrase       string // of the export
	Identity         string // file with the private key of the export
	KeepHits         bool   // keep what the screening finds in an export
	Expect           string // fingerprint of a preview; empty: only preview
	ExpectedRecovery *string
}

// States of a ledger as a recovery sees it.
const (
	StateHealthy    = "healthy"
	StateDamaged    = "damaged"
	StateLost       = "lost"
	StateIncomplete = "incomplete" // a recovery was begun and not finished
	StateNone       = "none"       // there is no ledger here
)

// RecoverySource is a place from which a ledger can be brought back.
type RecoverySource struct {
	Kind     string `json:"kind"`
	Path     string `json:"path"`
	Revision int64  `json:"revision"` // newest that verifies; -1: none does
	Head     string `json:"head"`
	Entries  int64  `json:"entries"`
	Bad      int64  `json:"bad"` // lines or files that can't be used
}

// Recovery is a preview, or what was done.
type Recovery struct {
	State        string            `json:"state"`
	Ledger       string            `json:"ledger"`
	Why          string            `json:"why,omitempty"` // what is wrong with the current ledger
	By           string            `json:"by"`            // nothing, entry or generation
	Source       RecoverySource    `json:"source"`
	Sources      []RecoverySource  `json:"sources"`
	Revision     int64             `json:"revision"` // the state goes back to it
	Head         string            `json:"head"`     // of the source
	Current      int64             `json:"current"`  // revision of the current ledger, -1: none verifies
	Verified     string            `json:"verified"` // how the source was verified
	Fingerprint  string            `json:"fingerprint"`
	Applied      bool              `json:"applied"`
	Lost         []recovery.Change `json:"lost"`
	Hidden       []recovery.Change `json:"hidden"`
	MoreLost     int               `json:"more_lost,omitempty"`
	MoreHidden   int               `json:"more_hidden,omitempty"`
	Replaces     []ledger.Pos      `json:"replaces,omitempty"`
	Joined       int               `json:"joined"`                      // entries of the current ledger alone that go along
	Erased       []int64           `json:"erased,omitempty"`            // come without their text: redacted before
	Hits         []int64           `json:"hits,omitempty"`              // come without their text: the screening found a secret
	Restored     int64             `json:"restored_revision,omitempty"` // when applied: same as revision
	NewHead      string            `json:"new_head,omitempty"`          // when applied
	NewRevision  int64             `json:"new_revision,omitempty"`
	Generation   string            `json:"recovery,omitempty"`  // recovery generation, when applied
	Preserved    string            `json:"preserved,omitempty"` // generation that was kept as it was
	Warnings     []string          `json:"warnings,omitempty"`
	Transactions int               `json:"transactions"`
}

// ExportNeeds tells whether path is an encrypted export, and whether a passphrase
// opens it.
func (p *Project) ExportNeeds(path string) (export, passphrase bool, err error) {
	f, err := p.openGiven("source", path)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	if !isAge(f) {
		return false, false, nil
	}
	passphrase, err = archive.NeedsPassphrase(f)
	return true, passphrase, err
}

func isAge(f *os.File) bool {
	const magic = "age-encryption.org/"
	b := make([]byte, len(magic))
	n, err := f.ReadAt(b, 0)
	return (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(b[:n], []byte(magic))
}

// Recover shows what a recovery would do, or, given the preview's fingerprint,
// does it.
func (p *Project) Recover(ctx context.Context, q RecoverRequest) (Recovery, error) {
	p.mu.Lock()
	s, plan, done, err := p.plan(ctx, &q)
	p.mu.Unlock()
	defer done()
	if err != nil {
		return Recovery{}, err
	}
	out := p.preview(s, plan)
	if q.Expect == "" {
		return out, nil
	}
	if err := s.Used(q.Expect); err != nil {
		return out, errors.Join(err, p.settleRecovery(context.WithoutCancel(ctx), plan.Ledger))
	}
	if q.Expect != plan.Fingerprint {
		return out, &FingerprintError{Current: plan.Fingerprint}
	}
	switch plan.By {
	case recovery.ByEntry:
		err = p.recoverByEntry(ctx, &q, plan, &out)
	case recovery.ByGeneration:
		err = p.recoverByGeneration(ctx, &q, &out)
	default:
		err = &UsageError{Why: "there is nothing to recover: the ledger is whole, and nothing here is newer"}
	}
	return out, err
}

// plan surveys and plans. done closes what the plan reads from.
func (p *Project) plan(ctx context.Context, q *RecoverRequest) (*recovery.Survey, *recovery.Plan, func(), error) {
	o := recovery.Options{}
	w := recovery.Want{At: q.At, From: q.From, KeepHits: q.KeepHits, Rejoin: rejoin, Hits: p.hits, Heads: p.indexHeads(ctx)}
	done := func() {}
	if q.From != "" {
		f, a, err := p.openExport(ctx, q)
		if err != nil {
			return nil, nil, done, err
		}
		if a != nil {
			o.Export, o.Path, w.From = a, p.fromHere(q.From), ""
			done = func() { f.Close() }
		} else {
			w.From = p.fromHere(q.From)
		}
	}
	s, err := recovery.Look(ctx, p.log, p.m, o)
	if err != nil {
		return nil, nil, done, err
	}
	if s.Ledger == "" && o.Export == nil {
		return nil, nil, done, filelog.ErrNone
	}
	plan, err := s.Plan(ctx, w)
	return s, plan, done, err
}

func (p *Project) openExport(ctx context.Context, q *RecoverRequest) (*os.File, *archive.Archive, error) {
	f, err := p.openGiven("source", q.From)
	if err != nil {
		return nil, nil, err
	}
	if !isAge(f) {
		f.Close()
		return nil, nil, nil
	}
	key, err := p.exportKey(q)
	var a *archive.Archive
	if err == nil {
		a, err = archive.Open(ctx, f, key)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, a, nil
}

func (p *Project) exportKey(q *RecoverRequest) (archive.Key, error) {
	if q.Identity == "" {
		return archive.OpenPassphrase(q.Passphrase)
	}
	f, err := p.openGiven("identity", q.Identity)
	if err != nil {
		return archive.Key{}, err
	}
	defer f.Close()
	return archive.Identities(f)
}

// rejoin says again what a transaction's entry says.
func rejoin(e *ledger.Entry) (ledger.Draft, bool) {
	d, err := ledger.ReadDelta(e)
	if err != nil {
		return ledger.Draft{}, false
	}
	return txn.Rejoin(&d)
}

// hits tells whether the screening finds a secret in an entry's texts.
func (p *Project) hits(e *ledger.Entry) bool {
	b, there, err := e.Body()
	if err != nil || !there {
		return false
	}
	var fields []secret.Field
	for _, t := range bodyTexts(&b) {
		fields = append(fields, secret.Field{Name: "text", Text: t})
	}
	return len(secret.New(nil).Check(fields)) > 0
}

// indexHeads is the head that the index saw: it counts like a mirror's.
func (p *Project) indexHeads(ctx context.Context) []ledger.Pos {
	id, err := p.log.Whose(ctx)
	if err == nil {
		return nil
	}
	return p.indexed(ctx, id)
}

// indexed is the head that the index of a ledger in the cache folder saw.
func (p *Project) indexed(ctx context.Context, id string) []ledger.Pos {
	dir := p.w.cacheFolder()
	if id == "" || dir == "" {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(dir, id, index.FileName)); err != nil {
		return nil
	}
	x, err := index.Open(ctx, index.Options{Dir: filepath.Join(dir, id), Ledger: id, ReadOnly: true})
	if err != nil {
		return nil
	}
	defer x.Close()
	if base := x.Base(); base.Hash != "" {
		return []ledger.Pos{base}
	}
	return nil
}

func sourceOf(s *recovery.Source) RecoverySource {
	r := RecoverySource{Kind: s.Kind, Path: s.Path, Revision: s.Head.Rev, Head: s.Head.Hash, Entries: s.Entries, Bad: s.Bad}
	if r.Head == "" {
		r.Revision = -1
	}
	return r
}

func stateOf(err error) (state, why string) {
	d, damaged := errors.AsType[*filelog.DamageError](err)
	_, lost := errors.AsType[*filelog.LostError](err)
	switch {
	case err == nil:
		return StateHealthy, ""
	case errors.Is(err, filelog.ErrNone):
		return StateNone, ""
	case damaged && d.Kind == filelog.DamageIncomplete:
		return StateIncomplete, sentence(err)
	case lost:
		return StateLost, sentence(err)
	}
	return StateDamaged, sentence(err)
}

func (p *Project) preview(s *recovery.Survey, plan *recovery.Plan) Recovery {
	out := Recovery{Ledger: plan.Ledger, By: plan.By, Source: sourceOf(plan.Source), Revision: plan.Base, Head: plan.Target.Hash,
		Current: s.Head.Rev, Fingerprint: plan.Fingerprint, Lost: plan.Lost, Hidden: plan.Hidden, MoreLost: plan.MoreLost, MoreHidden: plan.MoreHidden,
		Replaces: plan.Replaces, Joined: plan.Joined, Erased: plan.Erased, Hits: plan.Hits, Sources: []RecoverySource{}, Transactions: len(s.Counts.Txns)}
	out.State, out.Why = stateOf(s.State)
	if s.State == nil && !s.Healthy() {
		out.State = StateDamaged
		if s.Ledger == "" {
			out.State = StateNone
		} else if len(s.Flaws) > 0 {
			out.Why = sentence(fmt.Errorf("revision %d: %s", s.Flaws[0].Rev, s.Flaws[0].Why))
		}
	}
	if s.Head.Hash == "" {
		out.Current = -1
	}
	out.Verified = "each entry's hash, body and place in the chain, from revision 0 to the head, and the seals of this machine"
	if plan.Source.Kind == recovery.SourceExport {
		out.Verified += "; the export was authenticated in full first"
	}
	for _, src := range s.Sources {
		out.Sources = append(out.Sources, sourceOf(src))
	}
	if out.Lost == nil {
		out.Lost = []recovery.Change{}
	}
	if out.Hidden == nil {
		out.Hidden = []recovery.Change{}
	}
	return out
}
