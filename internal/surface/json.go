package surface

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// maxJSON is the largest file of which parts can be left out.
const maxJSON = 8 << 20

// sumJSON is the SHA-256 of a JSON file without the values that the pointers
// (RFC 6901) name: of its compact form with the names of every object sorted
// and numbers as they were written. A file that isn't one JSON value is hashed
// as it is.
func sumJSON(b []byte, pointers []string) [32]byte {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return sha256.Sum256(b)
	}
	if _, err := d.Token(); err != io.EOF {
		return sha256.Sum256(b)
	}
	for _, p := range pointers {
		v = without(v, steps(p))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return sha256.Sum256(b)
	}
	return sha256.Sum256(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// steps splits a pointer.
func steps(pointer string) []string {
	var out []string
	for s := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		out = append(out, strings.NewReplacer("~1", "/", "~0", "~").Replace(s))
	}
	return out
}

// without is v less the value that the steps lead to. In a list the value
// becomes null, so that the others keep their places.
func without(v any, steps []string) any {
	switch x := v.(type) {
	case map[string]any:
		inner, ok := x[steps[0]]
		switch {
		case !ok:
		case len(steps) == 1:
			delete(x, steps[0])
		default:
			x[steps[0]] = without(inner, steps[1:])
		}
	case []any:
		i, err := strconv.Atoi(steps[0])
		switch {
		case err != nil || i < 0 || i >= len(x):
		case len(steps) == 1:
			x[i] = nil
		default:
			x[i] = without(x[i], steps[1:])
		}
	}
	return v
}
