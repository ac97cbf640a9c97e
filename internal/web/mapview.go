package web

import (
	"math"
	"net/http"
	"slices"

	"holdfast/internal/project"
)

// Sizes of the drawing, in its own units.
const (
	nodeWidth  = 230.0
	nodeHeight = 46.0
	rowGap     = 14.0
	columnGap  = 130.0
	margin     = 12.0
)

// drawn is a node with its place.
type drawn struct {
	project.Node
	X, Y, W, H float64
	TextW      float64 // room for its text
	Focus      bool
}

// arc is an edge with its curve.
type arc struct {
	project.Edge
	D string // path
}

// link is an edge in words, for those who read the list.
type link struct {
	Says      string
	Other     project.Node
	Suggested bool
	Out       bool // the focus refers to the other
}

type mapPage struct {
	frame
	Graph  project.Graph
	Nodes  []drawn
	Arcs   []arc
	Width  float64
	Height float64
	Focus  *project.Node
	Links  []link
	Sorted []project.Node // for the list
}

func (s *Server) graph(w http.ResponseWriter, r *http.Request) {
	at := r.URL.Query().Get("at")
	p := mapPage{frame: s.frame(r, "map", "Map")}
	g, err := s.p.Graph(r.Context(), at)
	if err = read(&p.frame, err); err != nil {
		s.fail(w, r, "map", err)
		return
	}
	p.Graph, p.Pulse, p.Sorted = g, g.Pulse, g.Nodes
	p.layout()
	p.words()
	s.render(w, http.StatusOK, "map", p)
}

// column is where a node stands: around a focus what refers to it left of it,
// what it refers to right; else records left, the rest right.
func (p *mapPage) column(n *project.Node) int {
	if p.Graph.At == "" {
		if n.Sort == project.SortRecord {
			if n.Kind == "goal" || n.Kind == "next" || n.Kind == "question" {
				return 0
			}
			return 1
		}
		if n.Sort == project.SortTransaction {
			return 0
		}
		return 2
	}
	if n.ID == p.Graph.At {
		return 1
	}
	for _, e := range p.Graph.Edges {
		if e.From == p.Graph.At && e.To == n.ID {
			return 2
		}
	}
	return 0
}

func (p *mapPage) layout() {
	columns := [3][]project.Node{}
	linked := map[string]bool{p.Graph.At: true}
	for _, e := range p.Graph.Edges {
		linked[e.From], linked[e.To] = true, true
	}
	for _, n := range p.Graph.Nodes {
		if !linked[n.ID] {
			continue // it stands in the list
		}
		c := p.column(&n)
		columns[c] = append(columns[c], n)
	}
	tallest := 0
	for _, c := range columns {
		tallest = max(tallest, len(c))
	}
	step := nodeHeight + rowGap
	p.Height = 2*margin + float64(max(tallest, 1))*step
	place := map[string]drawn{}
	x, middle := margin, margin
	for i, c := range columns {
		if len(c) == 0 {
			continue
		}
		y := margin + (float64(tallest-len(c)))*step/2
		if i == 1 {
			middle = y
		}
		for _, n := range c {
			d := drawn{Node: n, X: x, Y: y, W: nodeWidth, H: nodeHeight, TextW: nodeWidth - 10, Focus: n.ID == p.Graph.At}
			place[n.ID] = d
			p.Nodes = append(p.Nodes, d)
			y += step
		}
		x += nodeWidth + columnGap
	}
	p.Width = math.Max(x-columnGap+margin, nodeWidth+2*margin)
	for _, e := range p.Graph.Edges {
		a, okA := place[e.From]
		b, okB := place[e.To]
		if okA && okB {
			p.Arcs = append(p.Arcs, arc{e, curve(a, b, middle)})
		}
	}
}

// words lists the focus's edges, recorded ones first.
func (p *mapPage) words() {
	byID := map[string]project.Node{}
	for _, n := range p.Graph.Nodes {
		byID[n.ID] = n
	}
	focus, ok := byID[p.Graph.At]
	if !ok {
		return
	}
	p.Focus = &focus
	for _, e := range p.Graph.Edges {
		l := link{Says: e.Says, Suggested: e.Suggested, Out: e.From == focus.ID, Other: byID[e.To]}
		if !l.Out {
			l.Other = byID[e.From]
		}
		p.Links = append(p.Links, l)
	}
	slices.SortStableFunc(p.Links, func(a, b link) int { return rank(a) - rank(b) })
}

func rank(l link) int {
	n := 0
	if l.Suggested {
		n += 2
	}
	if !l.Out {
		n++
	}
	return n
}
