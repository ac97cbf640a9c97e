package filelog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"holdfast/internal/durable"
)

// Held looks whether somebody holds the ledger's lock, and says what the lock says
// of who; by this Log itself does not count. It writes nothing.
func (l *Log) Held() (who string, held bool, err error) {
	if l.locked.Load() > 0 {
		return "", false, nil
	}
	top, err := l.m.Layer.OpenDir(l.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer top.Close()
	return top.Held(lockName)
}

// Probe does what a save does with a file that nobody reads: under the ledger's
// lock it publishes one in the folder of temporary files, beside that of the
// revisions, reads it back and removes it.
func (l *Log) Probe(ctx context.Context) (err error) {
	unlock, err := l.underLock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.legible(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	data := make([]byte, 512)
	if _, err := io.ReadFull(l.m.Rand, data); err != nil {
		return fmt.Errorf("make probe: %w", err)
	}
	tmp, err := v.f.tmp()
	if err != nil {
		return err
	}
	defer tmp.Close()
	name := probePrefix + hex.EncodeToString(data[:8])
	if _, err := tmp.Publish(nil, name, data, fileMode); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	got, err := tmp.ReadFile(name, int64(len(data)))
	if err == nil && !bytes.Equal(got, data) {
		err = errors.New("what is read is not what was written")
	}
	return errors.Join(err, removeProbe(tmp, name))
}

func removeProbe(d *durable.Dir, name string) error {
	if err := d.RemoveSync(name); err != nil {
		return fmt.Errorf("remove probe: %w", err)
	}
	return nil
}
