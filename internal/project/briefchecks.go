package project

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// briefChecks is the briefing's share of checks: without what only a listing
// needs. It takes the time that hashing takes, at most briefInspection.
func (p *Project) briefChecks(ctx context.Context, r *reading, b *Briefing, spent int, judged bool) (int, error) {
	items, err := p.checkItems(ctx, r, "")
	if err != nil {
		return spent, err
	}
	items = slices.DeleteFunc(items, func(c CheckItem) bool { return c.Retracted })
	if judged {
		soon, cancel := context.WithTimeout(ctx, briefInspection)
		defer cancel()
		p.judgeAll(soon, items)
	}
	left := 0
	for i := range items {
		c := items[i]
		c.Receipt, c.History = nil, c.History[max(0, len(c.History)-3):]
		if len(c.Changed) > 3 {
			c.Changed = append(c.Changed[:3:3], fmt.Sprintf("and %d more", len(c.Changed)-3))
		}
		cost := jsonCost(&c)
		if b.Budget.Tokens > 0 && spent+cost > b.Budget.Tokens*4 {
			left++
			continue
		}
		spent += cost
		b.Checks = append(b.Checks, c)
	}
	if left > 0 {
		b.Omitted["checks"] = left
	}
	return spent, nil
}

// briefInspection is how long a briefing may take to find whether checks still
// hold.
const briefInspection = 2 * time.Second

// jsonCost is what something takes of a budget, in bytes.
func jsonCost(v any) int {
	j, err := json.Marshal(v)
	if err != nil {
		return minItem
	}
	return len(j) + 1
}
