package ledgertest_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// broken is a log with one fault.
type broken struct {
	*ledgertest.Memory
	fault string
}

// faults, and a test of the suite that must see each.
var faults = map[string]string{
	"answers before it saves":              "RoundTrip",
	"saves behind whatever is there":       "StaleAppendConflicts",
	"looks at the revision only":           "WrongHashConflicts",
	"doesn't say what the head is":         "RaceAtOnePositionHasOneWinner",
	"saves though it says conflict":        "RaceAtOnePositionHasOneWinner",
	"saves after the caller gave up":       "CancelledBeforeAppendSavesNothing",
	"leaves out the last entry":            "EntriesFromEveryPosition",
	"gives the entry at the position too":  "EntriesFromEveryPosition",
	"stops without an error when told to":  "CancelledReadingIsNoShortRead",
	"encodes entries again":                "RoundTrip",
	"has room for less":                    "LargestEntry",
	"gives the lock to everybody":          "Lock",
	"forgets an entry when opened again":   "ReopenKeepsEverything",
	"can be closed once":                   "CloseTwice",
	"starts with an entry of its own":      "EmptyHead",
	"lets two be the first":                "FirstAppendIsDecidedOnce",
	"goes on yielding when nobody listens": "EntriesCanBeLeftEarly",
}

const faultVar = "LEDGERTEST_FAULT"

// The suite fails for each fault: it is run against it in a process of its own.
func TestSuiteNoticesFaults(t *testing.T) {
	if fault := os.Getenv(faultVar); fault != "" {
		ledgertest.Run(t, func(t *testing.T) ledger.Log { return open(fault, nil) }, ledgertest.Reopen(func(_ *testing.T, l ledger.Log) ledger.Log {
			es := l.(*broken).Snapshot()
			if fault == "forgets an entry when opened again" {
				es = es[:len(es)-1]
			}
			return open("", es)
		}))
		return
	}
	for fault, test := range faults {
		t.Run(fault, func(t *testing.T) {
			c := exec.Command(os.Args[0], "-test.run", "^TestSuiteNoticesFaults$/^"+test+"$")
			c.Env = append(os.Environ(), faultVar+"="+fault)
			out, err := c.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "FAIL: TestSuiteNoticesFaults/"+test) && !strings.Contains(string(out), "panic: ") {
				t.Errorf("%s doesn't notice (%v):\n%s", test, err, out)
			}
		})
	}
}

func open(fault string, es []ledger.Entry) *broken {
	if fault == "starts with an entry of its own" {
		es = ledgertest.Entries(nil, ledgertest.First())
	}
	return &broken{ledgertest.NewMemory(ledgertest.Options{Entries: es}), fault}
}

func (b *broken) Append(ctx context.Context, after ledger.Pos, d ledger.Draft) (ledger.Saved, error) {
	head, err := b.Memory.Head(context.Background())
	if err != nil {
		return ledger.Saved{}, err
	}
	switch b.fault {
	case "answers before it saves":
		e, err := ledger.Encode(after, d, make([]byte, 16), nil)
		return ledger.Saved{Pos: e.Pos(), At: e.At}, err
	case "saves behind whatever is there":
		after = head
	case "looks at the revision only":
		if after.Rev == head.Rev {
			after = head
		}
	case "lets two be the first":
		if after == (ledger.Pos{}) {
			after = head
		}
	case "saves after the caller gave up":
		ctx = context.Background()
	case "has room for less":
		if e, err := ledger.Encode(after, d, make([]byte, 16), nil); err == nil && len(e.Raw) > ledger.MaxEntry-100 {
			return ledger.Saved{}, &ledger.LimitError{What: "a save", Limit: ledger.MaxEntry, Got: ledger.MaxEntry + 1, Unit: "bytes"}
		}
	}
	saved, err := b.Memory.Append(ctx, after, d)
	var c *ledger.ConflictError
	switch {
	case errors.As(err, &c) && b.fault == "doesn't say what the head is":
		return saved, &ledger.ConflictError{}
	case errors.As(err, &c) && b.fault == "saves though it says conflict":
		b.Memory.Append(ctx, c.Head, d)
	}
	return saved, err
}

func (b *broken) Entries(ctx context.Context, after ledger.Pos) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		es := b.Snapshot()
		switch b.fault {
		case "leaves out the last entry":
			es = es[:max(len(es)-1, 0)]
		case "gives the entry at the position too":
			after.Rev--
		}
		for _, e := range es {
			if b.fault == "stops without an error when told to" && ctx.Err() != nil {
				return
			}
			if e.Rev < after.Next() {
				continue
			}
			if b.fault == "encodes entries again" {
				e.Raw = bytes.Replace(e.Raw, []byte(`"actor":`), []byte(`"actor": `), 1)
			}
			if !yield(e, nil) && b.fault != "goes on yielding when nobody listens" {
				return
			}
		}
	}
}

func (b *broken) Lock(ctx context.Context) (func() error, error) {
	if b.fault == "gives the lock to everybody" {
		return func() error { return nil }, nil
	}
	return b.Memory.Lock(ctx)
}

func (b *broken) Close() error {
	if b.fault == "can be closed once" {
		b.fault = "is closed"
		return nil
	}
	if b.fault == "is closed" {
		return errors.New("closed already")
	}
	return nil
}
