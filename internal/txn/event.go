package txn

import (
	"encoding/json"
	"fmt"
	"time"

	"holdfast/internal/ledger"
)

// event is the body of a txn.* entry: what its head (ledger.TxnHead) must not
// or need not keep. Which parts stand in it depends on what happened.
type event struct {
	Begin    *begun                     `json:"begin,omitempty"`
	Grant    *grant                     `json:"grant,omitempty"`
	Close    *closing                   `json:"close,omitempty"`
	Judge    *verdict                   `json:"judge,omitempty"`
	Seen     *Seen                      `json:"seen,omitempty"`
	Reported map[string]json.RawMessage `json:"reported,omitempty"`
	End      *End                       `json:"end,omitempty"`
	Reason   string                     `json:"reason,omitempty"` // a person's
}

// begun is what a transaction starts from.
type begun struct {
	Intent     string           `json:"intent"`
	Worktree   string           `json:"worktree"`
	Operations []Operation      `json:"operations"`
	Roots      []string         `json:"roots,omitempty"`
	Probes     map[string]Probe `json:"probes,omitempty"`
	Base       []string         `json:"base"` // by unit: its content then
	Kept       *Kept            `json:"kept,omitempty"`
}

// grant is what was known when an attempt was granted.
type grant struct {
	Owner Owner    `json:"owner"`
	Via   string   `json:"via"`
	Wants []string `json:"wants"`           // by want: its part of the state digest
	Floor Set      `json:"floor,omitempty"` // of the first recovery
	// Base are contents, by unit, that could not be read at the beginning: now
	// they can, and nothing was granted before.
	Base map[int]string `json:"base,omitempty"`
}

// closing says how an attempt was closed, or what was reported after that.
type closing struct {
	At     Moment `json:"at"`
	Detail string `json:"detail,omitempty"`
	// Debris are contents that the attempt left and that are no part of the
	// target, by unit: a recovery may overwrite them.
	Debris map[int]string `json:"debris,omitempty"`
}

// verdict is how an attempt was judged, once.
type verdict struct {
	Attempt        string `json:"attempt"`
	Classification string `json:"classification"`
	Progress       string `json:"progress,omitempty"` // of a recovery
	Floor          Set    `json:"floor,omitempty"`    // the new one
}

// Seen is one observation as it is kept.
type Seen struct {
	State string `json:"state"` // digest; empty while something was unknown
	Set   Set    `json:"set"`   // by item: 0 holds, 1 to 3 its severity, ? unknown
	Floor Set    `json:"floor,omitempty"`
}

// End is how a transaction ended.
type End struct {
	Code       string     `json:"code,omitempty"` // of a block
	Reason     string     `json:"reason,omitempty"`
	Progress   string     `json:"progress,omitempty"`
	Decision   string     `json:"decision,omitempty"` // the smallest next decision, for a person
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	Before     []string   `json:"before,omitempty"` // names of the items that the recovery had to shrink
	Cycle      []string   `json:"cycle,omitempty"`  // state digests that came round
	Observed   []Observed `json:"observed,omitempty"`
	Omitted    int        `json:"omitted,omitempty"` // surfaces and names left out
	Attempts   []Told     `json:"attempts,omitempty"`
	Kept       *Kept      `json:"kept,omitempty"` // how many originals, and the file that lists them
}

// Told is an attempt in short.
type Told struct {
	Attempt        string `json:"attempt"`
	Operation      int    `json:"operation"`
	Role           string `json:"role"`
	Outcome        string `json:"outcome,omitempty"`
	Classification string `json:"classification,omitempty"`
	Progress       string `json:"progress,omitempty"`
}

// Observed is one surface of a completed transaction as it was.
type Observed struct {
	Surface string `json:"surface"`
	Name    string `json:"name,omitempty"`
	Content string `json:"content"` // type and 128 bits of the digest; empty: absent
}

// Moment is a point in time: on the wall, and since the boot that is named.
type Moment struct {
	Wall int64  `json:"wall"` // Unix time, ms
	Boot string `json:"boot,omitempty"`
	Up   int64  `json:"up,omitempty"` // ms since boot
}

// since is how long ago m was, in ms: by boot time within one boot, else by
// the wall.
func (m Moment) since(then Moment) int64 {
	if m.Boot != "" && m.Boot == then.Boot {
		return m.Up - then.Up
	}
	return m.Wall - then.Wall
}

// Owner is the process that holds a grant.
type Owner struct {
	Boot  string `json:"boot,omitempty"`  // boot id
	Space string `json:"space,omitempty"` // pid namespace
	PID   int    `json:"pid,omitempty"`
	Start string `json:"start,omitempty"` // when the process started
}

// Call says who asks, when and from where. The engine takes nothing of the
// world but this and the looks.
type Call struct {
	Now    time.Time
	Boot   string        // boot id; empty if unknown
	Up     time.Duration // since that boot
	Owner  Owner         // the calling process
	Via    string        // ledger.ViaMCP, ViaCLI or ViaView
	Person bool          // a person decided; the entry will be sealed
	ID     string        // random id for what this call may begin: a transaction or an attempt
	// Running tells whether a process of this boot and namespace still runs.
	// Nil: it can't be told.
	Running func(Owner) bool
	Tops    map[string]string // absolute slash paths of the worktrees reachable from here, by name
}

func (c *Call) moment() Moment {
	return Moment{Wall: c.Now.UnixMilli(), Boot: c.Boot, Up: c.Up.Milliseconds()}
}

// draft makes the entry of an event. Recovery generation, actor, git and key
// are the caller's to add.
func (c *Call) draft(typ string, head ledger.TxnHead, ev event, worktree string) (*ledger.Draft, error) {
	raw, err := json.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("encode transaction event: %w", err)
	}
	if len(raw) > maxBody {
		return nil, &ledger.LimitError{What: "the transaction", Limit: maxBody, Got: len(raw), Unit: "bytes"}
	}
	return &ledger.Draft{
		Type: typ, At: c.Now, HeadFields: ledger.HeadFields{Txn: &head},
		Body: ledger.Body{Worktree: worktree, Txn: raw},
	}, nil
}
