package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/ledger"
)

// bed is one project with a ledger of a given size, and its own home.
type bed struct {
	dir, home string
	env       []string
}

// bed makes a repository of some files and a ledger of n entries. The entries
// beyond the first are written in bulk, in the layout that saving one by one
// would have left: what is measured is the work on such a ledger.
func (r *run) bed(n int) (*bed, error) {
	root := filepath.Join(r.dir, fmt.Sprintf("bed-%d", n))
	b := &bed{dir: filepath.Join(root, "project"), home: filepath.Join(root, "home")}
	b.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if _, err := os.Stat(b.dir); err == nil {
		return b, nil
	}
	for _, d := range []string{filepath.Join(b.dir, "src"), b.home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(b.dir, "src", fmt.Sprintf("f%04d.txt", i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=b", "-c", "user.email=b@example.test", "commit", "-q", "-m", "files"}} {
		if out, err := b.command("git", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git: %w: %s", err, out)
		}
	}
	if out, err := b.command(r.bin, "record", "goal", "g-0", "--text", "Ship the importer", "--source", "bench").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("first save: %w: %s", err, out)
	}
	if err := b.grow(n); err != nil {
		return nil, err
	}
	// The index is made now: what is measured later is a warm cache.
	if out, err := b.command(r.bin, "resume").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("first resume: %w: %s", err, out)
	}
	return b, nil
}

func (b *bed) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	return cmd
}

// grow appends entries up to revision n.
func (b *bed) grow(n int) error {
	gen := filepath.Join(b.dir, ".holdfast", "gen", "0001")
	state := filepath.Join(b.home, ".local", "state", "holdfast")
	key, err := os.ReadFile(filepath.Join(state, "key"))
	if err != nil {
		return err
	}
	raw, err := hex.DecodeString(strings.TrimSpace(string(key)))
	if err != nil {
		return err
	}
	first, err := os.ReadFile(filepath.Join(gen, "rev", "00000001.json"))
	if err != nil {
		return err
	}
	last, err := ledger.Parse(first)
	if err != nil {
		return err
	}
	body, _, err := last.Body()
	if err != nil {
		return err
	}
	mirrors, err := filepath.Glob(filepath.Join(state, "*", "mirror.jsonl"))
	if err != nil || len(mirrors) != 1 {
		return fmt.Errorf("find mirror: %v, %w", mirrors, err)
	}
	mirror, err := os.OpenFile(mirrors[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer mirror.Close()
	g := grower{gen: gen, n: int64(n), key: ledger.Key(raw), at: time.Now().Add(-time.Duration(n) * time.Minute), git: body.Git}
	return g.run(last, mirror)
}

type grower struct {
	gen  string
	n    int64
	key  ledger.Key
	at   time.Time
	git  ledger.Git
	pack bytes.Buffer
}

func (g *grower) run(last ledger.Entry, mirror *os.File) error {
	g.pack.Write(last.Raw)
	if err := os.MkdirAll(filepath.Join(g.gen, "pack"), 0o700); err != nil {
		return err
	}
	packUpTo := (g.n - 1500) / 1000 * 1000
	p := last.Pos()
	for p.Rev < g.n {
		e, err := ledger.Encode(p, g.draft(p.Rev+1), salt(), g.key)
		if err != nil {
			return err
		}
		p = e.Pos()
		if _, err := mirror.Write(e.Raw); err != nil {
			return err
		}
		if err := g.keep(&e, packUpTo); err != nil {
			return err
		}
	}
	if packUpTo >= 1000 {
		return os.Remove(filepath.Join(g.gen, "rev", "00000001.json"))
	}
	return os.Remove(filepath.Join(g.gen, "pack"))
}

func (g *grower) keep(e *ledger.Entry, packUpTo int64) error {
	if e.Rev > packUpTo {
		return os.WriteFile(filepath.Join(g.gen, "rev", fmt.Sprintf("%08d.json", e.Rev)), e.Raw, 0o400)
	}
	g.pack.Write(e.Raw)
	if e.Rev%1000 != 0 {
		return nil
	}
	name := fmt.Sprintf("%08d-%08d.jsonl", e.Rev-999, e.Rev)
	err := os.WriteFile(filepath.Join(g.gen, "pack", name), g.pack.Bytes(), 0o400)
	g.pack.Reset()
	return err
}

var words = strings.Fields(`the importer reads one record at a time and keeps its place in a small file beside the source
because two writers tore the first version when the network went away use a queue with a bound retry after a second log
the reason check the port before the test starts cache headers parser writer schema migration timeout worker index table`)

var kinds = [...]string{"decision", "note", "next", "answer", "question", "note", "decision"}

func (g *grower) draft(rev int64) ledger.Draft {
	kind := kinds[rev%int64(len(kinds))]
	text := ""
	for i := range 24 {
		text += words[(rev*7+int64(i*i)+rev*int64(i))%int64(len(words))] + " "
	}
	rec := ledger.Record{ID: fmt.Sprintf("%s-%d", kind[:1], rev), Kind: kind, Text: strings.TrimSpace(text), Source: "bench"}
	switch kind {
	case "answer":
		rec.Answer = "yes"
	case "next":
		rec.Status = ledger.StatusOpen
		if rev%3 > 0 {
			rec.Status = ledger.StatusDone
		}
	}
	return ledger.Draft{Type: ledger.TypeRecord, At: g.at.Add(time.Duration(rev) * time.Minute), Body: ledger.Body{
		Actor: ledger.Actor{Kind: ledger.Agent, Client: "codex", Version: "1", Via: ledger.ViaMCP}, Git: g.git, Worktree: "main", Records: []ledger.Record{rec}}}
}

func salt() []byte {
	b := make([]byte, 16)
	rand.Read(b)
	return b
}
