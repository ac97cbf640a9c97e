package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
	"holdfast/internal/txn"
)

// What restoring does to one file.
const (
	restoreSame   = "same"   // it is as it was
	restoreCreate = "create" // it is gone
	restoreWrite  = "write"  // something else is there; that is kept first
	restoreCannot = "cannot" // Why tells
)

// TxnRestoreRequest asks to put originals back.
type TxnRestoreRequest struct {
	Transaction string
	Reason      string // kept
	Expect      string // fingerprint of a preview; empty: only preview
}

// TxnRestored is a preview, or what was done.
type TxnRestored struct {
	Transaction string        `json:"transaction"`
	Fingerprint string        `json:"fingerprint"`
	Files       []RestoreFile `json:"files"`
	Applied     bool          `json:"applied"`
	Revision    int64         `json:"revision,omitempty"`
	Warnings    []string      `json:"warnings,omitempty"`
}

// RestoreFile is one original: what it was, what is there now.
type RestoreFile struct {
	Surface string `json:"surface"`
	Name    string `json:"name,omitempty"` // below the folder
	Then    string `json:"then"`           // file:SHA256 MODE, or link:TARGET
	Now     string `json:"now"`            // the same, absent, or what kind of thing
	Change  string `json:"change"`         // same, create, write or cannot
	Why     string `json:"why,omitempty"`

	kept *txn.Preserved
	base string // folder that the path starts from
	path string // slash path below base
}

// pending: the file isn't as it was and can be put back.
func (f *RestoreFile) pending() bool { return f.Change == restoreCreate || f.Change == restoreWrite }

// TxnRestore shows what putting a transaction's originals back would do, or,
// given the preview's fingerprint, does it: what is there now is kept in
// quarantine first. Only a person can. It is no attempt and ends nothing.
func (p *Project) TxnRestore(ctx context.Context, q TxnRestoreRequest) (TxnRestored, error) {
	if q.Expect != "" && p.caller.Kind != ledger.Person {
		return TxnRestored{}, ErrPersonOnly
	}
	fields := []secret.Field{{Name: "reason", Text: q.Reason}}
	if found := p.screen.Check(fields); len(found) > 0 {
		return TxnRestored{}, &secret.FoundError{Findings: found}
	}
	c, err := p.txnCall(ctx, "n")
	if err != nil {
		return TxnRestored{}, err
	}
	a, err := c.planRestore(q.Transaction)
	if err != nil || q.Expect == "" {
		return a, err
	}
	draft, err := txn.Engine{}.Restored(c.book, c.call, q.Transaction, q.Reason)
	if err != nil {
		return a, err
	}
	out, err := p.mutate(ctx, mutation{kind: draft.Type, person: true, anyRecovery: true, fields: fields,
		build: func(ctx context.Context, _ *reading) (ledger.Draft, error) {
			if a, err = c.planRestore(q.Transaction); err != nil {
				return ledger.Draft{}, err
			}
			if q.Expect != a.Fingerprint {
				return ledger.Draft{}, &FingerprintError{Current: a.Fingerprint}
			}
			return *draft, c.restore(ctx, &a)
		}})
	if err != nil {
		return a, err
	}
	a.Applied, a.Revision, a.Warnings = true, out.Rev, out.Warnings
	return a, nil
}

// planRestore compares every original with what is there now.
func (c *txnCall) planRestore(id string) (TxnRestored, error) {
	a := TxnRestored{Transaction: id, Files: []RestoreFile{}}
	t, err := c.book.Get(id)
	if err != nil {
		return a, err
	}
	list, err := c.p.originals(t)
	if err != nil {
		return a, err
	}
	wants, err := c.book.Wants(id)
	if err != nil {
		return a, err
	}
	for i := range list {
		f := RestoreFile{Surface: list[i].Surface, Name: list[i].Name, Then: thenOf(&list[i]), Now: "unknown", kept: &list[i]}
		at := slices.IndexFunc(wants, func(w txn.Want) bool { return w.Surface == f.Surface })
		switch {
		case !list[i].Kept:
			f.Change, f.Why = restoreCannot, "it was not kept: "+list[i].Why
		case at < 0:
			f.Change, f.Why = restoreCannot, "the transaction has no such surface"
		default:
			c.compare(&f, &wants[at])
		}
		a.Files = append(a.Files, f)
	}
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(a); err != nil {
		return a, fmt.Errorf("fingerprint the preview: %w", err)
	}
	a.Fingerprint = hex.EncodeToString(h.Sum(nil))
	return a, nil
}

// originals reads the whole list of what was kept. Its name in the ledger is the
// SHA-256 of its content.
func (p *Project) originals(t *txn.Transaction) ([]txn.Preserved, error) {
	if t.Kept == nil || t.Kept.Manifest == "" {
		return nil, nil
	}
	dir, err := p.quarantineOf(t.ID)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := t.Kept.Manifest[strings.LastIndexByte(t.Kept.Manifest, '/')+1:]
	data, err := dir.ReadFile(name, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("read the list of originals: %w", err)
	}
	var list []txn.Preserved
	if manifestName(data) != name || json.Unmarshal(data, &list) != nil {
		return nil, &filelog.DamageError{Kind: filelog.DamageChanged, Path: dir.Path(), Why: "the list of originals isn't the one that the ledger names"}
	}
	return list, nil
}

func thenOf(o *txn.Preserved) string {
	if o.Link != "" {
		return "link:" + o.Link
	}
	return "file:" + o.SHA256 + " " + o.Mode
}

// restore puts back what is pending: first everything that would be lost is
// kept, then each file is replaced whole.
func (c *txnCall) restore(ctx context.Context, a *TxnRestored) error {
	dir, err := c.p.quarantineOf(a.Transaction)
	if err != nil {
		return err
	}
	defer dir.Close()
	for i := range a.Files {
		if f := &a.Files[i]; f.Change == restoreWrite {
			if err := c.keepNow(dir, f); err != nil {
				return fmt.Errorf("keep what is there: %w", err)
			}
		}
	}
	shown, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		return fmt.Errorf("list what is there: %w", err)
	}
	if err := dir.Replace(nil, "before-restore-"+a.Fingerprint[:16]+".json", shown, 0o600); err != nil {
		return fmt.Errorf("list what is there: %w", err)
	}
	for i := range a.Files {
		if f := &a.Files[i]; f.pending() {
			if err := c.putBack(ctx, dir, f); err != nil {
				return fmt.Errorf("put %s back: %w", f.path, err)
			}
		}
	}
	return nil
}

func (c *txnCall) keepNow(dir *durable.Dir, f *RestoreFile) error {
	sum, _, ok := strings.Cut(strings.TrimPrefix(f.Now, "file:"), " ")
	if !ok {
		return nil // a link: the preview's list holds its target
	}
	parent, base, err := c.parent(f, false)
	if err != nil {
		return err
	}
	defer parent.Close()
	from, err := parent.OpenLinked(base)
	if err != nil {
		return err
	}
	defer from.Close()
	return keepContent(dir, sum, from)
}
