package secret

import (
	"math/rand"
	"strings"
	"testing"
)

// TestRandomTellsTokensFromWords draws tokens by lot and takes words, names and
// paths from the corpus of clean texts.
func TestRandomTellsTokensFromWords(t *testing.T) {
	const (
		base62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
		base36 = "abcdefghijklmnopqrstuvwxyz0123456789"
	)
	r := rand.New(rand.NewSource(11))
	for _, alphabet := range []string{base62, base32, base36} {
		for _, n := range []int{16, 20, 32, 40, 64} {
			const rounds = 2000
			missed := 0
			for range rounds {
				b := make([]byte, n)
				for i := range b {
					b[i] = alphabet[r.Intn(len(alphabet))]
				}
				if !look(string(b)).random() {
					missed++
				}
			}
			if missed*100 > rounds*5 {
				t.Errorf("%d of %d tokens of %d characters from %s… taken for words", missed, rounds, n, alphabet[:4])
			}
		}
	}
	words, wrong := 0, 0
	for _, l := range cleanLines(t) {
		for _, w := range strings.FieldsFunc(l, func(r rune) bool { return strings.ContainsRune(separators+",", r) }) {
			if len(w) < 8 || isHex(strings.ToLower(w)) || len(w) > 24 {
				continue
			}
			words++
			if look(w).random() {
				wrong++
			}
		}
	}
	if words < 250 || wrong*100 > words*6 {
		t.Errorf("%d of %d words taken for tokens", wrong, words)
	}
}

func TestPlaceholder(t *testing.T) {
	for v, want := range map[string]bool{
		"$TOKEN": true, "${TOKEN}": true, "$(cat x)": true, "<token>": true, "{{ token }}": true, "%TOKEN%": true, "[redacted]": true,
		"xxxxxxxx": true, "********": true, "sk-...": true, "changeme": true, "your-key-123": true, "MY_API_KEY": true, "getToken()": true,
		"os.Getenv(\"X\")": true, "op://a/b/c": true, "/run/secrets/x": true, "12345678": true, "my-secret-token": true, "AKIAIOSFODNN7EXAMPLE": true,
		"hunter2": false, "Summer2024!": false, "my-secret-9f3k2": false, "$2b$12$K3Jq": false, "7f9b2c4e1d8a6053": false, "p@ss": false,
	} {
		if got := placeholder(v); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	for name, want := range map[string]struct {
		k kind
		t trust
	}{
		"token": {kindToken, trustFull}, "reset_token": {kindToken, trustFull}, "pushToken": {kindToken, trustFull}, "VERIFICATION_TOKEN": {kindToken, trustFull},
		"x-api-key": {kindToken, trustFull}, "APIKey": {kindToken, trustFull}, "clientSecret2": {kindToken, trustFull}, "API_KEY_PROD": {kindToken, trustFull}, "accesstoken": {kindToken, trustFull},
		"DB_PASSWORD": {kindPassword, trustFull}, "MYSQL_PWD": {kindPassword, trustFull}, "smtp_pass": {kindPassword, trustFull}, "dbpass": {kindPassword, trustFull},
		"secret_blue": {kindToken, trustMedium}, "token_count": {kindToken, trustNone}, "max_tokens": {kindToken, trustFull}, "password_policy": {kindPassword, trustNone}, "apiKeyEnv": {kindToken, trustNone},
		"secret_santa": {kindToken, trustNone}, "tokenizer": {}, "keyboard_layout": {}, "monkey": {}, "primary_key": {}, "compass": {}, "bypass": {}, "passenger": {}, "author": {}, "keyword": {},
	} {
		if k, tr := classify(subwords(name)); k != want.k || k != kindNone && tr != want.t {
			t.Errorf("%s: %v %v, want %v", name, k, tr, want)
		}
	}
}
