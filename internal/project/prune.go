package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
	"holdfast/internal/recovery"
	"holdfast/internal/txn"
)

// PruneItem is something that could go.
type PruneItem struct {
	Kind  string `json:"kind"` // generation, build, quarantine or manifest
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why,omitempty"` // why it stays
}

// Pruning is a preview of what prune would remove, or what it removed.
type Pruning struct {
	Fingerprint string      `json:"fingerprint"`
	Remove      []PruneItem `json:"remove"`
	Keep        []PruneItem `json:"keep"`
	Bytes       int64       `json:"bytes"` // of all that is to go
	Applied     bool        `json:"applied"`
	Warnings    []string    `json:"warnings,omitempty"`

	left []filelog.Leftover
}

// Prune shows which older generations, quarantined files and manifests nobody
// needs, or, given the preview's fingerprint, removes them. Only a person may.
// Nothing goes that is the last copy of an entry, and nothing at all unless the
// ledger is whole.
func (p *Project) Prune(ctx context.Context, expect string) (d Pruning, err error) {
	if expect == "" {
		return p.planPrune(ctx)
	}
	if p.caller.Kind != ledger.Person {
		return d, ErrPersonOnly
	}
	unlock, err := p.log.Lock(ctx)
	if err != nil {
		return d, located(err, p.Path())
	}
	defer func() {
		if uerr := unlock(); uerr != nil {
			d.Warnings = append(d.Warnings, "unlock: "+sentence(uerr))
		}
	}()
	if d, err = p.planPrune(ctx); err != nil {
		return d, err
	}
	if d.Fingerprint != expect {
		return d, &FingerprintError{Current: d.Fingerprint}
	}
	for i := range d.left {
		if err := p.log.RemoveLeftover(&d.left[i]); err != nil {
			return d, &PruneUnfinishedError{Done: i, Of: len(d.left), Err: err}
		}
	}
	d.Applied = true
	return d, nil
}

// PruneUnfinishedError: some of what was to go is gone, and nothing else.
type PruneUnfinishedError struct {
	Done, Of int
	Err      error
}

func (e *PruneUnfinishedError) Error() string { return "prune: " + e.Err.Error() }
func (e *PruneUnfinishedError) Unwrap() error { return e.Err }

func (e *PruneUnfinishedError) explain() Problem {
	return Problem{Code: "unfinished", Exit: ExitBusy, Message: fmt.Sprintf("%d of %d were removed, and then: %s; the ledger is whole", e.Done, e.Of, sentence(e.Err)),
		Next: "look at what is left: holdfast prune"}
}

func (p *Project) planPrune(ctx context.Context) (Pruning, error) {
	d := Pruning{Remove: []PruneItem{}, Keep: []PruneItem{}}
	s, err := recovery.Look(ctx, p.log, p.m, recovery.Options{})
	if err != nil {
		return d, err
	}
	if err := p.notWhole(s); err != nil {
		return d, err
	}
	needs, err := p.pruneNeeds(ctx, s)
	if err != nil {
		return d, err
	}
	left, err := p.log.Leftovers(ctx)
	if err != nil {
		return d, err
	}
	sum := []string{"prune", s.Ledger, s.Head.Hash}
	for _, l := range left {
		item := PruneItem{Kind: l.Kind, Path: l.Path, Files: l.Files, Bytes: l.Bytes, Why: needs.why(&l)}
		if item.Why != "" {
			d.Keep = append(d.Keep, item)
			continue
		}
		d.Remove, d.left, d.Bytes = append(d.Remove, item), append(d.left, l), d.Bytes+l.Bytes
		sum = append(sum, l.Kind, l.Path, l.Sum)
	}
	d.Fingerprint = digest(sum)
	return d, nil
}

// notWhole says what is wrong with the ledger, nil if nothing is.
func (p *Project) notWhole(s *recovery.Survey) error {
	if s.State != nil {
		return s.State
	}
	if d := p.log.NotedDamage(s.Ledger); d != nil {
		return d
	}
	if s.Healthy() {
		return nil
	}
	d := &filelog.DamageError{Kind: filelog.DamageChanged, Rev: -1, Path: p.Path(), Why: "not every revision verifies"}
	for _, f := range s.Flaws {
		d.Kind, d.Rev, d.Path, d.Why = f.Kind, f.Rev, f.Path, f.Why
		break
	}
	return d
}

// pruneNeeds is what is still needed of the leftovers.
type pruneNeeds struct {
	only      map[string]int64 // entries that stand in an older generation alone, by its path
	manifests map[string]bool  // that receipts name
	names     map[string]string
	setup     bool // a setup was interrupted
}

func (p *Project) pruneNeeds(ctx context.Context, s *recovery.Survey) (n pruneNeeds, err error) {
	if n.only, err = s.OnlyIn(ctx); err != nil {
		return n, err
	}
	n.manifests, n.names = map[string]bool{}, map[string]string{}
	for e, err := range p.log.Entries(ctx, ledger.Pos{}) {
		if err != nil {
			return n, err
		}
		if e.Type != ledger.TypeCheck {
			continue
		}
		b, there, err := e.Body()
		if err == nil && there && b.Receipt != nil && b.Receipt.Inputs.Manifest != "" {
			n.manifests[b.Receipt.Inputs.Manifest] = true
		}
	}
	list, err := p.TxnList(ctx, false)
	if err != nil {
		return n, err
	}
	for i := range list.Transactions {
		b := &list.Transactions[i]
		word := "open"
		if b.State == txn.StateBlocked {
			word = "blocked"
		}
		n.names[b.Transaction] = "transaction " + visible(b.Transaction) + " is " + word + ", and these are its originals"
	}
	u, err := p.UnfinishedSetup(ctx)
	n.setup = u != nil
	return n, err
}

// why says what a leftover is needed for, empty for nothing.
func (n *pruneNeeds) why(l *filelog.Leftover) string {
	switch l.Kind {
	case filelog.LeftGeneration:
		if k := n.only[l.Path]; k > 0 {
			return fmt.Sprintf("%d entries stand nowhere else", k)
		}
	case filelog.LeftManifest:
		if sum := strings.TrimSuffix(filepath.Base(l.Path), ".gz"); n.manifests[sum] {
			return "a receipt names it"
		}
	case filelog.LeftQuarantine:
		if why := n.names[l.Name]; why != "" {
			return why
		}
		for gen := range n.only {
			if strings.HasPrefix(l.Name, "generation-"+filepath.Base(gen)+"-") {
				return "it lists the files of a generation that stays"
			}
		}
		if n.setup {
			return "a setup was interrupted: run it again first"
		}
	}
	return ""
}

// Forgetting is what forget would remove, or removed.
type Forgetting struct {
	Ledger  string   `json:"ledger"`
	Paths   []string `json:"paths"`
	Others  []string `json:"others,omitempty"` // other folders on this machine with the same ledger: they keep it
	Forgot  bool     `json:"forgot"`
	Setup   bool     `json:"setup"` // clients are still set up here
	Entries int64    `json:"entries"`
}

// Forget shows what of the ledger here is on this machine, or, given the ledger's
// id, removes all of it: the folder, the mirrors, the index and the notes. Only a
// person may, and no copy is left to recover from. Where another folder has the
// same ledger, mirrors and index stay with it.
func (p *Project) Forget(ctx context.Context, id string) (f Forgetting, err error) {
	r, err := p.log.Remains(ctx)
	if err != nil {
		return f, err
	}
	f = Forgetting{Ledger: r.Ledger, Paths: r.Paths, Others: r.Others, Entries: r.Head + 1}
	cache := p.cacheDirOf(r.Ledger)
	if cache != "" && isDir(cache) && len(r.Others) == 0 {
		f.Paths = append(f.Paths, cache)
	}
	if a, err := p.CheckSetup(ctx, false); err == nil {
		for i := range a.Clients {
			f.Setup = f.Setup || a.Clients[i].State == Connected
		}
	}
	if id == "" {
		return f, nil
	}
	if p.caller.Kind != ledger.Person {
		return f, ErrPersonOnly
	}
	if id != r.Ledger {
		return f, &FingerprintError{Current: r.Ledger}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.closeIndex(); err != nil {
		return f, err
	}
	if err := p.log.Forget(ctx, r); err != nil {
		return f, fmt.Errorf("forget: %w", err)
	}
	if cache != "" && len(r.Others) == 0 {
		err = p.removeTree(cache)
	}
	f.Forgot = err == nil
	p.dirty = false
	return f, err
}

func (p *Project) cacheDirOf(id string) string {
	c := p.w.cacheFolder()
	if c == "" || id == "" {
		return ""
	}
	return filepath.Join(c, id)
}

// removeTree removes a folder of ours with what is in it.
func (p *Project) removeTree(path string) error {
	d, err := p.w.Layer.OpenDir(filepath.Dir(path))
	if err != nil {
		if !isDir(filepath.Dir(path)) {
			return nil
		}
		return fmt.Errorf("remove folder: %w", err)
	}
	return errors.Join(d.RemoveTree(filepath.Base(path)), d.Close())
}
