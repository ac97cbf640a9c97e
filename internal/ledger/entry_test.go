package ledger_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

func TestPosNext(t *testing.T) {
	for _, c := range []struct {
		p    ledger.Pos
		want int64
	}{
		{ledger.Pos{}, 0}, {ledger.Pos{Hash: "x"}, 1}, {ledger.Pos{Rev: 41, Hash: "x"}, 42},
	} {
		if got := c.p.Next(); got != c.want {
			t.Errorf("%v: next = %d, want %d", c.p, got, c.want)
		}
	}
}

// What Encode writes is what Parse reads, for drafts of every type.
func TestEncodeParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(everyType()).Draw(t, "draft")
		d.At = time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "milliseconds"))
		d.Recovery = rapid.StringMatching(`[0-9a-f-]{0,36}`).Draw(t, "recovery")
		d.Key = rapid.String().Draw(t, "key")
		d.Body.Reason = rapid.String().Draw(t, "reason")
		after := ledger.Pos{Rev: rapid.Int64Range(0, 1<<60).Draw(t, "rev"), Hash: sum("prev")}
		salt := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "salt")
		var s ledger.Sealer
		if rapid.Bool().Draw(t, "sealed") {
			s = ledgertest.Key()
		}
		e, err := ledger.Encode(after, d, salt, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ledger.Parse(e.Raw)
		if err != nil {
			t.Fatalf("parse what was encoded: %v", err)
		}
		if diff := cmp.Diff(e, got); diff != "" {
			t.Fatalf("parsed differs from encoded:\n%s", diff)
		}
		if e.Rev != after.Rev+1 || e.Prev != after.Hash || !got.Time().Equal(d.At) || got.KeySHA256 != ledger.KeyHash(d.Key) {
			t.Fatalf("head = %+v", e.Head)
		}
		body, there, err := got.Body()
		if err != nil || !there || body.Reason != strings.ToValidUTF8(d.Body.Reason, "\ufffd") {
			t.Fatalf("reason = %q (%v, %v)", body.Reason, there, err)
		}
		if !json.Valid(e.Raw) || !got.CheckBody() {
			t.Fatal("the line is not JSON, or its body not the one named")
		}
	})
}

// everyType is one draft of each type that this build knows.
func everyType() []ledger.Draft {
	ref := ledger.Ref{ID: "n-1", Rev: 1}
	sealed := ledger.Draft{Type: ledger.TypeSealed}
	sealed.Successor, sealed.Fingerprint = "0002", sum("fingerprint")
	merge := note("n-2")
	merge.Type, merge.Body.Origin = ledger.TypeMerge, &ledger.Origin{Ledger: "other", Rev: 3, Hash: sum("x"), Branch: "main"}
	out := []ledger.Draft{
		ledgertest.First(), note("n-1"), ledgertest.Status("n-1", 1, ledger.StatusDone), ledgertest.Retract("n-1", 1), ledgertest.Restore("n-1", 1),
		ledgertest.Confirm(ref), ledgertest.Carry("x"), ledgertest.Check("unit", ledger.Passed), ledgertest.Adopt("id"), ledgertest.Allow("v"),
		ledgertest.Recover("gen-1", 1, ledger.Pos{Rev: 3, Hash: sum("y")}), sealed, ledgertest.Redact(ref), merge, ledgertest.TxnBegin("t-1"),
	}
	for _, typ := range []string{ledger.TypeOpBegin, ledger.TypeOpEnd} {
		out = append(out, ledger.Draft{Type: typ, Body: ledger.Body{Op: json.RawMessage(`{"files":[{"path":"a","before":"","after":"x"}]}`)}})
	}
	one := 1
	for _, h := range []struct {
		typ string
		ledger.TxnHead
	}{
		{ledger.TypeTxnAttempt, ledger.TxnHead{Transaction: "t-1", Attempt: "a-1", Operation: &one, Fingerprint: sum("f"), Role: "initial"}},
		{ledger.TypeTxnReport, ledger.TxnHead{Transaction: "t-1", Attempt: "a-1", Outcome: "succeeded"}},
		{ledger.TypeTxnObserve, ledger.TxnHead{Transaction: "t-1", State: "open"}},
		{ledger.TypeTxnEnd, ledger.TxnHead{Transaction: "t-1", State: "abandoned", Follows: "t-0", Person: true}},
	} {
		d := ledger.Draft{Type: h.typ, Body: ledger.Body{Txn: json.RawMessage(`{"detail":"a test"}`)}}
		d.Txn = &h.TxnHead
		out = append(out, d)
	}
	return out
}

func TestEveryTypeIsKnownAndCovered(t *testing.T) {
	var types []string
	for _, d := range everyType() {
		if !ledger.KnownType(d.Type) {
			t.Errorf("%q is not known", d.Type)
		}
		types = append(types, d.Type)
	}
	slices.Sort(types)
	if n := len(slices.Compact(types)); n != 21 {
		t.Errorf("%d types are covered, the format has 21", n)
	}
	for _, typ := range []string{"", "records", "Record", "txn", "txn.", "future"} {
		if ledger.KnownType(typ) {
			t.Errorf("%q is known", typ)
		}
	}
}

func TestTakesAway(t *testing.T) {
	want := []string{ledger.TypeConfirm, ledger.TypeAdopt, ledger.TypeAllow, ledger.TypeRecover, ledger.TypeSealed, ledger.TypeRedact, ledger.TypeTxnEnd}
	for _, d := range everyType() {
		h := ledger.Head{Type: d.Type, HeadFields: d.HeadFields}
		if got := h.TakesAway(); got != slices.Contains(want, d.Type) {
			t.Errorf("%s takes away: %v", d.Type, got)
		}
		if h.Void() != h.TakesAway() {
			t.Errorf("%s without a seal is void: %v", d.Type, h.Void())
		}
		if h.SealKey = "x"; h.Void() {
			t.Errorf("%s with a seal is void", d.Type)
		}
	}
}

func TestEncodeLimit(t *testing.T) {
	d := note("n-1")
	d.Body.Records[0].Text = strings.Repeat("x", ledger.MaxEntry)
	_, err := ledger.Encode(ledger.Pos{}, d, make([]byte, 16), nil)
	var limit *ledger.LimitError
	if !errors.As(err, &limit) || limit.Limit != ledger.MaxEntry || limit.Got <= ledger.MaxEntry || limit.Unit != "bytes" {
		t.Errorf("error = %#v", err)
	}
}

// Nothing that somebody can put text into may stand in a head.
func TestEncodeRefusesTextInHead(t *testing.T) {
	for _, s := range []string{"é", "a\nb", `a"b`, `a\b`, "\x7f", "\xff", "🙂"} {
		d := note("n-1")
		d.Recovery = s
		if _, err := ledger.Encode(ledger.Pos{}, d, make([]byte, 16), nil); err == nil {
			t.Errorf("%q is written into a head", s)
		} else if strings.Contains(err.Error(), s) {
			t.Errorf("the error holds the text: %v", err)
		}
	}
}

func TestEncodeRefusesBadJSON(t *testing.T) {
	d := ledger.Draft{Type: ledger.TypeOpBegin, Body: ledger.Body{Op: json.RawMessage(`{"a":`)}}
	if _, err := ledger.Encode(ledger.Pos{}, d, make([]byte, 16), nil); err == nil {
		t.Error("half an object is written into a body")
	}
}

// The salt comes first in the body, and makes equal texts differ.
func TestSalt(t *testing.T) {
	one, err1 := ledger.Encode(ledger.Pos{}, note("n-1"), []byte("0123456789abcdef"), nil)
	two, err2 := ledger.Encode(ledger.Pos{}, note("n-1"), []byte("fedcba9876543210"), nil)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if !strings.HasPrefix(string(one.BodyRaw), `{"salt":"30313233343536373839616263646566",`) {
		t.Errorf("body = %.60s", one.BodyRaw)
	}
	if one.BodySHA256 == two.BodySHA256 || one.Hash == two.Hash {
		t.Error("two salts give one hash")
	}
}

func TestErase(t *testing.T) {
	e := ledgertest.Entries(ledgertest.Key(), ledgertest.First(), note("n-1"))[1]
	raw := string(e.Raw)
	x := e.Erase()
	got, err := ledger.Parse(x.Raw)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash != e.Hash || got.Seal != e.Seal || got.BodyRaw != nil || strings.Contains(string(x.Raw), "n-1") || !got.CheckBody() {
		t.Errorf("erased entry: %s", x.Raw)
	}
	if _, there, err := got.Body(); there || err != nil {
		t.Errorf("its body is there: %v, %v", there, err)
	}
	if string(e.Raw) != raw || e.BodyRaw == nil {
		t.Error("erasing changed the entry itself")
	}
	if again := x.Erase(); string(again.Raw) != string(x.Raw) {
		t.Error("erasing twice gives something else")
	}
}

func TestKeyHash(t *testing.T) {
	if ledger.KeyHash("") != "" || ledger.KeyHash("k") != sum("k") {
		t.Error("hash of a key")
	}
}

// A body's parts all decode to what they were encoded from.
func TestBodyRoundTrip(t *testing.T) {
	for _, d := range everyType() {
		e := ledgertest.Entries(nil, d)[0]
		body, _, err := e.Body()
		if err != nil {
			t.Fatalf("%s: %v", d.Type, err)
		}
		body.Salt = ""
		if diff := cmp.Diff(d.Body, body); diff != "" {
			t.Errorf("%s:\n%s", d.Type, diff)
		}
		if diff := cmp.Diff(d.HeadFields, e.HeadFields); diff != "" {
			t.Errorf("%s:\n%s", d.Type, diff)
		}
	}
}

// The hash and the seal are over exactly what the format says.
func TestHashAndSeal(t *testing.T) {
	key := ledgertest.Key()
	e := ledgertest.Entries(key, ledgertest.First())[0]
	if e.Hash != sum(string(e.HeadRaw)) || e.BodySHA256 != sum(string(e.BodyRaw)) || e.SealKey != key.KeyID() || e.Seal != key.Seal(e.Hash) {
		t.Errorf("entry = %s", e.Raw)
	}
	if key.KeyID() == ledgertest.OtherKey().KeyID() || len(key.KeyID()) != 16 || strings.Contains(string(e.Raw), string(key)) {
		t.Error("key id")
	}
	if !reflect.DeepEqual(e.Pos(), ledger.Pos{Rev: 0, Hash: e.Hash}) {
		t.Errorf("position = %v", e.Pos())
	}
}
