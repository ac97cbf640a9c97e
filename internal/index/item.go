package index

import (
	"encoding/json"
	"strings"

	"holdfast/internal/ledger"
)

// item is one entry on its way into the file: what can be worked out without
// the file is done.
type item struct {
	delta ledger.Delta
	recs  []string // the records as they are kept
	more  []string // of each record, what is searched besides id, text and answer
	actor string

	hash, key, request any // packed
	err                error
}

// prepare decodes an entry. An error is kept in the item: what comes before it
// is still good.
func prepare(e *ledger.Entry) item {
	d, err := ledger.ReadDelta(e)
	if err != nil {
		return item{err: err}
	}
	it := item{
		delta: d, recs: make([]string, len(d.Versions)), more: make([]string, len(d.Versions)),
		hash: packHex(d.Pos.Hash), key: packHex(d.KeySHA256), request: packHex(d.Body.Request),
	}
	for i := range d.Versions {
		r := &d.Versions[i].Record
		j, err := json.Marshal(r)
		if err != nil {
			return item{err: err}
		}
		it.recs[i], it.more[i] = string(j), moreText(r)
	}
	if a := d.Body.Actor; a != (ledger.Actor{}) {
		j, err := json.Marshal(a)
		if err != nil {
			return item{err: err}
		}
		it.actor = string(j)
	}
	return it
}

// doc is a row of the full-text index.
type doc struct {
	vn             int64
	id, text, more string
}

// idList writes ids as decode reads them.
func idList(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	var b strings.Builder
	for i, id := range ids {
		if !ledger.ValidID(id) { // written by somebody's hand
			return list(ids)
		}
		b.WriteString([...]string{"[", ","}[min(i, 1)])
		b.WriteString(`"` + id + `"`)
	}
	b.WriteByte(']')
	return b.String()
}

// all is the whole text.
func (d *doc) all() string { return parts(d.id, d.text, d.more) }

// parts joins what is there, so that no phrase goes from one part into the next:
// between them stands a word that nobody looks for.
func parts(ps ...string) string {
	n := 0
	for _, p := range ps {
		if p != "" {
			ps[n] = p
			n++
		}
	}
	return strings.Join(ps[:n], "\n\ue000\n")
}

func mainText(r *ledger.Record) string { return parts(r.Text, r.Answer) }

func moreText(r *ledger.Record) string {
	ps := append(make([]string, 0, 8), r.Why, r.RevisitWhen, r.Source)
	for _, x := range r.Rejected {
		ps = append(ps, x.Option, x.Why)
	}
	return parts(ps...)
}

// checked is what is searched and shown of a receipt.
type checked struct {
	ID      string   `json:"id"`
	Title   string   `json:"title,omitempty"`
	Argv    []string `json:"argv,omitempty"`
	Outcome string   `json:"outcome,omitempty"`
}

func checkedOf(r *ledger.Receipt) checked { return checked{r.ID, r.Title, r.Argv, r.Outcome} }

func (c *checked) doc(vn int64) doc { return doc{vn, c.ID, parts(c.Title, c.command()), ""} }

func (c *checked) command() string { return strings.Join(c.Argv, " ") }
