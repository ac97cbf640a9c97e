package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func cleanLines(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash("testdata/clean.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if l != "" && !strings.HasPrefix(l, "# ") {
			out = append(out, l)
		}
	}
	if len(out) < 150 {
		t.Fatalf("the corpus has %d lines, want at least 150", len(out))
	}
	return out
}

// TestCleanTextsPass screens each line of the corpus alone, all of them in one
// text, and in paragraphs of six, where names and values of different lines
// come near each other.
func TestCleanTextsPass(t *testing.T) {
	s := New(nil)
	lines := cleanLines(t)
	for _, l := range lines {
		for _, f := range check(t, s, l) {
			t.Errorf("%v: %q in %q", f, l[f.Start:f.End], l)
		}
	}
	for i := 0; i+6 <= len(lines); i++ {
		for _, sep := range []string{"\n", " "} {
			text := strings.Join(lines[i:i+6], sep)
			for _, f := range check(t, s, text) {
				t.Errorf("lines %d-%d joined by %q: %v: %q", i, i+6, sep, f, text[f.Start:f.End])
			}
		}
	}
}

// cleanPairs are names and values that look like assignments of secrets and
// aren't. They must pass in every shape that TestCaseC067 writes.
var cleanPairs = [][2]string{
	{"token_count", "4096"}, {"max_tokens", "200000"}, {"tokenLimit", "8192"}, {"token_budget", "1500000"}, {"tokens", "18234"},
	{"tokenizer", "cl100k_base"}, {"tokenizer_name", "o200k_base"}, {"token_type", "bearer"}, {"token_ttl", "15m"}, {"tokenExpiry", "2026-11-30T20:00:00Z"},
	{"token_endpoint", "https://auth.example.test/oauth2/token"}, {"token_file", "/var/run/secrets/token"}, {"token_hash", "sha256:9b2a1c0d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b"},
	{"token_id", "014df517-39d1-4453-b7b3-9930c563627b"}, {"token_env", "GITHUB_TOKEN"}, {"token_url", "https://example.test/token"}, {"token_prefix", "ghp_"},
	{"password_policy", "min-12-chars"}, {"password_min_length", "12"}, {"passwordHash", "argon2id"}, {"password_strategy", "bcrypt-12-rounds"}, {"password_field", "user_password_v2"},
	{"password_required", "true"}, {"password_file", "/run/secrets/db_password"}, {"password_reset_at", "2026-11-30"}, {"passthrough", "enabled-v2"}, {"bypass", "node-18-arm64"},
	{"compass", "north-north-west-22"}, {"passenger_count", "12"}, {"secret_santa", "true"}, {"secret_santa", "Group7-Draw-2024"}, {"secret_name", "prod/db/main-2024"}, {"secretVersion", "v17"},
	{"secret_store", "aws-secretsmanager-eu-west-1"}, {"secret_ref", "projects/acme/secrets/db-password/versions/3"}, {"secret_count", "42"}, {"secret_rotation", "every-90-days"},
	{"api_key_env", "DOCS_API_KEY"}, {"api_key_id", "7"}, {"api_key_name", "ci-2024-05"}, {"api_key_header", "x-api-key"}, {"api_version", "2024-05-01-preview"}, {"api_url", "https://api.example.test/v2"},
	{"key_id", "2024-05-primary"}, {"key_name", "users-by-email-v2"}, {"primary_key", "user_id"}, {"foreign_key", "org_id"}, {"sort_key", "created_at"}, {"cache_key", "users-list-v2-2024"}, {"partition_key", "tenant-42"},
	{"keyboard_layout", "us-intl"}, {"keymap", "emacs-29.4"}, {"monkey_patch", "urllib3-1.26.18"}, {"keyword", "sha256-hashed"}, {"public_key_file", "id_ed25519.pub"}, {"key_size", "4096"}, {"key_algorithm", "ed25519"},
	{"cookie_name", "__Host-sid"}, {"cookie_policy", "strict-2024"}, {"cookie_max_age", "1209600"}, {"session_timeout", "1800"}, {"session_count", "12"}, {"credential_type", "oauth2"}, {"credentials_path", "~/.aws/credentials"},
	{"auth_method", "oauth2-pkce"}, {"authType", "OIDC"}, {"author", "ana-maria-92"}, {"auth_version", "v2.1.0"}, {"authority", "https://login.example.test/common"},
	{"token", "$DOCS_TOKEN"}, {"token", "${DOCS_TOKEN}"}, {"token", "$(cat /run/token)"}, {"token", "<token>"}, {"token", "null"}, {"token", "none"}, {"token", "YOUR_TOKEN"}, {"token", "xxxxxxxxxxxxxxxx"}, {"token", "process.env.DOCS_TOKEN"},
	{"token", "********"}, {"token", "[redacted]"}, {"token", "expired"}, {"token", "string"}, {"token", "%TOKEN%"}, {"token", "{{token}}"}, {"token", "token-goes-here"},
	{"password", "<your-password>"}, {"password", "changeme"}, {"password", "change-me-please"}, {"password", "example"}, {"password", "required"}, {"password", "${DB_PASSWORD:-postgres}"}, {"password", "REDACTED"}, {"password", "..."},
	{"password", "os.environ.get"}, {"password", "file:/run/secrets/db"}, {"password", "op://Platform/db/password"}, {"api_key", "YOUR_API_KEY_HERE"}, {"api_key", "sk-xxxxxxxxxxxxxxxxxxxx"}, {"api_key", "your-api-key"}, {"api_key", "insert-your-key-here"},
	{"client_secret", "<client-secret>"}, {"client_secret", "vault:secret/data/oauth#client_secret"}, {"secret", "true"}, {"secret", "optional"}, {"MYSQL_PWD", "$MYSQL_ROOT_PASSWORD"}, {"PWD", "/home/ana/src/app2"}, {"OLDPWD", "/srv/www/app-v2"},
}

func TestCleanAssignmentsPass(t *testing.T) {
	s := New(nil)
	for _, p := range cleanPairs {
		for _, set := range []map[string]func(name, value string) string{shapes, moreShapes} {
			for shape, write := range set {
				text := write(p[0], p[1])
				for _, f := range check(t, s, text) {
					t.Errorf("%s: %v: %q in %q", shape, f, text[f.Start:f.End], text)
				}
			}
		}
	}
}
