package archive

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/scrypt"
)

// The project handoff of memoir, as its files are: a plain ledger, one of its
// snapshots, or an encrypted export. Everything about the format stands in the
// section "Import" of docs/LEDGER-FORMAT.md.

const (
	// MaxMemoir is the largest ledger of memoir, in bytes.
	MaxMemoir = 2 << 20

	memoirMagic = "MEMOIR01"
	memoirHead  = len(memoirMagic) + 32 + 12 + 16 // magic, salt, IV, tag
	memoirType  = "memoir-project-handoff"
)

// Memoir is a ledger of memoir. Its records and retractions are in no order but
// that of their revisions.
type Memoir struct {
	Version     int               `json:"version"`
	RecoveryID  string            `json:"recovery_id,omitempty"`
	Revision    int64             `json:"revision"`
	UpdatedAt   string            `json:"updated_at,omitempty"`
	Records     []MemoirRecord    `json:"records"`
	Checks      []MemoirCheck     `json:"checks"`
	Retractions []MemoirRetracted `json:"retractions"`
}

// MemoirRecord is one version of a record.
type MemoirRecord struct {
	ID           string  `json:"id"`
	Kind         string  `json:"kind"`
	Text         string  `json:"text"`
	Source       string  `json:"source"`
	Answer       string  `json:"answer,omitempty"`
	Why          string  `json:"why,omitempty"`
	Status       string  `json:"status"`
	Scope        string  `json:"scope"`
	Revision     int64   `json:"revision"`
	Branch       *string `json:"branch"`
	ObservedHead *string `json:"observed_head"`
	RecordedAt   string  `json:"recorded_at"`
}

// MemoirCheck is one receipt. Fields beyond these are in Raw, which is the whole.
type MemoirCheck struct {
	ID           string  `json:"id"`
	Revision     int64   `json:"revision"`
	Branch       *string `json:"branch"`
	StartedAt    string  `json:"started_at"`
	ExitCode     *int    `json:"exit_code"`
	Signal       *string `json:"signal"`
	TimedOut     bool    `json:"timed_out"`
	InputsStable bool    `json:"inputs_stable"`
	OutputSHA256 string  `json:"output_sha256"`
	OutputBytes  int64   `json:"output_bytes"`
	Environment  string  `json:"environment"`

	Raw json.RawMessage `json:"-"`
}

// MemoirRetracted says that a record or a check is hidden.
type MemoirRetracted struct {
	ID         string  `json:"id"`
	Category   string  `json:"category"`
	Branch     *string `json:"branch"`
	Revision   int64   `json:"revision"`
	RecordedAt string  `json:"recorded_at"`
}

// IsMemoirExport tells an encrypted export of memoir by its first bytes.
func IsMemoirExport(b []byte) bool { return bytes.HasPrefix(b, []byte(memoirMagic)) }

// MarshalJSON gives the whole receipt as it was read.
func (c MemoirCheck) MarshalJSON() ([]byte, error) { return c.Raw, nil }

// snapshot takes the revision and the digest from a snapshot's name, as in
// r12-9f….json.
func snapshot(name string) (revision, sum string, ok bool) {
	base, isJSON := strings.CutSuffix(filepath.Base(name), ".json")
	revision, sum, cut := strings.Cut(strings.TrimPrefix(base, "r"), "-")
	_, err := hex.DecodeString(sum)
	return revision, sum, isJSON && cut && strings.HasPrefix(base, "r") && err == nil && len(sum) == 2*sha256.Size
}

// ReadMemoir reads a ledger of memoir from the bytes of a file of that name:
// passphrase opens an encrypted export. A snapshot must be what its name says.
// Errors: *BadError, *NewerError, ErrKey.
func ReadMemoir(name string, b []byte, passphrase string) (*Memoir, error) {
	if IsMemoirExport(b) {
		plain, err := decryptMemoir(b, passphrase)
		if err != nil {
			return nil, err
		}
		var outer struct {
			Type    string          `json:"type"`
			Version int             `json:"version"`
			Ledger  json.RawMessage `json:"ledger"`
		}
		if err := strictly(plain, &outer); err != nil {
			return nil, err
		}
		if outer.Type != memoirType {
			return nil, &BadError{Why: "it is of another kind"}
		}
		if outer.Version != 1 {
			return nil, &NewerError{V: outer.Version}
		}
		return parseMemoir(outer.Ledger)
	}
	m, err := parseMemoir(b)
	if err != nil {
		return nil, err
	}
	if revision, digest, ok := snapshot(name); ok {
		sum := sha256.Sum256(b)
		if digest != hex.EncodeToString(sum[:]) || revision != strconv.FormatInt(m.Revision, 10) {
			return nil, &BadError{Why: "it is not the snapshot that its name says"}
		}
	}
	return m, nil
}

func decryptMemoir(b []byte, passphrase string) ([]byte, error) {
	if len(b) < memoirHead || len(b) > memoirHead+MaxMemoir+4096 {
		return nil, &BadError{Why: "its size is no export's"}
	}
	rest := b[len(memoirMagic):]
	salt, iv, tag, text := rest[:32], rest[32:44], rest[44:60], rest[60:]
	key, err := scrypt.Key([]byte(passphrase), salt, 1<<14, 8, 1, 32)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("open export: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("open export: %w", err)
	}
	plain, err := gcm.Open(nil, iv, append(bytes.Clone(text), tag...), nil)
	if err != nil {
		return nil, ErrKey // the wrong one, or not a byte is as it was written
	}
	return plain, nil
}

func parseMemoir(b []byte) (*Memoir, error) {
	if len(b) > MaxMemoir {
		return nil, &BadError{Why: fmt.Sprintf("it has more than %d bytes", MaxMemoir)}
	}
	var v struct {
		Version *int `json:"version"`
	}
	if json.Unmarshal(b, &v) == nil && v.Version != nil && *v.Version != 1 {
		return nil, &NewerError{V: *v.Version}
	}
	var raw struct {
		Memoir
		Checks []json.RawMessage `json:"checks"`
	}
	if err := strictly(b, &raw); err != nil {
		return nil, err
	}
	m := raw.Memoir
	if m.Version != 1 || m.Records == nil || raw.Checks == nil || m.Retractions == nil {
		return nil, &BadError{Why: "it is no ledger of memoir"}
	}
	m.Checks = []MemoirCheck{}
	for _, c := range raw.Checks {
		check := MemoirCheck{Raw: c}
		if err := json.Unmarshal(c, &check); err != nil || check.ID == "" || check.Revision < 1 {
			return nil, &BadError{Why: "a receipt in it is none"}
		}
		m.Checks = append(m.Checks, check)
	}
	return &m, m.check()
}

// check makes sure that every part stands at a revision that the ledger has.
func (m *Memoir) check() error {
	bad := &BadError{Why: "something in it has no id or no revision of its own ledger"}
	for _, r := range m.Records {
		if r.ID == "" || r.Revision < 1 || r.Revision > m.Revision || r.Scope != "project" {
			return bad
		}
	}
	for _, c := range m.Checks {
		if c.Revision > m.Revision {
			return bad
		}
	}
	for _, r := range m.Retractions {
		if r.ID == "" || r.Revision < 1 || r.Revision > m.Revision || r.Category != "record" && r.Category != "check" {
			return bad
		}
	}
	return nil
}

// strictly decodes one JSON value without repeated or unknown names.
func strictly(b []byte, into any) error {
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return &BadError{Why: "it is not UTF-8 text"}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := distinct(d, 0); err != nil {
		return &BadError{Why: err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &BadError{Why: "something stands behind its end"}
	}
	d = json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return &BadError{Why: "its content is not what the format has"}
	}
	return nil
}

var (
	errNoJSON = errors.New("it is not JSON")
	errTwice  = errors.New("a name stands in it twice")
	errDeep   = errors.New("it is nested too deeply")
)

// distinct reads one value and refuses an object with a name twice, whichever case
// it is written in: decoding takes both for one.
func distinct(d *json.Decoder, depth int) error {
	if depth > 64 {
		return errDeep
	}
	tok, err := d.Token()
	if err != nil {
		return errNoJSON
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	names := map[string]bool{}
	for d.More() {
		if delim == '{' {
			name, err := d.Token()
			text, ok := name.(string)
			if err != nil || !ok {
				return errNoJSON
			}
			if text = strings.ToLower(text); names[text] {
				return errTwice
			}
			names[text] = true
		}
		if err := distinct(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errNoJSON
	}
	return nil
}

// WriteMemoir writes a ledger as memoir does: names sorted, two spaces, a final
// newline.
func WriteMemoir(m *Memoir) ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write memoir ledger: %w", err)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("write memoir ledger: %w", err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil { // a map's names come sorted
		return nil, fmt.Errorf("write memoir ledger: %w", err)
	}
	return out.Bytes(), nil
}
