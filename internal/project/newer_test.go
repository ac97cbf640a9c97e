package project

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"holdfast/internal/ledger"
)

// future appends a whole entry that a newer build would have written: change is
// given the head and what follows the hash.
func (b *bench) future(p *Project, typ string, change func(head, outer string) (string, string)) {
	b.t.Helper()
	after, err := p.log.Head(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	e, err := ledger.Encode(after, ledger.Draft{Type: typ, At: b.now, Body: ledger.Body{Actor: codex.Actor,
		Records: []ledger.Record{{ID: "new", Kind: ledger.KindNote, Text: "text of the future", Source: "s"}}}}, make([]byte, 16), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	head, outer := change(string(e.HeadRaw), "")
	sum := sha256.Sum256([]byte(head))
	line := `{"head":` + head + `,"body":` + string(e.BodyRaw) + `,"hash":"` + hex.EncodeToString(sum[:]) + `","seal":""` + outer + "}\n"
	if head == string(e.HeadRaw) && outer == "" && !bytes.Equal([]byte(line), e.Raw) {
		b.t.Fatalf("made %s, want %s", line, e.Raw)
	}
	if err := os.WriteFile(b.revision(string(rune('0'+e.Rev))), []byte(line), 0o400); err != nil {
		b.t.Fatal(err)
	}
}

// What a newer build wrote is kept, counted and said to be newer; what this build
// knows is read, and nothing is written.
func TestNewerFormatsAreReadAndNotWritten(t *testing.T) {
	same := func(head, outer string) (string, string) { return head, outer }
	for name, c := range map[string]struct {
		typ    string
		change func(head, outer string) (string, string)
	}{
		"type":  {"future.thing", same},
		"v":     {ledger.TypeRecord, func(h, o string) (string, string) { return strings.Replace(h, `"v":1`, `"v":2`, 1), o }},
		"head":  {ledger.TypeRecord, func(h, o string) (string, string) { return strings.TrimSuffix(h, "}") + `,"extra":1}`, o }},
		"outer": {ledger.TypeRecord, func(h, _ string) (string, string) { return h, `,"more":true` }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.three()
			b.future(b.open(codex), c.typ, c.change)
			ctx := context.Background()
			for range 2 { // with an index that doesn't know it, and one that does
				p := b.open(codex)
				br := brief(t, p)
				if ids(br) != "c b a" || br.Revision != 4 || !strings.Contains(strings.Join(br.Notices, "\n"), "newer than this build") {
					t.Errorf("has %q, revision %d, notices %q", ids(br), br.Revision, br.Notices)
				}
				es, _, err := p.Log(ctx, LogRequest{Limit: 1})
				if err != nil || len(es) != 1 || es[0].Revision != 4 || es[0].Text != "newer than this build" {
					t.Errorf("log: %+v, %v", es, err)
				}
				_, err = p.Record(ctx, []RecordRequest{request(ledger.KindNote, "d", "about d")})
				refused(t, err, "newer")
				_, err = p.Retract(ctx, ChangeRequest{ID: "a", ExpectedRevision: num(1)})
				refused(t, err, "newer")
				if err := p.Close(ctx); err != nil {
					t.Fatal(err)
				}
			}
			// It forbids writing from anywhere in the ledger, not only as its head.
			forge(t, b, b.open(codex), ledger.Draft{Type: ledger.TypeRecord, Body: ledger.Body{Actor: codex.Actor,
				Records: []ledger.Record{{ID: "e", Kind: ledger.KindNote, Text: "behind it", Source: "s"}}}}, nil)
			_, err := b.open(codex).Record(ctx, []RecordRequest{request(ledger.KindNote, "f", "about f")})
			refused(t, err, "newer")
		})
	}
}

// Order is the revision: a clock that was years ahead, then stood still, then
// went back, hides nothing and is shown.
func TestCaseC082_ClocksThatGoWrong(t *testing.T) {
	b := newBench(t)
	ctx := context.Background()
	real := b.now
	for i, at := range []int{0, 5 * 365, 0, -1, -20000} {
		b.now = real.AddDate(0, 0, at)
		r := request(ledger.KindNote, "n", "text "+string(rune('0'+i)))
		if i > 0 {
			r.ExpectedRevision = num(int64(i))
		}
		p := b.open(codex)
		save(t, p, r)
		if err := p.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	b.now = real
	p := b.open(claude)
	br := brief(t, p)
	if len(br.Records) != 1 || br.Records[0].Text != "text 4" {
		t.Errorf("has %+v", br.Records)
	}
	es, _, err := p.Log(ctx, LogRequest{})
	if err != nil || len(es) != 6 {
		t.Fatalf("%d entries, %v", len(es), err)
	}
	for _, e := range es {
		if want := e.Revision >= 3; e.Doubtful != want && e.Revision != 2 {
			t.Errorf("revision %d at %s: doubtful %v", e.Revision, e.At, e.Doubtful)
		}
	}
}
