package project

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"holdfast/internal/ledger"
)

// MaxRequest is the largest request or input file, in bytes.
const MaxRequest = 4 << 20

// Decode reads one JSON value into v, a pointer, and refuses what it does not
// fully understand: bad UTF-8, half surrogate pairs, unknown or repeated
// fields, other spellings of a name, values of another type (null among them),
// anything behind the value. The error is a *ledger.FieldError that names the
// field by its path, and never a value, or a *ledger.LimitError.
func Decode(data []byte, v any) error { return decode(data, v, "") }

// decode is Decode with the path of the value itself.
func decode(data []byte, v any, path string) error {
	if len(data) > MaxRequest {
		return &ledger.LimitError{What: "a request", Limit: MaxRequest, Got: len(data), Unit: "bytes"}
	}
	if !utf8.Valid(data) {
		return &ledger.FieldError{Field: "request", Why: "is not valid UTF-8"}
	}
	w := &walk{data: data, d: json.NewDecoder(bytes.NewReader(data))}
	w.d.UseNumber()
	if err := w.value(reflect.TypeOf(v).Elem(), path); err != nil {
		return err
	}
	if w.d.More() {
		return &ledger.FieldError{Field: "request", Why: "has something behind its value"}
	}
	if err := json.Unmarshal(data, v); err != nil { // such as a number that is too large
		return &ledger.FieldError{Field: "request", Why: "has a value that is out of range, or something behind its value"}
	}
	return nil
}

// byteOrderMark is what some editors write at the start of a file.
const byteOrderMark = "\xef\xbb\xbf"

// DecodeRecords reads one record or a list of them.
func DecodeRecords(data []byte) ([]RecordRequest, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) > 0 && t[0] == '[' {
		var list []RecordRequest
		err := decode(data, &list, "records")
		return list, err
	}
	var one RecordRequest
	if err := Decode(data, &one); err != nil {
		return nil, err
	}
	return []RecordRequest{one}, nil
}
