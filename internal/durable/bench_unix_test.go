//go:build unix

package durable

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A save's worth of bytes.
var benchData = append(bytes.Repeat([]byte("x"), 599), '\n')

// bare does by raw system calls what a save asks of the disk: temporary,
// flush, link, unlink, flush of the folder, append, flush.
type bare struct{ dir, tmp int }

func newBare(b testing.TB, dir string) *bare {
	check(b, os.Mkdir(dir+"/tmp", 0o700))
	d, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	check(b, err)
	t, err := unix.Open(dir+"/tmp", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	check(b, err)
	b.Cleanup(func() { unix.Close(d); unix.Close(t) })
	return &bare{d, t}
}

func (r *bare) publish(b testing.TB, name string) {
	f, err := unix.Openat(r.tmp, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o400)
	check(b, err)
	_, err = unix.Write(f, benchData)
	check(b, err)
	check(b, unix.Fsync(f))
	check(b, unix.Close(f))
	check(b, unix.Linkat(r.tmp, name, r.dir, name, 0))
	check(b, unix.Unlinkat(r.tmp, name, 0))
	check(b, unix.Fsync(r.dir))
}

func (r *bare) append(b testing.TB) {
	f, err := unix.Openat(r.dir, "mirror", unix.O_CREAT|unix.O_APPEND|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	check(b, err)
	_, err = unix.Write(f, benchData)
	check(b, err)
	check(b, unix.Fsync(f))
	check(b, unix.Close(f))
}

// ours is the same through the layer, folders opened for each save as a save
// does that keeps no file open between calls.
func ourPublish(b testing.TB, path, name string) {
	d, err := (*Layer)(nil).OpenDir(path)
	check(b, err)
	tmp, err := d.Sub("tmp")
	check(b, err)
	_, err = d.Publish(tmp, name, benchData, 0o400)
	check(b, err)
	check(b, tmp.Close())
	check(b, d.Close())
}

func ourAppend(b testing.TB, path string) {
	d, err := (*Layer)(nil).OpenDir(path)
	check(b, err)
	check(b, d.Append("mirror", benchData, 0o600))
	check(b, d.Close())
}

func BenchmarkPublish(b *testing.B) {
	dir := b.TempDir()
	newBare(b, dir)
	for i := 0; b.Loop(); i++ {
		ourPublish(b, dir, strconv.Itoa(i))
	}
}

func BenchmarkBarePublish(b *testing.B) {
	r := newBare(b, b.TempDir())
	for i := 0; b.Loop(); i++ {
		r.publish(b, strconv.Itoa(i))
	}
}

func BenchmarkAppend(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		ourAppend(b, dir)
	}
}

func BenchmarkBareAppend(b *testing.B) {
	r := newBare(b, b.TempDir())
	for b.Loop() {
		r.append(b)
	}
}

// BenchmarkSaveRatio is a lock, a publishing and an append through the layer
// against the bare calls (which take no lock), in turns on the same disk.
func BenchmarkSaveRatio(b *testing.B) {
	ours, theirs := b.TempDir(), b.TempDir()
	newBare(b, ours)
	r := newBare(b, theirs)
	l, err := (*Layer)(nil).OpenDir(ours)
	check(b, err)
	defer l.Close()
	var with, without time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		k, err := l.Lock(bg, "lock", time.Second, "pid 1, started then, host here\n")
		check(b, err)
		ourPublish(b, ours, strconv.Itoa(i))
		ourAppend(b, ours)
		check(b, k.Unlock())
		with += time.Since(start)
		start = time.Now()
		r.publish(b, strconv.Itoa(i))
		r.append(b)
		without += time.Since(start)
	}
	b.ReportMetric(float64(with)/float64(without), "x-bare")
}
