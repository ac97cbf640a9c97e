package filelog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// maxFormat is the most that is read of a FORMAT file.
const maxFormat = 4 << 10

// format is the content of FORMAT.
type format struct {
	Format string `json:"format"`
	V      int    `json:"v"`
	Ledger string `json:"ledger"`
}

func (f format) bytes() []byte {
	return fmt.Appendf(nil, `{"format":"holdfast","v":%d,"ledger":"%s"}`+"\n", f.V, f.Ledger)
}

func formatOf(id string) format { return format{"holdfast", ledger.FormatVersion, id} }

// readFormat reads FORMAT in an opened ledger folder. A missing one is
// fs.ErrNotExist; one that is something else is damage.
func readFormat(top *durable.Dir) (format, error) {
	path := place(top.Path(), formatName)
	b, err := readFile(top, top, formatName, maxFormat)
	if tooLarge, ok := errors.AsType[*durable.TooLargeError](err); ok {
		return format{}, &DamageError{Kind: DamageUnreadable, Rev: -1, Path: path, Why: "it is not a ledger's format file", Err: tooLarge}
	}
	if err != nil {
		return format{}, fmt.Errorf("read format: %w", err)
	}
	return parseFormat(path, b)
}

func parseFormat(path string, b []byte) (format, error) {
	var f format
	if len(bytes.Trim(b, "\x00")) == 0 {
		return f, damage(DamageUnreadable, -1, path, "it is empty or holds only NUL bytes").may(briefly)
	}
	if err := json.Unmarshal(b, &f); err != nil || f.Format != "holdfast" || f.V < 1 {
		return format{}, damage(DamageUnreadable, -1, path, "it is not a ledger's format file").may(briefly)
	}
	if f.V > ledger.FormatVersion {
		return f, &NewerError{Path: path, Rev: -1}
	}
	if !validLedgerID(f.Ledger) || !bytes.Equal(b, f.bytes()) {
		return format{}, damage(DamageUnreadable, -1, path, "it is not as it was written").may(briefly)
	}
	return f, nil
}

// makeFormat publishes FORMAT with a new id, or takes the id of whoever was
// first.
func (l *Log) makeFormat(top *durable.Dir, notice *[]string) (string, error) {
	id, err := l.m.newID()
	if err != nil {
		return "", err
	}
	pub, err := top.Publish(top, formatName, formatOf(id).bytes(), sealedMode)
	tell(notice, pub)
	if err != nil && !errors.Is(err, durable.ErrExists) {
		return "", fmt.Errorf("publish format: %w", err)
	}
	fm, err := readFormat(top)
	return fm.Ledger, err
}

// RestoreFormat publishes FORMAT again with an id that was found otherwise, for
// a recovery. A FORMAT that can be read is left alone: it must have that id.
func (l *Log) RestoreFormat(id string) error {
	if !validLedgerID(id) {
		return fmt.Errorf("restore format: %w", fs.ErrInvalid)
	}
	top, err := l.m.Layer.OpenDir(l.Dir())
	if err != nil {
		return fmt.Errorf("restore format: %w", err)
	}
	defer top.Close()
	fm, err := readFormat(top)
	_, damaged := errors.AsType[*DamageError](err)
	switch {
	case err == nil && fm.Ledger == id:
		return nil
	case err == nil:
		return &PresentError{Path: top.Path()}
	case errors.Is(err, fs.ErrNotExist):
		_, err = top.Publish(top, formatName, formatOf(id).bytes(), sealedMode)
	case damaged, errors.Is(err, durable.ErrUnsafe):
		err = top.Replace(top, formatName, formatOf(id).bytes(), sealedMode)
	}
	if err != nil {
		return fmt.Errorf("restore format: %w", err)
	}
	return nil
}
