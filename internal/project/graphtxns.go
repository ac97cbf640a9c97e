package project

import (
	"slices"
	"strings"

	"holdfast/internal/txn"
)

// SortTransaction is a node that is a transaction.
const SortTransaction = "transaction"

// graphTxns is how many of the newest transactions are looked at around a node.
const graphTxns = 100

// transactions adds transactions with the files and records that they are about:
// the unfinished ones, or around a node the newest.
func (m *mapper) transactions(book *txn.Book) {
	ids := []string{}
	if m.at == "" {
		for _, b := range book.Briefs() {
			ids = append(ids, b.Transaction)
		}
	} else {
		ids = append(ids, book.Order[max(0, len(book.Order)-graphTxns):]...)
		if id, ok := strings.CutPrefix(m.at, SortTransaction+":"); ok && book.Txns[id] != nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		t := book.Txns[id]
		from := m.node(Node{Sort: SortTransaction, Name: t.ID, Text: clip(t.Intent, 300), State: t.State})
		if t.Follows != "" {
			m.edge(from, m.node(Node{Sort: SortTransaction, Name: t.Follows}), "goes on with", false)
		}
		for i := range t.Operations {
			o := &t.Operations[i]
			m.surface(from, "takes from", o.Source)
			m.surface(from, "acts on", o.Destination)
			for j := range o.Posts {
				m.surface(from, "wants to reach", &o.Posts[j].Place)
			}
		}
	}
}

func (m *mapper) surface(from, says string, p *txn.Place) {
	if p == nil {
		return
	}
	sort, name, _ := strings.Cut(p.Surface, ":")
	switch sort {
	case "dir":
		m.edge(from, m.node(Node{Sort: SortFile, Name: name + "/"}), says, false)
	case SortFile, SortRecord:
		m.edge(from, m.node(Node{Sort: sort, Name: name}), says, false)
	}
}
