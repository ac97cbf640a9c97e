package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestPublish(t *testing.T) {
	d, tmp := tempDir(t, nil)
	pub, err := d.Publish(tmp, "1.json", []byte("one\n"), 0o400)
	check(t, err)
	if pub.How != ByLink || len(pub.Warnings) != 0 || pub.Info.Size() != 4 {
		t.Errorf("got %+v", pub)
	}
	info, err := d.Lstat("1.json")
	check(t, err)
	if !os.SameFile(info, pub.Info) || !info.ModTime().Equal(pub.Info.ModTime()) {
		t.Error("Info is of another file or time")
	}
	f, err := d.Open("1.json") // one name only: the temporary is gone
	check(t, err)
	f.Close()
	wantNoTemporaries(t, d.Path())

	_, err = d.Publish(tmp, "1.json", []byte("two\n"), 0o400)
	wantIs(t, err, ErrExists)
	wantIs(t, err, fs.ErrExist)
	wantFile(t, d.join("1.json"), "one\n")
	wantNoTemporaries(t, d.Path())

	if _, err = d.Publish(nil, "big", make([]byte, 1<<20), 0o600); err != nil {
		t.Error(err)
	}
	if _, err = d.Publish(nil, "empty", nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestPublishTakesNoNameTwice(t *testing.T) {
	for _, ways := range []string{"link", "rename", "excl"} {
		t.Run(ways, func(t *testing.T) {
			d, tmp := tempDir(t, without(ways))
			for i := range 3 {
				pub, err := d.Publish(tmp, "n", fmt.Appendf(nil, "%d\n", i), 0o400)
				if i == 0 {
					check(t, err)
					if pub.How != ways {
						t.Fatalf("published by %s", pub.How)
					}
				} else {
					wantIs(t, err, ErrExists)
				}
			}
			wantFile(t, d.join("n"), "0\n")
			wantNoTemporaries(t, d.Path())
		})
	}
}

// without is a layer on which only that way of publishing works.
func without(way string) *Layer {
	return &Layer{Fault: func(op Op, path string) error {
		if op == OpLink && way != "link" || op == OpRename && way == "excl" {
			return errNoSuchWay
		}
		return nil
	}}
}

// A reply that was lost on the way: the link is there, the answer says error
// or "exists".
func TestPublishLostReply(t *testing.T) {
	for _, reply := range []error{fs.ErrExist, errIO} {
		t.Run(reply.Error(), func(t *testing.T) {
			var d, tmp *Dir
			l := &Layer{}
			d, tmp = tempDir(t, l)
			l.Fault = func(op Op, path string) error {
				if op == OpLink {
					names, _ := tmp.Names()
					check(t, os.Link(tmp.join(names[0]), path))
					return reply
				}
				if op == OpRead { // the inode tells, without reading
					return errIO
				}
				return nil
			}
			pub, err := d.Publish(tmp, "1", []byte("mine\n"), 0o400)
			check(t, err)
			if pub.How != ByLink {
				t.Error(pub.How)
			}
			wantFile(t, d.join("1"), "mine\n")
			wantNoTemporaries(t, d.Path())
		})
	}
	t.Run("equal bytes under another inode", func(t *testing.T) {
		d, tmp := tempDir(t, nil)
		put(t, d.join("1"), "mine\n")
		pub, err := d.Publish(tmp, "1", []byte("mine\n"), 0o400)
		check(t, err)
		if !d.holds("1", pub.Info) {
			t.Error("Info is not of the file that stands there")
		}
	})
}

func TestPublishUnclearLink(t *testing.T) {
	fail := func(err error) *Layer {
		return &Layer{Fault: func(op Op, _ string) error {
			if op == OpLink {
				return err
			}
			return nil
		}}
	}
	t.Run("nobody there", func(t *testing.T) {
		d, tmp := tempDir(t, fail(errIO))
		_, err := d.Publish(tmp, "1", []byte("x"), 0o400)
		var unknown *UnknownOutcomeError
		if !errors.As(err, &unknown) || unknown.Name != d.join("1") || !errors.Is(err, errIO) {
			t.Fatalf("got %v", err)
		}
		wantNoTemporaries(t, d.Path())
	})
	t.Run("somebody else there", func(t *testing.T) {
		d, tmp := tempDir(t, fail(errIO))
		put(t, d.join("1"), "y")
		_, err := d.Publish(tmp, "1", []byte("x"), 0o400)
		wantIs(t, err, ErrExists)
	})
	t.Run("a refusal is no riddle", func(t *testing.T) {
		d, tmp := tempDir(t, fail(errFull))
		_, err := d.Publish(tmp, "1", []byte("x"), 0o400)
		var unknown *UnknownOutcomeError
		if errors.As(err, &unknown) || !DiskFull(err) {
			t.Fatalf("got %v", err)
		}
		wantMissing(t, d.join("1"))
	})
}

func TestPublishRaceOfGoroutines(t *testing.T) {
	for _, way := range []string{ByLink, ByRename, ByCreate} {
		t.Run(way, func(t *testing.T) {
			d, tmp := tempDir(t, without(way))
			for round := range 20 {
				name := strconv.Itoa(round)
				var wg sync.WaitGroup
				won := make([]bool, 16)
				for i := range won {
					wg.Go(func() {
						_, err := d.Publish(tmp, name, fmt.Appendf(nil, "writer %d\n", i), 0o400)
						if err != nil && !errors.Is(err, ErrExists) {
							t.Error(err)
						}
						won[i] = err == nil
					})
				}
				wg.Wait()
				winner := -1
				for i, w := range won {
					if w && winner >= 0 {
						t.Fatalf("%d and %d both won", winner, i)
					}
					if w {
						winner = i
					}
				}
				if winner < 0 {
					t.Fatal("nobody won")
				}
				wantFile(t, d.join(name), fmt.Sprintf("writer %d\n", winner))
			}
			wantNoTemporaries(t, d.Path())
		})
	}
}

// childPublish publishes numbered names in dir and reports each one it won.
func childPublish(args []string) error {
	d, err := (*Layer)(nil).OpenDir(args[0])
	if err != nil {
		return err
	}
	tmp, err := d.Sub("tmp")
	if err != nil {
		return err
	}
	for i := range 50 {
		_, err := d.Publish(tmp, strconv.Itoa(i), []byte(args[1]), 0o400)
		if err == nil {
			fmt.Println(i)
		} else if !errors.Is(err, ErrExists) {
			return err
		}
	}
	return nil
}

func TestPublishRaceOfProcesses(t *testing.T) {
	d, _ := tempDir(t, nil)
	outs := make([][]byte, 4)
	var wg sync.WaitGroup
	for i := range outs {
		wg.Go(func() {
			out, err := child(t, "publish", d.Path(), "process "+strconv.Itoa(i)).Output()
			if err != nil {
				t.Error(err)
			}
			outs[i] = out
		})
	}
	wg.Wait()
	winner := map[string]int{}
	for i, out := range outs {
		for _, name := range strings.Fields(string(out)) {
			if other, ok := winner[name]; ok {
				t.Errorf("%s: %d and %d both won", name, i, other)
			}
			winner[name] = i
		}
	}
	for i := range 50 {
		name := strconv.Itoa(i)
		w, ok := winner[name]
		if !ok {
			t.Fatalf("%s: nobody won", name)
		}
		wantFile(t, d.join(name), "process "+strconv.Itoa(w))
	}
	wantNoTemporaries(t, d.Path())
}

func TestWithdraw(t *testing.T) {
	d, tmp := tempDir(t, nil)
	pub, err := d.Publish(tmp, "1", []byte("x"), 0o400)
	check(t, err)
	check(t, d.Withdraw("1", pub.Info))
	wantMissing(t, d.join("1"))
	check(t, d.Withdraw("1", pub.Info)) // gone already

	put(t, d.join("1"), "another")
	other, err := d.Publish(tmp, "2", []byte("x"), 0o400)
	check(t, err)
	wantIs(t, d.Withdraw("1", other.Info), ErrReplaced)
	wantFile(t, d.join("1"), "another")
}

// A create that can't write is taken back, but one whose bytes are whole is not.
func TestPublishByCreateTakesBackOnlyWhatIsNotWhole(t *testing.T) {
	for _, tc := range []struct {
		op      Op
		err     error
		unknown bool
	}{
		{OpWrite, errFull, false},
		{OpWrite, &ShortWrite{N: 2, Err: errFull}, false},
		{OpWrite, &ShortWrite{N: 99, Err: errIO}, true},
		{OpSync, errIO, true},
		{OpClose, errIO, true},
	} {
		t.Run(fmt.Sprint(tc.op, tc.err), func(t *testing.T) {
			d, tmp := tempDir(t, nil)
			d.l = &Layer{Fault: func(op Op, path string) error {
				if op == OpLink || op == OpRename {
					return errNoSuchWay
				}
				if op == tc.op && filepath.Base(path) == "1" {
					return tc.err
				}
				return nil
			}}
			_, err := d.Publish(tmp, "1", []byte("whole\n"), 0o400)
			var unknown *UnknownOutcomeError
			if errors.As(err, &unknown) != tc.unknown || err == nil {
				t.Fatalf("got %v", err)
			}
			if tc.unknown {
				wantFile(t, d.join("1"), "whole\n")
			} else {
				wantMissing(t, d.join("1"))
			}
			wantNoTemporaries(t, d.Path())
		})
	}
}
