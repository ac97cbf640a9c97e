package project

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/txn"
)

// ErrTxnNotDone: the answer says that an attempt was refused, or that the
// transaction is blocked or not complete.
var ErrTxnNotDone = errors.New("refused, blocked or not complete")

// TxnRunRequest asks for the whole life of a transaction around one command.
type TxnRunRequest struct {
	Intent  string
	Expect  []string // SURFACE=EXPECTATION
	Recover bool     // run it once more where it had no effect or a part of it
	// Command runs the command and gives its outcome as a report says it.
	Command func(ctx context.Context) (outcome string)
}

// TxnRun is what became of it.
type TxnRun struct {
	txn.ObserveAnswer
	Runs int `json:"runs"` // how often the command ran
}

// TxnRunCommand runs a command once if its target doesn't hold, and once more at
// most.
func (p *Project) TxnRunCommand(ctx context.Context, q TxnRunRequest) (r TxnRun, err error) {
	posts := make([]any, 0, len(q.Expect))
	for _, e := range q.Expect {
		post, err := parsePostcondition(e)
		if err != nil {
			return r, err
		}
		posts = append(posts, post)
	}
	req, err := TxnRequest(map[string]any{"intent": q.Intent, "operations": []any{map[string]any{"kind": "run", "postconditions": posts}}})
	if err != nil {
		return r, err
	}
	b, err := p.TxnBegin(ctx, req, nil)
	if err != nil {
		return r, err
	}
	r.ObserveAnswer = txn.ObserveAnswer{Transaction: b.Transaction, State: b.State, Mismatches: b.Mismatches, AlsoChanged: []string{}, Budget: b.Budget, Next: b.Next}
	for r.State == txn.StateOpen && r.Runs < 2 {
		again, err := p.runOnce(ctx, &q, &r)
		if err != nil || !again {
			return r, err
		}
	}
	return r, nil
}

// runOnce is one attempt with its report; again: a recovery may follow.
func (p *Project) runOnce(ctx context.Context, q *TxnRunRequest, r *TxnRun) (again bool, err error) {
	req, err := TxnRequest(map[string]any{"transaction": r.Transaction, "operation": 0})
	if err != nil {
		return false, err
	}
	early := ""
	if durable.Sabotage == durable.LateGrant {
		early = q.Command(ctx)
	}
	a, err := p.TxnAttempt(ctx, req)
	if err != nil {
		return false, err
	}
	if !a.Granted {
		r.State, r.Mismatches, r.Budget, r.Next, r.Reason = a.State, a.Mismatches, a.Budget, a.Next, a.Reason
		return false, nil
	}
	outcome := early
	if outcome == "" {
		outcome = q.Command(ctx)
	}
	r.Runs++
	if req, err = TxnRequest(map[string]any{"transaction": r.Transaction, "attempt": a.Attempt, "outcome": outcome}); err != nil {
		return false, err
	}
	// What the command did is noted also where the caller gave up meanwhile.
	if r.ObserveAnswer, err = p.TxnReport(context.WithoutCancel(ctx), req); err != nil {
		return false, err
	}
	return q.Recover && ctx.Err() == nil && (r.Classification == "no_effect" || r.Classification == "partial"), nil
}

// parsePostcondition reads SURFACE=EXPECTATION: a state, or KEY:VALUE.
func parsePostcondition(s string) (map[string]any, error) {
	i := strings.LastIndexByte(s, '=')
	if i <= 0 || i == len(s)-1 {
		return nil, &ledger.FieldError{Field: "expect", Why: "must be SURFACE=EXPECTATION, such as file:notes.md=absent or file:notes.md=sha256:HEX"}
	}
	key, value, ok := strings.Cut(s[i+1:], ":")
	if !ok {
		key, value = "state", s[i+1:]
	}
	var v any = value
	if key == "size" || key == "exit" || key == "revision" {
		v = numberOr(value)
	}
	return map[string]any{"surface": s[:i], "expect": map[string]any{key: v}}, nil
}

// numberOr is s as a JSON number where it is one.
func numberOr(s string) any {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return s
	}
	return json.Number(s)
}

// TxnComplete reports whether a state is that of a transaction whose target was
// seen to hold.
func TxnComplete(state string) bool {
	return state == txn.StateComplete || state == txn.StateCompleteReported
}
