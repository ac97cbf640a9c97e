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
	err   error
}

// prepare decodes an entry. An error is kept in the item: what comes before it
// is still good.
func prepare(e *ledger.Entry) item {
	d, err := ledger.ReadDelta(e)
	if err != nil {
		return item{err: err}
	}
	it := item{delta: d, recs: make([]string, len(d.Versions)), more: make([]string, len(d.Versions))}
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

func mainText(r *ledger.Record) string { return r.Text + "\n" + r.Answer }

func moreText(r *ledger.Record) string {
	var b strings.Builder
	for _, s := range []string{r.Why, r.RevisitWhen, r.Source} {
		b.WriteString(s)
		b.WriteByte('\n')
	}
	for _, x := range r.Rejected {
		b.WriteString(x.Option)
		b.WriteByte('\n')
		b.WriteString(x.Why)
		b.WriteByte('\n')
	}
	return b.String()
}

// checked is what is searched and shown of a receipt.
type checked struct {
	ID      string   `json:"id"`
	Title   string   `json:"title,omitempty"`
	Argv    []string `json:"argv,omitempty"`
	Outcome string   `json:"outcome,omitempty"`
}

func checkedOf(r *ledger.Receipt) checked { return checked{r.ID, r.Title, r.Argv, r.Outcome} }

func (c *checked) doc(vn int64) doc { return doc{vn, c.ID, c.Title + "\n" + c.command(), ""} }

func (c *checked) command() string { return strings.Join(c.Argv, " ") }
