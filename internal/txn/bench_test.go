package txn_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/internal/txn"
)

// BenchmarkAttempt is what a decision costs beside looking and saving.
func BenchmarkAttempt(b *testing.B) {
	for _, names := range []int{1, 1000} {
		for _, others := range []int{0, 1000} {
			b.Run(fmt.Sprintf("names=%d/others=%d", names, others), func(b *testing.B) {
				d := newDisk(b, "main")
				h := newHub(b, d, "mcp")
				h.id = counter()
				for i := range others {
					if _, err := h.ask("begin", []byte(`{"intent":"x","operations":[`+fileOp(fmt.Sprintf("other%d", i), "1")+`]}`)); err != nil {
						b.Fatal(err)
					}
				}
				var list []string
				for i := range names {
					list = append(list, fmt.Sprintf(`"f%d":%q`, i, sha("1")))
				}
				r, err := txn.ParseBegin([]byte(`{"intent":"x","operations":[{"kind":"write","destination":"dir:d","postconditions":[{"surface":"dir:d","expect":{"contains":{`+strings.Join(list, ",")+`}}}]}]}`), false)
				if err != nil {
					b.Fatal(err)
				}
				x, err := h.begin(r)
				if err != nil {
					b.Fatal(err)
				}
				seen, err := h.looks(x.Transaction)
				if err != nil {
					b.Fatal(err)
				}
				op, c := 0, h.call("a")
				b.ReportAllocs()
				for b.Loop() {
					res, err := h.eng.Attempt(&h.book, c, &txn.AttemptRequest{Transaction: x.Transaction, Operation: &op}, seen)
					if err != nil || !res.Answer.Granted {
						b.Fatal(res, err)
					}
				}
			})
		}
	}
}

func counter() func(string) string {
	n := 0
	return func(prefix string) string { n++; return fmt.Sprint(prefix, n) }
}
