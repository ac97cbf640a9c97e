package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

func (h *handlers) resume(ctx context.Context, p *project.Project, args json.RawMessage) (answer, error) {
	var in struct {
		Budget int    `json:"budget"`
		All    bool   `json:"all"`
		Since  *int64 `json:"since"`
	}
	if err := project.Decode(args, &in); err != nil {
		return answer{}, err
	}
	if in.Budget != 0 && (in.Budget < minBudget || in.Budget > maxBudget) {
		return answer{}, &ledger.FieldError{Field: "budget", Why: fmt.Sprintf("must be from %d to %d tokens", minBudget, maxBudget)}
	}
	q, limit := project.ResumeRequest{Budget: in.Budget, Since: in.Since}, usualAnswer
	if in.Budget > project.DefaultBudget {
		limit = maxAnswer
	}
	if in.All {
		q.Budget, q.Finished, limit = maxBudget, true, maxAnswer
	}
	b, err := p.Resume(ctx, q)
	if err != nil && !b.Incomplete {
		return answer{}, err
	}
	head := ""
	if err != nil { // what verifies of a damaged ledger, and what is wrong with it
		e := project.Explain(err)
		b.Notices = append(b.Notices, e.Code+": "+e.Message+"; next: "+e.Next)
		head = trouble(err)
	}
	fence := p.Fence()
	for {
		a := answer{head + b.Text(fence), b, limit}
		over := a.size() - limit
		if over <= 0 || !b.Drop(1+len(b.Records)*over/(a.size()+1)) {
			return a, nil
		}
	}
}

// trouble says what is wrong with a damaged ledger, above what verifies of it.
func trouble(err error) string {
	if err == nil {
		return ""
	}
	e := project.Explain(err)
	return e.Code + ": " + e.Message + "\nnext: " + e.Next + "\npossibly incomplete: what follows is what verifies\n"
}

// unlessIncomplete drops an error that came with an answer.
func unlessIncomplete(err error) error {
	if project.Incomplete(err) {
		return nil
	}
	return err
}

// Tokens that a briefing can be asked to keep to. Text and structured content
// together stay below the largest answer.
const (
	minBudget = 100
	maxBudget = 16000
)

func (h *handlers) record(ctx context.Context, p *project.Project, args json.RawMessage) (answer, error) {
	var in struct {
		project.RecordRequest
		Records []project.RecordRequest `json:"records"`
	}
	if err := project.Decode(args, &in); err != nil {
		return answer{}, err
	}
	reqs := []project.RecordRequest{in.RecordRequest}
	if in.Records != nil {
		rest := in.RecordRequest
		rest.Key, rest.ExpectedRecovery = "", nil
		if rest != (project.RecordRequest{}) {
			return answer{}, &ledger.FieldError{Field: "records", Why: "stands beside fields of a single record; give one or the other"}
		}
		reqs = in.Records
		for i := range reqs {
			if reqs[i].Key == "" {
				reqs[i].Key = in.Key
			}
			if reqs[i].ExpectedRecovery == nil {
				reqs[i].ExpectedRecovery = in.ExpectedRecovery
			}
		}
	}
	s, err := p.Record(ctx, reqs)
	if err != nil {
		return answer{}, err
	}
	return answer{text: savedText(s), data: s}, nil
}

func (h *handlers) retract(ctx context.Context, p *project.Project, args json.RawMessage) (answer, error) {
	var in struct {
		ID               string  `json:"id"`
		Category         string  `json:"category"`
		ExpectedRevision *int64  `json:"expected_revision"`
		ExpectedRecovery *string `json:"expected_recovery"`
		Restore          bool    `json:"restore"`
		Key              string  `json:"key"`
	}
	if err := project.Decode(args, &in); err != nil {
		return answer{}, err
	}
	q := project.ChangeRequest{ID: in.ID, ExpectedRevision: in.ExpectedRevision, ExpectedRecovery: in.ExpectedRecovery, Key: in.Key}
	switch in.Category {
	case "", "record":
	case ledger.CategoryCheck:
		q.Category = in.Category
	default:
		return answer{}, &ledger.FieldError{Field: "category", Why: "must be record or check"}
	}
	do := p.Retract
	if in.Restore {
		do = p.Restore
	}
	s, err := do(ctx, q)
	if err != nil {
		return answer{}, err
	}
	return answer{text: savedText(s), data: s}, nil
}

func (h *handlers) search(ctx context.Context, p *project.Project, args json.RawMessage) (answer, error) {
	var in struct {
		Query     string   `json:"query"`
		ID        string   `json:"id"`
		Kinds     []string `json:"kinds"`
		Branches  string   `json:"branches"`
		Retracted bool     `json:"retracted"`
		Limit     int      `json:"limit"`
		Cursor    string   `json:"cursor"`
	}
	if err := project.Decode(args, &in); err != nil {
		return answer{}, err
	}
	if in.Branches != "" && in.Branches != "current" && in.Branches != "all" {
		return answer{}, &ledger.FieldError{Field: "branches", Why: "must be current or all"}
	}
	if in.Limit < 0 || in.Limit > 100 {
		return answer{}, &ledger.FieldError{Field: "limit", Why: "must be from 1 to 100"}
	}
	limit := usualAnswer
	if in.Limit > 0 {
		limit = maxAnswer
	}
	if in.ID != "" {
		if in.Query != "" {
			return answer{}, &ledger.FieldError{Field: "id", Why: "stands beside a query; give one or the other"}
		}
		pg, text, err := history(ctx, p, pageQuery{in.ID, in.Cursor, in.Limit, limit})
		return answer{trouble(err) + text, pg, limit}, unlessIncomplete(err)
	}
	q := project.SearchRequest{Query: in.Query, Kinds: in.Kinds, AllBranches: in.Branches == "all",
		Retracted: in.Retracted, Limit: in.Limit, Cursor: in.Cursor, Bytes: limit / 2}
	for {
		f, err := p.Search(ctx, q)
		if unlessIncomplete(err) != nil {
			return answer{}, err
		}
		a := answer{trouble(err) + f.Text(p.Fence()), f, limit}
		if a.size() <= limit || len(f.Matches) <= 1 {
			return a, nil
		}
		q.Bytes = q.Bytes * limit / (a.size() + limit/10)
	}
}

func (h *handlers) checks(ctx context.Context, p *project.Project, args json.RawMessage) (answer, error) {
	var in struct {
		ID string `json:"id"`
	}
	if err := project.Decode(args, &in); err != nil {
		return answer{}, err
	}
	c, err := p.Checks(ctx, in.ID)
	if err != nil && !c.Incomplete {
		return answer{}, err
	}
	return answer{text: c.Text(p.Fence()), data: c}, nil
}
