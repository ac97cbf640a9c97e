package client

// body is a file whose content is ours as a whole, such as the skill.
type body struct{ d []byte }

func (b *body) look(it *Item) ([]found, error) {
	if len(b.d) == 0 {
		return nil, nil
	}
	return []found{{value: string(b.d), form: string(b.d) == it.Want}}, nil
}

func (b *body) insert(it *Item) (edit, error) {
	return edit{steps: []Step{{Was: string(b.d), Text: it.Want.(string)}}}, nil
}

func (b *body) update(it *Item, _ found) ([]Step, error) {
	return []Step{{Was: string(b.d), Text: it.Want.(string)}}, nil
}

func (b *body) cut(*Item, found) ([]Step, error) { return []Step{{Was: string(b.d)}}, nil }

func (b *body) prune(string) ([]Step, bool) { return nil, false }

func (b *body) bare([]Item) bool { return len(b.d) == 0 }

// outline is empty: beside the one item the file says nothing.
func (b *body) outline([]found, []string) string { return "" }
