package secret

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// token is a synthetic secret, put together here so that the file holds none.
func token(t testing.TB) string {
	t.Helper()
	for _, r := range readRows(t, "C066/secrets.tsv", unescape) {
		if r.kind == "github-classic" {
			return r.value
		}
	}
	t.Fatal("the fixture has no row github-classic")
	return ""
}

func TestFindingSaysWhere(t *testing.T) {
	v := token(t)
	text := "größer: " + v + " Ende"
	got := New(nil).Check([]Field{{"records[0].why", "nothing"}, {"records[0].text", text}})
	want := []Finding{{
		Rule: "github-token", Field: "records[0].text", Start: 10, End: 10 + len(v), CharStart: 9, CharEnd: 8 + len(v),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("findings (-want +got):\n%s", diff)
	}
	var err error = &FoundError{got}
	var found *FoundError
	if !errors.As(err, &found) {
		t.Fatal("not a FoundError")
	}
	const msg = "secret found: github-token in records[0].text, characters 9-48"
	if err.Error() != msg {
		t.Errorf("got  %q\nwant %q", err, msg)
	}
}

// TestMessageNeverHoldsTheValue wants no part of a value in an error, however
// it was disguised, and not even when the name of a field holds it.
func TestMessageNeverHoldsTheValue(t *testing.T) {
	s := New(nil)
	v := token(t)
	texts := []string{v, v[:12] + "\n" + v[12:], v[:9] + "\u200b" + v[9:], strings.ReplaceAll(v, "_", "%5F")}
	for _, text := range texts {
		found := s.Check([]Field{{"meta." + text, "x"}, {"text", text}, {"meta." + text, text}})
		if len(found) != 4 {
			t.Errorf("%d findings, want 4: %v", len(found), found)
		}
		msg := (&FoundError{found}).Error()
		for i := 4; i+6 <= len(v); i++ {
			if strings.Contains(msg, v[i:i+6]) {
				t.Errorf("the message holds part of the value: %s", msg)
				break
			}
		}
		if !strings.Contains(msg, "name of field 1") {
			t.Errorf("the message doesn't say that a name holds the secret: %s", msg)
		}
	}
}

func TestMessageNamesThree(t *testing.T) {
	f := Finding{Rule: "r", Field: "f", CharStart: 1, CharEnd: 9, Form: "split"}
	got := (&FoundError{[]Finding{f, f, f, f, f}}).Error()
	const one = "r in f, characters 1-9 (split)"
	if want := "secret found: " + one + "; " + one + "; " + one + "; and 2 more"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestForms(t *testing.T) {
	v := token(t)
	for form, text := range map[string]string{
		"":            "see " + v + " here",
		"split":       "see " + v[:20] + "\n  " + v[20:] + " here",
		"zero-width":  "see " + v[:20] + "\u200b" + v[20:] + " here",
		"percent":     "see " + strings.ReplaceAll(v, "_", "%5f") + " here",
		"escape":      "see " + strings.ReplaceAll(v, "_", `\u005f`) + " here",
		"entity":      "see " + strings.ReplaceAll(v, "_", "&#x5f;") + " here",
		"terminal":    "see " + v[:20] + "\x1b[1m" + v[20:] + " here",
		"fullwidth":   "see ｇｈ" + v[2:] + " here",
		"homoglyph":   "see gh\u0440" + v[3:] + " here",
		"hex":         "see " + hex.EncodeToString([]byte(v)) + " here",
		"base64":      "see " + base64.StdEncoding.EncodeToString([]byte(v)) + " here",
		"typographic": "", // quotes outside a value are no disguise
	} {
		if text == "" {
			text, form = "see “"+v+"” here", ""
		}
		found := check(t, New(nil), text)
		if len(found) != 1 || found[0].Form != form || found[0].Rule != "github-token" && found[0].Rule != "github-pat" {
			t.Errorf("form %q: found %+v", form, found)
			continue
		}
		rest := text[:found[0].Start] + text[found[0].End:]
		if strings.Trim(strings.Trim(rest, "“”"), " ") == "" || len(rest) > 16 {
			t.Errorf("form %q: %q is left outside the finding", form, rest)
		}
	}
}

func TestAllowedValuesPass(t *testing.T) {
	v := token(t)
	var asked []string
	s := New(func(value string) bool { asked = append(asked, value); return value == v })
	for _, text := range []string{
		v, "it printed " + v + " in the log", "token: " + v, `{"github_token":"` + v + `"}`,
		"remote: https://x-access-token:" + v + "@github.com/o/r", "Authorization: Bearer " + v,
		v[:20] + "\u200b" + v[20:], "https://example.test/?token=" + v + "&x=1",
	} {
		if found := check(t, s, text); len(found) != 0 {
			t.Errorf("an allowed value was found in %q: %v", text, found)
		}
	}
	if len(asked) == 0 {
		t.Error("nobody was asked")
	}
	other := v[:len(v)-1] + "Q"
	if found := check(t, s, v+" and "+other); len(found) != 1 || found[0].Start != len(v)+5 {
		t.Errorf("beside an allowed value: found %v, want the other one", found)
	}
}

func TestMask(t *testing.T) {
	v := token(t)
	f := Field{"tail", "a " + v + " b\npassword=Hunter2!x\nc"}
	found := New(nil).Check([]Field{{"other", v}, f})
	want := "a [secret: github-token] b\npassword=[secret: assigned-password]\nc"
	if got := Mask(f, found); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := Mask(Field{"tail", "clean"}, nil); got != "clean" {
		t.Errorf("got %q", got)
	}
}

// TestLongText wants a secret found at every place of 256 KiB of odd text,
// which also bounds the work: none of these may take more than linear time.
func TestLongText(t *testing.T) {
	const size = 256 << 10
	s := New(nil)
	v := token(t)
	for _, unit := range []string{
		"word ", "token=", "token: x ", "password is ", "a://b:c@", "a:b@", "%25", "sk-", "eyJ.", "-----BEGIN PRIVATE KEY-----", "curl x\n", "curl -u a:b ",
		"Cookie: a=b;", "\xff", "\u200b", "密码是", "\n", "\\", "https://a/secret/", "api_key = a1b2c3d4e5f6g7h8i9j0\n", "6768705f", "A", "&#65;", `"token":"`,
	} {
		text := strings.Repeat(unit, size/len(unit)/2)
		text = text + " \n" + v + " \n" + text
		found := check(t, s, text)
		covered := false
		for _, f := range found {
			covered = covered || f.Start <= len(text)/2 && f.End >= len(text)/2
		}
		if !covered {
			t.Errorf("between %d times %q: not found", size/len(unit), unit)
		}
	}
}

func TestEmptyAndShort(t *testing.T) {
	s := New(nil)
	if got := s.Check(nil); got != nil {
		t.Errorf("no fields: %v", got)
	}
	for _, text := range []string{"", "a", "ab", ":", "=\"", "%", "\\u", "&#", "\x1b[", "key:", "password is", "token=", "://", "@", "-u ", "\xe2\x80"} {
		if got := check(t, s, text); len(got) != 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestLooksSecretFile(t *testing.T) {
	for path, want := range map[string]bool{
		".env": true, "app/.env.local": true, ".envrc": true, "certs/server.PEM": true, "tls.key": true, "/home/ana/.ssh/id_ed25519": true,
		`C:\Users\ana\.aws\credentials`: true, "credentials.json": true, "Credentials": true,
		"": false, "main.go": false, "env": false, "docs/environment.md": false, "key": false, "keys.go": false, "id.go": false, "pem": false, "a.env": false, "my-credentials.go": false, ".env/readme": false,
	} {
		if got := LooksSecretFile(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}
