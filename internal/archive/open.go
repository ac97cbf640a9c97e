package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"

	"filippo.io/age"

	"holdfast/internal/ledger"
)

const (
	maxHeader = 64 << 10 // bytes of an age header with at most maxKeys recipients
	maxLine   = 64 << 10 // of the first line
	// maxRatio is how many times its size an export may hold. Entries are full of
	// hashes: ours reach a tenth of it.
	maxRatio = 200
	slack    = 1 << 20
	// maxAttachment is the largest receipt's manifest, compressed, in bytes.
	maxAttachment = 64 << 20
)

// BadError refuses an export. Why holds nothing of its content.
type BadError struct{ Why string }

func (e *BadError) Error() string { return "the export can't be used: " + e.Why }

// NewerError: a newer build wrote the export.
type NewerError struct{ V int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the export is of version %d, which this build doesn't know", e.V)
}

// WorkError refuses an export that asks for too much work before any is done.
type WorkError struct{ Factor int }

func (e *WorkError) Error() string {
	return fmt.Sprintf("the export asks for an scrypt work factor of %d, at most %d (1 GiB of memory) is accepted", e.Factor, MaxWorkFactor)
}

// ErrKey: the key or passphrase doesn't open the export.
var ErrKey = errors.New("the key or passphrase doesn't open the export")

// Archive is an opened export, authenticated in full.
type Archive struct {
	Manifest
	f       *os.File
	size    int64
	fileKey []byte
}

// Open authenticates an export in full, and reads its first line after that. The
// caller keeps f open as long as the Archive is used, and closes it.
//
// Errors: *WorkError before any key is derived; ErrKey; *BadError for a file
// that isn't whole or isn't an export, *NewerError.
func Open(ctx context.Context, f *os.File, key Key) (*Archive, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open export: %w", err)
	}
	a := &Archive{f: f, size: info.Size()}
	if a.fileKey, err = a.unlock(key); err != nil {
		return nil, err
	}
	if err := a.authenticate(ctx); err != nil {
		return nil, err
	}
	return a, a.readManifest(ctx)
}

// NeedsPassphrase reports whether an export is locked by a passphrase. The
// error is as of Open.
func NeedsPassphrase(f *os.File) (bool, error) {
	h, err := header(io.NewSectionReader(f, 0, maxHeader))
	if err != nil {
		return false, err
	}
	n, err := scrypted(h)
	return n > 0, err
}

// header cuts the age header off.
func header(r io.Reader) ([]byte, error) {
	h, err := age.ExtractHeader(r)
	if err != nil {
		return nil, &BadError{Why: "it is not an age file, or its header is damaged"}
	}
	return h, nil
}

// scrypted looks at the header's stanzas before anything is derived. It gives
// the number of passphrase stanzas.
func scrypted(h []byte) (n int, err error) {
	for line := range bytes.Lines(h) {
		f := bytes.Fields(line)
		if len(f) < 2 || string(f[0]) != "->" || string(f[1]) != "scrypt" {
			continue
		}
		n++
		if len(f) != 4 || len(f[3]) == 0 || f[3][0] == '0' || len(f[3]) > 3 {
			return n, &BadError{Why: "its passphrase header is not one that age writes"}
		}
		factor, err := strconv.Atoi(string(f[3]))
		if err != nil || factor < 1 {
			return n, &BadError{Why: "its passphrase header is not one that age writes"}
		}
		if factor > MaxWorkFactor {
			return n, &WorkError{Factor: factor}
		}
	}
	if n > 1 {
		return n, &BadError{Why: "it has more than one passphrase"}
	}
	return n, nil
}

func (a *Archive) unlock(key Key) ([]byte, error) {
	h, err := header(io.NewSectionReader(a.f, 0, maxHeader))
	if err != nil {
		return nil, err
	}
	n, err := scrypted(h)
	if err != nil {
		return nil, err
	}
	if len(key.ids) == 0 {
		return nil, fmt.Errorf("open export: %w", errNoKey)
	}
	if n > 0 != key.passphrase {
		return nil, ErrKey
	}
	k, err := age.DecryptHeader(h, key.ids...)
	if _, wrong := errors.AsType[*age.NoIdentityMatchError](err); wrong {
		return nil, ErrKey
	}
	if err != nil {
		return nil, &BadError{Why: "its header is damaged, or the key is another"}
	}
	return k, nil
}

// plain decrypts from the start, after nothing but the header was read.
func (a *Archive) plain() (io.Reader, error) {
	r, err := age.Decrypt(bufio.NewReaderSize(io.NewSectionReader(a.f, 0, a.size), 1<<20), age.NewInjectedFileKeyIdentity(a.fileKey))
	if err != nil {
		return nil, &BadError{Why: "its beginning is damaged"}
	}
	return r, nil
}

// authenticate reads everything and parses nothing: what can't be authenticated
// to its end is an error.
func (a *Archive) authenticate(ctx context.Context) error {
	r, err := a.plain()
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, &checked{ctx, r}); err != nil {
		return a.broken(err)
	}
	return nil
}

// sum is the SHA-256 of the plain lines.
func (a *Archive) sum(ctx context.Context) ([]byte, error) {
	zip, err := a.unzip(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, zip); err != nil {
		return nil, a.broken(err)
	}
	return sum.Sum(nil), nil
}

func (a *Archive) broken(err error) error {
	if _, ok := errors.AsType[*BadError](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("read export: %w", err)
	}
	return &BadError{Why: "it is damaged or cut short"}
}

// checked ends when its context does.
type checked struct {
	ctx context.Context
	r   io.Reader
}

func (c *checked) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}

// limited refuses more than a compression of lines can hold.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return 0, &BadError{Why: "it holds more than an export of its size can"}
	}
	return n, err
}

// single ends with an error where something stands behind the compressed part.
type single struct {
	zip *gzip.Reader
	in  *bufio.Reader
}

func (s *single) Read(b []byte) (int, error) {
	n, err := s.zip.Read(b)
	if errors.Is(err, io.EOF) {
		if _, rest := s.in.ReadByte(); !errors.Is(rest, io.EOF) {
			return n, &BadError{Why: "something stands behind its content"}
		}
	}
	return n, err
}

func (a *Archive) unzip(ctx context.Context) (io.Reader, error) {
	r, err := a.plain()
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(&checked{ctx, r}, 256<<10)
	zip, err := gzip.NewReader(in)
	if err != nil {
		return nil, &BadError{Why: "its content is not compressed as an export's is"}
	}
	zip.Multistream(false)
	return &limited{&single{zip, in}, a.size*maxRatio + slack}, nil
}

func (a *Archive) lines(ctx context.Context) (*bufio.Reader, error) {
	r, err := a.unzip(ctx)
	if err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(r, ledger.MaxEntry+1), nil
}

func (a *Archive) readManifest(ctx context.Context) error {
	r, err := a.lines(ctx)
	if err != nil {
		return err
	}
	line, err := r.ReadSlice('\n')
	if err != nil || len(line) > maxLine {
		return &BadError{Why: "it has no first line"}
	}
	return a.parseManifest(line)
}

func (a *Archive) parseManifest(line []byte) error {
	var v struct {
		Format string `json:"format"`
		V      int    `json:"v"`
	}
	if json.Unmarshal(line, &v) != nil || v.Format != FormatName || v.V < 1 {
		return &BadError{Why: "it holds something else than an export"}
	}
	if v.V > FormatVersion {
		return &NewerError{V: v.V}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if d.Decode(&a.Manifest) != nil || !hexed(a.Ledger, 16) || !hexed(a.Head.Hash, 32) ||
		a.Head.Rev < 0 || a.Entries != a.Head.Rev+1 || a.Manifests < 0 {
		return &BadError{Why: "its first line is not one that an export has"}
	}
	return nil
}

func hexed(s string, n int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == n && hex.EncodeToString(b) == s
}

// Lines yields the entries, and holds that they are a chain that ends in the
// manifest's head. It stops at the first error, a *BadError.
func (a *Archive) Lines(ctx context.Context) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		r, err := a.lines(ctx)
		if err == nil {
			_, err = r.ReadSlice('\n')
		}
		p, c := ledger.Pos{}, ledger.Checker{}
		for n := int64(0); err == nil && n < a.Entries; n++ {
			var e ledger.Entry
			if e, err = readEntry(r, p, &c); err == nil {
				if p = e.Pos(); !yield(e, nil) {
					return
				}
			}
		}
		if err == nil && (p != a.Head || c.End() != nil) {
			err = &BadError{Why: "its entries are not the chain that it names"}
		}
		if err != nil {
			yield(ledger.Entry{}, a.broken(err))
		}
	}
}

func readEntry(r *bufio.Reader, after ledger.Pos, c *ledger.Checker) (ledger.Entry, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return ledger.Entry{}, err
	}
	e, err := ledger.Parse(bytes.Clone(line))
	if err == nil {
		err = c.Add(after, &e)
	}
	if err != nil {
		return e, &BadError{Why: "an entry is not one, or doesn't follow the one before it: " + err.Error()}
	}
	return e, nil
}

// Attachments yields the receipts' manifests. Each is what its name says. It
// stops at the first error.
func (a *Archive) Attachments(ctx context.Context) iter.Seq2[Attachment, error] {
	return func(yield func(Attachment, error) bool) {
		r, err := a.lines(ctx)
		for n := int64(0); err == nil && n <= a.Entries; n++ {
			_, err = r.ReadSlice('\n')
		}
		for n := int64(0); err == nil && n < a.Manifests; n++ {
			var at Attachment
			if at, err = readAttachment(r); err == nil && !yield(at, nil) {
				return
			}
		}
		if err == nil {
			if _, rest := r.ReadByte(); !errors.Is(rest, io.EOF) {
				err = &BadError{Why: "it has more lines than it names"}
			}
		}
		if err != nil {
			yield(Attachment{}, a.broken(err))
		}
	}
}

func readAttachment(r *bufio.Reader) (Attachment, error) {
	var at Attachment
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxAttachment {
			return at, &BadError{Why: "a manifest is cut short or too long"}
		}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if d.Decode(&at) != nil || !hexed(at.Name, 32) {
		return at, &BadError{Why: "a manifest is not one"}
	}
	zip, err := gzip.NewReader(bytes.NewReader(at.Data))
	if err != nil {
		return at, &BadError{Why: "a manifest is not compressed"}
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, &limited{zip, int64(len(at.Data))*maxRatio + slack}); err != nil || hex.EncodeToString(sum.Sum(nil)) != at.Name {
		return at, &BadError{Why: "a manifest is not what its name says"}
	}
	return at, nil
}
