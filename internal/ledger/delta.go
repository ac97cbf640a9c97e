package ledger

// Version is one version of a record, as one entry made it.
type Version struct {
	Record
	Rev        int64  `json:"revision"`
	Event      string `json:"event"` // type of the entry: record, status, retract, restore or merge
	At         string `json:"at"`
	Actor      Actor  `json:"actor"`       // who made this version
	Author     Actor  `json:"author"`      // who wrote its text
	ContentRev int64  `json:"content_rev"` // revision that its text comes from
	Git        Git    `json:"git"`
	Worktree   string `json:"worktree,omitempty"`
	SealKey    string `json:"seal_key,omitempty"` // key that sealed the text's entry; empty: unsealed
	Retracted  bool   `json:"retracted,omitempty"`
	Redacted   bool   `json:"redacted,omitempty"` // its text was erased
	// Confirmed is the entry by which a person vouched for the text, or 0.
	Confirmed int64 `json:"confirmed,omitempty"`
}

// Vouched reports whether a person wrote or confirmed the version's text.
func (v *Version) Vouched() bool { return v.Author.Kind == Person || v.Confirmed > 0 }

// Closed reports whether the version says that its record needs nothing more.
func (v *Version) Closed() bool { return v.Status == StatusDone || v.Status == StatusDropped }

// Delta is what one entry adds to a state, decoded.
type Delta struct {
	Head
	Pos      Pos
	Void     bool // no effect: it lacks the seal that its type needs
	Newer    bool // of a newer format; its meaning is unknown
	Erased   bool // its body was redacted
	Body     Body
	Versions []Version // complete for record and merge; for a change see Resolve
}

// ReadDelta decodes e. The error is an *EntryError for a body that doesn't fit.
func ReadDelta(e *Entry) (Delta, error) {
	d := Delta{Head: e.Head, Pos: e.Pos(), Void: e.Void(), Newer: e.Newer}
	if d.Newer {
		return d, nil
	}
	b, there, err := e.Body()
	if err != nil {
		return d, err
	}
	d.Body, d.Erased = b, !there
	d.Body.keep(d.Type)
	seen := map[string]bool{}
	for _, r := range d.Body.Records {
		if seen[r.ID] { // never written by this tool
			continue
		}
		seen[r.ID] = true
		v := d.version(r)
		v.Author, v.ContentRev, v.SealKey = b.Actor, e.Rev, e.SealKey
		d.Versions = append(d.Versions, v)
	}
	return d, nil
}

// keep drops the parts that an entry of type t doesn't have. Encode's caller
// never writes one, but somebody's hand may; it must mean nothing.
func (b *Body) keep(t string) {
	if t != TypeRecord && t != TypeMerge {
		b.Records = nil
	}
	if t != TypeStatus && t != TypeRetract && t != TypeRestore {
		b.Change = nil
	}
	if t != TypeCheck && t != TypeMerge {
		b.Receipt = nil
	}
	if t != TypeConfirm {
		b.Confirms = nil
	}
	if t != TypeCarry {
		b.Carry = nil
	}
	if t != TypeAllow {
		b.Allow = nil
	}
	if t != TypeRedact {
		b.Redacted = nil
	}
}

func (d *Delta) version(r Record) Version {
	return Version{Record: r, Rev: d.Rev, Event: d.Type, At: d.At, Actor: d.Body.Actor, Git: d.Body.Git, Worktree: d.Body.Worktree}
}

// Resolve completes the versions of a status, retract or restore entry: their
// text is that of the version they replace, which lookup finds. A replaced
// version that isn't there (erased) gives one without text.
func (d *Delta) Resolve(lookup func(id string, rev int64) (Version, bool)) []Version {
	c := d.Body.Change
	if c == nil || c.Category != "" || d.Newer {
		return d.Versions
	}
	old, ok := lookup(c.ID, c.Replaces)
	if !ok {
		old = Version{Record: Record{ID: c.ID}, Redacted: true, ContentRev: c.Replaces}
	}
	r := old.Record
	r.Replaces, r.Settles, r.WithoutEvidence = c.Replaces, c.Settles, c.WithoutEvidence
	v := d.version(r)
	v.Author, v.ContentRev, v.SealKey = old.Author, old.ContentRev, old.SealKey
	v.Retracted, v.Redacted, v.Confirmed = old.Retracted, old.Redacted, old.Confirmed
	switch d.Type {
	case TypeStatus:
		v.Status = c.Status
	case TypeRetract:
		v.Retracted = true
	case TypeRestore:
		v.Retracted = false
	default:
		return nil
	}
	return []Version{v}
}

// KeyUse is the save that an idempotency key was used for.
type KeyUse struct {
	Rev     int64
	Request string // digest of the request; empty when the body was redacted
}

// CommitUse says that entries were made at a place in the code.
type CommitUse struct {
	Git
	LastRev int64
}

// CarryUse is one carry entry.
type CarryUse struct {
	Rev      int64
	Git      Git
	Branches []string
}

// Span is a range of revisions whose effect counts, both ends included.
type Span struct{ From, To int64 }

// Spans says which revisions count after the recoveries so far. The zero Spans
// has all of them.
type Spans struct {
	marks []mark
}

type mark struct {
	at   int64  // revision of the recover entry
	live []Span // what counts below it
}

// Recover notes that the entry at rev went back to base.
func (s *Spans) Recover(rev, base int64) {
	s.marks = append(s.marks, mark{at: rev, live: s.asOf(base)})
}

func (s *Spans) asOf(rev int64) []Span {
	for i := len(s.marks) - 1; i >= 0; i-- {
		if m := s.marks[i]; m.at <= rev {
			return append(append([]Span(nil), m.live...), Span{m.at, rev})
		}
	}
	return []Span{{0, rev}}
}

// Live reports whether the entry at rev counts.
func (s *Spans) Live(rev int64) bool {
	if len(s.marks) == 0 {
		return true
	}
	m := s.marks[len(s.marks)-1]
	if rev >= m.at {
		return true
	}
	for _, sp := range m.live {
		if sp.From <= rev && rev <= sp.To {
			return true
		}
	}
	return false
}

// Marks gives the recoveries noted so far, for a cache that keeps them.
func (s *Spans) Marks() [][2]int64 {
	var out [][2]int64
	for _, m := range s.marks {
		base := int64(-1)
		if n := len(m.live); n > 0 {
			base = m.live[n-1].To
		}
		out = append(out, [2]int64{m.at, base})
	}
	return out
}
