package ledger_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// noticed says whether a line read in the place of an entry is told from it:
// refused, of another content than its head names, or with a seal that isn't
// this machine's though it says so.
func noticed(b []byte, want *ledger.Entry, seals ledger.Seals) bool {
	e, err := ledger.Parse(b)
	if err != nil || !e.CheckBody() || seals.Check(&e) == ledger.BadSeal {
		return true
	}
	return e.Hash != want.Hash || (e.BodyRaw == nil) != (want.BodyRaw == nil)
}

func sealsOf(keys ...ledger.Key) ledger.Seals {
	s := ledger.Seals{}
	for _, k := range keys {
		s[k.KeyID()] = k
	}
	return s
}

// Every change of one bit, every cut and every byte too many in a line is
// noticed.
func TestEveryFlipAndCutIsNoticed(t *testing.T) {
	key := ledgertest.Key()
	es := ledgertest.Entries(key, ledgertest.First(), ledgertest.WithKey(note("n-1"), "k"), ledgertest.Recover("gen-1", 0, ledger.Pos{Rev: 1, Hash: sum("x")}), ledgertest.TxnBegin("t-1"))
	es = append(es, ledgertest.Extend(es, nil, note("n-2"))[4], es[1].Erase())
	seals := sealsOf(key)
	for _, e := range es {
		if noticed(e.Raw, &e, seals) {
			t.Fatalf("revision %d is not taken for itself", e.Rev)
		}
		for i := range e.Raw {
			for bit := range 8 {
				b := slices.Clone(e.Raw)
				b[i] ^= 1 << bit
				if !noticed(b, &e, seals) {
					t.Errorf("revision %d: bit %d of byte %d", e.Rev, bit, i)
				}
			}
			if !noticed(e.Raw[:i], &e, seals) {
				t.Errorf("revision %d: cut at %d", e.Rev, i)
			}
			if !noticed(slices.Delete(slices.Clone(e.Raw), i, i+1), &e, seals) {
				t.Errorf("revision %d: without byte %d", e.Rev, i)
			}
			if !noticed(slices.Insert(slices.Clone(e.Raw), i, e.Raw[i]), &e, seals) {
				t.Errorf("revision %d: byte %d twice", e.Rev, i)
			}
			if !noticed(append(slices.Clone(e.Raw[:i]), make([]byte, len(e.Raw)-i)...), &e, seals) {
				t.Errorf("revision %d: NUL from byte %d", e.Rev, i)
			}
		}
	}
}

// Any damage to the bytes of a chain is noticed: the parts of lines and whole
// lines may be changed, cut, swapped, doubled, dropped, or stand elsewhere. All
// before it still verifies.
func TestAnyDamageOfAChainIsNoticed(t *testing.T) {
	key := ledgertest.Key()
	seals := sealsOf(key)
	rapid.Check(t, func(t *rapid.T) {
		es := ledgertest.Histories().Draw(t, "history").Entries(key)
		whole := join(es)
		bad := damage(t, whole, es)
		if bytes.Equal(bad, whole) {
			return
		}
		sealed := true
		last, err := ledger.Verify(ledger.Pos{}, func(yield func(ledger.Entry, error) bool) {
			lines(bad)(func(e ledger.Entry, err error) bool {
				sealed = sealed && seals.Check(&e) != ledger.BadSeal
				return yield(e, err)
			})
		})
		if err == nil && sealed && last == es[len(es)-1].Pos() {
			t.Fatal("damage passes for the chain")
		}
		// A chain cut at a line's end is a chain: only its head tells it.
		if err == nil && sealed && !bytes.HasPrefix(whole, bad) {
			t.Fatalf("damage passes for a chain up to %d", last.Rev)
		}
		if n := same(whole, bad); last.Rev < n-1 {
			t.Fatalf("%d whole lines stand before the damage, %d verify", n, last.Rev+1)
		}
	})
}

// same counts the whole lines that a and b begin with.
func same(a, b []byte) int64 {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return int64(bytes.Count(a[:n], []byte("\n")))
}

// damage changes b, the bytes of es, in one of many ways.
func damage(t *rapid.T, b []byte, es []ledger.Entry) []byte {
	at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
	to := rapid.IntRange(at, len(b)).Draw(t, "to")
	i := rapid.IntRange(0, len(es)-1).Draw(t, "line")
	j := rapid.IntRange(0, len(es)-1).Draw(t, "other line")
	moved := slices.Clone(es)
	switch rapid.IntRange(0, 8).Draw(t, "damage") {
	case 0:
		b = slices.Clone(b)
		b[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		return b
	case 1:
		return b[:at]
	case 2:
		return append(slices.Clone(b[:at]), b[to:]...)
	case 3:
		return append(append(slices.Clone(b[:at]), make([]byte, to-at)...), b[to:]...)
	case 4:
		return append(slices.Clone(b[:to]), b[at:]...)
	case 5:
		moved[i], moved[j] = moved[j], moved[i]
	case 6:
		moved = slices.Delete(moved, min(i, j), max(i, j))
	case 7:
		moved = slices.Insert(moved, i, moved[j])
	case 8:
		moved[i] = parts(t, moved[i], moved[j])
	}
	return join(moved)
}

// parts is a line with parts of another.
func parts(t *rapid.T, a, b ledger.Entry) ledger.Entry {
	bodies := []string{"null", bodyOf(a), bodyOf(b)}
	body := rapid.SampledFrom(bodies).Draw(t, "body")
	seal := rapid.SampledFrom([]string{a.Seal, b.Seal, ""}).Draw(t, "seal")
	return ledger.Entry{Raw: line(string(a.HeadRaw), body, a.Hash, seal)}
}

func bodyOf(e ledger.Entry) string {
	if e.BodyRaw == nil {
		return "null"
	}
	return string(e.BodyRaw)
}

// FuzzParse: whatever parses is put together again as the same bytes. So one
// entry has one line, but for its seal, its erasure, and what a newer build
// may have put behind.
func FuzzParse(f *testing.F) {
	for _, e := range ledgertest.Entries(ledgertest.Key(), everyType()...) {
		f.Add(e.Raw)
	}
	unsealed := ledgertest.Entries(nil, ledgertest.First(), note("n-1"))[1]
	erased := unsealed.Erase()
	for _, b := range [][]byte{unsealed.Raw, erased.Raw, lineOf(headOf()), []byte("\n"), nil} {
		f.Add(b)
	}
	f.Fuzz(oneLine)
}

// FuzzParseForged does the same for lines whose hash is right, which a fuzzer
// doesn't come by itself.
func FuzzParseForged(f *testing.F) {
	for _, e := range ledgertest.Entries(ledgertest.Key(), everyType()...) {
		f.Add(string(e.HeadRaw), string(e.BodyRaw), "")
	}
	f.Add(headOf(), "null", `,"more":{"a":"}"}`)
	f.Add(headOf(`"v":1`, `"v":2`), "{}", "")
	f.Add(headOf(`"seal_key":""`, `"seal_key":"","more":[{}],"txn":{"transaction":"t"}`), `{"salt":"","records":[{"id":"n-1"}]}`, "")
	f.Fuzz(func(t *testing.T, head, body, extra string) {
		b := line(head, body, sum(head), "")
		oneLine(t, append(append(b[:len(b)-2:len(b)-2], extra...), "}\n"...))
	})
}

func oneLine(t *testing.T, b []byte) {
	e, err := ledger.Parse(b)
	if err != nil {
		if strings.ContainsAny(err.Error(), "{}\n\x00") {
			t.Errorf("the error holds text: %q", err)
		}
		return
	}
	again := line(string(e.HeadRaw), bodyOf(e), e.Hash, e.Seal)
	if !bytes.Equal(again, b) && !(e.Newer && bytes.HasPrefix(b, again[:len(again)-2])) {
		t.Errorf("%q is put together as %q", b, again)
	}
	if e.Hash != sum(string(e.HeadRaw)) || e.Rev < 0 || e.V < 1 {
		t.Errorf("head %+v, hash %s", e.Head, e.Hash)
	}
	var s ledger.State
	if err := s.Apply(e); err == nil && s.Head() != e.Pos() {
		t.Errorf("head of the state = %v", s.Head())
	}
	x := e.Erase()
	if y, err := ledger.Parse(x.Raw); err != nil || y.Hash != e.Hash {
		t.Errorf("erased, it doesn't parse: %v", err)
	}
}
