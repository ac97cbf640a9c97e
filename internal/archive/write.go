package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"

	"filippo.io/age"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// FormatName and FormatVersion stand in an export's first line.
const (
	FormatName    = "holdfast-export"
	FormatVersion = 1
)

// Manifest is an export's first line.
type Manifest struct {
	Format    string     `json:"format"`
	V         int        `json:"v"`
	Ledger    string     `json:"ledger"`
	Head      ledger.Pos `json:"head"`
	Entries   int64      `json:"entries"`
	Manifests int64      `json:"manifests"` // of receipts
	Tool      string     `json:"tool"`
	At        string     `json:"at"`
}

// Attachment is a receipt's manifest: a compressed file named by the SHA-256 of
// what is in it.
type Attachment struct {
	Name string `json:"manifest"`
	Data []byte `json:"data"`
}

// Content is what an export is made of.
type Content struct {
	Manifest
	Lines       iter.Seq2[ledger.Entry, error] // Entries of them, from revision 0 to Head
	Attachments iter.Seq2[Attachment, error]   // Manifests of them
}

// Written tells about an export that was written, opened again and compared.
type Written struct {
	Size     int64
	Warnings []error
}

// ErrCompare: the finished export does not hold what was written.
var ErrCompare = errors.New("the finished export does not hold what was written")

// Create writes an export under a name that must be free (durable.ErrExists),
// with mode 0600. It takes the name only after the finished file was opened
// again and compared with what was written; a failure leaves nothing behind.
func Create(ctx context.Context, dir *durable.Dir, name string, c Content, to Lock) (Written, error) {
	if len(to.to) == 0 {
		return Written{}, fmt.Errorf("write export: %w", errNoKey)
	}
	var fileKey []byte
	sum := sha256.New()
	write := func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		if err := encrypt(ctx, b, &c, to, &fileKey, sum); err != nil {
			return err
		}
		return b.Flush()
	}
	check := func(f *os.File) error { return compare(ctx, f, to.key, fileKey, sum.Sum(nil)) }
	pub, err := dir.PublishFrom(name, 0o600, write, check)
	if err != nil {
		return Written{}, fmt.Errorf("write export: %w", err)
	}
	return Written{Size: pub.Info.Size(), Warnings: pub.Warnings}, nil
}

func encrypt(ctx context.Context, w io.Writer, c *Content, to Lock, fileKey *[]byte, sum hash.Hash) error {
	recipients := make([]age.Recipient, len(to.to))
	for i, r := range to.to {
		recipients[i] = tapped{r, fileKey}
	}
	enc, err := age.Encrypt(w, recipients...)
	if err != nil {
		return &KeyError{Why: "these recipients can't be used together"}
	}
	zip, err := gzip.NewWriterLevel(enc, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := content(ctx, io.MultiWriter(zip, sum), c); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return enc.Close()
}

// content writes the lines, and holds that they are what the manifest says.
func content(ctx context.Context, out io.Writer, c *Content) error {
	w := bufio.NewWriterSize(out, 256<<10)
	c.Format, c.V = FormatName, FormatVersion
	line, err := json.Marshal(c.Manifest)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	var last ledger.Pos
	n := int64(0)
	for e, err := range c.Lines {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(e.Raw); err != nil {
			return err
		}
		last = e.Pos()
		n++
	}
	if last != c.Head || n != c.Entries {
		return fmt.Errorf("%w: the ledger changed meanwhile", ErrCompare)
	}
	n = 0
	for a, err := range c.Attachments {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, `{"manifest":"%s","data":"%s"}`+"\n", a.Name, base64.StdEncoding.EncodeToString(a.Data))
		n++
	}
	if n != c.Manifests {
		return fmt.Errorf("%w: the manifests changed meanwhile", ErrCompare)
	}
	return w.Flush()
}

// compare opens a finished export as whoever has the key will.
func compare(ctx context.Context, f *os.File, key *Key, fileKey, want []byte) error {
	if key == nil { // of public keys: the file key alone is known
		key = &Key{ids: []age.Identity{age.NewInjectedFileKeyIdentity(fileKey)}}
	}
	a, err := Open(ctx, f, *key)
	if err != nil {
		return err
	}
	got, err := a.sum(ctx)
	if err == nil && !bytes.Equal(got, want) {
		err = ErrCompare
	}
	return err
}
