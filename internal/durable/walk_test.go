package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// childWalk does one of everything, some times over, below the folder args[0].
func childWalk(args []string) error {
	for i := range 6 {
		if err := walkAll(nil, filepath.Join(args[0], strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

// walkAll does one of everything below base and checks what came of it.
func walkAll(l *Layer, base string) error {
	path := filepath.Join(base, "a", "b")
	if err := l.MkdirAll(path, 0o700); err != nil {
		return err
	}
	d, err := l.OpenDir(path)
	if err != nil {
		return err
	}
	defer d.Close()
	tmp, err := d.MakeSub("tmp", 0o700)
	if err != nil {
		return err
	}
	defer tmp.Close()
	steps := []func() error{
		d.Same,
		func() error { return walkLocked(d, tmp) },
		func() error { return d.Replace(tmp, "r", []byte("replaced\n"), 0o644) },
		func() error { return d.ReplaceKeeping(nil, "r", []byte("replaced again\n")) },
		func() error { return d.WriteInPlace("r", []byte("replaced a third time, and longer\n")) },
		func() error { return d.WriteInPlace("r", []byte("replaced a third time\n")) },
		func() error { return d.Append("m", []byte("line\n"), 0o600) },
		func() error { return d.Append("m", []byte("line\n"), 0o600) },
		func() error { return d.Chmod("m", 0o600) },
		func() error { return d.Rename("m", tmp, "m") },
		func() error { return d.Rename("tmp", d, "folder") },
		func() error { return d.RemoveSync("1") },
		func() error { _, err := d.Sweep(time.Time{}); return err },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return walkCheck(d)
}

func walkLocked(d, tmp *Dir) error {
	k, err := d.Lock(bg, "lock", 0, "walk\n")
	if err != nil {
		return err
	}
	_, err = d.Publish(tmp, "1", []byte("one\n"), 0o400)
	_, err2 := d.Publish(tmp, "1", []byte("another\n"), 0o400)
	if !errors.Is(err2, ErrExists) {
		err = errors.Join(err, fmt.Errorf("published twice: %v", err2))
	}
	return errors.Join(err, k.Unlock())
}

func walkCheck(d *Dir) error {
	names, err := d.Names()
	if got := fmt.Sprint(names); err != nil || got != "[folder lock r]" {
		return fmt.Errorf("folder holds %s: %w", got, err)
	}
	for name, want := range map[string]string{"r": "replaced a third time\n", "lock": "walk\n", "folder/m": "line\nline\n"} {
		got, err := os.ReadFile(d.join(name))
		if err != nil || string(got) != want {
			return fmt.Errorf("%s holds %q: %w", name, got, err)
		}
	}
	return nil
}
