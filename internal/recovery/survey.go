package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"holdfast/internal/archive"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// Kinds of source.
const (
	SourceRevisions = "revisions" // the current generation
	SourceMirror    = "mirror"
	SourceOlder     = "older generation"
	SourceExport    = "export"
)

// Source is one place where copies of the ledger's entries stand.
type Source struct {
	Kind    string     `json:"kind"`
	Path    string     `json:"path"`
	Ledger  string     `json:"ledger"`
	Head    ledger.Pos `json:"head"` // last entry that goes back to revision 0; no hash: none does
	Entries int64      `json:"entries"`
	Bad     int64      `json:"bad"` // lines that are no entries, or not as they were written
	Again   int64      `json:"-"`   // lines that stand in it before
	Sealed  bool       `json:"sealed,omitempty"`
	Note    string     `json:"note,omitempty"`
	Err     error      `json:"-"`
	name    string     // of a generation
	number  int
	lines   []id // of entries, to find the head
	last    ledger.Pos
}

// Flaw is something wrong with one file, without any of its content.
type Flaw struct {
	Path string
	Line int64
	Rev  int64 // -1: not known
	Kind string
	Why  string
}

// maxFlaws bounds how many are told one by one.
const maxFlaws = 200

// Survey is everything that was found of a ledger.
type Survey struct {
	Ledger  string
	State   error      // what stops the ledger from being used; nil: nothing
	Head    ledger.Pos // of the current generation, as it is listed or verified; no hash: it has none
	Gens    []filelog.Generation
	Sources []*Source
	Files   []filelog.FileSum
	Flaws   []Flaw
	More    int64 // flaws that aren't told
	Counts  Counts

	log     *filelog.Log
	g       *graph
	seals   *ledger.SealChecker
	current string // name of the highest generation, empty: there is none
	number  int
	export  *archive.Archive
}

// Counts is what the survey came across.
type Counts struct {
	Here, Elsewhere, Unsealed, Newer, Doubtful int64 // entries of the current generation
	Txns                                       map[string]bool
	lastAt                                     string
}

// LastAt is the time of the newest entry of the current generation.
func (c *Counts) LastAt() string { return c.lastAt }

// Options of Look.
type Options struct {
	Export *archive.Archive // opened and authenticated; nil: none
	Path   string           // of the export
}

// Look reads every copy of the ledger that is here, once. It writes nothing and
// takes no lock. A foreign ledger or one of a newer build is an error; a damaged or
// lost one is what it is for.
func Look(ctx context.Context, log *filelog.Log, m *filelog.Machine, o Options) (*Survey, error) {
	s := &Survey{log: log, g: newGraph(), export: o.Export, Counts: Counts{Txns: map[string]bool{}}}
	s.Ledger, s.State = log.Whose(ctx)
	if err := refused(s.State); err != nil {
		return nil, err
	}
	seals, _ := m.Keys() // without a key nothing counts as sealed here
	s.seals = seals.Checker()
	var err error
	if s.Gens, err = log.Generations(ctx); err != nil {
		return nil, err
	}
	for _, gen := range s.Gens {
		if gen.Number > s.number {
			s.number, s.current = gen.Number, gen.Name
		}
	}
	for _, gen := range s.Gens {
		if gen.Name == s.current && gen.Sealed && s.State == nil {
			s.State = &filelog.DamageError{Kind: filelog.DamageIncomplete, Rev: -1, Path: gen.Path, Why: "a recovery was begun and not finished"}
		}
	}
	if err := s.local(ctx); err != nil {
		return nil, err
	}
	if s.export != nil {
		if err := s.exported(ctx, o.Path); err != nil {
			return nil, err
		}
	}
	s.g.link()
	s.heads()
	filelog.SortFiles(s.Files)
	return s, nil
}

// refused: what no recovery looks behind.
func refused(err error) error {
	if _, ok := errors.AsType[*filelog.ForeignError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*filelog.NewerError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*filelog.CopyError](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *Survey) local(ctx context.Context) error {
	for _, gen := range s.Gens {
		if gen.Number == 0 {
			continue // one in the making holds nothing that isn't elsewhere
		}
		src := &Source{Kind: SourceOlder, Path: gen.Path, Ledger: s.Ledger, Sealed: gen.Sealed, name: gen.Name, number: gen.Number, Err: gen.Err}
		if gen.Name == s.current {
			src.Kind = SourceRevisions
		}
		s.Sources = append(s.Sources, src)
		if err := s.log.SurveyGeneration(ctx, gen.Name, s.visitor(src)); err != nil {
			return err
		}
	}
	if s.Ledger == "" {
		return nil
	}
	for _, m := range s.log.Mirrors(ctx, s.Ledger) {
		src := &Source{Kind: SourceMirror, Path: m.Path, Ledger: s.Ledger, Err: m.Err, last: m.Last}
		s.Sources = append(s.Sources, src)
		if err := s.log.SurveyMirror(ctx, m, s.visitor(src)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Survey) visitor(src *Source) filelog.Visitor {
	onlySeal := false // the file holds nothing but the seal of its generation
	return filelog.Visitor{
		Line: func(l *filelog.Seen) error {
			onlySeal = s.line(src, l)
			return nil
		},
		File: func(sum filelog.FileSum, err error) error {
			if err != nil {
				s.flaw(src, Flaw{sum.Path, 0, -1, filelog.DamageUnreadable, "it can't be read"})
			} else if !onlySeal {
				s.Files = append(s.Files, sum)
			}
			onlySeal = false
			return nil
		},
	}
}

func (s *Survey) line(src *Source, l *filelog.Seen) (sealed bool) {
	e := &l.Entry
	if l.Err != nil {
		s.flaw(src, Flaw{l.Path, l.Line, l.Want, filelog.DamageChanged, l.Err.Error()})
	}
	if e.Hash == "" {
		return false
	}
	state := s.seals.Check(e)
	if state == ledger.BadSeal {
		s.flaw(src, Flaw{l.Path, l.Line, e.Rev, filelog.DamageChanged, "its seal is not this machine's"})
		return false
	}
	current := src.Kind == SourceRevisions
	s.g.add(e, l.Spot, state, current)
	src.Entries++
	src.lines = append(src.lines, idOf(e.Hash))
	if current {
		s.count(e, state)
	}
	return e.Type == ledger.TypeSealed && l.Line == 1
}

func (s *Survey) count(e *ledger.Entry, state ledger.SealState) {
	c := &s.Counts
	switch state {
	case ledger.SealedHere:
		c.Here++
	case ledger.SealedElsewhere:
		c.Elsewhere++
	case ledger.Unsealed:
		c.Unsealed++
	}
	if e.Newer {
		c.Newer++
	}
	if e.At < c.lastAt && len(e.At) == len(c.lastAt) {
		c.Doubtful++
	}
	c.lastAt = e.At
	if e.Txn != nil && e.Type == ledger.TypeTxnBegin {
		c.Txns[e.Txn.Transaction] = true
	}
}

// flaw notes what is wrong, and counts it alone in a generation that a recovery
// replaced: that is why it was.
func (s *Survey) flaw(src *Source, f Flaw) {
	src.Bad++
	if src.Kind == SourceOlder {
		return
	}
	if len(s.Flaws) < maxFlaws {
		s.Flaws = append(s.Flaws, f)
	} else {
		s.More++
	}
}

// exported adds the entries of an export, which are a chain.
func (s *Survey) exported(ctx context.Context, path string) error {
	src := &Source{Kind: SourceExport, Path: path, Ledger: s.export.Ledger}
	s.Sources = append(s.Sources, src)
	for e, err := range s.export.Lines(ctx) {
		if err != nil {
			return err
		}
		if e.Newer {
			return &filelog.NewerError{Path: path, Rev: e.Rev}
		}
		state := s.seals.Check(&e)
		if state == ledger.BadSeal {
			return &archive.BadError{Why: "an entry's seal is not this machine's"}
		}
		s.g.add(&e, filelog.Spot{}, state, false)
		src.Entries++
	}
	src.last = s.export.Head
	src.lines = []id{idOf(s.export.Head.Hash)}
	sum, size, err := sumOf(path)
	s.Files = append(s.Files, filelog.FileSum{Path: path, Size: size, SHA256: sum})
	return err
}

func sumOf(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("read export: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, fmt.Errorf("read export: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// heads finds, for each source, the last entry that goes back to revision 0, and
// the head of the current generation: an unfinished recovery's seal is no part of
// it.
func (s *Survey) heads() {
	for _, src := range s.Sources {
		best := int32(-1)
		seen := make([]bool, len(s.g.nodes))
		for _, h := range src.lines {
			i := s.g.at[h]
			if seen[i] {
				src.Again++
				continue
			}
			seen[i] = true
			n := &s.g.nodes[i]
			if n.is(chained) && !n.is(isSealed) && (best < 0 || s.g.better(n, &s.g.nodes[best])) {
				best = i
			}
		}
		src.lines = nil
		if best >= 0 {
			src.Head = s.pos(best)
		}
		if src.Kind == SourceRevisions {
			s.Head = src.Head
		}
	}
}

// pos reads the full hash of an entry, which the graph keeps half of.
func (s *Survey) pos(i int32) ledger.Pos {
	spot := s.g.spot(i)
	if spot.Path == "" {
		for _, src := range s.Sources {
			if src.Kind == SourceExport && idOf(src.last.Hash) == s.g.nodes[i].hash {
				return src.last
			}
		}
		return ledger.Pos{Rev: s.g.nodes[i].rev, Hash: hex.EncodeToString(s.g.nodes[i].hash[:])}
	}
	x := s.log.Fetch()
	defer x.Close()
	e, err := x.Entry(spot)
	if err != nil {
		return ledger.Pos{Rev: s.g.nodes[i].rev, Hash: hex.EncodeToString(s.g.nodes[i].hash[:])}
	}
	return e.Pos()
}

// Healthy: the ledger can be used, and its current generation is whole.
func (s *Survey) Healthy() bool { return s.State == nil && s.current != "" && !s.currentBad() }

func (s *Survey) currentBad() bool {
	for _, src := range s.Sources {
		if src.Kind == SourceRevisions && src.Bad > 0 {
			return true
		}
	}
	return false
}
