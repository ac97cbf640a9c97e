package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

type opKind string

const (
	opData   opKind = "data"
	opTrunc  opKind = "trunc"
	opName   opKind = "name" // a name for an inode: creation, link, mkdir
	opUnname opKind = "unname"
	opRename opKind = "rename"
	opFlush  opKind = "flush" // of a file or a folder
	opAck    opKind = "ack"   // the answer left the process
)

// op is one traced call. A name is a folder's inode and a name in it.
type op struct {
	kind     opKind
	ino      int
	at, from where
	off      int64
	data     []byte
}

type where struct {
	dir  int
	name string
}

// tree is files as inodes: folders by their names, files by their bytes.
type tree struct {
	dirs  map[int]map[string]int
	files map[int][]byte
}

const rootIno = 1

// recorder follows a trace: the live tree as it stands after each call.
type recorder struct {
	root string
	base tree // as it was before the trace
	ops  []op
	dirs map[int]map[string]int
	size map[int]int64
	past map[string]int // the inode that a path led to last
	app  map[int]bool   // opened for appending
	pos  map[string]int64
	next int
}

// newRecorder takes the tree below root as it is, all of it durable.
func newRecorder(root string) (*recorder, error) {
	r := &recorder{root: root, base: tree{map[int]map[string]int{}, map[int][]byte{}}, dirs: map[int]map[string]int{},
		size: map[int]int64{}, past: map[string]int{}, app: map[int]bool{}, pos: map[string]int64{}, next: rootIno}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ino := r.next
		r.next++
		if path != root {
			w, _ := r.find(path)
			r.dirs[w.dir][w.name], r.base.dirs[w.dir][w.name] = ino, ino
		}
		r.past[path] = ino
		if d.IsDir() {
			r.dirs[ino], r.base.dirs[ino] = map[string]int{}, map[string]int{}
			return nil
		}
		b, err := os.ReadFile(path)
		r.base.files[ino], r.size[ino] = b, int64(len(b))
		return err
	})
	return r, err
}

// find resolves a path below root in the live tree; ino is 0 where there is
// nothing, and w.dir 0 outside.
func (r *recorder) find(path string) (w where, ino int) {
	if path == r.root {
		return where{}, rootIno
	}
	rel, ok := strings.CutPrefix(path, r.root+"/")
	if !ok {
		return where{}, 0
	}
	dir := rootIno
	for {
		name, rest, more := strings.Cut(rel, "/")
		if !more {
			return where{dir, name}, r.dirs[dir][name]
		}
		if dir = r.dirs[dir][name]; r.dirs[dir] == nil {
			return where{}, 0
		}
		rel = rest
	}
}

// open is find for the path of a descriptor, whose name may be gone by now.
func (r *recorder) open(path string) int {
	if _, ino := r.find(path); ino != 0 {
		return ino
	}
	return r.past[strings.TrimSuffix(path, " (deleted)")]
}

const traced = "open,openat,openat2,creat,write,pwrite64,writev,pwritev,pwritev2,truncate,ftruncate,fallocate,fsync,fdatasync," +
	"sync_file_range,syncfs,sync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,mkdir,mkdirat,symlink,symlinkat,copy_file_range,sendfile,splice"

// trace runs a command of the binary under strace and takes its calls in.
// Its standard output is a file, so that only its own answer counts as one.
func (r *recorder) trace(p *place, person bool, args ...string) error {
	log, answer := p.tree+".trace", p.tree+".answer"
	out, err := os.Create(answer)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := p.command("strace", append([]string{"-f", "-y", "-xx", "-s", "8000000", "-e", "trace=" + traced, "-e", "signal=none", "-o", log, p.bin}, args...)...)
	cmd.Stdout = out
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if person {
		done, err := asPerson(cmd)
		if err != nil {
			return err
		}
		defer done()
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("trace %s: %w: %s", args[0], err, stderr.String())
	}
	f, err := os.Open(log)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	pending := map[string]string{}
	before := len(r.ops)
	for lines.Scan() {
		if err := r.line(lines.Text(), pending, answer); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return r.oneAnswer(before, args[0])
}

// oneAnswer keeps, of what a command wrote to its standard output, the last:
// then its answer was out.
func (r *recorder) oneAnswer(from int, what string) error {
	last := -1
	for i := from; i < len(r.ops); i++ {
		if r.ops[i].kind == opAck {
			last = i
		}
	}
	if last < 0 {
		return fmt.Errorf("trace %s: no answer was seen", what)
	}
	kept := r.ops[:from:from]
	for i := from; i < len(r.ops); i++ {
		if r.ops[i].kind != opAck || i == last {
			kept = append(kept, r.ops[i])
		}
	}
	r.ops = kept
	return nil
}

var (
	callForm   = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?`)
	quotedForm = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})*)"`)
	fdForm     = regexp.MustCompile(`^(\d+)<([^>]*)>`)
	atForm     = regexp.MustCompile(`(?:AT_FDCWD|\d+)<([^>]*)>, "((?:\\x[0-9a-f]{2})*)"`)
)

func unhex(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	b, err := hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
	if err != nil {
		return s
	}
	return string(b)
}

// line takes one line of the trace in; a call that was interrupted by another
// thread's counts when it returns.
func (r *recorder) line(l string, pending map[string]string, answer string) error {
	pid, _, _ := strings.Cut(l, " ")
	if begun, ok := strings.CutSuffix(l, "<unfinished ...>"); ok {
		pending[pid] = begun
		return nil
	}
	if i := strings.Index(l, " resumed>"); i > 0 && strings.Contains(l[:i], "<... ") {
		l = pending[pid] + l[i+9:]
	}
	m := callForm.FindStringSubmatch(l)
	if m == nil || strings.HasPrefix(m[3], "-") {
		return nil
	}
	c := &call{name: m[1], args: m[2], result: m[3], opened: unhex(m[4])}
	for _, q := range quotedForm.FindAllStringSubmatch(c.args, -1) {
		c.quoted = append(c.quoted, unhex(q[1]))
	}
	for _, q := range atForm.FindAllStringSubmatch(c.args, -1) {
		path := unhex(q[2])
		if !strings.HasPrefix(path, "/") {
			path = unhex(q[1]) + "/" + path
		}
		c.paths = append(c.paths, filepath.Clean(path))
	}
	if !strings.Contains(c.name, "at") || len(c.paths) == 0 {
		c.paths = c.quoted
	}
	if q := fdForm.FindStringSubmatch(c.args); q != nil {
		c.fd, c.fdPath = q[1], unhex(q[2])
	}
	return r.call(c, answer)
}

// call is one system call as strace wrote it.
type call struct {
	name, args, result, opened string
	quoted, paths              []string
	fd, fdPath                 string
}

// last is the call's last argument as a number.
func (c *call) last() int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(c.args[strings.LastIndexByte(c.args, ',')+1:]), 10, 64)
	return n
}
