package filelog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// Spot is where the bytes of an entry stand. Its final newline may be missing
// there.
type Spot struct {
	Path   string
	Offset int64
	Size   int32
}

// FileSum is a file as it was read.
type FileSum struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Seen is one line of a survey: an entry, or why it is none.
type Seen struct {
	Spot
	Line  int64 // from 1
	Want  int64 // the revision that should stand there, -1 if the place says nothing
	Entry ledger.Entry
	Err   error
}

// Visitor is told what a survey finds. An error of it ends the survey.
type Visitor struct {
	Line func(*Seen) error
	// File is called when all lines of a file were told. err: it could not be read.
	File func(sum FileSum, err error) error
}

// SurveyGeneration reads every file of a generation's packs and revisions, copies
// that others put beside them included, each once. It judges nothing, and works on
// any ledger. Its own temporaries and the mark of a seal are passed over.
func (l *Log) SurveyGeneration(ctx context.Context, name string, see Visitor) error {
	return l.inGenerations(func(gens *durable.Dir) error {
		g, err := gens.Sub(name)
		if err != nil {
			return fmt.Errorf("open generation: %w", err)
		}
		defer g.Close()
		for _, part := range []string{revName, packName} {
			err := surveyIn(ctx, g, part, see)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

func surveyIn(ctx context.Context, g *durable.Dir, part string, see Visitor) error {
	d, err := g.Sub(part)
	if err != nil {
		return err
	}
	defer d.Close()
	tmp, err := g.Sub(tmpName)
	if err == nil {
		defer tmp.Close()
	} else {
		tmp = nil
	}
	names, err := d.Names()
	if err != nil {
		return fmt.Errorf("list %s: %w", part, err)
	}
	for _, name := range names {
		if durable.IsTemporary(name) {
			continue
		}
		want := int64(-1)
		if rev, ok := parseRev(name); ok && part == revName {
			want = rev
		} else if p, ok := parsePack(name); ok && part == packName {
			want = p.from
		}
		in := see
		if want < 0 {
			in = see.stray()
		}
		if err := surveyFile(ctx, d, tmp, name, want, in); err != nil {
			return err
		}
	}
	return nil
}

// stray tells only the entries of a file that the ledger doesn't count on, such as
// a copy: whatever else is in it is no damage.
func (v Visitor) stray() Visitor {
	return Visitor{
		Line: func(l *Seen) error {
			if l.Err = nil; l.Entry.Hash == "" {
				return nil
			}
			return v.Line(l)
		},
		File: func(sum FileSum, err error) error {
			if err != nil {
				return nil
			}
			return v.File(sum, nil)
		},
	}
}

// SurveyMirror reads every line of a mirror.
func (l *Log) SurveyMirror(ctx context.Context, m Mirror, see Visitor) error {
	d, err := l.m.stateOf(m.Root, m.ID)
	if err != nil {
		return see.File(FileSum{Path: m.Path}, err)
	}
	defer d.Close()
	return surveyFile(ctx, d, d, mirrorName, -1, see)
}

// surveyFile tells a file's lines. want is the revision of the first line.
func surveyFile(ctx context.Context, d, tmp *durable.Dir, name string, want int64, see Visitor) error {
	sum := FileSum{Path: place(d.Path(), name)}
	f, err := openFile(d, tmp, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // packed meanwhile
	}
	if err != nil {
		return see.File(sum, err)
	}
	defer f.Close()
	h := sha256.New()
	r := lineReader{r: io.TeeReader(f, h)}
	end := want + 1 // behind the last revision that the name promises
	if p, ok := parsePack(name); ok {
		end = p.to + 1
	}
	for n := int64(1); ; n++ {
		at := r.offset()
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return see.File(sum, err)
		}
		s := Seen{Spot: Spot{sum.Path, at, int32(len(line))}, Line: n, Want: want}
		if err := s.parse(line, see.Line); err != nil {
			return err
		}
		if want >= 0 {
			want++
		}
	}
	if want >= 0 && want < end {
		short := Seen{Spot: Spot{Path: sum.Path}, Want: want, Err: &ledger.EntryError{Rev: want, Why: "it ends early"}}
		if err := see.Line(&short); err != nil {
			return err
		}
	}
	sum.Size, sum.SHA256 = r.offset(), hex.EncodeToString(h.Sum(nil))
	return see.File(sum, nil)
}

// parse tells a line. One that lacks only its end is an entry still, and so are
// two that were glued, if both are whole and follow one another: both with the
// error.
func (s *Seen) parse(line []byte, tell func(*Seen) error) error {
	s.Entry, s.Err = ledger.Parse(line)
	if s.Err == nil && !s.Entry.CheckBody() {
		s.Err = &ledger.EntryError{Rev: s.Entry.Rev, Why: "its body was changed"}
		s.Entry = ledger.Entry{}
		return tell(s)
	}
	if s.Err == nil {
		if s.Want >= 0 && s.Entry.Rev != s.Want {
			s.Err = &ledger.EntryError{Rev: s.Want, Why: "it holds another revision"}
		}
		return tell(s)
	}
	if a, b, ok := unglued(line); ok {
		cut := int32(len(a.Raw) - 1)
		first, second := *s, *s
		first.Entry, first.Size = a, cut
		second.Entry, second.Offset, second.Size = b, s.Offset+int64(cut), s.Size-cut
		return errors.Join(tell(&first), tell(&second))
	}
	s.Entry = ledger.Entry{}
	if n := len(line); n > 0 && line[n-1] != '\n' {
		if e, err := ledger.Parse(append(bytes.Clone(line), '\n')); err == nil && e.CheckBody() {
			s.Entry = e
		}
	}
	return tell(s)
}

func unglued(line []byte) (a, b ledger.Entry, ok bool) {
	i := bytes.LastIndex(line, []byte(`"}{"head":{`))
	if i < 0 {
		return a, b, false
	}
	whole := func(b []byte) []byte { return append(bytes.Clone(bytes.TrimSuffix(b, []byte{'\n'})), '\n') }
	a, aerr := ledger.Parse(whole(line[:i+2]))
	b, berr := ledger.Parse(whole(line[i+2:]))
	return a, b, aerr == nil && berr == nil && a.CheckBody() && b.CheckBody() && b.Rev == a.Rev+1 && b.Prev == a.Hash
}

// Fetcher reads entries by their spots. It keeps the file open that it read last.
type Fetcher struct {
	m    *Machine
	dir  *durable.Dir
	file *os.File
	path string
}

// Fetch prepares to read entries by their spots.
func (l *Log) Fetch() *Fetcher { return &Fetcher{m: l.m} }

// Close frees what it keeps open.
func (x *Fetcher) Close() {
	if x.file != nil {
		x.file.Close()
	}
	if x.dir != nil {
		x.dir.Close()
	}
	x.file, x.dir, x.path = nil, nil, ""
}

// Entry reads one entry, whose bytes are checked anew.
func (x *Fetcher) Entry(s Spot) (ledger.Entry, error) {
	if x.path != s.Path {
		if err := x.open(s.Path); err != nil {
			return ledger.Entry{}, fmt.Errorf("read entry: %w", err)
		}
	}
	b := make([]byte, s.Size, s.Size+1)
	if _, err := x.file.ReadAt(b, s.Offset); err != nil {
		return ledger.Entry{}, fmt.Errorf("read entry: %w", err)
	}
	if len(b) == 0 || b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	e, err := ledger.Parse(b)
	if err == nil && !e.CheckBody() {
		err = &ledger.EntryError{Rev: e.Rev, Why: "its body was changed"}
	}
	return e, err
}

func (x *Fetcher) open(path string) error {
	if x.file != nil {
		x.file.Close()
		x.file = nil
	}
	x.path = ""
	if folder := filepath.Dir(path); x.dir == nil || x.dir.Path() != folder {
		if x.dir != nil {
			x.dir.Close()
			x.dir = nil
		}
		d, err := x.m.Layer.OpenDir(folder)
		if err != nil {
			return err
		}
		x.dir = d
	}
	f, err := x.dir.OpenLinked(filepath.Base(path))
	if err != nil {
		return err
	}
	x.file, x.path = f, path
	return nil
}

// Whose finds the id of the ledger that lies or lay here: what FORMAT says, else
// what this path's note or a mirror of this machine says. Empty: there is none.
func (l *Log) Whose(ctx context.Context) (string, error) {
	_, err := l.Head(ctx)
	if id := l.ID(); id != "" {
		return id, err
	}
	if lost, ok := errors.AsType[*LostError](err); ok {
		return lost.ID, err
	}
	return "", err
}

// Folder identifies the folder that the ledger's lies in: inode and birth time.
func (l *Log) Folder() string { return folderIdentity(l.p.Dir) }

// SortFiles orders sums by path.
func SortFiles(files []FileSum) {
	slices.SortFunc(files, func(a, b FileSum) int { return strings.Compare(a.Path, b.Path) })
}
