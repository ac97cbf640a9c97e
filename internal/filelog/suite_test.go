package filelog

import (
	"path/filepath"
	"strings"
	"testing"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// Every log must pass the suite of ledgertest: with hard links and without,
// with locks and without, with every revision read anew.
func TestSuite(t *testing.T) {
	reopen := func(_ *testing.T, closed ledger.Log) ledger.Log { return closed.(*Log).again() }
	draft := func(ledger.Log) ledger.Draft { return ledger.Draft{Type: ledger.TypeLedger} }
	for name, layer := range map[string]*durable.Layer{
		"as it is":                  {},
		"without links":             lacking(errNoLinks, durable.OpLink),
		"without links and renames": lacking(errNoLinks, durable.OpLink, durable.OpRename),
		"without locks":             lacking(errNoLocks, durable.OpLock),
	} {
		t.Run(name, func(t *testing.T) {
			open := func(t *testing.T) ledger.Log { return testLog(t).with(layer) }
			ledgertest.Run(t, open, ledgertest.Reopen(reopen), ledgertest.FirstDraft(draft))
		})
	}
	t.Run("without a state folder", func(t *testing.T) {
		ledgertest.Run(t, func(t *testing.T) ledger.Log {
			l := testLog(t)
			l.m.State = nil
			return l
		}, ledgertest.FirstDraft(draft))
	})
}

// lacking is a file layer over a file system that can't do some things in a
// ledger's folder of revisions or of its lock.
func lacking(err error, ops ...durable.Op) *durable.Layer {
	return &durable.Layer{Fault: func(op durable.Op, path string) error {
		for _, o := range ops {
			inRev := strings.Contains(filepath.ToSlash(path), "/gen/")
			if op == o && (inRev || op == durable.OpLock) {
				return err
			}
		}
		return nil
	}}
}
