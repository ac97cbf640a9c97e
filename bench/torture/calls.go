package main

import (
	"fmt"
	"slices"
	"strings"
)

// call takes one system call into the live tree and the list of ops. Calls
// outside the tree are nothing to us; one inside that isn't understood is an
// error, since what it did would be missing from every crash state.
func (r *recorder) call(c *call, answer string) error {
	switch c.name {
	case "open", "openat", "openat2", "creat":
		r.opened(c)
	case "write":
		if c.fd == "1" && c.fdPath == answer {
			r.ops = append(r.ops, op{kind: opAck})
			return nil
		}
		if ino := r.open(c.fdPath); ino != 0 {
			r.wrote(ino, c)
		}
	case "pwrite64":
		if ino := r.open(c.fdPath); ino != 0 {
			r.data(ino, c.last(), c.quoted[0])
		}
	case "ftruncate":
		if ino := r.open(c.fdPath); ino != 0 {
			r.ops = append(r.ops, op{kind: opTrunc, ino: ino, off: c.last()})
			r.size[ino] = c.last()
		}
	case "fsync", "fdatasync":
		if ino := r.open(c.fdPath); ino != 0 {
			r.ops = append(r.ops, op{kind: opFlush, ino: ino})
		}
	case "mkdir", "mkdirat":
		if w, _ := r.find(c.paths[0]); w.dir != 0 {
			r.dirs[r.next] = map[string]int{}
			r.name(w, r.next, c.paths[0])
			r.next++
		}
	case "link", "linkat":
		if w, _ := r.find(c.paths[1]); w.dir != 0 {
			_, ino := r.find(c.paths[0])
			r.name(w, ino, c.paths[1])
		}
	case "unlink", "unlinkat", "rmdir":
		if w, _ := r.find(c.paths[0]); w.dir != 0 {
			r.ops = append(r.ops, op{kind: opUnname, at: w})
			delete(r.dirs[w.dir], w.name)
		}
	case "rename", "renameat", "renameat2":
		return r.renamed(c)
	default:
		if slices.ContainsFunc(append(c.paths, c.fdPath), func(p string) bool { return strings.HasPrefix(p, r.root+"/") }) {
			return fmt.Errorf("a call that the replay doesn't know: %s(%.200s)", c.name, c.args)
		}
	}
	return nil
}

func (r *recorder) name(w where, ino int, path string) {
	r.ops = append(r.ops, op{kind: opName, ino: ino, at: w})
	r.dirs[w.dir][w.name], r.past[path] = ino, ino
}

func (r *recorder) opened(c *call) {
	w, ino := r.find(c.opened)
	if w.dir == 0 {
		return
	}
	if ino == 0 && strings.Contains(c.args, "O_CREAT") {
		ino = r.next
		r.next++
		r.name(w, ino, c.opened)
	}
	if strings.Contains(c.args, "O_TRUNC") {
		r.ops = append(r.ops, op{kind: opTrunc, ino: ino})
		r.size[ino] = 0
	}
	r.app[ino] = strings.Contains(c.args, "O_APPEND")
	r.pos[c.result] = 0
}

func (r *recorder) wrote(ino int, c *call) {
	off := r.pos[c.fd]
	if r.app[ino] {
		off = r.size[ino]
	}
	r.data(ino, off, c.quoted[0])
	r.pos[c.fd] = off + int64(len(c.quoted[0]))
}

// sector is what a disk writes whole or not at all.
const sector = 512

// data notes a write, cut at the sectors that a power cut can tear it into.
func (r *recorder) data(ino int, off int64, data string) {
	for len(data) > 0 {
		n := min(int64(len(data)), sector-off%sector)
		r.ops = append(r.ops, op{kind: opData, ino: ino, off: off, data: []byte(data[:n])})
		off, data = off+n, data[n:]
	}
	r.size[ino] = max(r.size[ino], off)
}

func (r *recorder) renamed(c *call) error {
	from, ino := r.find(c.paths[0])
	to, _ := r.find(c.paths[1])
	if from.dir == 0 && to.dir == 0 {
		return nil
	}
	if from.dir == 0 || to.dir == 0 || strings.Contains(c.args, "RENAME_EXCHANGE") {
		return fmt.Errorf("a rename that the replay doesn't know: %q", c.paths)
	}
	r.ops = append(r.ops, op{kind: opRename, ino: ino, from: from, at: to})
	delete(r.dirs[from.dir], from.name)
	r.dirs[to.dir][to.name], r.past[c.paths[1]] = ino, ino
	return nil
}
