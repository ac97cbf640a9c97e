package project

import (
	"context"
	"os"
	"testing"
	"time"

	"holdfast/internal/ledger"
)

// A newest revision without its end, as a writer leaves it that died where there
// are no hard links: readers answer at once with what stands before it, writers
// wait once to the time-out, and from then on it is damage.
func TestTornNewestRevision(t *testing.T) {
	b := newBench(t)
	b.three()
	if err := os.WriteFile(b.revision("4"), []byte(`{"head":{"v":1,"rev":4`), 0o400); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	b.w.Env = append(b.w.Env, "HOLDFAST_LOCK_TIMEOUT=1h") // a reader that waits for it would hang
	for range 3 {
		br, err := b.open(codex).Resume(ctx, ResumeRequest{})
		refused(t, err, "busy")
		if !br.Incomplete || ids(br) != "c b a" {
			t.Errorf("incomplete %v, has %q", br.Incomplete, ids(br))
		}
	}
	b.w.Env = append(b.w.Env, "HOLDFAST_LOCK_TIMEOUT=300ms")
	p := b.open(codex)
	_, err := p.Record(ctx, []RecordRequest{request(ledger.KindNote, "d", "about d")})
	refused(t, err, "damaged")
	b.w.Env = append(b.w.Env, "HOLDFAST_LOCK_TIMEOUT=1h")
	started := time.Now()
	_, err = b.open(codex).Record(ctx, []RecordRequest{request(ledger.KindNote, "d", "about d")})
	refused(t, err, "damaged")
	br, err := b.open(codex).Resume(ctx, ResumeRequest{})
	refused(t, err, "damaged")
	if !br.Incomplete || ids(br) != "c b a" {
		t.Errorf("incomplete %v, has %q", br.Incomplete, ids(br))
	}
	t.Logf("refused within %v", time.Since(started))
}
