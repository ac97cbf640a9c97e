package archive

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/scrypt"
)

// work is a ledger as memoir writes it, made from the facts of the format.
const work = `{
  "checks": [
    {"branch": "main", "environment": "local", "exit_code": 1, "id": "unit", "inputs_stable": true, "more": {"deep": [1.50]}, "output_bytes": 3, "output_sha256": "aa", "revision": 2, "signal": null, "started_at": "2026-05-01T10:00:00.000Z", "timed_out": false}
  ],
  "records": [
    {"branch": null, "id": "a", "kind": "goal", "observed_head": null, "recorded_at": "2026-05-01T09:00:00.000Z", "revision": 1, "scope": "project", "source": "user", "status": "open", "text": "A"}
  ],
  "recovery_id": "r",
  "retractions": [
    {"branch": null, "category": "record", "id": "a", "recorded_at": "2026-05-01T11:00:00.000Z", "revision": 3}
  ],
  "revision": 3,
  "updated_at": "2026-05-01T11:00:00.000Z",
  "version": 1
}
`

// sealMemoir encrypts as memoir does.
func sealMemoir(t testing.TB, text, passphrase string) []byte {
	t.Helper()
	salt, iv := bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{9}, 12)
	key, err := scrypt.Key([]byte(passphrase), salt, 16384, 8, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(map[string]any{"type": "memoir-project-handoff", "version": 1, "ledger": json.RawMessage(text)})
	if err != nil {
		t.Fatal(err)
	}
	sealed := gcm.Seal(nil, iv, plain, nil)
	cut := len(sealed) - 16
	return bytes.Join([][]byte{[]byte("MEMOIR01"), salt, iv, sealed[cut:], sealed[:cut]}, nil)
}

func TestReadMemoir(t *testing.T) {
	plain, err := ReadMemoir("work.json", []byte(work), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(plain.Records) != 1 || len(plain.Checks) != 1 || len(plain.Retractions) != 1 || plain.Revision != 3 || !strings.Contains(string(plain.Checks[0].Raw), "1.50") {
		t.Errorf("%+v", plain)
	}
	sum := sha256.Sum256([]byte(work))
	if _, err := ReadMemoir(fmt.Sprintf("x/r3-%x.json", sum), []byte(work), ""); err != nil {
		t.Error("a snapshot of its name:", err)
	}
	for _, name := range []string{fmt.Sprintf("r4-%x.json", sum), "r3-" + strings.Repeat("0", 64) + ".json"} {
		if _, err := ReadMemoir(name, []byte(work), ""); !isBad(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	export := sealMemoir(t, work, "short")
	opened, err := ReadMemoir("handoff", export, "short")
	if err != nil {
		t.Fatal(err)
	}
	opened.Checks[0].Raw = plain.Checks[0].Raw // the same values, without the white space
	if d := cmp.Diff(plain, opened); d != "" {
		t.Error(d)
	}
	if _, err := ReadMemoir("handoff", export, "other"); !errors.Is(err, ErrKey) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	written, err := WriteMemoir(plain)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadMemoir("work.json", written, "")
	if err != nil || len(again.Checks) != 1 {
		t.Fatal(err)
	}
	plain.Checks[0].Raw, again.Checks[0].Raw = nil, nil // the same values, indented
	if d := cmp.Diff(plain, again); d != "" {
		t.Error(d)
	}
}

func isBad(err error) bool {
	_, bad := errors.AsType[*BadError](err)
	return bad
}

// TestMemoirExportIsWholeOrRefused: one bit flipped anywhere, or cut at any length.
func TestMemoirExportIsWholeOrRefused(t *testing.T) {
	export := sealMemoir(t, work, "pass")
	for i := 0; i < len(export); i += 1 + len(export)/60 {
		flipped := bytes.Clone(export)
		flipped[i] ^= 1 << (i % 8)
		if _, err := ReadMemoir("x", flipped, "pass"); err == nil {
			t.Errorf("byte %d flipped: it is read", i)
		}
		if _, err := ReadMemoir("x", export[:i], "pass"); err == nil {
			t.Errorf("cut at %d: it is read", i)
		}
	}
}

func TestReadMemoirRefuses(t *testing.T) {
	swap := func(old, text string) string { return strings.Replace(work, old, text, 1) }
	for name, text := range map[string]string{
		"empty": "", "no JSON": "hello", "a list": "[]", "cut": work[:200], "NUL": swap(`"A"`, "\"A\x00\""), "not UTF-8": swap(`"A"`, "\"\xff\""),
		"twice": swap(`"version": 1`, `"version": 1, "version": 1`), "twice in another case": swap(`"version": 1`, `"version": 1, "Version": 1`),
		"another name": swap(`"version": 1`, `"version": 1, "x": 1`), "no records": swap(`"records"`, `"record"`), "behind its end": work + "{}",
		"another scope": swap(`"project"`, `"global"`), "from the future": swap(`"revision": 1,`, `"revision": 9,`), "a category": swap(`"category": "record"`, `"category": "x"`),
		"deep": swap(`[1.50]`, strings.Repeat("[", 100)+strings.Repeat("]", 100)), "a receipt without an id": swap(`"id": "unit"`, `"id": ""`),
		"huge": swap(`"A"`, `"`+strings.Repeat("A", MaxMemoir)+`"`),
	} {
		if m, err := ReadMemoir("work.json", []byte(text), ""); !isBad(err) {
			t.Errorf("%s: %+v, %v", name, m, err)
		} else if strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: the error shows content: %v", name, err)
		}
	}
	_, err := ReadMemoir("work.json", []byte(swap(`"version": 1`, `"version": 2`)), "")
	if n, ok := errors.AsType[*NewerError](err); !ok || n.V != 2 {
		t.Errorf("version 2: %v", err)
	}
}

func FuzzReadMemoir(f *testing.F) {
	f.Add([]byte(work))
	f.Add([]byte(`{"version":1,"revision":0,"records":[],"checks":[],"retractions":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if IsMemoirExport(b) {
			return // the key takes its time
		}
		m, err := ReadMemoir("work.json", b, "")
		if err != nil {
			return
		}
		text, err := WriteMemoir(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMemoir("work.json", text, ""); err != nil && len(text) <= MaxMemoir {
			t.Fatalf("what was written is not read: %v", err)
		}
	})
}
