package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
	"holdfast/internal/secret"
)

// Foreign describes a ledger that this machine neither made nor adopted, without
// any of its text.
type Foreign struct {
	Ledger  string         `json:"ledger"`
	Path    string         `json:"path"`
	Known   bool           `json:"known"` // it is this machine's already
	Entries int            `json:"entries"`
	Records map[string]int `json:"records"` // by kind
	First   string         `json:"first,omitempty"`
	Last    string         `json:"last,omitempty"`
	Clients []string       `json:"clients"`
	Valid   bool           `json:"valid"` // the chain verifies
	Adopted bool           `json:"adopted"`
	Saved   *Saved         `json:"saved,omitempty"`
}

// Describe looks at the ledger that lies here, whosever it is.
func (p *Project) Describe(ctx context.Context) (Foreign, error) {
	f := Foreign{Path: p.Path(), Records: map[string]int{}, Clients: []string{}}
	_, err := p.log.Head(ctx)
	foreign, ok := errors.AsType[*filelog.ForeignError](err)
	switch {
	case ok && foreign.ID == "":
		return f, err // not even its id can be read
	case ok:
		f.Ledger = foreign.ID
	case err != nil:
		return f, err
	default:
		f.Known, f.Ledger = true, p.log.ID()
	}
	if f.Ledger == "" {
		return f, filelog.ErrNone
	}
	as := *p.m
	as.Adopted = append(slices.Clone(p.m.Adopted), f.Ledger)
	f.Valid = true
	after := ledger.Pos{}
	checker := ledger.Checker{}
	for e, err := range filelog.New(&as, p.loc.place).Entries(ctx, ledger.Pos{}) {
		if err != nil || checker.Add(after, &e) != nil {
			f.Valid = false
			break
		}
		after = e.Pos()
		f.count(&e)
	}
	f.Valid = f.Valid && checker.End() == nil
	return f, nil
}

func (f *Foreign) count(e *ledger.Entry) {
	f.Entries++
	if f.First == "" {
		f.First = clip(e.At, 30)
	}
	f.Last = clip(e.At, 30)
	b, ok, err := e.Body()
	if !ok || err != nil {
		return
	}
	if name := clip(actorName(b.Actor), 40); !slices.Contains(f.Clients, name) && len(f.Clients) < 20 {
		f.Clients = append(f.Clients, name)
	}
	for _, r := range b.Records {
		if ledger.ValidKind(r.Kind) {
			f.Records[r.Kind]++
		}
	}
}

// Adopt takes a foreign ledger over: a person vouches that its text may be shown
// to agents here.
func (p *Project) Adopt(ctx context.Context) (Foreign, error) {
	if p.caller.Kind != ledger.Person {
		return Foreign{}, ErrPersonOnly
	}
	f, err := p.Describe(ctx)
	if err != nil {
		return f, err
	}
	if f.Known {
		return f, &UsageError{Why: "the ledger is this machine's already"}
	}
	if !f.Valid {
		return f, &filelog.DamageError{Kind: filelog.DamageChanged, Rev: -1, Path: f.Path, Why: "its chain doesn't verify, so it can't be adopted"}
	}
	p.m.Adopted = append(p.m.Adopted, f.Ledger)
	out, err := p.mutate(ctx, mutation{kind: ledger.TypeAdopt, person: true, request: f.Ledger,
		build: func(context.Context, *reading) (ledger.Draft, error) {
			return ledger.Draft{HeadFields: ledger.HeadFields{ID: f.Ledger}}, nil
		}})
	if err != nil {
		p.m.Adopted = slices.DeleteFunc(p.m.Adopted, func(id string) bool { return id == f.Ledger })
		return f, err
	}
	s := p.saved(out)
	f.Adopted, f.Saved = true, &s
	return f, nil
}

// Allow lets one exact value pass the screening for secrets. Only a person can,
// and the value itself is never stored.
func (p *Project) Allow(ctx context.Context, value string) (Saved, error) {
	if value == "" {
		return Saved{}, &UsageError{Why: "no value was given"}
	}
	rule := ""
	if found := p.screen.Check([]secret.Field{{Name: "value", Text: value}}); len(found) > 0 {
		rule = found[0].Rule
	}
	salt := make([]byte, 16)
	if _, err := io.ReadFull(p.w.Rand, salt); err != nil {
		return Saved{}, fmt.Errorf("make salt: %w", err)
	}
	a := ledger.NewAllow(value, salt, rule)
	out, err := p.mutate(ctx, mutation{kind: ledger.TypeAllow, person: true, creates: true, request: a.SHA256,
		build: func(context.Context, *reading) (ledger.Draft, error) {
			return ledger.Draft{Body: ledger.Body{Allow: a}}, nil
		}})
	if err != nil {
		return Saved{}, err
	}
	return p.saved(out), nil
}
