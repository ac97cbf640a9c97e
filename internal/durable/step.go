package durable

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"time"
)

const (
	// maxInterrupts ends a loop over EINTR that would never end by itself.
	// Network file systems interrupt a slow call once per preemption signal,
	// at most a hundred a second.
	maxInterrupts = 10_000

	// retryFor is about how long Windows sharing conflicts are waited out.
	retryFor = 2 * time.Second
)

// step runs the hooks in front of one system-level step.
func (l *Layer) step(op Op, path string) error {
	if l == nil {
		return nil
	}
	if l.Fault != nil {
		if err := l.Fault(op, path); err != nil {
			return err
		}
	}
	if l.Trace != nil {
		l.Trace(op, path)
	}
	return nil
}

// do runs one step behind its hooks, again for as long as it is interrupted.
// os.Root loops over EINTR in some calls only (not in Lstat, Link and Rename,
// Go 1.26), and our own calls not at all.
func (l *Layer) do(op Op, path string, f func() error) error {
	return uninterrupted(func() error {
		if err := l.step(op, path); err != nil {
			return err
		}
		return f()
	})
}

func uninterrupted(f func() error) error {
	for n := 0; ; n++ {
		if err := f(); n == maxInterrupts || !isInterrupted(err) {
			return err
		}
	}
}

// retrying repeats f with growing pauses while its error is of the classes
// that pass by themselves: about 2 s in all, then the last error stands.
func (l *Layer) retrying(f func() error) error {
	pause, waited := time.Millisecond, time.Duration(0)
	for {
		err := f()
		if err == nil || !l.retryable(err) || waited >= retryFor {
			return err
		}
		l.sleep(pause)
		waited += pause
		pause = min(2*pause, 250*time.Millisecond)
	}
}

func (l *Layer) retryable(err error) bool {
	if l != nil && l.Retry != nil {
		return l.Retry(err)
	}
	return isSharing(err)
}

func (l *Layer) sleep(d time.Duration) {
	if l != nil && l.Sleep != nil {
		l.Sleep(d)
		return
	}
	time.Sleep(d)
}

func (l *Layer) random() io.Reader {
	if l == nil || l.Rand == nil {
		return rand.Reader
	}
	return l.Rand
}

// write writes data whole and returns how many bytes went through.
func (l *Layer) write(f *os.File, path string, data []byte) (n int, err error) {
	err = l.do(OpWrite, path, func() error {
		var werr error
		n, werr = f.Write(data)
		return werr
	})
	var short *ShortWrite
	if errors.As(err, &short) {
		n, _ = f.Write(data[:min(short.N, len(data))])
	}
	return n, err
}

func (l *Layer) writeAt(f *os.File, path string, data []byte, off int64) (n int, err error) {
	err = l.do(OpWrite, path, func() error {
		var werr error
		n, werr = f.WriteAt(data, off)
		return werr
	})
	var short *ShortWrite
	if errors.As(err, &short) {
		n, _ = f.WriteAt(data[:min(short.N, len(data))], off)
	}
	return n, err
}

func (l *Layer) sync(f *os.File, path string) error {
	return l.do(OpSync, path, func() error {
		if skipsFlush(f, false) {
			return nil
		}
		return f.Sync()
	})
}

// close closes f in any case. An interrupted close has released the
// descriptor on every system we build for, and what f held was flushed before.
func (l *Layer) close(f *os.File, path string) error {
	err := l.step(OpClose, path)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if isInterrupted(err) {
		return nil
	}
	return err
}
