package ledger_test

import (
	"strings"
	"testing"

	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// benchChain is 1,000 saves of one record, each an entry of about size bytes.
func benchChain(tb testing.TB, size int) []ledger.Entry {
	d := ledgertest.On(note("n-0"), ledger.Git{Branch: "main", Commit: ledgertest.ID(1), Base: ledgertest.ID(0)})
	bare := len(ledgertest.Entries(ledgertest.Key(), ledgertest.First(), d)[1].Raw)
	drafts := []ledger.Draft{ledgertest.First()}
	for i := range 1000 {
		d := d
		r := ledgertest.Record("n-"+strings.Repeat("0", i%7)+string(rune('a'+i%26)), ledger.KindNote, d.Body.Records[0].Text)
		r.Text += strings.Repeat("x", max(size-bare, 0))
		d.Body.Records = []ledger.Record{r}
		drafts = append(drafts, d)
	}
	return ledgertest.Entries(ledgertest.Key(), drafts...)
}

// bytesOf is how long a chain is, for MB/s.
func bytesOf(es []ledger.Entry) (n int64) {
	for _, e := range es {
		n += int64(len(e.Raw))
	}
	return n
}

// BenchmarkVerify parses and verifies, as a check of packs does. The bar is
// 150 MB/s on one core.
func BenchmarkVerify(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"500", 0}, {"1500", 1500}, {"16000", 16000}} {
		es := benchChain(b, c.size)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(bytesOf(es))
			b.ReportAllocs()
			b.ReportMetric(float64(bytesOf(es))/float64(len(es)), "bytes/entry")
			for b.Loop() {
				if _, err := ledger.Verify(ledger.Pos{}, parsed(es)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func parsed(es []ledger.Entry) func(func(ledger.Entry, error) bool) {
	return func(yield func(ledger.Entry, error) bool) {
		for i := range es {
			if !yield(ledger.Parse(es[i].Raw)) {
				return
			}
		}
	}
}

// BenchmarkVerifySealed checks each seal as well.
func BenchmarkVerifySealed(b *testing.B) {
	es := benchChain(b, 0)
	seals := sealsOf(ledgertest.Key())
	b.SetBytes(bytesOf(es))
	for b.Loop() {
		for e, err := range parsed(es) {
			if err != nil || !e.CheckBody() || seals.Check(&e) != ledger.SealedHere {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkParseHeads reads what entries with fields by type cost.
func BenchmarkParseHeads(b *testing.B) {
	es := encodeVectors()
	b.SetBytes(bytesOf(es))
	for b.Loop() {
		for _, err := range parsed(es) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	d := note("n-1")
	salt := make([]byte, 16)
	after := ledger.Pos{Rev: 1, Hash: sum("x")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ledger.Encode(after, d, salt, ledgertest.Key()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApply folds 1,001 entries.
func BenchmarkApply(b *testing.B) {
	es := benchChain(b, 0)
	b.SetBytes(bytesOf(es))
	b.ReportAllocs()
	for b.Loop() {
		var s ledger.State
		for i := range es {
			if err := s.Apply(es[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
