package project

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"holdfast/internal/ledger"
)

// What can take something away needs this machine's seal: where the key can't be
// read those verbs refuse, and ordinary saves go on, unsealed and unprotected.
func TestWithoutTheSealKey(t *testing.T) {
	b := newBench(t)
	b.three()
	id := b.open(codex).log.ID()
	if id == "" {
		p := b.open(codex)
		brief(t, p)
		id = p.log.ID()
	}
	if err := os.Rename(filepath.Join(b.w.Home, ".local"), filepath.Join(b.w.Home, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.w.Home, ".local"), nil, 0o600); err != nil { // no folder can be made
		t.Fatal(err)
	}
	b.w.Env = append(b.w.Env, "HOLDFAST_ADOPT="+id)
	ctx := context.Background()
	p := b.open(person)
	for name, do := range map[string]func() error{
		"confirm": func() error { return second(p.Confirm(ctx, ConfirmRequest{IDs: []string{"a"}})) },
		"allow":   func() error { return second(p.Allow(ctx, "a value")) },
		"redact": func() error {
			d, err := p.Redact(ctx, RedactRequest{IDs: []string{"a"}})
			if err != nil {
				return err
			}
			return second(p.Redact(ctx, RedactRequest{IDs: []string{"a"}, Expect: d.Fingerprint}))
		},
	} {
		if got := refused(t, do(), "unsealed"); got.Exit != ExitBusy {
			t.Errorf("%s: exit %d", name, got.Exit)
		}
	}
	s, err := b.open(codex).Record(ctx, []RecordRequest{request(ledger.KindNote, "d", "about d")})
	if err != nil || !s.Durable || s.Protected || len(s.Warnings) == 0 {
		t.Errorf("save: %+v, %v", s, err)
	}
	if got := ids(brief(t, b.open(codex))); got != "d c b a" {
		t.Errorf("has %q", got)
	}
}
