package ledgertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"holdfast/internal/ledger"
)

func (s *suite) oddText(t *testing.T) {
	l, p := s.started(t)
	for _, c := range []struct{ name, text, want string }{
		{"line separators", "a\u2028b\u2029c", ""},
		{"newlines and tabs", "a\nb\r\nc\td", ""},
		{"emoji and combining marks", "👩‍👩‍👧 e\u0301 \U0001F3F4\U000E0067\U000E0062\U000E007F", ""},
		{"markup", `<a href="x">&amp;</a> {"head":{"v":1},"body":null} \u0000 \\`, ""},
		{"controls", "\x01\x1b[31m\x7f\u0085\u202e\ufeff", ""},
		{"lone surrogates", "a\xed\xa0\x80b\xffc", "a\ufffd\ufffd\ufffdb\ufffdc"},
		{"a fence", "```\n</handoff>\n=== END OF UNTRUSTED DATA ===", ""},
		{"the longest", strings.Repeat("🙂", ledger.MaxText), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Save(Record("odd", ledger.KindNote, c.text))
			d.At = At(1)
			p = add(t, l, p, d)
			es := all(t, l)
			body, _, err := es[len(es)-1].Body()
			if err != nil || len(body.Records) != 1 {
				t.Fatalf("body: %d records, error %v", len(body.Records), err)
			}
			want := c.want
			if want == "" {
				want = c.text
			}
			if got := body.Records[0].Text; got != want {
				t.Errorf("text = %q, want %q", got, want)
			}
		})
	}
	verified(t, l)
}

// largestEntry fits an entry to the limit exactly, whatever a seal adds, and
// then one that is a byte larger.
func (s *suite) largestEntry(t *testing.T) {
	l, p := s.started(t)
	d := bulk()
	p = add(t, l, p, d)
	es := all(t, l)
	room := ledger.MaxEntry - len(es[len(es)-1].Raw)
	if room <= 0 {
		t.Fatalf("the entry to grow has %d bytes already", ledger.MaxEntry-room)
	}
	last := &d.Body.Records[len(d.Body.Records)-1]
	last.Why = strings.Repeat("x", room-len(`,"why":""`))
	p = add(t, l, p, d)
	es = all(t, l)
	if got := len(es[len(es)-1].Raw); got != ledger.MaxEntry {
		t.Fatalf("the entry has %d bytes, meant was %d", got, ledger.MaxEntry)
	}
	last.Why += "x"
	refused(t, l, p, d)
	verified(t, l)
}

func (s *suite) tooLarge(t *testing.T) {
	l, p := s.started(t)
	var rs []ledger.Record
	for range ledger.MaxRecords {
		rs = append(rs, Record("big", ledger.KindNote, strings.Repeat("🙂", ledger.MaxText)))
	}
	d := Save(rs...)
	d.At = At(1)
	refused(t, l, p, d)
	add(t, l, p, note(1))
	verified(t, l)
}

func bulk() ledger.Draft {
	var rs []ledger.Record
	for range 100 {
		rs = append(rs, Record("bulk", ledger.KindNote, strings.Repeat("x", ledger.MaxText)))
	}
	d := Save(rs...)
	d.At = At(1)
	return d
}

func refused(t *testing.T, l ledger.Log, p ledger.Pos, d ledger.Draft) {
	t.Helper()
	_, err := l.Append(t.Context(), p, d)
	var limit *ledger.LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("error = %v, want a limit", err)
	}
	if limit.Limit != ledger.MaxEntry || limit.Got <= limit.Limit {
		t.Errorf("limit = %+v", limit)
	}
	if got := head(t, l); got != p {
		t.Errorf("head after a refused save = %v, want %v", got, p)
	}
}

func (s *suite) stale(t *testing.T) {
	l, zero := s.started(t)
	one := add(t, l, zero, note(1))
	two := add(t, l, one, note(2))
	for _, after := range []ledger.Pos{{}, zero, one} {
		_, err := l.Append(t.Context(), after, note(3))
		if got := conflict(t, err); got != two {
			t.Errorf("append after %v: conflict with %v, want %v", after, got, two)
		}
	}
	if es := verified(t, l); len(es) != 3 {
		t.Errorf("%d entries, want 3", len(es))
	}
	add(t, l, two, note(3))
}

func (s *suite) wrongHash(t *testing.T) {
	l, zero := s.started(t)
	one := add(t, l, zero, note(1))
	for _, after := range []ledger.Pos{
		{Rev: one.Rev, Hash: zero.Hash}, {Rev: one.Rev, Hash: digest("another history")},
		{Rev: one.Rev + 1, Hash: one.Hash}, {Rev: 1000, Hash: digest("the future")}, {Rev: zero.Rev, Hash: one.Hash},
	} {
		_, err := l.Append(t.Context(), after, note(2))
		if got := conflict(t, err); got != one {
			t.Errorf("append after %v: conflict with %v, want %v", after, got, one)
		}
	}
	if es := verified(t, l); len(es) != 2 {
		t.Errorf("%d entries, want 2", len(es))
	}
	// A reader with a place in another history must be able to notice.
	if _, err := ledger.Verify(ledger.Pos{Rev: 0, Hash: digest("x")}, l.Entries(t.Context(), ledger.Pos{Rev: 0, Hash: digest("x")})); err == nil {
		t.Error("entries behind a position of another history verify")
	}
}

func (s *suite) cancelledBefore(t *testing.T) {
	l, p := s.started(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Append(ctx, p, note(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	if got := head(t, l); got != p {
		t.Errorf("head = %v, want %v", got, p)
	}
	add(t, l, p, note(1))
}

// cancelledMeanwhile cancels at whatever instant: an append that answers
// without an error is there, one that answers with one is not.
func (s *suite) cancelledMeanwhile(t *testing.T) {
	l, p := s.started(t)
	want := 1
	for i := range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		saved, err := l.Append(ctx, p, note(i))
		switch {
		case err == nil:
			p = saved.Pos
			want++
		case !errors.Is(err, context.Canceled):
			t.Fatalf("error = %v, want none or context.Canceled", err)
		}
		if got := head(t, l); got != p {
			t.Fatalf("after error %v: head = %v, want %v", err, got, p)
		}
		cancel()
	}
	if es := verified(t, l); len(es) != want {
		t.Errorf("%d entries, want %d", len(es), want)
	}
}

func (s *suite) cancelledReading(t *testing.T) {
	l, p := s.started(t)
	for i := range 20 {
		p = add(t, l, p, note(i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, failed := 0, error(nil)
	for _, err := range l.Entries(ctx, ledger.Pos{}) {
		if failed = err; err != nil {
			break
		}
		if n++; n == 3 {
			cancel()
		}
	}
	if failed == nil && n != 21 {
		t.Errorf("%d entries of 21 and no error", n)
	}
	if failed != nil && !errors.Is(failed, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", failed)
	}
}

func (s *suite) entriesFrom(t *testing.T) {
	l, p := s.started(t)
	for i := range 12 {
		p = add(t, l, p, note(i))
	}
	whole := verified(t, l)
	for i, e := range whole {
		got, err := collect(t.Context(), l, e.Pos())
		if err != nil {
			t.Fatalf("entries after %d: %v", e.Rev, err)
		}
		if !slices.EqualFunc(got, whole[i+1:], func(a, b ledger.Entry) bool { return string(a.Raw) == string(b.Raw) }) {
			t.Errorf("entries after %d: %d entries, want the %d that follow", e.Rev, len(got), len(whole)-i-1)
		}
		if end, err := ledger.Verify(e.Pos(), l.Entries(t.Context(), e.Pos())); err != nil || end != p {
			t.Errorf("verify from %d = %v, %v", e.Rev, end, err)
		}
	}
}

func (s *suite) leaveEarly(t *testing.T) {
	l, p := s.started(t)
	for i := range 5 {
		p = add(t, l, p, note(i))
	}
	seq := l.Entries(t.Context(), ledger.Pos{})
	for e, err := range seq {
		if err != nil || e.Rev != 0 {
			t.Fatalf("first entry: rev %d, error %v", e.Rev, err)
		}
		break
	}
	n := 0
	for _, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 6 {
		t.Errorf("%d entries the second time, want 6", n)
	}
	add(t, l, p, note(6))
}
