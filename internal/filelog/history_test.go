package filelog

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/internal/ledger"
)

// An operation of a recorded history: reading the head, or appending behind a
// position.
type operation struct {
	Start, End int64 // of the monotonic clock that all processes share
	Append     bool
	After      ledger.Pos
	Got        ledger.Pos // the head read, the position saved, or the head that a conflict names
	Conflict   bool
}

// model is a register that holds a position, and an append that swaps it for
// the next one if it is what the caller says.
var model = porcupine.Model{
	Init: func() any { return ledger.Pos{} },
	Step: func(state, input, output any) (bool, any) {
		now, op := state.(ledger.Pos), input.(operation)
		switch {
		case !op.Append:
			return op.Got == now, now
		case op.Conflict: // it names a head of the time: that is a reading
			return op.After != now && op.Got == now, now
		}
		return op.After == now && op.Got.Rev == now.Next(), op.Got
	},
}

// monotonic is a clock that the processes of one machine share.
func monotonic() int64 {
	return clock()
}

// recordHistory reads and appends without the lock, at whatever position it last
// saw, and writes what happened.
func recordHistory(l *Log, n int) error {
	ctx := context.Background()
	out := json.NewEncoder(os.Stdout)
	var at ledger.Pos
	for i := range n {
		op := operation{Append: i%3 != 0, After: at, Start: monotonic()}
		var err error
		if op.Append {
			var saved ledger.Saved
			saved, err = l.Append(ctx, at, note(fmt.Sprint(os.Getpid(), i)))
			op.Got = saved.Pos
			if c, lost := errors.AsType[*ledger.ConflictError](err); lost {
				op.Conflict, op.Got, err = true, c.Head, nil
			}
		} else {
			op.Got, err = l.Head(ctx)
		}
		op.End = monotonic()
		if err != nil {
			return err
		}
		at = op.Got
		if err := out.Encode(op); err != nil {
			return err
		}
	}
	return nil
}

// What several processes saw of one ledger can be put into one order, in which
// each append found the head that it named.
func TestLinearizable(t *testing.T) {
	if monotonic() == 0 {
		t.Skip("no clock here that processes share")
	}
	for round := range rounds(t, "HOLDFAST_HISTORY_ROUNDS", 2) {
		l := testLog(t)
		first := create(t, l)
		ops := []porcupine.Operation{{ClientId: 0, Input: operation{Append: true, Got: first}, Call: 0, Return: 1}}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for client := range 5 {
			cmd := l.command(t, "history", strconv.Itoa(40))
			wg.Go(func() {
				got := history(t, cmd)
				mu.Lock()
				defer mu.Unlock()
				for _, op := range got {
					ops = append(ops, porcupine.Operation{ClientId: client + 1, Input: op, Call: op.Start, Return: op.End})
				}
			})
		}
		wg.Wait()
		appended := 0
		for _, op := range ops {
			if o := op.Input.(operation); o.Append && !o.Conflict {
				appended++
			}
		}
		if res := porcupine.CheckOperationsTimeout(model, ops, 2*time.Minute); res != porcupine.Ok {
			t.Fatalf("round %d: %d operations, %d appends: %s", round, len(ops), appended, res)
		}
		if h := head(t, l); h.Rev != int64(appended-1) || len(ops) != 201 || appended < 20 {
			t.Errorf("%d operations, %d appends, head %d", len(ops), appended, h.Rev)
		}
	}
}

func history(t *testing.T, cmd *exec.Cmd) (ops []operation) {
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	s := bufio.NewScanner(out)
	for s.Scan() {
		var op operation
		if err := json.Unmarshal(s.Bytes(), &op); err != nil {
			t.Error(err)
		}
		ops = append(ops, op)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	return ops
}

// The model notices a lost update, a stale reading and an invented conflict.
func TestLinearizableNotices(t *testing.T) {
	a, b, c := ledger.Pos{Rev: 0, Hash: "a"}, ledger.Pos{Rev: 1, Hash: "b"}, ledger.Pos{Rev: 1, Hash: "c"}
	first := porcupine.Operation{Input: operation{Append: true, Got: a}, Call: 0, Return: 1}
	at := func(start int64, op operation) porcupine.Operation {
		return porcupine.Operation{ClientId: int(start), Input: op, Call: start, Return: start + 1}
	}
	for name, ops := range map[string][]porcupine.Operation{
		"two winners":   {first, at(2, operation{Append: true, After: a, Got: b}), at(4, operation{Append: true, After: a, Got: c})},
		"a stale head":  {first, at(2, operation{Append: true, After: a, Got: b}), at(4, operation{Got: a})},
		"no conflict":   {first, at(2, operation{Append: true, After: a, Got: a, Conflict: true})},
		"a lost append": {first, at(2, operation{Append: true, After: a, Got: b}), at(4, operation{Append: true, After: a, Got: c}), at(6, operation{Got: c})},
	} {
		if porcupine.CheckOperations(model, ops) {
			t.Errorf("%s: passes", name)
		}
	}
}
