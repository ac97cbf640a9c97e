package project

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"holdfast/internal/ledger"
)

// walk goes through a JSON value's tokens beside the Go type that it is to
// fill. encoding/json alone takes "Text" for text, the last of two fields, null
// for anything, and half a surrogate pair for U+FFFD.
type walk struct {
	data []byte
	d    *json.Decoder
}

func refuse(path, why string) error {
	if path == "" {
		path = "request"
	}
	return &ledger.FieldError{Field: path, Why: why}
}

// token is the next token with its bytes.
func (w *walk) token() (json.Token, []byte, error) {
	from := w.d.InputOffset()
	t, err := w.d.Token()
	if err != nil {
		return nil, nil, refuse("", fmt.Sprintf("is not valid JSON, at byte %d", w.d.InputOffset()))
	}
	return t, w.data[from:w.d.InputOffset()], nil
}

// value checks one value, of type t.
func (w *walk) value(t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tok, raw, err := w.token()
	if err != nil {
		return err
	}
	ok := false
	switch x := tok.(type) {
	case json.Delim:
		switch {
		case x == '{' && t.Kind() == reflect.Struct:
			return w.object(t, path)
		case x == '[' && t.Kind() == reflect.Slice:
			return w.list(t.Elem(), path)
		}
	case string:
		ok = t.Kind() == reflect.String
		if ok && halfSurrogate(raw) {
			return refuse(path, "has half of a surrogate pair")
		}
	case bool:
		ok = t.Kind() == reflect.Bool
	case json.Number:
		_, err := strconv.ParseInt(x.String(), 10, 64)
		ok = err == nil && (t.Kind() == reflect.Int || t.Kind() == reflect.Int64)
	}
	if !ok {
		return refuse(path, "must be "+wanted(t))
	}
	return nil
}

func (w *walk) object(t reflect.Type, path string) error {
	fields := map[string]reflect.Type{}
	collectFields(t, fields)
	seen := map[string]bool{}
	for w.d.More() {
		tok, raw, err := w.token()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		field, known := fields[name]
		switch {
		case !known:
			return refuse(dot(path, nameLike(name)), "is not a field that is known here")
		case seen[name]:
			return refuse(dot(path, name), "stands twice in one object")
		case halfSurrogate(raw):
			return refuse(path, "has half of a surrogate pair")
		}
		seen[name] = true
		if err := w.value(field, dot(path, name)); err != nil {
			return err
		}
	}
	_, _, err := w.token()
	return err
}

func (w *walk) list(t reflect.Type, path string) error {
	if path == "" {
		path = "request"
	}
	for i := 0; w.d.More(); i++ {
		if err := w.value(t, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	_, _, err := w.token()
	return err
}

// collectFields lists a struct's fields by the names that JSON has for them.
func collectFields(t reflect.Type, into map[string]reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			collectFields(f.Type, into)
		case name != "" && name != "-":
			into[name] = f.Type
		}
	}
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return `a text; leave it out to leave it as it is, give "" to clear it`
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	}
	return "a whole number"
}

// nameLike repeats an unknown name only if it looks like one: a secret that
// stands in a name's place is not shown.
func nameLike(s string) string {
	digits := 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '_', r == '-':
		default:
			return "(a name that is not shown)"
		}
	}
	if s == "" || len(s) > 32 || digits > 4 {
		return "(a name that is not shown)"
	}
	return s
}

// halfSurrogate reports whether a JSON string's bytes hold a \u escape that is
// half of a surrogate pair, which no UTF-8 can stand for.
func halfSurrogate(raw []byte) bool {
	high := false // the escape just before was a high half
	for i := 0; i < len(raw); i++ {
		var r uint64
		if raw[i] == '\\' && i+1 < len(raw) {
			i++
			if raw[i] == 'u' && i+4 < len(raw) {
				r, _ = strconv.ParseUint(string(raw[i+1:i+5]), 16, 32)
				i += 4
			}
		}
		isHigh, isLow := r >= 0xD800 && r <= 0xDBFF, r >= 0xDC00 && r <= 0xDFFF
		if high != isLow {
			return true
		}
		high = isHigh
	}
	return high
}
