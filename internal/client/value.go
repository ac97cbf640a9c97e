package client

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Obj is an object whose members keep their order when they are written.
type Obj []Field

// Field is one member of an Obj.
type Field struct {
	Key string
	Val any
}

// twice stands for an object in which a key appears more than once. It equals
// no value that setup writes.
type twice struct{ members []any }

// canon writes a value in one form whatever the order of its members and the
// form of its numbers: clients rewrite 10 as 10.0 and sort keys.
func canon(v any) string {
	var b strings.Builder
	writeCanon(&b, v)
	return b.String()
}

func writeCanon(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case Obj:
		writeCanon(b, v.asMap())
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		b.WriteByte('{')
		for _, k := range keys {
			b.WriteString(strconv.Quote(k) + ":")
			writeCanon(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			writeCanon(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case twice:
		b.WriteString("twice")
		writeCanon(b, v.members)
	case string:
		b.WriteString(strconv.Quote(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(canonFloat(v))
	case json.Number:
		b.WriteString(canonNumber(string(v)))
	default: // dates and times of TOML
		fmt.Fprintf(b, "%T(%v)", v, v)
	}
}

// exact is the range within which every integer is a float64 of its own.
const exact = 1 << 53

func canonFloat(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < exact && (f != 0 || !math.Signbit(f)) {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func canonNumber(s string) string {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil && s != "-0" {
		return strconv.FormatInt(i, 10)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.Abs(f) >= exact {
		return s
	}
	return canonFloat(f)
}

// asMap drops the order. A key that appears twice is a mistake in our table and
// shows as a value that never equals what was read.
func (o Obj) asMap() map[string]any {
	m := make(map[string]any, len(o))
	for _, f := range o {
		m[f.Key] = f.Val
	}
	return m
}

// digest is a short name for a value: half a SHA-256 in hex, enough to
// recognise what we wrote ourselves.
func digest(v any) string {
	sum := sha256.Sum256([]byte(canon(v)))
	return hex.EncodeToString(sum[:16])
}

// sum256 is the whole SHA-256 of bytes in hex.
func sum256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// marked reports whether any string in a value matches.
func marked(v any, mark *regexp.Regexp) bool {
	if mark == nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return mark.MatchString(v)
	case []any:
		for _, e := range v {
			if marked(e, mark) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if marked(e, mark) {
				return true
			}
		}
	case twice:
		return marked(v.members, mark)
	}
	return false
}
