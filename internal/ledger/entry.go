package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Version of the entry format that this build writes.
const FormatVersion = 1

// MaxEntry is the largest entry, in bytes, its final newline included.
const MaxEntry = 256 << 10

// TimeLayout is how an entry writes its time: UTC with milliseconds, so that
// every store keeps it exactly.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Pos names a place in a ledger's history: a revision and the hash of its
// head. The zero Pos is the place before the first entry, which is revision 0;
// it is told from revision 0 by its empty hash.
type Pos struct {
	Rev  int64  `json:"rev"`
	Hash string `json:"hash"`
}

// Next is the revision that an entry appended after p gets.
func (p Pos) Next() int64 {
	if p.Hash == "" {
		return 0
	}
	return p.Rev + 1
}

// Entry types, version 1 of the format.
const (
	TypeLedger     = "ledger"
	TypeRecord     = "record"
	TypeStatus     = "status"
	TypeRetract    = "retract"
	TypeRestore    = "restore"
	TypeConfirm    = "confirm"
	TypeCarry      = "carry"
	TypeCheck      = "check"
	TypeAdopt      = "adopt"
	TypeAllow      = "allow"
	TypeRecover    = "recover"
	TypeSealed     = "sealed"
	TypeRedact     = "redact"
	TypeMerge      = "merge"
	TypeOpBegin    = "op.begin"
	TypeOpEnd      = "op.end"
	TypeTxnBegin   = "txn.begin"
	TypeTxnAttempt = "txn.attempt"
	TypeTxnReport  = "txn.report"
	TypeTxnObserve = "txn.observe"
	TypeTxnEnd     = "txn.end"
)

// KnownType reports whether this build knows entries of type t.
func KnownType(t string) bool {
	switch t {
	case TypeLedger, TypeRecord, TypeStatus, TypeRetract, TypeRestore, TypeConfirm,
		TypeCarry, TypeCheck, TypeAdopt, TypeAllow, TypeRecover, TypeSealed, TypeRedact,
		TypeMerge, TypeOpBegin, TypeOpEnd, TypeTxnBegin, TypeTxnAttempt, TypeTxnReport,
		TypeTxnObserve, TypeTxnEnd:
		return true
	}
	return false
}

// GoesBack reports whether a recovery takes back what entries of type t say.
// What describes the world or a person's decision about it stands: so do its
// idempotency keys.
func GoesBack(t string) bool {
	switch t {
	case TypeRecord, TypeStatus, TypeRetract, TypeRestore, TypeConfirm, TypeCarry, TypeCheck, TypeMerge:
		return true
	}
	return false
}

// Head is the part of an entry that is chained and that survives a redaction.
// It holds nothing that a caller or a repository can put text into.
type Head struct {
	V          int    `json:"v"`
	Rev        int64  `json:"rev"`
	Type       string `json:"type"`
	At         string `json:"at"`
	Prev       string `json:"prev"`
	Recovery   string `json:"recovery"`
	KeySHA256  string `json:"key_sha256"`
	BodySHA256 string `json:"body_sha256"`
	SealKey    string `json:"seal_key"`
	HeadFields
}

// HeadFields are the head's fields by type.
type HeadFields struct {
	Ledger      string   `json:"ledger,omitempty"`      // ledger: the ledger's id
	Tool        string   `json:"tool,omitempty"`        // ledger: version of the tool that created it
	Base        *int64   `json:"base,omitempty"`        // recover: the state goes back to this revision
	Replaces    []Pos    `json:"replaces,omitempty"`    // recover: heads that this recovery replaced
	Fingerprint string   `json:"fingerprint,omitempty"` // recover, sealed: the preview's fingerprint
	Successor   string   `json:"successor,omitempty"`   // sealed: the next generation's folder name
	Revisions   []int64  `json:"revisions,omitempty"`   // redact: whose bodies are erased
	ID          string   `json:"id,omitempty"`          // adopt: the ledger's id from here on
	Txn         *TxnHead `json:"txn,omitempty"`         // txn.*
}

// TxnHead is what a transaction's entries keep in their head.
type TxnHead struct {
	Transaction  string   `json:"transaction"`
	Attempt      string   `json:"attempt,omitempty"`
	Operation    *int     `json:"operation,omitempty"`
	Fingerprints []string `json:"fingerprints,omitempty"` // of the operations, in order
	Fingerprint  string   `json:"fingerprint,omitempty"`  // of the attempt's operation
	Role         string   `json:"role,omitempty"`         // initial or recovery
	Outcome      string   `json:"outcome,omitempty"`
	State        string   `json:"state,omitempty"`
	Follows      string   `json:"follows,omitempty"` // the blocked transaction that a person reopened
	Person       bool     `json:"person,omitempty"`  // a person's decision; void without a seal
}

// Time is the entry's own time. It is a note for people: order is Rev.
// The zero time stands for one that can't be read.
func (h *Head) Time() time.Time {
	t, err := time.Parse(time.RFC3339Nano, h.At)
	if err != nil {
		return time.Time{}
	}
	return t
}

// TakesAway reports whether an entry with this head can take something away,
// and so is void without a seal.
func (h *Head) TakesAway() bool {
	switch h.Type {
	case TypeRedact, TypeRecover, TypeSealed, TypeAdopt, TypeAllow, TypeConfirm:
		return true
	}
	return h.Txn != nil && h.Txn.Person
}

// Void reports whether the entry has no effect because it lacks the seal that
// its type needs.
func (h *Head) Void() bool { return h.TakesAway() && h.SealKey == "" }

// Entry is one revision of a ledger, with the exact bytes it was read from.
type Entry struct {
	Head
	HeadRaw []byte // exact bytes of the head's value: what Hash is over
	BodyRaw []byte // exact bytes of the body's value; nil when the body was erased
	Hash    string // lower-case hex SHA-256 of HeadRaw
	Seal    string // lower-case hex HMAC-SHA256 of Hash, empty for an unsealed entry
	Raw     []byte // the whole line with its newline
	Newer   bool   // of a version, a type or with fields that this build doesn't know
}

// Pos is the place in history that e makes.
func (e *Entry) Pos() Pos { return Pos{Rev: e.Rev, Hash: e.Hash} }

// Body decodes the entry's body. An erased body gives a zero Body and false.
func (e *Entry) Body() (Body, bool, error) {
	var b Body
	if e.BodyRaw == nil {
		return b, false, nil
	}
	if err := json.Unmarshal(e.BodyRaw, &b); err != nil {
		return b, false, &EntryError{Rev: e.Rev, Why: "its body is not what its type has"}
	}
	return b, true, nil
}

// CheckBody reports whether the body's bytes are those that the head names.
// An erased body passes: whether it may be erased is for Verify.
func (e *Entry) CheckBody() bool {
	if e.BodyRaw == nil {
		return true
	}
	return sumIs(e.BodyRaw, e.BodySHA256)
}

// Draft is an entry before it has its place: what a save wants to say.
type Draft struct {
	Type     string
	At       time.Time
	Recovery string // recovery generation in which the caller acts
	Key      string // caller's idempotency key, or empty
	HeadFields
	Body Body
}

// Sealer seals hashes with one key. A nil Sealer leaves entries unsealed.
type Sealer interface {
	KeyID() string
	Seal(hash string) string
}

// errHead: text of a caller in the head, which must outlive a redaction.
var errHead = errors.New("a field is not plain ASCII")

// Encode makes the entry that follows after. salt is 16 random bytes. The
// error is a *LimitError for an entry over MaxEntry.
func Encode(after Pos, d Draft, salt []byte, s Sealer) (Entry, error) {
	d.Body.Salt = hex.EncodeToString(salt)
	body, err := marshal(d.Body)
	if err != nil {
		return Entry{}, fmt.Errorf("encode body: %w", err)
	}
	h := Head{
		V: FormatVersion, Rev: after.Next(), Type: d.Type,
		At: d.At.UTC().Format(TimeLayout), Prev: after.Hash,
		Recovery: d.Recovery, KeySHA256: KeyHash(d.Key),
		BodySHA256: hexSum(body), HeadFields: d.HeadFields,
	}
	if s != nil {
		h.SealKey = s.KeyID()
	}
	head, err := marshal(h)
	if err != nil {
		return Entry{}, fmt.Errorf("encode head: %w", err)
	}
	if !plain(head) {
		return Entry{}, fmt.Errorf("encode head: %w", errHead)
	}
	e := Entry{Head: h, HeadRaw: head, BodyRaw: body, Hash: hexSum(head)}
	if s != nil {
		e.Seal = s.Seal(e.Hash)
	}
	e.Raw = assemble(e.HeadRaw, e.BodyRaw, e.Hash, e.Seal)
	if len(e.Raw) > MaxEntry {
		return Entry{}, &LimitError{What: "a save", Limit: MaxEntry, Got: len(e.Raw), Unit: "bytes"}
	}
	return e, nil
}

// Erase returns e with its body erased; hash and seal stay as they are.
func (e *Entry) Erase() Entry {
	x := *e
	x.BodyRaw = nil
	x.Raw = assemble(e.HeadRaw, nil, e.Hash, e.Seal)
	return x
}

// KeyHash is how an idempotency key stands in a head; empty for no key.
func KeyHash(key string) string {
	if key == "" {
		return ""
	}
	return hexSum([]byte(key))
}

func assemble(head, body []byte, hash, seal string) []byte {
	if body == nil {
		body = []byte("null")
	}
	var b bytes.Buffer
	b.Grow(len(head) + len(body) + len(hash) + len(seal) + 48)
	b.WriteString(`{"head":`)
	b.Write(head)
	b.WriteString(`,"body":`)
	b.Write(body)
	b.WriteString(`,"hash":"`)
	b.WriteString(hash)
	b.WriteString(`","seal":"`)
	b.WriteString(seal)
	b.WriteString("\"}\n")
	return b.Bytes()
}

// marshal encodes without escaping <, > and &, so that text stays readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// sumIs reports whether sum is b's, without making a string.
func sumIs(b []byte, sum string) bool {
	x := sha256.Sum256(b)
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], x[:])
	return string(digits[:]) == sum
}

// Key is a machine's seal key: 32 random bytes.
type Key []byte

// KeyID names the key without revealing it.
func (k Key) KeyID() string { return hexSum(append([]byte("holdfast seal key v1\n"), k...))[:16] }

// Seal is the HMAC-SHA256 of hash's 64 hex digits, in hex.
func (k Key) Seal(hash string) string {
	m := hmac.New(sha256.New, k)
	m.Write([]byte(hash))
	return hex.EncodeToString(m.Sum(nil))
}

// Sealed reports whether seal is k's seal of hash.
func (k Key) Sealed(hash, seal string) bool {
	return hmac.Equal([]byte(k.Seal(hash)), []byte(seal))
}
