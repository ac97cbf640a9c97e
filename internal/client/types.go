package client

import "fmt"

// MaxFile is the largest file that is edited, in bytes. Settings files are a
// few kilobytes; a larger one is something else under that name.
const MaxFile = 1 << 20

// Kind is the format of a file.
type Kind string

// The formats that can be edited.
const (
	JSON     Kind = "json"     // strict or with comments and trailing commas
	TOML     Kind = "toml"     // versions 1.0 and 1.1
	Markdown Kind = "markdown" // one marked block
	Whole    Kind = "whole"    // the file is ours as a whole, such as a skill
)

// Role says how an item sits in its file.
type Role int

// The roles of items.
const (
	Entry    Role = iota // a member with a name of ours in an object or table
	Hook                 // an element of a list, found by its command
	FileName             // a name in Gemini's context.fileName: a string, a list, or absent
	Frame                // a member the client needs around our entries, such as "version": 1
	Block                // the marked block of a Markdown file
	Body                 // the whole content of a file
)

// Item is one thing that setup keeps in a file.
type Item struct {
	ID   string   // names the item within its file, in Undo and in reports
	Role Role     // how it sits in the file
	At   []string // keys of the objects that hold it, outermost first
	Name string   // its key; empty for an element of a list
	Want any      // string, int, bool, []any or Obj; the text of a Block or a Body
	Also []any    // other values that setup writes: other options, earlier versions
	Mark string   // regular expression: a string that matches it makes a differing value one of ours that was edited
	New  bool     // a Frame that is put only into a file we create
}

// Target is a file with everything that setup keeps in it.
type Target struct {
	Path  string // relative to the project, with slashes
	Kind  Kind
	Items []Item
}

// File is a file as it was read or as it shall be.
type File struct {
	Exists bool
	Data   []byte
}

// State says what was found of an item.
type State string

// The states of an item, decided by parsed value, never by bytes alone.
const (
	Absent    State = "absent"     // not there
	Removed   State = "removed"    // setup wrote it, and somebody took it out
	Present   State = "present"    // as setup writes it
	SameValue State = "same_value" // the same value in another form
	Outdated  State = "outdated"   // one that setup wrote with other options or in an earlier version
	Changed   State = "changed"    // ours, edited by hand: shown and kept
	Foreign   State = "foreign"    // of our name, but not one that setup writes: kept
)

// Action says what an edit does about an item.
type Action string

// The actions of an edit.
const (
	None  Action = "none"
	Add   Action = "add"
	Renew Action = "update"
	Cut   Action = "remove"
	Keep  Action = "keep" // differs from what setup writes, and is left as it is
)

// ItemState reports one item of a file.
type ItemState struct {
	ID     string `json:"id"`
	State  State  `json:"state"`
	Action Action `json:"action"`
}

// Options of one edit.
type Options struct {
	Undo  *Undo // what earlier runs left for this file; nil when unknown
	Force bool  // a person chose to replace or remove entries that are Changed or Foreign
}

// Result is an edited file. For an unchanged file File is what was given.
type Result struct {
	File    File
	Changed bool
	Undo    *Undo // what Remove needs; nil when setup owes this file nothing
	Items   []ItemState
}

// RefusedError says that a file is left untouched, and why.
type RefusedError struct {
	Path    string // as the target names it
	Line    int    // from 1; 0 when the reason has no place in the file
	Col     int    // from 1, in code points
	Why     string // never holds content of the file
	Snippet string // what to put into the file by hand
}

// Error names the file, the place and the reason.
func (e *RefusedError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Why)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Col, e.Why)
}

// flaw is a reason to refuse, at a byte offset; off < 0 is no place.
type flaw struct {
	off       int
	line, col int // used instead of off when line > 0
	why       string
}

func (f *flaw) Error() string { return f.why }

func flawAt(off int, format string, a ...any) *flaw {
	return &flaw{off: off, why: fmt.Sprintf(format, a...)}
}
