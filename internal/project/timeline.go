package project

import (
	"context"
	"strconv"
)

// TimelineRequest asks for entries of one actor too.
type TimelineRequest struct {
	LogRequest
	Actor string // person, agent, tool, or a client's name; empty: everybody
}

// Entries that are looked through at most for one page of an actor's entries.
const mostLooked = 1200

// Timeline is Log, for one actor if one is named. An actor who made few entries
// among many may get a short page with a cursor behind what was looked through.
func (p *Project) Timeline(ctx context.Context, q TimelineRequest) (entries []LogEntry, cursor string, err error) {
	if q.Actor == "" || q.Limit < 1 {
		return p.Log(ctx, q.LogRequest)
	}
	want, ask := q.Limit, q.LogRequest
	entries = []LogEntry{}
	for looked := 0; looked < mostLooked; looked += ask.Limit {
		ask.Limit = min(max(want, looked), 600)
		page, next, err := p.Log(ctx, ask)
		if err != nil && !Incomplete(err) {
			return nil, "", err
		}
		for i := range page {
			if !byActor(&page[i], q.Actor) {
				continue
			}
			entries = append(entries, page[i])
			if len(entries) == want && page[i].Revision > 0 {
				return entries, strconv.FormatInt(page[i].Revision, 10), err
			}
		}
		if next == "" || err != nil {
			return entries, "", err
		}
		cursor = next
		if ask.Before, err = strconv.ParseInt(next, 10, 64); err != nil {
			return nil, "", err
		}
	}
	return entries, cursor, nil
}

func byActor(e *LogEntry, actor string) bool {
	return e.Actor.Kind == actor || e.Actor.Client == actor && e.Actor.Kind != "person"
}
