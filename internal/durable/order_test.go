package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The order that makes a write survive a power cut, for every way of writing.
func TestCaseC004_FlushBeforeNameBeforeFolderFlush(t *testing.T) {
	refuse := func(ops ...Op) func(Op, string) error {
		return func(op Op, _ string) error {
			for _, o := range ops {
				if o == op {
					return errNoSuchWay
				}
			}
			return nil
		}
	}
	ops := []Op{OpCreate, OpChmod, OpWrite, OpSync, OpClose, OpLink, OpRename, OpRemove, OpSyncDir, OpMkdir}
	publish := func(d, tmp *Dir) error {
		_, err := d.Publish(tmp, "new", []byte("x\n"), 0o400)
		return err
	}
	for _, tc := range []struct {
		name  string
		fault func(Op, string) error
		do    func(d, tmp *Dir) error
		want  []string
	}{
		{"publish", nil, publish, []string{
			"create TEMP", "write TEMP", "sync TEMP", "close TEMP", "link new", "remove TEMP", "syncdir D"}},
		{"publish by rename", refuse(OpLink), publish, []string{
			"create TEMP", "write TEMP", "sync TEMP", "close TEMP", "rename new", "remove TEMP", "syncdir D"}},
		{"publish by create", refuse(OpLink, OpRename), publish, []string{
			"create TEMP", "write TEMP", "sync TEMP", "close TEMP",
			"create new", "write new", "sync new", "close new", "remove TEMP", "syncdir D"}},
		{"replace", nil, func(d, tmp *Dir) error { return d.Replace(tmp, "old", []byte("x"), 0o600) }, []string{
			"create TEMP", "write TEMP", "sync TEMP", "close TEMP", "rename old", "syncdir D"}},
		{"replace keeping", nil, func(d, tmp *Dir) error { return d.ReplaceKeeping(nil, "open", []byte("x")) }, []string{
			"close open", "create TEMP", "chmod TEMP", "write TEMP", "sync TEMP", "close TEMP", "rename open", "syncdir D"}},
		{"append", nil, func(d, tmp *Dir) error { return d.Append("old", []byte("x\n"), 0o600) }, []string{
			"write old", "sync old", "close old"}},
		{"append to a new file", nil, func(d, tmp *Dir) error { return d.Append("new", []byte("x\n"), 0o600) }, []string{
			"create new", "write new", "sync new", "close new", "syncdir D"}},
		{"rename", nil, func(d, tmp *Dir) error { return d.Rename("old", tmp, "new") }, []string{
			"rename new", "syncdir tmp", "syncdir D"}},
		{"rename within", nil, func(d, tmp *Dir) error { return d.Rename("old", d, "new") }, []string{
			"rename new", "syncdir D"}},
		{"remove", nil, func(d, tmp *Dir) error { return d.RemoveSync("old") }, []string{"remove old", "syncdir D"}},
		{"make a folder", nil, func(d, tmp *Dir) error {
			s, err := d.MakeSub("new", 0o700)
			return errors.Join(err, s.Close())
		}, []string{"mkdir new", "syncdir D"}},
		{"make folders", nil, func(d, tmp *Dir) error { return d.l.MkdirAll(filepath.Join(d.Path(), "p", "q"), 0o700) },
			[]string{"mkdir p", "syncdir D", "mkdir q", "syncdir p"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "D")
			check(t, os.MkdirAll(filepath.Join(path, "tmp"), 0o700))
			put(t, filepath.Join(path, "old"), "old\n")
			put(t, filepath.Join(path, "open"), "old\n")
			check(t, os.Chmod(filepath.Join(path, "open"), 0o644))
			rec := &recorder{}
			d := openDir(t, &Layer{Trace: rec.trace, Fault: tc.fault}, path)
			tmp, err := d.Sub("tmp")
			check(t, err)
			defer tmp.Close()
			rec.steps = nil
			check(t, tc.do(d, tmp))
			if diff := cmp.Diff(tc.want, rec.only(ops...)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			wantNoTemporaries(t, path)
		})
	}
}
