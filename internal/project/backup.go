package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"holdfast/internal/archive"
	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// BackupRequest asks to verify the ledger and complete its mirror, and with
// Output to write an encrypted export too: by a passphrase, or to Recipients.
type BackupRequest struct {
	Output         string
	Passphrase     string
	Recipients     []string // public keys: age X25519 or SSH
	RecipientsFile string
}

// Backup is what a backup did.
type Backup struct {
	Ledger   string        `json:"ledger"`
	Revision int64         `json:"revision"`
	Head     string        `json:"head"`
	Verified bool          `json:"verified"` // the whole chain, and the export when it was opened again
	Mirrors  []MirrorState `json:"mirrors"`
	Output   string        `json:"output,omitempty"`
	Bytes    int64         `json:"bytes,omitempty"` // of the export
	Entries  int64         `json:"entries"`
	Warnings []string      `json:"warnings,omitempty"`
}

// MirrorState tells what was done to one second copy.
type MirrorState struct {
	Path    string `json:"path"`
	Lacked  int64  `json:"lacked"` // revisions that were wanting before their end
	Rebuilt bool   `json:"rebuilt,omitempty"`
}

// MinPassphrase is the least length of a passphrase, in characters.
const MinPassphrase = archive.MinPassphrase

// CheckPassphrase says what is wrong with a passphrase for a new export.
func CheckPassphrase(text string) error {
	_, _, err := archive.Passphrase(text)
	return err
}

// Backup verifies the whole chain and completes the mirrors. Then it writes the
// export, if one is asked for, opens it again and compares it, before the file
// has its name.
func (p *Project) Backup(ctx context.Context, q BackupRequest) (Backup, error) {
	var lock archive.Lock
	var path string
	var err error
	if q.Output != "" {
		if lock, err = p.exportLock(q); err != nil {
			return Backup{}, err
		}
		if path, err = p.outputPath(q.Output); err != nil {
			return Backup{}, err
		}
	}
	b, err := p.verifyAll(ctx)
	if err != nil {
		p.noteDamage(err)
		return b, err
	}
	done, err := p.log.CompleteMirrors(ctx)
	for _, c := range done {
		b.Mirrors = append(b.Mirrors, MirrorState{c.Path, c.Lacked, c.Rebuilt})
	}
	if err != nil {
		return b, located(err, p.Path())
	}
	b.Verified = true
	if path == "" {
		return b, nil
	}
	return b, p.writeExport(ctx, &b, path, lock)
}

// verifyAll reads every entry: hash, body, seal, place in the chain, and that no
// body is gone that no redact entry names.
func (p *Project) verifyAll(ctx context.Context) (Backup, error) {
	b := Backup{Mirrors: []MirrorState{}}
	head, err := p.log.Head(ctx)
	if err != nil {
		return b, err
	}
	if head.Hash == "" {
		return b, filelog.ErrNone
	}
	b.Ledger = p.log.ID()
	last, err := ledger.Verify(ledger.Pos{}, p.log.Entries(ctx, ledger.Pos{}))
	if chain, ok := errors.AsType[*ledger.ChainError](err); ok {
		err = &filelog.DamageError{Kind: filelog.DamageChanged, Rev: chain.Rev, Path: p.Path(), Why: chain.Why}
	}
	b.Revision, b.Head, b.Entries = last.Rev, last.Hash, last.Next()
	return b, err
}

func (p *Project) exportLock(q BackupRequest) (archive.Lock, error) {
	keys := q.Recipients
	if q.RecipientsFile != "" {
		f, err := p.openGiven("file of recipients", q.RecipientsFile)
		if err != nil {
			return archive.Lock{}, err
		}
		defer f.Close()
		more, err := archive.ReadRecipients(f)
		if err != nil {
			return archive.Lock{}, err
		}
		keys = append(keys, more...)
	}
	if q.Passphrase != "" && (len(keys) > 0 || q.RecipientsFile != "") {
		return archive.Lock{}, &UsageError{Why: "an export has a passphrase or recipients, not both"}
	}
	if len(keys) > 0 || q.RecipientsFile != "" {
		return archive.Recipients(keys)
	}
	lock, _, err := archive.Passphrase(q.Passphrase)
	return lock, err
}

// fromHere is a path as the caller means it.
func (p *Project) fromHere(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.w.Dir, path)
}

// openGiven opens a file that the caller named. what says what it is for.
func (p *Project) openGiven(what, path string) (*os.File, error) {
	f, err := os.Open(p.fromHere(path))
	if err != nil {
		return nil, &UsageError{Why: "the " + what + " can't be read: " + reason(err)}
	}
	return f, nil
}

// writeExport exports up to the head that was verified.
func (p *Project) writeExport(ctx context.Context, b *Backup, path string, lock archive.Lock) error {
	sums, err := p.log.Manifests(ctx, b.Ledger)
	if err != nil {
		return err
	}
	c := archive.Content{
		Manifest: archive.Manifest{Ledger: b.Ledger, Head: ledger.Pos{Rev: b.Revision, Hash: b.Head}, Entries: b.Entries,
			Manifests: int64(len(sums)), Tool: p.w.Version, At: p.w.Now().UTC().Format(ledger.TimeLayout)},
		Lines: upTo(p.log.Entries(ctx, ledger.Pos{}), b.Revision),
		Attachments: func(yield func(archive.Attachment, error) bool) {
			for _, sum := range sums {
				data, err := p.log.ReadManifest(b.Ledger, sum)
				if !yield(archive.Attachment{Name: sum, Data: data}, err) {
					return
				}
			}
		},
	}
	dir, err := p.w.Layer.OpenForeignDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	done, err := archive.Create(ctx, dir, filepath.Base(path), c, lock)
	if errors.Is(err, durable.ErrExists) {
		return outputExists(path)
	}
	if err != nil {
		return located(err, filepath.Dir(path))
	}
	b.Output, b.Bytes = path, done.Size
	for _, w := range done.Warnings {
		b.Warnings = append(b.Warnings, sentence(w))
	}
	return nil
}

// upTo ends a sequence behind a revision: what is saved meanwhile doesn't go in.
func upTo(entries iter.Seq2[ledger.Entry, error], rev int64) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range entries {
			if err == nil && e.Rev > rev || !yield(e, err) || err == nil && e.Rev == rev {
				return
			}
		}
	}
}

// PassphraseIn reads a passphrase from a file: its first line.
func (p *Project) PassphraseIn(path string) (string, error) {
	f, err := p.openGiven("passphrase file", path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read passphrase file: %w", err)
	}
	return firstLine(b), nil
}

func firstLine(b []byte) string {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			return string(b[:i])
		}
	}
	return string(b)
}

// explainArchive puts the errors of exports into words.
func explainArchive(err error) (Problem, bool) {
	if errors.Is(err, archive.ErrPassphrase) {
		return Problem{Code: "passphrase", Exit: ExitUsage, Message: archive.ErrPassphrase.Error() + "; nothing was saved", Next: "choose a longer one, such as five words by chance"}, true
	}
	if errors.Is(err, archive.ErrKey) {
		return Problem{Code: "key_wrong", Exit: ExitDamaged, Message: archive.ErrKey.Error() + "; nothing was changed", Next: "give the passphrase or the identity that it was made for"}, true
	}
	if e, ok := errors.AsType[*archive.KeyError](err); ok {
		return Problem{Code: "usage", Exit: ExitUsage, Message: e.Error() + "; nothing was changed", Next: "see: holdfast help backup"}, true
	}
	if e, ok := errors.AsType[*archive.WorkError](err); ok {
		return Problem{Code: "limit", Exit: ExitRefused, Message: e.Error() + "; nothing was changed", Next: "use an export that holdfast backup made"}, true
	}
	if e, ok := errors.AsType[*archive.NewerError](err); ok {
		return Problem{Code: "newer", Exit: ExitDamaged, Message: e.Error() + "; nothing was changed", Next: "use the newer build of holdfast"}, true
	}
	if e, ok := errors.AsType[*archive.BadError](err); ok {
		return Problem{Code: "bad_export", Exit: ExitDamaged, Message: sentence(e) + "; nothing was changed", Next: "use another copy of the export"}, true
	}
	if errors.Is(err, archive.ErrCompare) {
		return Problem{Code: "compare", Exit: ExitBusy, Message: sentence(err) + "; no export was written", Next: "try again"}, true
	}
	return Problem{}, false
}
