package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/internal/check"
	"holdfast/internal/durable"
	"holdfast/internal/filelog"
	"holdfast/internal/index"
	"holdfast/internal/ledger"
	"holdfast/internal/recovery"
)

// placeFindings tells of where the ledger lies and of what lies there besides.
func (p *Project) placeFindings(ctx context.Context, d *Diagnosis, s *recovery.Survey) {
	odd, err := p.log.Inspect(ctx)
	d.unseen("the ledger's folder", err)
	for i := range odd {
		d.oddity(&odd[i])
	}
	if name, remote := durable.FileSystem(p.Path()); remote {
		d.add("file_system", SeverityNote, "the ledger lies on "+name+": saves are safe, and take as long as it does", "holdfast doctor --probe")
	}
	if by := syncedBy(p.Path()); by != "" {
		d.add("synced_folder", SeverityNote, "the ledger lies in a folder that "+by+" synchronises: another machine's saves can come in between", "holdfast backup")
	}
	p.trackedFindings(ctx, d)
	p.lockFindings(d)
	d.clockFindings(s, p.w.Now())
}

// oddity tells of a file that is not as it ought to be. What is in it was judged
// already.
func (d *Diagnosis) oddity(o *filelog.Oddity) {
	what := visible(o.Path) + " " + o.Why
	list := "ls -ld " + check.Quote([]string{o.Path})
	switch {
	case o.Misfit == durable.MisfitMode:
		d.add("permissions", SeverityWarn, what, "holdfast doctor --repair")
	case o.Misfit == durable.MisfitOwner:
		d.add("owner", SeverityWarn, what, list)
	case o.Misfit == durable.MisfitNames:
		d.add("hard_link", SeverityWarn, what, list)
	case o.Misfit == durable.MisfitKind:
		d.add("strange_file", SeverityWarn, visible(o.Path)+" is "+o.Why, list)
	case o.Copy:
		d.add("conflict_copy", SeverityWarn, what, "holdfast recover --list")
	default:
		d.add("strange_file", SeverityNote, what, list)
	}
}

// syncMarks are files and folders that synchronising programs put on top of what
// they synchronise, and folders that they name themselves. Source: their manuals.
var syncMarks = []struct{ name, program string }{
	{".dropbox", "Dropbox"}, {".dropbox.cache", "Dropbox"}, {".stfolder", "Syncthing"}, {".nextcloudsync.log", "Nextcloud"}, {".owncloudsync.log", "ownCloud"},
	{".sync", "Resilio Sync"}, {".tmp.drivedownload", "Google Drive"},
}

var syncFolders = []struct{ prefix, program string }{
	{"Dropbox", "Dropbox"}, {"OneDrive", "OneDrive"}, {"iCloudDrive", "iCloud Drive"}, {"Mobile Documents", "iCloud Drive"}, {"Google Drive", "Google Drive"}, {"GoogleDrive", "Google Drive"},
}

// syncedBy names the program that seems to synchronise a folder, if any.
func syncedBy(path string) string {
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, f := range syncFolders {
			if strings.HasPrefix(filepath.Base(dir), f.prefix) {
				return f.program
			}
		}
		for _, m := range syncMarks {
			if _, err := os.Lstat(filepath.Join(dir, m.name)); err == nil {
				return m.program
			}
		}
	}
	return ""
}

// trackedFindings: a ledger that git tracks comes back in an old state with every
// switch of branches.
func (p *Project) trackedFindings(ctx context.Context, d *Diagnosis) {
	if p.loc.repo == nil || p.loc.place.Name != filelog.FolderName || p.loc.place.Dir != p.loc.repo.Top {
		return
	}
	files, err := p.loc.repo.TrackedUnder(ctx, filelog.FolderName)
	d.unseen("what git tracks", err)
	if len(files) > 0 {
		d.add("tracked", SeverityWarn, fmt.Sprintf("git tracks %d files of the ledger: a switch of branches puts old ones in their place", len(files)), "git rm -r --cached --quiet "+filelog.FolderName)
	}
}

func (p *Project) lockFindings(d *Diagnosis) {
	who, held, err := p.log.Held()
	if errors.Is(err, durable.ErrLockUnsupported) {
		d.add("no_locks", SeverityNote, "the file system has no locks: writers meet at the revisions' names, which loses nothing", "holdfast doctor --probe")
		return
	}
	d.unseen("the lock", err)
	if held {
		if who == "" {
			who = "a process that doesn't say who it is"
		}
		d.add("lock_held", SeverityNote, "somebody is saving: "+visible(who), "holdfast doctor")
	}
}

// clockAhead is how far a time may lie in the future before it is told.
const clockAhead = time.Hour

func (d *Diagnosis) clockFindings(s *recovery.Survey, now time.Time) {
	if n := s.Counts.Doubtful; n > 0 {
		d.add("clock_doubtful", SeverityNote, fmt.Sprintf("%d entries have a time before that of the entry before them; order is by revision", n), "holdfast log")
	}
	if last := s.Counts.LastAt(); last > now.Add(clockAhead).UTC().Format(ledger.TimeLayout) {
		d.add("clock_ahead", SeverityNote, "the newest entry is from "+visible(last)+", and this machine's clock is behind that", "holdfast log")
	}
}

// indexFindings tells how the index stands. It is made anew whenever it is wanting.
func (p *Project) indexFindings(ctx context.Context, d *Diagnosis) {
	dir := p.w.cacheFolder()
	if dir == "" {
		d.add("index_absent", SeverityNote, "no cache folder is known: the index is made in memory each time", "holdfast resume")
		return
	}
	_, err := os.Lstat(filepath.Join(dir, d.Ledger, index.FileName))
	heads := p.indexed(ctx, d.Ledger)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.add("index_absent", SeverityNote, "there is no index yet: the next command makes it", "holdfast resume")
	case len(heads) == 0:
		d.add("index_unusable", SeverityNote, "the index can't be used and is made anew by the next command", "holdfast resume")
	case !slices.ContainsFunc(heads, func(at ledger.Pos) bool { return at.Rev >= d.Revision }):
		d.add("index_behind", SeverityNote, fmt.Sprintf("the index ends at revision %d: the next command reads the rest", heads[0].Rev), "holdfast resume")
	}
}

// secretFindings screens what was saved before by the rules of today.
func (p *Project) secretFindings(ctx context.Context, d *Diagnosis) {
	n := 0
	for e, err := range p.log.Entries(ctx, ledger.Pos{}) {
		if err != nil {
			d.unseen("every revision", err)
			break
		}
		if p.hits(&e) {
			n++
			d.add("secret", SeverityWarn, fmt.Sprintf("the screening takes something in revision %d for a secret", e.Rev), fmt.Sprintf("holdfast redact --revision %d", e.Rev))
		}
	}
	if n == 0 {
		d.add("no_secrets", SeverityNote, "the screening finds no secret in what was saved", "holdfast doctor")
	}
}

// probeFindings does once what a save does, in a file that nobody reads.
func (p *Project) probeFindings(ctx context.Context, d *Diagnosis) {
	if err := p.log.Probe(ctx); err != nil {
		d.add("probe_failed", SeverityWarn, "a scratch file could not be written as a revision is: "+Explain(err).Message, "holdfast doctor --probe")
		return
	}
	d.add("probe", SeverityNote, "the lock was taken, and a scratch file written, flushed, linked, read back and removed", "holdfast doctor")
}
