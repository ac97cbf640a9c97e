package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const maxHolder = 200 // bytes of the holder's line that a message may show

// Lock is a held lock of the operating system; it ends with the process.
type Lock struct {
	l    *Layer
	f    *os.File
	path string
}

// Lock takes the operating system's lock on the file name in d (flock,
// LockFileEx), which it makes if it is missing and never removes. It tries
// until wait has passed or ctx is done, then *BusyError; one try at least.
//
// The operating system alone decides who holds it. The file's text, owner, is
// for messages: stale text of any form takes no part, and one that can't be
// written is no failure. Locks work within one kernel only; ErrLockUnsupported
// where the file system has none.
func (d *Dir) Lock(ctx context.Context, name string, wait time.Duration, owner string) (*Lock, error) {
	path := d.join(name)
	if ctx.Err() != nil {
		return nil, &BusyError{Path: path, Err: ctx.Err()}
	}
	w := &waiter{d: d, name: name, path: path, wait: wait, pause: firstPause}
	defer w.release()
	timed, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		last := timed.Err() != nil || w.waited >= wait
		held, err := w.try(last)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if held {
			k := &Lock{l: d.l, f: w.f, path: path}
			w.leaveTurn()
			w.f = nil
			k.sign(owner)
			return k, nil
		}
		if w.waited < impatience {
			w.leaveTurn()
		}
		if last {
			return nil, &BusyError{Holder: holder(w.f), Path: path, Err: ctx.Err()}
		}
		w.sleep(timed)
	}
}

// sign writes the owner's text unless it stands there already. It never cuts
// the file to nothing: ext4 takes that for a replacement and writes the file
// out at close (auto_da_alloc), which would cost each save a disk access.
func (k *Lock) sign(owner string) {
	text := []byte(owner)
	old := make([]byte, len(text)+1)
	n, err := k.f.ReadAt(old, 0)
	if errors.Is(err, io.EOF) && bytes.Equal(old[:n], text) {
		return
	}
	if _, err := k.l.writeAt(k.f, k.path, text, 0); err != nil || n <= len(text) {
		return
	}
	_ = k.l.do(OpTruncate, k.path, func() error { return k.f.Truncate(int64(len(text))) })
}

// holder is the screened first line of a lock's text.
func holder(f *os.File) string {
	if f == nil {
		return ""
	}
	var buf [maxHolder + 2]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	line, _, _ := strings.Cut(string(buf[:n]), "\n")
	line = strings.TrimSuffix(line, "\r")
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(line) > maxHolder || !utf8.ValidString(line) || strings.ContainsFunc(line, unprintable) {
		return ""
	}
	return line
}

// Unlock lets the lock go. Its error is of no consequence to what was done
// under the lock.
func (k *Lock) Unlock() error {
	if k == nil || k.f == nil {
		return nil
	}
	// Explicitly, since a child process in the making may hold a copy of the
	// descriptor for a moment.
	err := unlock(k.f)
	if cerr := k.l.close(k.f, k.path); err == nil {
		err = cerr
	}
	k.f = nil
	if err != nil {
		return fmt.Errorf("unlock %s: %w", k.path, err)
	}
	return nil
}
