package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// The models of what a power cut leaves. In both, what was flushed stands, and
// of the bytes that were not each sector may be there, be zeros, or be missing.
const (
	// ordered: changes of names reach the disk in their order, and flushing a
	// new file makes its name durable, as on ext4, XFS and Btrfs.
	ordered = "ordered"
	// anyOrder: any subset of the names that were not flushed; only flushing
	// the folder makes a name durable. What POSIX allows.
	anyOrder = "any"
)

// flushedAt gives for each op the index of the flush that made it durable, or
// the number of ops where none did.
func flushedAt(ops []op, model string) []int {
	at := make([]int, len(ops))
	next := map[int]int{} // inode -> its next flush, going backwards
	for i := len(ops) - 1; i >= 0; i-- {
		o := &ops[i]
		later := func(ino int) int {
			if n, ok := next[ino]; ok {
				return n
			}
			return len(ops)
		}
		switch o.kind {
		case opFlush:
			next[o.ino] = i
		case opData, opTrunc:
			at[i] = later(o.ino)
		case opName, opUnname, opRename:
			at[i] = later(o.at.dir)
			if model == ordered && o.kind == opName {
				at[i] = min(at[i], later(o.ino))
			}
		}
	}
	return at
}

func isName(k opKind) bool { return k == opName || k == opUnname || k == opRename }

// survive picks the ops before cut that a power cut at that moment leaves.
// The answer is 0 for lost, 1 for done, and 2 for bytes that became zeros.
func survive(ops []op, flushed []int, cut int, model string, rnd *rand.Rand) []byte {
	out := make([]byte, cut)
	lastName := -1
	for i := range cut {
		if flushed[i] < cut {
			out[i] = 1
			if isName(ops[i].kind) {
				lastName = i
			}
		}
	}
	mode := rnd.IntN(3) // nothing more, a random choice, everything
	going := true
	for i := range cut {
		if out[i] == 1 {
			continue
		}
		keep := byte(0)
		if mode == 2 || mode == 1 && rnd.IntN(2) == 0 {
			keep = 1
		}
		switch {
		case isName(ops[i].kind) && model == ordered && i < lastName:
			keep = 1
		case isName(ops[i].kind) && model == ordered:
			if going = going && keep == 1; !going {
				keep = 0
			}
		case ops[i].kind == opData && keep == 1 && mode == 1 && rnd.IntN(4) == 0:
			keep = 2
		}
		out[i] = keep
	}
	return out
}

// apply builds the tree that the surviving ops make of base.
func apply(base tree, ops []op, survived []byte) tree {
	t := tree{map[int]map[string]int{}, map[int][]byte{}}
	for ino, names := range base.dirs {
		t.dirs[ino] = map[string]int{}
		for n, i := range names {
			t.dirs[ino][n] = i
		}
	}
	for ino, b := range base.files {
		t.files[ino] = b
	}
	folder := func(ino int) map[string]int {
		if t.dirs[ino] == nil {
			t.dirs[ino] = map[string]int{}
		}
		return t.dirs[ino]
	}
	for i, how := range survived {
		o := &ops[i]
		if how == 0 {
			continue
		}
		switch o.kind {
		case opData:
			data := o.data
			if how == 2 {
				data = make([]byte, len(data))
			}
			t.files[o.ino] = put(t.files[o.ino], o.off, data)
		case opTrunc:
			b := bytes.Clone(t.files[o.ino])
			if int64(len(b)) < o.off {
				b = append(b, make([]byte, o.off-int64(len(b)))...)
			}
			t.files[o.ino] = b[:o.off]
		case opName:
			folder(o.at.dir)[o.at.name] = o.ino
		case opUnname:
			delete(folder(o.at.dir), o.at.name)
		case opRename:
			if folder(o.from.dir)[o.from.name] == o.ino {
				delete(folder(o.from.dir), o.from.name)
			}
			folder(o.at.dir)[o.at.name] = o.ino
		}
	}
	return t
}

func put(b []byte, off int64, data []byte) []byte {
	out := make([]byte, max(int64(len(b)), off+int64(len(data))))
	copy(out, b)
	copy(out[off:], data)
	return out
}

// write puts the tree on the disk in place of what is below root. The two
// folders at the top stay what they are: the ledger's project is known by its
// folder's inode, which a power cut doesn't change.
func (t *tree) write(root string, folders map[int]bool) error {
	for top := range t.dirs[rootIno] {
		names, err := os.ReadDir(filepath.Join(root, top))
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := os.RemoveAll(filepath.Join(root, top, n.Name())); err != nil {
				return err
			}
		}
	}
	return t.writeDir(root, rootIno, folders)
}

func (t *tree) writeDir(path string, ino int, folders map[int]bool) error {
	for name, child := range t.dirs[ino] {
		at := filepath.Join(path, name)
		if !folders[child] {
			if err := os.WriteFile(at, t.files[child], 0o600); err != nil {
				return err
			}
			continue
		}
		if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := t.writeDir(at, child, folders); err != nil {
			return err
		}
	}
	return nil
}
