package durable

import "os"

// The faults that a sabotage build can have.
const (
	NoFlush       = "no-flush"           // files are not flushed
	NoFolderFlush = "no-folder-flush"    // folders are not flushed
	EarlyAnswer   = "answer-first"       // flushes go on while the answer is given
	NoMirror      = "no-mirror"          // the second copy is not extended
	FollowLinks   = "follow-links"       // files are opened without looking what they are
	IgnoreExists  = "ignore-exists"      // a name that is taken is taken over
	LateGrant     = "grant-after-action" // a mutation runs before its grant stands
)

// skipsFlush: this build leaves the flush out, or leaves it to somebody later.
func skipsFlush(f *os.File, folder bool) bool {
	switch Sabotage {
	case NoFlush:
		return !folder
	case NoFolderFlush:
		return folder
	case EarlyAnswer:
		go f.Sync()
		return true
	}
	return false
}
