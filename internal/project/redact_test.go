package project

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

const leaked = "the pass phrase is correct-horse-battery-staple"

// holds lists the files below the test's machine that have the text, whole or a
// telling part of it.
func (b *bench) holds(text string) []string {
	b.t.Helper()
	var out []string
	root := filepath.Dir(b.w.Home)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.Contains(data, []byte(text)) {
			out = append(out, strings.TrimPrefix(path, root))
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func (b *bench) quarantine(name, text string) {
	b.write(filepath.Join(filelog.FolderName, filelog.QuarantineName, name), text)
	if err := os.Chmod(filepath.Join(b.dir, filelog.FolderName, filelog.QuarantineName), 0o700); err != nil {
		b.t.Fatal(err)
	}
}

// leak makes a ledger with a leaked text in two versions, in a corner of a batch,
// in HANDOFF.md, the index and quarantine, and closes it.
func (b *bench) leak() (rev int64) {
	b.t.Helper()
	p := b.open(codex)
	save(b.t, p, request(ledger.KindNote, "plain", "nothing to hide"))
	s := save(b.t, p, request(ledger.KindDecision, "db", "use postgres"), request(ledger.KindNote, "leak", leaked))
	b.quarantine("original-1", "x\n"+leaked+"\ny\n")
	quoted, _ := json.Marshal(leaked + " \"<here>\"")
	b.quarantine("original-2.json", string(quoted))
	b.quarantine("other", "postgres nothing")
	if err := p.Close(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	if got := len(b.holds("battery")); got < 6 {
		b.t.Fatalf("the text stands in %v only", b.holds("battery"))
	}
	return s.Revision
}

func (b *bench) clean(rev int64) {
	b.t.Helper()
	if left := b.holds("battery"); len(left) > 0 {
		b.t.Errorf("the text is still in %v", left)
	}
	p := b.open(codex)
	br := brief(b.t, p)
	if ids(br) != "plain" {
		b.t.Errorf("briefing has %q", ids(br))
	}
	var c ledger.Checker
	after, erased := ledger.Pos{}, int64(-1)
	for e, err := range p.log.Entries(context.Background(), ledger.Pos{}) {
		if err == nil {
			err = c.Add(after, &e)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		if e.BodyRaw == nil {
			erased = e.Rev
		}
		after = e.Pos()
	}
	if err := c.End(); err != nil || erased != rev {
		b.t.Errorf("chain: %v; revision %d has no body, want %d", err, erased, rev)
	}
	save(b.t, p, request(ledger.KindNote, "after", "goes on"))
	if q, err := os.ReadFile(filepath.Join(b.dir, ".holdfast", "quarantine", "other")); err != nil || string(q) != "postgres nothing" {
		b.t.Errorf("another original was changed: %q, %v", q, err)
	}
}

func (b *bench) redactRev(rev int64) {
	b.t.Helper()
	p := b.open(person)
	// What a crash leaves: the redact entry is saved, and nothing is erased.
	_, err := p.mutate(context.Background(), mutation{kind: ledger.TypeRedact, person: true, request: rev,
		build: func(context.Context, *reading) (ledger.Draft, error) {
			return ledger.Draft{HeadFields: ledger.HeadFields{Revisions: []int64{rev}}}, nil
		}})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := p.closeIndex(); err != nil {
		b.t.Fatal(err)
	}
}

func TestRedactErasesEverywhere(t *testing.T) {
	b := newBench(t)
	rev := b.leak()
	p := b.open(person)
	ctx := context.Background()
	d, err := p.Redact(ctx, RedactRequest{IDs: []string{"leak"}, Why: "it leaked"})
	if err != nil || d.Applied || len(d.Revisions) != 1 || d.Revisions[0].Revision != rev || strings.Join(d.Revisions[0].IDs, " ") != "db leak" {
		t.Fatalf("preview: %+v, %v", d, err)
	}
	refused(t, second(p.Redact(ctx, RedactRequest{IDs: []string{"leak"}, Expect: strings.Repeat("0", 64)})), "fingerprint")
	refused(t, second(b.open(codex).Redact(ctx, RedactRequest{IDs: []string{"leak"}, Expect: d.Fingerprint})), "person")
	if d, err = p.Redact(ctx, RedactRequest{IDs: []string{"leak"}, Why: "it leaked", Expect: d.Fingerprint}); err != nil || !d.Applied || !d.Protected || len(d.Erased) < 3 {
		t.Fatalf("redact: %+v, %v", d, err)
	}
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	b.clean(rev)
	refused(t, second(b.open(person).Redact(ctx, RedactRequest{Revisions: []int64{rev}})), "usage")
	refused(t, second(b.open(person).Redact(ctx, RedactRequest{Revisions: []int64{0}})), "not_found")
}

func second[T any](_ T, err error) error { return err }

func TestRedactOfACrashIsSettledByTheNextReader(t *testing.T) {
	b := newBench(t)
	rev := b.leak()
	b.redactRev(rev)
	if len(b.holds("battery")) == 0 {
		t.Fatal("nothing is left to settle")
	}
	p := b.open(codex)
	if got := ids(brief(t, p)); got != "plain" {
		t.Errorf("briefing has %q", got)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.clean(rev)
}

func TestRedactOfACrashIsSettledByTheNextSave(t *testing.T) {
	b := newBench(t)
	rev := b.leak()
	b.redactRev(rev)
	p := b.open(codex)
	save(t, p, request(ledger.KindNote, "plain2", "nothing to hide"))
	if left := b.holds("battery"); len(left) > 0 {
		t.Errorf("the text is still in %v", left)
	}
	_ = rev
}

// A server that read the text before, without an index on disk, tells it no more.
func TestRedactReachesAnotherProcessesMemory(t *testing.T) {
	b := newBench(t)
	server := b.open(codex)
	save(t, server, request(ledger.KindNote, "plain", "nothing to hide"))
	s := save(t, server, request(ledger.KindNote, "leak", leaked))
	if got := ids(brief(t, server)); got != "leak plain" {
		t.Fatalf("briefing has %q", got)
	}
	p := b.open(person)
	d, err := p.Redact(context.Background(), RedactRequest{Revisions: []int64{s.Revision}})
	if err == nil {
		_, err = p.Redact(context.Background(), RedactRequest{Revisions: []int64{s.Revision}, Expect: d.Fingerprint})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(brief(t, server)); got != "plain" {
		t.Errorf("briefing has %q", got)
	}
	for _, e := range server.tail {
		if bytes.Contains(e.Raw, []byte("battery")) {
			t.Error("the server keeps the text")
		}
	}
}

// Where the text can't be erased, as on a read-only disk, it isn't shown, and
// whoever can write later erases it.
func TestRedactThatCannotErase(t *testing.T) {
	b := newBench(t)
	rev := b.leak()
	b.redactRev(rev)
	p := b.open(codex)
	log := filelog.New(p.m, p.loc.place)
	unlock, err := log.Lock(context.Background()) // somebody works on it
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second process finds an index without the text
		q := b.open(codex)
		if got := ids(brief(t, q)); got != "plain" {
			t.Errorf("briefing has %q", got)
		}
		if err := q.closeIndex(); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.holds("battery")) == 0 {
		t.Fatal("it was erased without the lock")
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	brief(t, p)
	b.clean(rev)
}

// A forged redact entry, or one of another machine, erases nothing.
func TestRedactOfNobodyErasesNothing(t *testing.T) {
	b := newBench(t)
	rev := b.leak()
	p := b.open(codex)
	_, err := p.mutate(context.Background(), mutation{kind: ledger.TypeRedact, person: true})
	if !errors.Is(err, ErrPersonOnly) {
		t.Fatal(err)
	}
	forge(t, b, p, ledger.Draft{Type: ledger.TypeRedact, HeadFields: ledger.HeadFields{Revisions: []int64{rev}}}, nil)
	before := b.holds("battery")
	q := b.open(codex)
	if got := ids(brief(t, q)); got != "db leak plain" {
		t.Errorf("briefing has %q", got)
	}
	if left := b.holds("battery"); len(left) < len(before)-1 {
		t.Errorf("was in %v, is in %v", before, left)
	}
}
