package client

import "slices"

// PlanRemove works out how to take the chosen clients out again, looking at
// every file that setup may have written for them. A file that other connected
// clients still need stays as it is. The ledger is no part of it.
func PlanRemove(req PlanRequest) []FileChange {
	p := &planner{req: req, every: true}
	for _, c := range Clients() {
		if slices.Contains(req.Clients, c.ID) {
			p.client(c.ID)
		}
	}
	mine := p.wants
	users := p.others(mine)
	var out []FileChange
	for _, w := range mine {
		if !p.there(w.Path) {
			continue
		}
		if left := p.stillUsed(w, users); len(left) > 0 {
			out = append(out, p.keep(w, left))
			continue
		}
		ch := p.change(w, Remove)
		if ch.Change != Refused {
			ch.Undo = nil
		}
		out = append(out, ch)
	}
	return out
}

// others names, for each path, the clients that are not to be removed and are
// connected: their server is configured in a file that no chosen client has, or
// in one that setup is known to have written for them.
func (p *planner) others(mine []want) map[string][]string {
	out := map[string][]string{}
	for _, c := range Clients() {
		if slices.Contains(p.req.Clients, c.ID) {
			continue
		}
		o := &planner{req: p.req, every: true}
		o.client(c.ID)
		if !slices.ContainsFunc(o.wants, func(w want) bool { return o.connected(c.ID, w, mine) }) {
			continue
		}
		for _, w := range o.wants {
			out[p.real(w.Path)] = append(out[p.real(w.Path)], c.ID)
		}
	}
	return out
}

// connected reports whether a file holds the server's entry for a client.
func (p *planner) connected(id string, w want, mine []want) bool {
	f := p.facts(w.Path)
	if !f.Exists || f.Problem != "" || checkText(f.Data) != nil {
		return false
	}
	named := f.Undo != nil && slices.Contains(f.Undo.Clients, id)
	shared := slices.ContainsFunc(mine, func(m want) bool { return p.real(m.Path) == p.real(w.Path) })
	if shared && !named {
		return false
	}
	doc, err := parse(w.Kind, f.Data)
	if err != nil {
		return false
	}
	for i := range w.Items {
		if w.Items[i].Role == Entry {
			all, err := doc.look(&w.Items[i])
			return err == nil && len(all) > 0
		}
	}
	return false
}

// stillUsed names the clients for which a file has to stay. What setup wrote
// down about the file wins over what the other files suggest.
func (p *planner) stillUsed(w want, users map[string][]string) []string {
	f := p.facts(w.Path)
	if f.Undo == nil || len(f.Undo.Clients) == 0 {
		return users[p.real(w.Path)]
	}
	return slices.DeleteFunc(slices.Clone(f.Undo.Clients), func(c string) bool {
		return slices.Contains(p.req.Clients, c)
	})
}

// keep leaves a file alone and notes for whom it still is.
func (p *planner) keep(w want, left []string) FileChange {
	f := p.facts(w.Path)
	out := FileChange{Path: w.Path, Clients: left, Change: Unchanged, Old: f.File, New: f.File, Undo: f.Undo}
	if f.Undo != nil {
		undo := *f.Undo
		undo.Clients = left
		out.Undo = &undo
	}
	return out
}
