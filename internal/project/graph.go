package project

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/internal/ledger"
)

// Graph is what refers to what. Edges that a record states are recorded;
// suggested ones say why they are suggested and mean nothing more.
type Graph struct {
	Pulse
	At    string `json:"at,omitempty"` // the node that was asked for; empty: what is open
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	// Within is how many records were looked through, of Total.
	Within int `json:"within"`
	Total  int `json:"total"`
}

// Node is a record, file, check, branch or transaction. Its ID is its sort, a colon, and its
// name.
type Node struct {
	ID    string `json:"id"`
	Sort  string `json:"sort"` // record, file, check, branch or transaction
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"` // of a record
	Text  string `json:"text,omitempty"`
	State string `json:"state,omitempty"` // open, done, dropped, retracted
}

// Edge leads from what refers to what is referred to.
type Edge struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Says      string `json:"says"` // such as cites
	Suggested bool   `json:"suggested,omitempty"`
}

// Sorts of nodes.
const (
	SortRecord = "record"
	SortFile   = "file"
	SortCheck  = "check"
	SortBranch = "branch"
)

// Records that a graph looks through: of what is open, and around one node.
const (
	graphOpen    = 300
	graphAround  = 400
	mostEdges    = 60 // of one node; of what is open twice as many
	mostUnlinked = 40 // records that nothing refers to
)

// Graph gives what is open and what that refers to, or a node with what touches
// it.
func (p *Project) Graph(ctx context.Context, at string) (g Graph, err error) {
	err = p.look(ctx, "", func(r *reading) error {
		g = Graph{Pulse: pulse(r), At: at, Nodes: []Node{}, Edges: []Edge{}}
		if r.head.Hash == "" {
			return nil
		}
		q := ledger.Query{Scope: r.scope, Limit: graphOpen}
		if at != "" {
			q.State, q.Limit = ledger.FindAny, graphAround
		}
		page, err := r.view.Find(ctx, q)
		if err != nil {
			return fmt.Errorf("find records: %w", err)
		}
		g.Within, g.Total = len(page.Items), page.Total
		m := &mapper{g: &g, nodes: map[string]Node{}, at: at}
		if err := m.focus(ctx, r, &page.Items); err != nil {
			return err
		}
		for i := range page.Items {
			m.record(&page.Items[i], r)
		}
		book, err := p.foldTxns(ctx, r)
		if err != nil {
			return err
		}
		m.transactions(book)
		m.suggest(page.Items)
		return m.finish()
	})
	return g, err
}

// mapper collects a graph.
type mapper struct {
	g     *Graph
	nodes map[string]Node
	at    string
}

// focus makes sure that the record that was asked for is among those looked at.
func (m *mapper) focus(ctx context.Context, r *reading, items *[]ledger.Current) error {
	id, ok := strings.CutPrefix(m.at, SortRecord+":")
	if !ok || slices.ContainsFunc(*items, func(c ledger.Current) bool { return c.ID == id }) {
		return nil
	}
	vs, err := r.view.Versions(ctx, id)
	if err != nil {
		return err
	}
	if len(vs) == 0 {
		return &NotFoundError{What: "record", ID: id}
	}
	cur, in := ledger.CurrentOf(vs, r.scope)
	if !in {
		cur.Version = vs[len(vs)-1]
	}
	*items = append(*items, cur)
	return nil
}

func (m *mapper) record(c *ledger.Current, r *reading) {
	state := "open"
	switch {
	case c.Retracted:
		state = "retracted"
	case c.Closed():
		state = c.Status
	}
	from := m.node(Node{Sort: SortRecord, Name: c.ID, Kind: c.Kind, Text: c.Text, State: state})
	if c.Supersedes != "" {
		m.edge(from, m.node(Node{Sort: SortRecord, Name: c.Supersedes}), "takes the place of", false)
	}
	for _, x := range c.Cites {
		m.edge(from, m.node(Node{Sort: SortFile, Name: x.Path}), "cites", false)
	}
	if c.DoneWhen != "" {
		m.edge(from, m.node(Node{Sort: SortCheck, Name: c.DoneWhen}), "is done when it passes:", false)
	}
	if b := c.Git.Branch; b != "" && (m.at != "" || b != r.place.Git.Branch) {
		m.edge(from, m.node(Node{Sort: SortBranch, Name: b}), "was made on", false)
	}
}

// node adds a node, or to one that was only referred to what is known of it.
func (m *mapper) node(n Node) string {
	n.ID = n.Sort + ":" + n.Name
	if old, ok := m.nodes[n.ID]; !ok || old.Kind == "" && old.Text == "" {
		m.nodes[n.ID] = n
	}
	return n.ID
}

func (m *mapper) edge(from, to, says string, suggested bool) {
	if from == to || m.at != "" && from != m.at && to != m.at || len(m.g.Edges) >= mostEdges*2 {
		return
	}
	e := Edge{From: from, To: to, Says: says, Suggested: suggested}
	same := func(o Edge) bool { return o.From == from && o.To == to && (o.Says == says || suggested) }
	if !slices.ContainsFunc(m.g.Edges, same) {
		m.g.Edges = append(m.g.Edges, e)
	}
}

// suggest finds what nobody recorded: a text that names another record, and
// two records that cite one file.
func (m *mapper) suggest(items []ledger.Current) {
	citing := map[string][]string{}
	for i := range items {
		c := &items[i]
		from := SortRecord + ":" + c.ID
		for _, word := range strings.FieldsFunc(c.Text+" "+c.Why+" "+c.Answer, func(r rune) bool { return !idRune(r) }) {
			if to := SortRecord + ":" + strings.TrimRight(word, "."); m.nodes[to].Kind != "" {
				m.edge(from, to, "its text names it", true)
			}
		}
		for _, x := range c.Cites {
			for _, other := range citing[x.Path] {
				if m.at == from || m.at == other {
					m.edge(from, other, "both cite "+x.Path, true)
				}
			}
			citing[x.Path] = append(citing[x.Path], from)
		}
	}
}

func idRune(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' || r == '.'
}

// finish keeps the nodes that the edges and the question need.
func (m *mapper) finish() error {
	if m.at != "" && len(m.g.Edges) > mostEdges {
		m.g.Edges = m.g.Edges[:mostEdges]
	}
	need := map[string]bool{}
	for _, e := range m.g.Edges {
		need[e.From], need[e.To] = true, true
	}
	if m.at != "" {
		need[m.at] = true
		if _, ok := m.nodes[m.at]; !ok {
			sort, name, _ := strings.Cut(m.at, ":")
			return &NotFoundError{What: sort, ID: name}
		}
	}
	unlinked := 0
	for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
		n := m.nodes[id]
		if !need[id] {
			if unlinked++; m.at != "" || n.Kind == "" || unlinked > mostUnlinked {
				continue
			}
		}
		m.g.Nodes = append(m.g.Nodes, n)
	}
	return nil
}
