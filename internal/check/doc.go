// Package check runs one command and says what was seen: its own exit status,
// which files it rested on, and whether that status can be credited to the
// command that was named. It owns the forms of the common test runners' closing
// lines, the rules for shell texts, and how inputs are listed and hashed.
//
// It must never run anything but the command it was given (and the version
// line of a program on its list), run anything at all when it computes
// freshness, keep what a command printed, follow a link out of the worktree, or
// call a result passed whose status a shell may have masked.
package check
