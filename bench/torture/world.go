package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/ledger"
)

// place is a project with a home of its own. What is traced lies below tree;
// the cache, which can be made anew at any time, doesn't.
type place struct {
	bin, tree, project, home, cache string
}

func (t *torture) place(name string) (*place, error) {
	dir := filepath.Join(t.dir, name)
	p := &place{bin: t.bin, tree: filepath.Join(dir, "tree"), cache: filepath.Join(dir, "cache")}
	p.project, p.home = filepath.Join(p.tree, "project"), filepath.Join(p.tree, "home")
	for _, d := range []string{p.project, p.home, p.cache} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *place) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.project
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "XDG_CACHE_HOME=" + p.cache, "LANG=C.UTF-8",
		"TMPDIR=" + os.TempDir()}
	return cmd
}

func (p *place) holdfast(args ...string) ([]byte, error) {
	out, err := p.command(p.bin, args...).Output()
	if exit, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("holdfast %s: %w: %s%.600s", args[0], err, exit.Stderr, out)
	}
	return out, err
}

func note(id string) []string {
	return []string{"record", "note", id, "--text", "what " + id + " says", "--source", "torture", "--json"}
}

func (p *place) save(id string) error {
	_, err := p.holdfast(note(id)...)
	return err
}

// ids lists the records that the binary shows.
func (p *place) ids() (map[string]bool, error) {
	out, err := p.holdfast("list", "--all", "--limit", "100000", "--json")
	if err != nil {
		return nil, err
	}
	var list struct{ Records []struct{ ID string } }
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	ids := map[string]bool{}
	for _, r := range list.Records {
		ids[r.ID] = true
	}
	return ids, nil
}

// verify has the binary check the whole chain and gives the head's revision.
func (p *place) verify() (int64, error) {
	out, err := p.holdfast("backup", "--json")
	if err != nil {
		return 0, err
	}
	var b struct {
		Verified bool
		Revision int64
	}
	if err := json.Unmarshal(out, &b); err != nil || !b.Verified {
		return 0, fmt.Errorf("not verified: %s (%v)", out, err)
	}
	return b.Revision, nil
}

// intact is what must hold after any misfortune: every acknowledged record is
// there, the chain is valid, and the next save works. It is "" or what is wrong.
func (p *place) intact(acked []string, next string) string {
	if len(acked) > 0 {
		if wrong := p.mirrored(acked); wrong != "" {
			return wrong
		}
		ids, err := p.ids()
		if err != nil {
			return err.Error()
		}
		for _, id := range acked {
			if !ids[id] {
				return "lost: " + id
			}
		}
	}
	if err := p.save(next); err != nil {
		return "next save: " + err.Error()
	}
	if _, err := p.verify(); err != nil {
		return err.Error()
	}
	return ""
}

// mirrored looks whether the second copy outside the project has the records.
func (p *place) mirrored(acked []string) string {
	mirrors, err := filepath.Glob(filepath.Join(p.home, ".local", "state", "holdfast", "*", "mirror.jsonl"))
	if err != nil || len(mirrors) == 0 {
		return fmt.Sprintf("there is no mirror (%v)", err)
	}
	b, err := os.ReadFile(mirrors[0])
	if err != nil {
		return err.Error()
	}
	for _, id := range acked {
		if !strings.Contains(string(b), `"id":"`+id+`"`) {
			return "not in the mirror: " + id
		}
	}
	return ""
}

// grow brings the ledger to n revisions, all loose, as saves one by one would
// have left them.
func (p *place) grow(n int64) error {
	state := filepath.Join(p.home, ".local", "state", "holdfast")
	text, err := os.ReadFile(filepath.Join(state, "key"))
	if err != nil {
		return err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
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
	rev := filepath.Join(p.project, ".holdfast", "gen", "0001", "rev")
	names, err := filepath.Glob(filepath.Join(rev, "*.json"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("find head: %w", err)
	}
	raw, err := os.ReadFile(names[len(names)-1])
	if err != nil {
		return err
	}
	last, err := ledger.Parse(raw)
	if err != nil {
		return err
	}
	for pos := last.Pos(); pos.Rev < n; {
		d := ledger.Draft{Type: ledger.TypeRecord, At: time.Now(), Body: ledger.Body{
			Actor:   ledger.Actor{Kind: ledger.Agent, Client: "codex", Version: "1", Via: ledger.ViaMCP},
			Records: []ledger.Record{{ID: fmt.Sprintf("grown-%d", pos.Rev+1), Kind: "note", Text: "grown", Source: "torture"}}}}
		e, err := ledger.Encode(pos, d, make([]byte, 16), ledger.Key(key))
		if err != nil {
			return err
		}
		pos = e.Pos()
		if _, err := mirror.Write(e.Raw); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(rev, fmt.Sprintf("%08d.json", pos.Rev)), e.Raw, 0o400); err != nil {
			return err
		}
	}
	return nil
}
