package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"holdfast/internal/ledger"
)

// MaxRequest is the largest request or input file, in bytes.
const MaxRequest = 4 << 20

// Decode reads one JSON value into v and refuses what it does not fully
// understand: bad UTF-8, unknown or repeated fields, values of another type,
// anything behind the value. The error names the field, never a value.
func Decode(data []byte, v any) error {
	if len(data) > MaxRequest {
		return &ledger.LimitError{What: "a request", Limit: MaxRequest, Got: len(data), Unit: "bytes"}
	}
	if !utf8.Valid(data) {
		return &ledger.FieldError{Field: "request", Why: "is not valid UTF-8"}
	}
	if err := checkDistinct(data); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return decodeError(err)
	}
	return nil
}

func decodeError(err error) error {
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := te.Field
		if field == "" {
			field = "request"
		}
		return &ledger.FieldError{Field: visible(field), Why: "must not be a " + te.Value + " (" + kindOf(te.Type.String()) + " is expected)"}
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return &ledger.FieldError{Field: clip(strings.Trim(name, `"`), 60), Why: "is not a field that is known here"}
	}
	return &ledger.FieldError{Field: "request", Why: "is not valid JSON"}
}

func kindOf(goType string) string {
	switch t := strings.TrimLeft(goType, "*"); {
	case t == "string", t == "bool":
		return t
	case strings.HasPrefix(t, "int"):
		return "a whole number"
	case strings.HasPrefix(t, "[]"):
		return "a list"
	}
	return "an object"
}

// checkDistinct walks the value's tokens: valid JSON, no name twice in one
// object, nothing behind it.
func checkDistinct(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []map[string]bool // per open object its names; nil for a list
	name := false              // the next string is a name
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(open) > 0 || d.InputOffset() == 0 {
				return &ledger.FieldError{Field: "request", Why: "is not valid JSON"}
			}
			return nil
		}
		if err != nil || len(open) > 64 {
			return &ledger.FieldError{Field: "request", Why: fmt.Sprintf("is not valid JSON, at byte %d", d.InputOffset())}
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			name = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if name {
				names := open[len(open)-1]
				if key := strings.ToLower(t); names[key] {
					return &ledger.FieldError{Field: clip(t, 60), Why: "stands twice in one object"}
				} else {
					names[key] = true
				}
				name = false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
		if len(open) == 0 && d.More() {
			return &ledger.FieldError{Field: "request", Why: "has something behind its value"}
		}
	}
}

// DecodeRecords reads one record or a list of them.
func DecodeRecords(data []byte) ([]RecordRequest, error) {
	if t := bytes.TrimLeft(data, " \t\r\n"); len(t) > 0 && t[0] == '[' {
		var list []RecordRequest
		err := Decode(data, &list)
		return list, err
	}
	var one RecordRequest
	if err := Decode(data, &one); err != nil {
		return nil, err
	}
	return []RecordRequest{one}, nil
}
