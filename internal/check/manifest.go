package check

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"holdfast/internal/ledger"
)

// MaxListed is how many inputs stand in the receipt itself; a longer list goes
// to a manifest.
const MaxListed = 500

// maxManifest bounds what a manifest may unpack to, in bytes.
const maxManifest = 512 << 20

var errManifest = errors.New("it is no manifest of inputs")

// EncodeManifest writes a list of inputs, compressed, and gives the SHA-256 of
// its content, by which it is named. A line is path NUL digest, and NUL "keyed"
// where this machine's key was used.
func EncodeManifest(files []ledger.InputFile) (sum string, packed []byte, err error) {
	h := sha256.New()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := io.MultiWriter(h, z)
	for i := range files {
		l := append(append([]byte(files[i].Path), 0), files[i].SHA256...)
		if files[i].Keyed {
			l = append(l, "\x00keyed"...)
		}
		if _, err := w.Write(append(l, '\n')); err != nil {
			return "", nil, fmt.Errorf("write manifest: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return "", nil, fmt.Errorf("write manifest: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), b.Bytes(), nil
}

// DecodeManifest reads what EncodeManifest wrote, and checks that it is the one
// named sum.
func DecodeManifest(packed []byte, sum string) ([]ledger.InputFile, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", errManifest)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxManifest+1))
	if err != nil || len(text) > maxManifest {
		return nil, fmt.Errorf("read manifest: %w", errManifest)
	}
	if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("read manifest: %w", errManifest)
	}
	var out []ledger.InputFile
	for l := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(l, "\n"), "\x00")
		if len(f) < 2 || len(f) > 3 || len(f) == 3 && f[2] != "keyed" {
			return nil, fmt.Errorf("read manifest: %w", errManifest)
		}
		out = append(out, ledger.InputFile{Path: f[0], SHA256: f[1], Keyed: len(f) == 3})
	}
	return out, nil
}
