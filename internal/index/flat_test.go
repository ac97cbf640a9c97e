package index

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"holdfast/internal/ledger"
)

// A text is the same whether it was decoded or read without.
func TestTextsOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z ",:{}\\<>é]{0,12}`), rapid.Just(""))
		r := ledger.Record{ID: "a", Kind: ledger.KindNote, Text: text.Draw(t, "text"), Answer: text.Draw(t, "answer"), Why: text.Draw(t, "why"),
			RevisitWhen: text.Draw(t, "revisit"), Source: text.Draw(t, "source"), Status: rapid.SampledFrom([]string{"", "open"}).Draw(t, "status")}
		if rapid.Bool().Draw(t, "rejected") {
			r.Rejected = []ledger.Rejected{{Option: text.Draw(t, "option"), Why: text.Draw(t, "because")}}
		}
		if rapid.Bool().Draw(t, "settles") {
			r.Settles = []int64{1, 2}
		}
		rec, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		var back ledger.Record
		if err := json.Unmarshal(rec, &back); err != nil {
			t.Fatal(err)
		}
		main, more, err := textsOf(string(rec))
		if err != nil || main != mainText(&back) || more != moreText(&back) {
			t.Errorf("of %s\nread %q and %q, %v\nwant %q and %q", rec, main, more, err, mainText(&back), moreText(&back))
		}
	})
	for _, bad := range []string{"", "{", `{"text"`, `{"text":`, `{"text":"a`, `{"text":"a"`, `{"text":"a",`, `{"text":"a"}x`, "[]", `"a"`} {
		if main, more, err := textsOf(bad); err == nil {
			t.Errorf("of %q read %q and %q", bad, main, more)
		}
	}
}
