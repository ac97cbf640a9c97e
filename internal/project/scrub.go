package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// scrubber takes the erased texts out of files that aren't the ledger's.
type scrubber struct {
	p     *Project
	marks [][]byte
	files []string
}

// How long a text must be, in bytes, to be looked for: a short one, such as the
// name of a database, stands in many a file by chance, and an original that is
// kept for a transaction is not to be spoilt for that.
const (
	minSecret = 6 // found by the screening
	minText   = 16
)

// scrubber knows the texts that are about to go, as they stand in a file and in
// JSON, and the secrets that the screening finds in them.
func (p *Project) scrubber(ctx context.Context, open []filelog.Redaction) (*scrubber, error) {
	s := &scrubber{p: p}
	screen := secret.New(nil) // the project's own would ask the ledger what is allowed
	for _, r := range open {
		e, err := p.log.Entry(ctx, r.Rev)
		if err != nil {
			return s, fmt.Errorf("read what is redacted: %w", err)
		}
		b, there, err := e.Body()
		if e.Hash != r.Hash || !there || err != nil {
			continue // it is gone by now, or no text
		}
		for _, t := range bodyTexts(&b) {
			s.learn(t, minText)
			for _, f := range screen.Check([]secret.Field{{Name: "text", Text: t}}) {
				s.learn(t[f.Start:f.End], minSecret)
			}
		}
	}
	slices.SortFunc(s.marks, func(a, b []byte) int { return len(b) - len(a) })
	return s, nil
}

func (s *scrubber) learn(text string, least int) {
	if len(text) < least {
		return
	}
	s.marks = append(s.marks, []byte(text))
	if j, err := json.Marshal(text); err == nil && string(j) != `"`+text+`"` {
		s.marks = append(s.marks, j[1:len(j)-1])
	}
}

func bodyTexts(b *ledger.Body) []string {
	var out []string
	for i := range b.Records {
		r := &b.Records[i]
		out = append(out, r.Text, r.Answer, r.Why, r.RevisitWhen, r.WithoutEvidence)
		for _, o := range r.Rejected {
			out = append(out, o.Option, o.Why)
		}
	}
	if b.Change != nil {
		out = append(out, b.Change.WithoutEvidence)
	}
	if b.Receipt != nil {
		out = append(append(out, b.Receipt.Title, b.Receipt.Output.Tail), b.Receipt.Argv...)
	}
	return prose(prose(append(out, b.Reason), b.Txn), b.Op)
}

// prose adds the texts of several words in a JSON value: names, paths and hashes
// stand rightly in other files.
func prose(out []string, raw json.RawMessage) []string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return out
	}
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case string:
			if strings.Contains(x, " ") {
				out = append(out, x)
			}
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			for _, e := range x {
				walk(e)
			}
		}
	}
	walk(v)
	return out
}

// quarantine takes the texts out of the originals that are kept there. Such an
// original is worth nothing for a restore any more, which its hash tells.
func (s *scrubber) quarantine() error {
	if len(s.marks) == 0 {
		return nil
	}
	q, err := s.p.w.Layer.OpenDir(s.p.quarantine())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("scrub quarantine: %w", err)
	}
	defer q.Close()
	return s.folder(q, 0)
}

// deepest is how deep folders in quarantine are looked through.
const deepest = 64

func (s *scrubber) folder(d *durable.Dir, depth int) error {
	names, err := d.Names()
	if err != nil {
		return fmt.Errorf("scrub quarantine: %w", err)
	}
	var problem error
	for _, name := range names {
		info, err := d.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			problem = errors.Join(problem, err)
		case info.IsDir() && depth < deepest:
			sub, err := d.Sub(name)
			if err == nil {
				err = s.folder(sub, depth+1)
				sub.Close()
			}
			problem = errors.Join(problem, err)
		case info.Mode().IsRegular():
			problem = errors.Join(problem, s.file(d, name, info))
		}
	}
	return problem
}

// mostScrubbed is the largest file that is rewritten; a larger one is removed
// if it can't be read whole.
const mostScrubbed = 256 << 20

func (s *scrubber) file(d *durable.Dir, name string, info fs.FileInfo) error {
	old, err := d.ReadFile(name, mostScrubbed)
	if err != nil {
		return fmt.Errorf("scrub quarantine: %w", err)
	}
	now := old
	for _, m := range s.marks {
		if bytes.Contains(now, m) {
			now = bytes.ReplaceAll(now, m, []byte("[redacted]"))
		}
	}
	if len(now) == len(old) && bytes.Equal(now, old) {
		return nil
	}
	if err := d.Replace(d, name, now, info.Mode().Perm()); err != nil {
		return fmt.Errorf("scrub quarantine: %w", err)
	}
	s.files = append(s.files, filepath.Join(d.Path(), name))
	return nil
}
