package txn

import (
	"encoding/json"
	"maps"
	"slices"

	"holdfast/internal/ledger"
)

// Book is what a ledger's entries say about its transactions: a pure fold.
// Nothing in it depends on which entries a recovery hides: transactions
// describe the world. It can be kept as JSON and read back. The zero Book is
// that of an empty ledger.
type Book struct {
	At    ledger.Pos              `json:"at"`    // last entry applied
	Order []string                `json:"order"` // ids as they began
	Txns  map[string]*Transaction `json:"transactions"`
}

// Transaction is one transaction as the entries tell it.
type Transaction struct {
	ID       string       `json:"id"`
	Rev      int64        `json:"revision"`
	At       string       `json:"at"`
	Actor    ledger.Actor `json:"actor"`
	SealKey  string       `json:"seal_key,omitempty"` // of the entry that defines its probes
	State    string       `json:"state"`
	Intent   string       `json:"intent"`
	Worktree string       `json:"worktree"`

	Operations   []Operation      `json:"operations"`
	Fingerprints []string         `json:"fingerprints"`
	Roots        []string         `json:"roots,omitempty"`
	Probes       map[string]Probe `json:"probes,omitempty"`
	Follows      string           `json:"follows,omitempty"`     // the blocked one that a person reopened
	FollowedBy   string           `json:"followed_by,omitempty"` // the one that goes on instead
	Replaces     string           `json:"replaces,omitempty"`
	ReplacedBy   string           `json:"replaced_by,omitempty"`

	Base     []string             `json:"base"`
	Kept     *Kept                `json:"kept,omitempty"`
	Attempts []Attempt            `json:"attempts,omitempty"`
	States   []string             `json:"states,omitempty"` // digests in order, none twice in a row
	Last     Set                  `json:"last,omitempty"`   // of the last observation
	Floor    Set                  `json:"floor,omitempty"`
	Least    Set                  `json:"least,omitempty"` // smallest severities before an attempt
	Progress string               `json:"progress,omitempty"`
	Reported map[string]Statement `json:"reported,omitempty"`
	Debris   map[int][]string     `json:"debris,omitempty"`
	Allowed  []int                `json:"allowed,omitempty"` // operations that a person let destroy
	End      *End                 `json:"end,omitempty"`
	Ended    string               `json:"ended,omitempty"`  // time of the entry that ended it
	Reason   string               `json:"reason,omitempty"` // of the person who reopened or gave up
	Erased   bool                 `json:"erased,omitempty"` // the text that it began with was erased

	m *model // of the operations; nil once the transaction is over for good
}

// Statement is what an agent stated about a surface, who and when.
type Statement struct {
	Value json.RawMessage `json:"value"`
	Actor ledger.Actor    `json:"actor"`
	At    string          `json:"at"`
}

// Attempt is one granted attempt.
type Attempt struct {
	ID             string       `json:"id"`
	Operation      int          `json:"operation"`
	Fingerprint    string       `json:"fingerprint"`
	Role           string       `json:"role"`
	Rev            int64        `json:"revision"`
	At             string       `json:"at"`
	Wall           int64        `json:"wall"` // the same in ms
	Actor          ledger.Actor `json:"actor"`
	Owner          Owner        `json:"owner"`
	Via            string       `json:"via,omitempty"`
	State          string       `json:"state,omitempty"` // digest before it
	Set            Set          `json:"set,omitempty"`   // mismatches before it
	Wants          []string     `json:"wants,omitempty"` // digests before it
	Open           bool         `json:"open,omitempty"`
	Outcome        string       `json:"outcome,omitempty"`
	Detail         string       `json:"detail,omitempty"`
	Closed         Moment       `json:"closed"`
	Judged         bool         `json:"judged,omitempty"`
	Classification string       `json:"classification,omitempty"`
	Progress       string       `json:"progress,omitempty"`
	Notes          []Note       `json:"notes,omitempty"` // reports that came after it was closed
}

// Note is a report about an attempt that was closed already.
type Note struct {
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
	At      string `json:"at"`
}

// Apply folds one entry into the book. Entries of other types, of newer
// formats, and decisions of a person without a seal, change nothing. The error
// is a *ledger.EntryError.
func (b *Book) Apply(d ledger.Delta) error {
	b.At = d.Pos
	if d.Newer || d.Void || d.Txn == nil {
		return nil
	}
	var ev event
	if !d.Erased && len(d.Body.Txn) > 0 {
		if err := json.Unmarshal(d.Body.Txn, &ev); err != nil {
			return &ledger.EntryError{Rev: d.Rev, Why: "its transaction is not what its type has"}
		}
	}
	switch d.Type {
	case ledger.TypeTxnBegin:
		b.begin(&d, &ev)
	case ledger.TypeTxnAttempt, ledger.TypeTxnReport, ledger.TypeTxnObserve, ledger.TypeTxnEnd:
		if t := b.Txns[d.Txn.Transaction]; t != nil {
			t.apply(&d, &ev)
		}
	}
	return nil
}

// Get finds a transaction. The error is a *Refusal.
func (b *Book) Get(id string) (*Transaction, error) {
	if t := b.Txns[id]; t != nil {
		return t, nil
	}
	return nil, refuse(CodeNoTransaction, "There is no transaction of this id in the ledger.", "List them with: holdfast txn list.")
}

func (b *Book) begin(d *ledger.Delta, ev *event) {
	h := d.Txn
	if b.Txns[h.Transaction] != nil {
		return // told twice, as after two sides of a ledger were joined
	}
	t := &Transaction{
		ID: h.Transaction, Rev: d.Rev, At: d.At, Actor: d.Body.Actor, SealKey: d.SealKey,
		State: orOpen(h.State), Fingerprints: h.Fingerprints, Progress: progressNoneYet,
		Erased: ev.Begin == nil, End: ev.End, Reason: ev.Reason,
	}
	if g := ev.Begin; g != nil {
		t.Intent, t.Worktree, t.Operations = g.Intent, g.Worktree, g.Operations
		t.Roots, t.Probes, t.Base, t.Kept = g.Roots, g.Probes, g.Base, g.Kept
	}
	t.m = newModel(t.Operations, t.Worktree, t.Roots, t.Probes)
	if t.State != StateOpen {
		t.Ended = d.At
	}
	b.link(t, h)
	t.state(d, ev)
	if t.over() {
		t.rest()
	}
	if b.Txns == nil {
		b.Txns = map[string]*Transaction{}
	}
	b.Txns[t.ID] = t
	b.Order = append(b.Order, t.ID)
}

// link ties t to the transaction that its head names: one that a person
// reopened, or an untouched one that it replaces.
func (b *Book) link(t *Transaction, h *ledger.TxnHead) {
	old := b.Txns[h.Follows]
	switch {
	case old == nil:
	case h.Person:
		if old.State == StateBlocked && old.FollowedBy == "" {
			t.Follows, old.FollowedBy, t.Reported = old.ID, t.ID, maps.Clone(old.Reported)
		}
	case old.State == StateOpen && len(old.Attempts) == 0:
		t.Replaces, old.ReplacedBy = old.ID, t.ID
		old.State, old.Ended = StateAbandoned, t.At
		old.rest()
	}
}

func orOpen(state string) string {
	if state == "" {
		return StateOpen
	}
	return state
}

func (t *Transaction) apply(d *ledger.Delta, ev *event) {
	h := d.Txn
	if d.Type == ledger.TypeTxnAttempt {
		t.grant(d, ev)
	} else if h.Attempt != "" {
		t.close(d, ev)
	}
	if j := ev.Judge; j != nil {
		t.judge(j)
	}
	t.state(d, ev)
	if h.Person && h.Outcome == outcomeAllowed && h.Operation != nil && !slices.Contains(t.Allowed, *h.Operation) {
		t.Allowed = append(t.Allowed, *h.Operation)
	}
	if t.moves(h) {
		t.State, t.Ended = h.State, d.At
		if ev.End != nil {
			t.End = ev.End
		}
		if ev.Reason != "" {
			t.Reason = ev.Reason
		}
	}
	if t.over() {
		t.rest()
	}
}

// moves reports whether the entry ends t. What is blocked stays so, also
// against another side's word that it completed; only a person gives it up.
func (t *Transaction) moves(h *ledger.TxnHead) bool {
	switch h.State {
	case StateBlocked:
		return t.State != StateBlocked && t.State != StateAbandoned
	case StateComplete, StateCompleteReported:
		return t.State == StateOpen
	case StateAbandoned:
		return h.Person && (t.State == StateOpen || t.State == StateBlocked)
	}
	return false
}

func (t *Transaction) grant(d *ledger.Delta, ev *event) {
	h := d.Txn
	if h.Operation == nil || *h.Operation < 0 || t.attempt(h.Attempt) != nil || !t.Erased && *h.Operation >= len(t.Operations) {
		return
	}
	a := Attempt{
		ID: h.Attempt, Operation: *h.Operation, Fingerprint: h.Fingerprint, Role: h.Role,
		Rev: d.Rev, At: d.At, Wall: d.Time().UnixMilli(), Actor: d.Body.Actor, Open: true,
	}
	if g := ev.Grant; g != nil {
		a.Owner, a.Via, a.Wants = g.Owner, g.Via, g.Wants
		if t.Floor == "" {
			t.Floor = g.Floor
		}
		for u, content := range g.Base {
			if u >= 0 && u < len(t.Base) {
				t.Base[u] = content
			}
		}
	}
	if s := ev.Seen; s != nil {
		a.State, a.Set = s.State, s.Set
	}
	switch n := len(t.model().items); {
	case len(a.Set) != n: // its body was erased: whatever is unmet counts as new
		t.Least = Set(slices.Repeat([]byte{met}, n))
	case t.Least == "":
		t.Least = a.Set
	default:
		t.Least = t.Least.least(a.Set)
	}
	t.Attempts = append(t.Attempts, a)
}

func (t *Transaction) close(d *ledger.Delta, ev *event) {
	a := t.attempt(d.Txn.Attempt)
	if a == nil {
		return
	}
	var c closing
	if ev.Close != nil {
		c = *ev.Close
	}
	if !a.Open {
		a.Notes = append(a.Notes, Note{Outcome: d.Txn.Outcome, Detail: c.Detail, At: d.At})
		return
	}
	a.Open, a.Outcome, a.Detail, a.Closed = false, d.Txn.Outcome, c.Detail, c.At
	for u, content := range c.Debris {
		if t.Debris == nil {
			t.Debris = map[int][]string{}
		}
		t.Debris[u] = append(t.Debris[u], content)
	}
}

func (t *Transaction) judge(j *verdict) {
	a := t.attempt(j.Attempt)
	if a == nil || a.Judged {
		return
	}
	a.Judged, a.Classification, a.Progress = true, j.Classification, j.Progress
	if j.Progress != "" {
		t.Progress = j.Progress
	}
	if j.Floor != "" {
		t.Floor = j.Floor
	}
}

// state takes in what an entry says was seen and stated.
func (t *Transaction) state(d *ledger.Delta, ev *event) {
	if s := ev.Seen; s != nil {
		t.Last = s.Set
		if s.State != "" && (len(t.States) == 0 || t.States[len(t.States)-1] != s.State) {
			t.States = append(t.States, s.State)
		}
		if s.Floor != "" {
			t.Floor = s.Floor
		}
	}
	for name, v := range ev.Reported {
		if t.Reported == nil {
			t.Reported = map[string]Statement{}
		}
		t.Reported[name] = Statement{Value: v, Actor: d.Body.Actor, At: d.At}
	}
}

func (t *Transaction) attempt(id string) *Attempt {
	for i := range t.Attempts {
		if t.Attempts[i].ID == id {
			return &t.Attempts[i]
		}
	}
	return nil
}

// UnmarshalJSON reads a transaction from a snapshot.
func (t *Transaction) UnmarshalJSON(b []byte) error {
	type plain Transaction
	if err := json.Unmarshal(b, (*plain)(t)); err != nil {
		return err
	}
	if !t.over() {
		t.m = newModel(t.Operations, t.Worktree, t.Roots, t.Probes)
	}
	return nil
}

// model gives the model of the operations. That of a transaction that is over
// is made anew each time: there may be many of these, and hardly one is asked.
func (t *Transaction) model() *model {
	if t.m != nil {
		return t.m
	}
	return newModel(t.Operations, t.Worktree, t.Roots, t.Probes)
}

// over reports whether nothing but a person's curiosity will come back to t.
func (t *Transaction) over() bool { return t.State != StateOpen && t.State != StateBlocked }

// rest drops what only a transaction that goes on needs.
func (t *Transaction) rest() {
	t.m, t.States, t.Least, t.Debris = nil, nil, "", nil
	for i := range t.Attempts {
		t.Attempts[i].Set, t.Attempts[i].Wants = "", nil
	}
}

// Rejoin turns an entry that only another side of the ledger has into a draft
// that tells this side the same, for a recovery that joins two sides. False:
// it is no transaction's, or it is void.
func Rejoin(d *ledger.Delta) (ledger.Draft, bool) {
	if d.Newer || d.Void || d.Txn == nil || d.Erased {
		return ledger.Draft{}, false
	}
	head := ledger.HeadFields{Txn: d.Txn}
	return ledger.Draft{Type: d.Type, At: d.Time(), HeadFields: head, Body: d.Body}, true
}
