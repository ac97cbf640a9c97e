package txn_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/surface"
	"holdfast/internal/txn"
)

// disk is a real folder, looked at by package surface.
type disk struct {
	dir   string
	store string // where originals are kept
	obs   *surface.Observer
}

func newDisk(tb testing.TB, worktree string) *disk {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	return &disk{dir: dir, store: tb.TempDir(), obs: surface.New(surface.Options{
		Worktree: worktree, Tops: map[string]string{worktree: dir}, Cache: surface.NewCache(), Now: time.Now, Workers: 2,
	})}
}

func (d *disk) place(s string, roots []string) (txn.Place, error) {
	p, err := d.obs.Place(s, roots)
	return txn.Place(p), err
}

func (d *disk) look(wants []txn.Want) (txn.Looks, error) {
	list := make([]surface.Want, len(wants))
	for i, w := range wants {
		list[i] = surface.Want(w)
	}
	looks, err := d.obs.Look(context.Background(), list)
	out := make([]txn.Look, len(looks))
	for i, l := range looks {
		out[i] = txn.Look(l)
	}
	return txn.NewLooks(out...), err
}

func (d *disk) keep(transaction string, wants []txn.Want) (*txn.Kept, error) {
	k := &txn.Kept{}
	for _, w := range wants {
		originals, err := d.obs.Originals(context.Background(), surface.Want(w))
		if err != nil {
			k.List = append(k.List, txn.Preserved{Surface: w.Surface, Why: err.Error()})
			continue
		}
		for _, o := range originals {
			p := txn.Preserved{Surface: o.Surface, Name: o.Name, SHA256: o.SHA256, Seen: o.Seen, Link: o.Link, Mode: o.Mode, Size: o.Size, Kept: true}
			if o.Link == "" {
				if p.Where, p.SHA256, err = d.copy(transaction, &o); err != nil {
					return nil, err
				}
			}
			k.List = append(k.List, p)
		}
	}
	return k, nil
}

func (d *disk) copy(transaction string, o *surface.Original) (where, sum string, err error) {
	from, err := d.obs.Open(o)
	if err != nil {
		return "", "", err
	}
	defer from.Close()
	dir := filepath.Join(d.store, transaction)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", err
	}
	to, err := os.Create(filepath.Join(dir, o.SHA256))
	if err != nil {
		return "", "", err
	}
	defer to.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, h), from); err != nil {
		return "", "", err
	}
	return filepath.Join(transaction, o.SHA256), hex.EncodeToString(h.Sum(nil)), nil
}

// newHub is one process over a real folder.
func newHub(tb testing.TB, d *disk, via string) *hub {
	tb.Helper()
	n := 0
	return &hub{
		log: newLog(), world: d, via: via, worktree: "main", now: time.Now,
		tops:  map[string]string{"main": filepath.ToSlash(d.dir)},
		owner: txn.Owner{Boot: "boot", Space: "ns", PID: 1, Start: "1"}, running: func(txn.Owner) bool { return true },
		id: func(prefix string) string {
			n++
			return prefix + string(rune('a'+n%26)) + time.Now().Format("150405.000000000")
		},
	}
}
