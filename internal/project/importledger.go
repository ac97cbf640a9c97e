package project

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"holdfast/internal/archive"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// IsFolder reports whether what the caller named is a folder.
func (p *Project) IsFolder(path string) bool {
	info, err := os.Stat(p.fromHere(path))
	return err == nil && info.IsDir()
}

// ImportLedger appends the records, checks and changes that another copy of a
// ledger has and this one has not: a machine that went its own way, a synchronised
// folder, an export. Records that both changed are both in force, diverged, until a
// correction settles it. Confirmations, redactions, transactions and decisions stay
// where they were made.
func (p *Project) ImportLedger(ctx context.Context, q ImportRequest) (Import, error) {
	entries, sum, err := p.readOther(ctx, q)
	if err != nil {
		return Import{}, err
	}
	known, err := p.allHashes(ctx)
	if err != nil {
		return Import{}, err
	}
	out := Import{Format: "ledger", SHA256: sum}
	var items []importItem
	shared := map[int64]bool{}
	for i := range entries {
		e := &entries[i]
		if known[e.Hash] { // the chain before it is the same too, and so are its numbers
			shared[e.Rev] = true
			out.Common++
			continue
		}
		more, err := ledgerItems(entries[0].Ledger, e)
		if err != nil {
			return Import{}, err
		}
		items = append(items, more...)
	}
	return p.importItems(ctx, q, out, items, shared)
}

// allHashes are those of all entries here.
func (p *Project) allHashes(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	for e, err := range p.log.Entries(ctx, ledger.Pos{}) {
		if errors.Is(err, filelog.ErrNone) {
			return known, nil
		}
		if err != nil {
			return nil, err
		}
		known[e.Hash] = true
	}
	return known, nil
}

// maxOther is how many entries of another copy are held in memory.
const maxOther = 200_000

// readOther reads a whole chain, which must verify, from an encrypted export, a
// mirror, or the folder of a ledger.
func (p *Project) readOther(ctx context.Context, q ImportRequest) ([]ledger.Entry, string, error) {
	var lines iter.Seq2[ledger.Entry, error]
	h := sha256.New()
	if p.IsFolder(q.Path) {
		dir := p.fromHere(q.Path)
		if filepath.Base(dir) != filelog.FolderName && filepath.Base(dir) != filelog.BareFolderName {
			dir = filepath.Join(dir, filelog.FolderName)
		}
		lines = p.entriesIn(ctx, dir)
	} else {
		f, a, err := p.openExport(ctx, &RecoverRequest{From: q.Path, Passphrase: q.Passphrase, Identity: q.Identity})
		if err != nil {
			return nil, "", err
		}
		if a != nil {
			defer f.Close()
			lines = a.Lines(ctx)
		} else if f, err = p.openGiven("source", q.Path); err != nil {
			return nil, "", err
		} else {
			defer f.Close()
			lines = linesOf(f)
		}
	}
	var out []ledger.Entry
	at := ledger.Pos{}
	for e, err := range lines {
		switch {
		case err != nil:
			return nil, "", err
		case e.Newer:
			return nil, "", &filelog.NewerError{Path: q.Path, Rev: e.Rev}
		case e.Prev != at.Hash || e.Rev != at.Next() || !e.CheckBody():
			return nil, "", &archive.BadError{Why: fmt.Sprintf("its revision %d doesn't follow the one before it", e.Rev)}
		case len(out) == maxOther:
			return nil, "", &ledger.LimitError{What: "the source", Limit: maxOther, Got: len(out) + 1, Unit: "entries"}
		}
		at = e.Pos()
		h.Write([]byte(e.Hash))
		out = append(out, e)
	}
	if len(out) == 0 || out[0].Type != ledger.TypeLedger {
		return nil, "", &archive.BadError{Why: "it is no ledger"}
	}
	return out, hex.EncodeToString(h.Sum(nil)), nil
}

// entriesIn reads another folder's ledger as it lies there, whoever made it.
func (p *Project) entriesIn(ctx context.Context, dir string) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		m := *p.m
		l := filelog.New(&m, filelog.Place{Dir: filepath.Dir(dir), Name: filepath.Base(dir)})
		id, err := l.Whose(ctx)
		if foreign, ok := errors.AsType[*filelog.ForeignError](err); ok {
			id = foreign.ID
		}
		if id == "" {
			yield(ledger.Entry{}, &archive.BadError{Why: "there is no ledger in the folder"})
			return
		}
		m.Adopted, m.State = []string{id}, nil // it is only read, and none of its mirrors counts
		for e, err := range filelog.New(&m, filelog.Place{Dir: filepath.Dir(dir), Name: filepath.Base(dir)}).Entries(ctx, ledger.Pos{}) {
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// linesOf reads a mirror: entries, one a line. A last line that is cut is passed
// over, as when a save is being made.
func linesOf(f *os.File) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		r := bufio.NewReaderSize(f, 64<<10)
		var at ledger.Pos
		for {
			line, err := r.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(ledger.Entry{}, &UsageError{Why: "the source can't be read: " + reason(err)})
				return
			}
			e, perr := ledger.Parse(line)
			if perr != nil {
				yield(e, &archive.BadError{Why: "a line in it is no entry"})
				return
			}
			if e.Pos() == at {
				continue // a mirror may hold its last line twice
			}
			at = e.Pos()
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ledgerItems are the parts of an entry that can be imported, under one revision.
func ledgerItems(from string, e *ledger.Entry) ([]importItem, error) {
	b, there, err := e.Body()
	if err != nil || !there || e.Void() {
		return nil, err
	}
	base := importItem{
		ImportedItem: ImportedItem{Revision: e.Rev, Branch: b.Git.Branch}, git: b.Git, kind: e.Type,
		origin: ledger.Origin{Ledger: from, Rev: e.Rev, Hash: e.Hash, Branch: b.Git.Branch, At: e.At},
	}
	if b.Origin != nil && b.Origin.Format != "" {
		base.origin.Format, base.origin.Rest = b.Origin.Format, b.Origin.Rest
	}
	var items []importItem
	switch e.Type {
	case ledger.TypeRecord, ledger.TypeMerge:
		for i := range b.Records {
			it := base
			rec := b.Records[i]
			it.What, it.ID, it.kind, it.follows, it.record = "record", rec.ID, ledger.TypeMerge, rec.Replaces, &rec
			items = append(items, it)
		}
	case ledger.TypeStatus, ledger.TypeRetract, ledger.TypeRestore:
		if b.Change == nil {
			return nil, nil
		}
		it := base
		c := *b.Change
		it.What, it.ID, it.follows, it.change = "change", c.ID, c.Replaces, &c
		it.Why = e.Type
		items = append(items, it)
	case ledger.TypeCheck:
		if b.Receipt == nil {
			return nil, nil
		}
		it := base
		it.What, it.ID, it.receipt = "check", b.Receipt.ID, b.Receipt
		items = append(items, it)
	}
	for i := range items {
		items[i].key = "import-" + digest([]any{e.Hash, i})[:40]
	}
	return items, nil
}
