package ledger

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The lists of known names are those of the types.
func TestKnownNames(t *testing.T) {
	for _, c := range []struct {
		typ   reflect.Type
		names []string
	}{
		{reflect.TypeFor[Head](), headNames}, {reflect.TypeFor[Pos](), posNames}, {reflect.TypeFor[TxnHead](), txnNames},
	} {
		var want []string
		for _, f := range reflect.VisibleFields(c.typ) {
			if !f.Anonymous {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				want = append(want, name)
			}
		}
		if !slices.Equal(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(c.names))) {
			t.Errorf("%s has fields %v, known are %v", c.typ, want, c.names)
		}
	}
}

// heads are seeds: one that the quick reading takes, and neighbours of it.
var heads = []string{
	`{"v":1,"rev":7,"type":"record","at":"2026-11-30T20:00:00.000Z","prev":"ab","recovery":"","key_sha256":"","body_sha256":"cd","seal_key":""}`,
	`{"v":1,"rev":0,"type":"ledger","at":"","prev":"","recovery":"","key_sha256":"","body_sha256":"","seal_key":"","ledger":"x","tool":"1"}`,
	`{"v":1,"rev":9223372036854775807,"type":"x","at":"","prev":"","recovery":"","key_sha256":"","body_sha256":"","seal_key":""}`,
	`{"v":1,"rev":00,"type":"record","at":"","prev":"","recovery":"","key_sha256":"","body_sha256":"","seal_key":""}`,
	`{"v":1,"rev":+1,"type":"record","at":"","prev":"","recovery":"","key_sha256":"","body_sha256":"","seal_key":""}`,
	`{"v":1,"rev":1_0,"type":"record","at":"","prev":"","recovery":"","key_sha256":"","body_sha256":"","seal_key":""}`,
	`{"v":1,"rev":1,"type":"rec\u006frd","at":"","prev":"","recovery":"","key_sha256":"","body_sha256":"","seal_key":""}`,
	`{"v":1,"rev":1,"type":"rec<&>\u2028","at":"","prev":"","recovery":"","key_sha256":"","body_sha256":"","seal_key":"","txn":{"transaction":""}}`,
	`{"v":2}`, `{}`, ``,
}

// FuzzQuickHead: what the quick reading takes, the full one reads alike; and a
// head that the full reading knows is written again as the same bytes.
func FuzzQuickHead(f *testing.F) {
	for _, h := range heads {
		f.Add([]byte(h))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		quick, full := Entry{HeadRaw: head}, Entry{HeadRaw: head}
		took := quick.quickHead()
		err := full.fullHead()
		if took && (err != nil || !reflect.DeepEqual(quick.Head, full.Head) || full.Newer != !KnownType(full.Type)) {
			t.Errorf("quick %+v, full %+v, newer %v, %v", quick.Head, full.Head, full.Newer, err)
		}
		if err != nil || full.Newer && KnownType(full.Type) {
			return
		}
		if full.V == FormatVersion && !unknownTop(head) {
			again, err := marshal(&full.Head)
			if err != nil || string(again) != string(head) {
				t.Errorf("accepted %s, which is written %s", head, again)
			}
		}
	})
}

func unknownTop(head []byte) bool {
	names, _ := objectFields(head)
	return unknownNames(names, head)
}

// FuzzSplit: the parts that a line is taken apart into are put together again
// as the line.
func FuzzSplit(f *testing.F) {
	for _, h := range heads {
		f.Add(assemble([]byte(h), []byte(`{"a":"}"}`), hexSum([]byte(h)), ""))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Entry
		if len(line) == 0 || line[len(line)-1] != '\n' || !e.split(line[:len(line)-1]) || e.Newer {
			return
		}
		if again := assemble(e.HeadRaw, e.BodyRaw, e.Hash, e.Seal); string(again) != string(line) {
			t.Errorf("%q is put together as %q", line, again)
		}
	})
}
