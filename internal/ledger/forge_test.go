package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"holdfast/internal/ledger"
)

// forge makes the entry that somebody's hand would: another head and body,
// with every hash right and no seal.
func forge(e ledger.Entry, edit func(*ledger.Head), body string) ledger.Entry {
	h := e.Head
	h.SealKey = ""
	edit(&h)
	if body == "" {
		body = string(e.BodyRaw)
	}
	h.BodySHA256 = sum(body)
	head, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	f, err := ledger.Parse(line(string(head), body, sum(string(head)), ""))
	if err != nil {
		panic(err)
	}
	return f
}

// line puts an entry's parts together.
func line(head, body, hash, seal string) []byte {
	return []byte(`{"head":` + head + `,"body":` + body + `,"hash":"` + hash + `","seal":"` + seal + "\"}\n")
}

// lineOf is a line with a head of one's own and the hash that belongs to it.
func lineOf(head string) []byte { return line(head, "null", sum(head), "") }

func sum(s string) string {
	x := sha256.Sum256([]byte(s))
	return hex.EncodeToString(x[:])
}

func join(es []ledger.Entry) []byte {
	var b bytes.Buffer
	for _, e := range es {
		b.Write(e.Raw)
	}
	return b.Bytes()
}

func seq(es []ledger.Entry) func(func(ledger.Entry, error) bool) {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range es {
			if !yield(e, nil) {
				return
			}
		}
	}
}
