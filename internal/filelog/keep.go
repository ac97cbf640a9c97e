package filelog

import (
	"errors"
	"fmt"

	"holdfast/internal/durable"
)

// KeepManifest puts a receipt's manifest into the ledger's folder, and a copy
// beside each mirror. It is named by the SHA-256 of what is in it. The error
// tells of the first copy that could not be made; the receipt can do without.
func (l *Log) KeepManifest(sum string, packed []byte) error {
	if err := l.RestoreManifest(sum, packed); err != nil {
		return err
	}
	var problem error
	for _, root := range l.m.State {
		top, err := l.m.stateOf(root, l.ID())
		if err != nil {
			continue // no mirror lies there
		}
		err = keepIn(top, sum, packed)
		top.Close()
		problem = errors.Join(problem, err)
	}
	return problem
}

func keepIn(top *durable.Dir, sum string, packed []byte) error {
	d, err := top.MakeSub(ManifestsName, folderMode)
	if err != nil {
		return fmt.Errorf("keep manifest: %w", err)
	}
	defer d.Close()
	if _, err := d.Publish(d, sum+".gz", packed, sealedMode); err != nil && !errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("keep manifest: %w", err)
	}
	return nil
}
