package ledger

import (
	"encoding/hex"
	"encoding/json"
)

// Body is what an entry says. It starts with the salt; which of the other
// fields stand in it depends on the entry's type.
type Body struct {
	Salt     string `json:"salt"`
	Actor    Actor  `json:"actor"`
	Git      Git    `json:"git"`
	Worktree string `json:"worktree,omitempty"`

	Key     string `json:"key,omitempty"`            // idempotency key of the save
	Request string `json:"request_sha256,omitempty"` // what the key was first used for, guards aside

	Records  []Record        `json:"records,omitempty"`  // record, merge
	Change   *Change         `json:"change,omitempty"`   // status, retract, restore
	Confirms []Ref           `json:"confirms,omitempty"` // confirm
	Carry    *Carry          `json:"carry,omitempty"`    // carry
	Allow    *Allow          `json:"allow,omitempty"`    // allow
	Redacted []Ref           `json:"redacted,omitempty"` // redact: the versions that lost their text
	Reason   string          `json:"reason,omitempty"`   // a person's reason, for the types that take one
	Origin   *Origin         `json:"origin,omitempty"`   // of what was imported: where it came from
	Receipt  *Receipt        `json:"receipt,omitempty"`  // check
	Op       json.RawMessage `json:"op,omitempty"`       // op.begin, op.end
	Txn      json.RawMessage `json:"txn,omitempty"`      // txn.*
}

// IDs are the records and the check whose texts or state the body gives, in its
// order. It is never nil.
func (b *Body) IDs() []string {
	ids := []string{}
	for i := range b.Records {
		ids = append(ids, b.Records[i].ID)
	}
	if b.Change != nil {
		ids = append(ids, b.Change.ID)
	}
	if b.Receipt != nil {
		ids = append(ids, b.Receipt.ID)
	}
	return ids
}

// Actor says who made an entry, as far as the tool could tell.
type Actor struct {
	Kind    string `json:"kind"`              // agent, person or tool
	Client  string `json:"client,omitempty"`  // the agent's own name, such as codex
	Version string `json:"version,omitempty"` // the client's version
	Via     string `json:"via"`               // mcp, cli or view
}

// Kinds of actor and ways in.
const (
	Agent  = "agent"
	Person = "person"
	Tool   = "tool"

	ViaMCP  = "mcp"
	ViaCLI  = "cli"
	ViaView = "view"
)

// Git says where in the code an entry was made. The zero Git means: no
// repository.
type Git struct {
	Branch   string `json:"branch,omitempty"`   // short name; empty when detached or without git
	Commit   string `json:"commit,omitempty"`   // full object id; empty on an unborn branch
	Base     string `json:"base,omitempty"`     // merge-base with the default branch then
	Detached bool   `json:"detached,omitempty"` // HEAD named no branch
}

// Record is what a session leaves for the next one.
type Record struct {
	ID          string     `json:"id"`
	Kind        string     `json:"kind"`
	Text        string     `json:"text,omitempty"`
	Answer      string     `json:"answer,omitempty"`
	Why         string     `json:"why,omitempty"`
	Rejected    []Rejected `json:"rejected,omitempty"`
	RevisitWhen string     `json:"revisit_when,omitempty"`
	Supersedes  string     `json:"supersedes,omitempty"`
	Status      string     `json:"status,omitempty"`
	Source      string     `json:"source,omitempty"`
	Cites       []Cite     `json:"cites,omitempty"`
	DoneWhen    string     `json:"done_when,omitempty"`

	Replaces        int64   `json:"replaces,omitempty"`         // revision of the version that this one replaced
	Settles         []int64 `json:"settles,omitempty"`          // other versions in force then: diverged no longer
	WithoutEvidence string  `json:"without_evidence,omitempty"` // why an action was closed though its check didn't hold
}

// Kinds of record.
const (
	KindGoal     = "goal"
	KindQuestion = "question"
	KindAnswer   = "answer"
	KindDecision = "decision"
	KindNext     = "next"
	KindNote     = "note"
)

// Statuses of a record.
const (
	StatusOpen    = "open"
	StatusDone    = "done"
	StatusDropped = "dropped"
)

// Kinds lists the kinds of record in the order in which a briefing shows them.
var Kinds = [...]string{KindGoal, KindNext, KindQuestion, KindAnswer, KindDecision, KindNote}

// Rejected is an option that a decision turned down.
type Rejected struct {
	Option string `json:"option"`
	Why    string `json:"why,omitempty"`
}

// Cite is a project file that a record rests on, as it was then.
type Cite struct {
	Path   string `json:"path"`             // slash path, relative to the worktree's top
	SHA256 string `json:"sha256,omitempty"` // empty: the file could not be read then
}

// Change is what status, retract and restore do to a record or a check.
type Change struct {
	ID              string  `json:"id"`
	Category        string  `json:"category,omitempty"` // check; empty for a record
	Status          string  `json:"status,omitempty"`   // status: done, dropped or open
	Replaces        int64   `json:"replaces"`
	Settles         []int64 `json:"settles,omitempty"`
	WithoutEvidence string  `json:"without_evidence,omitempty"`
}

// CategoryCheck marks a change that concerns a check's receipt.
const CategoryCheck = "check"

// Ref names one version of a record.
type Ref struct {
	ID  string `json:"id"`
	Rev int64  `json:"revision"`
}

// Carry brings the records of other branches to the branch of the entry.
type Carry struct {
	Branches []string `json:"branches"`
}

// Allow lets one exact value pass the screening for secrets.
type Allow struct {
	Salt   string `json:"salt"`   // hex
	SHA256 string `json:"sha256"` // hex SHA-256 of salt bytes and value
	Rule   string `json:"rule,omitempty"`
}

// Origin says where an imported revision came from.
type Origin struct {
	Ledger string `json:"ledger,omitempty"`
	Rev    int64  `json:"revision"`
	Hash   string `json:"hash,omitempty"`
	Branch string `json:"branch,omitempty"`
	Format string `json:"format,omitempty"` // memoir; empty: a ledger like this one
	At     string `json:"at,omitempty"`     // when it was made there, as that tool wrote it
	// Rest is what was imported, as it was, where not all of it has a place here.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// Matches reports whether value is the one that was allowed.
func (a *Allow) Matches(value string) bool {
	salt, err := hex.DecodeString(a.Salt)
	if err != nil || len(salt) == 0 {
		return false
	}
	return hexSum(append(salt, value...)) == a.SHA256
}

// NewAllow allows value, under a random salt.
func NewAllow(value string, salt []byte, rule string) *Allow {
	return &Allow{Salt: hex.EncodeToString(salt), SHA256: hexSum(append(append([]byte(nil), salt...), value...)), Rule: rule}
}
