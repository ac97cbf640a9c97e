package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	agelib "filippo.io/age"

	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/recovery"
)

// sick is a project with some saves, and the places of its files.
type sick struct {
	*bench
	id  string
	rev string // folder of revisions
}

func newSick(t testing.TB, saves int) *sick {
	b := newBench(t)
	b.w.Env = append(b.w.Env, "HOLDFAST_LOCK_TIMEOUT=100ms")
	p := b.open(codex)
	for i := range saves {
		save(t, p, request("note", fmt.Sprint("n-", i+1), fmt.Sprint("text ", i+1)))
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &sick{b, p.LedgerID(), filepath.Join(b.dir, ".holdfast", "gen", "0001", "rev")}
}

func (s *sick) mirror() string {
	return filepath.Join(s.w.Home, ".local", "state", "holdfast", s.id, "mirror.jsonl")
}

func (s *sick) revision(n int) string { return filepath.Join(s.rev, fmt.Sprintf("%08d.json", n)) }

func (s *sick) change(path string, f func([]byte) []byte) {
	s.t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err == nil {
		err = os.WriteFile(path, f(b), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// recover previews and applies.
func (s *sick) recover(q RecoverRequest) (Recovery, error) {
	s.t.Helper()
	ctx := context.Background()
	p := s.open(person)
	r, err := p.Recover(ctx, q)
	if err != nil {
		return r, err
	}
	q.Expect = r.Fingerprint
	return p.Recover(ctx, q)
}

// all lists the notes that can be resumed.
func (s *sick) all(n int) {
	s.t.Helper()
	b, err := s.open(codex).Resume(context.Background(), ResumeRequest{All: true})
	if err != nil {
		s.t.Fatalf("resume: %v", err)
	}
	if len(b.Records) != n {
		s.t.Fatalf("%d records, want %d: %s", len(b.Records), n, ids(b))
	}
}

func TestRecoverAt(t *testing.T) {
	s := newSick(t, 5)
	r, err := s.recover(RecoverRequest{At: num(2)})
	if err != nil || !r.Applied || r.By != recovery.ByEntry || len(r.Hidden) != 3 || r.NewRevision != 6 {
		t.Fatalf("%v: %+v", err, r)
	}
	s.all(2)
	ctx := context.Background()
	p := s.open(codex)
	if _, err := p.Record(ctx, []RecordRequest{request("note", "x", "x")}); err == nil {
		t.Fatal("an agent that resumed before the recovery could save")
	}
	q := request("note", "x", "x")
	q.ExpectedRecovery = &r.Generation
	save(t, p, q)
	s.all(3)
	if _, err := s.open(person).Recover(ctx, RecoverRequest{At: num(2), Expect: r.Fingerprint}); err == nil {
		t.Fatal("a fingerprint worked twice")
	} else if _, used := errors.AsType[*recovery.UsedError](err); !used {
		t.Fatal(err)
	}
	if _, err := s.recover(RecoverRequest{At: num(99)}); err == nil {
		t.Fatal("there is no revision 99")
	}
}

// TestRecoverStale: a save between preview and apply makes the preview stale.
func TestRecoverStale(t *testing.T) {
	s := newSick(t, 3)
	ctx := context.Background()
	p := s.open(person)
	r, err := p.Recover(ctx, RecoverRequest{At: num(1)})
	if err != nil {
		t.Fatal(err)
	}
	save(t, p, request("note", "later", "x"))
	_, err = p.Recover(ctx, RecoverRequest{At: num(1), Expect: r.Fingerprint})
	if _, stale := errors.AsType[*FingerprintError](err); !stale {
		t.Fatal(err)
	}
	s.all(4)
}

type keyPair struct{ public, file string }

func newKey(t testing.TB) keyPair {
	t.Helper()
	id, err := agelib.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(file, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return keyPair{id.Recipient().String(), file}
}

func TestRecoverFromExport(t *testing.T) {
	s := newSick(t, 4)
	ctx := context.Background()
	key := newKey(t)
	out := filepath.Join(filepath.Dir(s.dir), "x.age")
	if _, err := s.open(person).Backup(ctx, BackupRequest{Output: out, Recipients: []string{key.public}}); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{filepath.Join(s.dir, ".holdfast"), filepath.Join(s.w.Home, ".local")} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.recover(RecoverRequest{From: out, Identity: newKey(t).file}); err == nil {
		t.Fatal("another key opened it")
	}
	r, err := s.recover(RecoverRequest{From: out, Identity: key.file})
	if err != nil || !r.Applied {
		t.Fatalf("%v: %+v", err, r)
	}
	s.all(4)
	save(t, s.open(person), request("note", "later", "x"))
	s.all(5)
	// An older export is a revision of the chain by now.
	r, err = s.recover(RecoverRequest{From: out, Identity: key.file})
	if err != nil || r.By != recovery.ByEntry {
		t.Fatalf("%v: %+v", err, r)
	}
	s.all(4)
}

// TestRecoverKilled: death at any step of apply leaves the old ledger or the new
// one, and the same apply goes on.
func TestRecoverKilled(t *testing.T) {
	const saves = 4
	for n := 1; ; n += 4 {
		s := newSick(t, saves)
		s.change(s.revision(2), func(b []byte) []byte { return b[:9] })
		before := manifest(t, s.rev)
		ctx := context.Background()
		r, err := s.open(person).Recover(ctx, RecoverRequest{})
		if err != nil {
			t.Fatal(err)
		}
		steps, dead := 0, errors.New("killed")
		layer := s.w.Layer
		s.w.Layer = &durable.Layer{Fault: func(op durable.Op, name string) error {
			switch op {
			case durable.OpCreate, durable.OpWrite, durable.OpSync, durable.OpLink, durable.OpRename, durable.OpRemove, durable.OpSyncDir, durable.OpMkdir, durable.OpChmod:
				if steps++; steps >= n {
					return dead // and nothing after it is done
				}
			}
			return nil
		}}
		first, ferr := s.open(person).Recover(ctx, RecoverRequest{Expect: r.Fingerprint})
		s.w.Layer = layer
		if !bytes.Equal(manifestWithout(t, s.rev, fmt.Sprintf("%08d.json", saves+1)), before) {
			t.Fatalf("step %d: the old generation was changed", n)
		}
		_, err = s.open(person).Recover(ctx, RecoverRequest{Expect: r.Fingerprint})
		_, used := errors.AsType[*recovery.UsedError](err)
		if err != nil && !used {
			t.Fatalf("step %d: %v, then %v", n, ferr, err)
		}
		s.all(saves)
		save(t, s.open(person), request("note", "later", "x"))
		s.all(saves + 1)
		if steps < n {
			if !first.Applied || len(first.Warnings) > 0 {
				t.Fatalf("without a fault: %+v, %v", first, ferr)
			}
			t.Logf("%d steps", steps)
			return
		}
	}
}

func manifest(t testing.TB, dir string) []byte { return manifestWithout(t, dir, "") }

func manifestWithout(t testing.TB, dir, but string) []byte {
	t.Helper()
	var b bytes.Buffer
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if e.Name() == but || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %x\n", e.Name(), data)
	}
	return b.Bytes()
}

// TestRecoverFork: of two sides the current one alone says what else it says, and
// what the other lacks is listed as lost.
func TestRecoverFork(t *testing.T) {
	s := newSick(t, 3)
	ctx := context.Background()
	key := newKey(t)
	out := filepath.Join(filepath.Dir(s.dir), "x.age")
	side := filepath.Join(filepath.Dir(s.dir), "side")
	if err := os.CopyFS(side, os.DirFS(filepath.Join(s.dir, ".holdfast"))); err != nil {
		t.Fatal(err)
	}
	p := s.open(person)
	save(t, p, request("note", "there", "on the other side"))
	if _, err := p.Backup(ctx, BackupRequest{Output: out, Recipients: []string{key.public}}); err != nil {
		t.Fatal(err)
	}
	// The folder as it was comes back, its mirror and index too, and goes its own way.
	for _, gone := range []string{filepath.Join(s.dir, ".holdfast"), filepath.Join(s.w.Home, ".cache")} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(s.dir, ".holdfast"), os.DirFS(side)); err != nil {
		t.Fatal(err)
	}
	s.change(s.mirror(), func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] })
	p = s.open(person)
	save(t, p, request("note", "here", "on this side"))
	if _, err := p.Allow(ctx, "an example value"); err != nil {
		t.Fatal(err)
	}
	r, err := s.recover(RecoverRequest{From: out, Identity: key.file})
	if err != nil || !r.Applied || r.By != recovery.ByGeneration {
		t.Fatalf("%v: %+v", err, r)
	}
	if len(r.Lost) != 1 || fmt.Sprint(r.Lost[0].IDs) != "[here]" || r.Joined != 1 {
		t.Errorf("lost %+v, going along %d", r.Lost, r.Joined)
	}
	s.all(4)
	if gens, err := filelog.New(p.m, p.loc.place).Generations(ctx); err != nil || len(gens) != 2 || !gens[0].Sealed {
		t.Errorf("%+v, %v", gens, err)
	}
}
