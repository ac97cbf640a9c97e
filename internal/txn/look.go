package txn

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Place is a surface after it was resolved. Package surface has a type of the
// same shape.
type Place struct {
	Surface  string `json:"surface"`            // as it is shown and looked at, such as file:notes.md
	Identity string `json:"identity,omitempty"` // where two spellings can name one thing: what they have in common
	Outside  bool   `json:"outside,omitempty"`  // an absolute path under an allowed folder
	Fold     bool   `json:"fold,omitempty"`     // letter case doesn't tell names apart there
}

func (p *Place) identity() string {
	if p.Identity != "" {
		return p.Identity
	}
	return p.Surface
}

func (p *Place) family() family { f, _ := familyOf(p.Surface); return f }

// Want is one surface that must be looked at, and how. Package surface has a
// type of the same shape.
type Want struct {
	Key      string   // names the want; the look must carry it
	Surface  string   // as Place.Surface
	Worktree string   // name of the worktree that its path is relative to
	Outside  bool     // its path is absolute, under one of Roots
	Roots    []string // folders that were allowed when the transaction began
	Ignore   []string // mode, json:/pointer
	Names    []string // dir: these entries, slash paths below it
	Whole    bool     // dir: everything below it
	Argv     []string // probe: the command; empty if it isn't known
	TimeoutS int      // probe: seconds, 0 for the default
}

// Look is what was found at a Want. Package surface has a type of the same
// shape.
//
// Facts of a file: type file, dir, link or other; sha256, size, mode (four
// octal digits), link. Of a dir: type, mode, and of a whole one tree and files
// (how many it holds that are not folders). Of a ref: oid; of a record:
// revision, status; of a probe: exit, sha256. Names holds the entries asked for
// that are there, with facts type, sha256, size, mode, link, or state unknown.
type Look struct {
	Key   string
	State string // present, absent or unknown
	Why   string // of an unknown one: a fixed phrase
	Facts map[string]string
	Names map[string]map[string]string
	Stamp string // changes whenever a stat could tell that it is stale
}

// Looks are looks by the key of their wants.
type Looks map[string]Look

// NewLooks makes Looks of a list.
func NewLooks(list ...Look) Looks {
	m := make(Looks, len(list))
	for _, l := range list {
		m[l.Key] = l
	}
	return m
}

// at gives the look at w. One that wasn't taken is unknown: the engine never
// takes a missing look for an absent thing.
func (l Looks) at(w *Want) Look {
	got, ok := l[w.Key]
	switch {
	case !ok:
		return Look{Key: w.Key, State: stateUnknown, Why: "it was not looked at"}
	case got.State != statePresent && got.State != stateAbsent:
		got.State = stateUnknown
	}
	return got
}

// content names what lies at a unit: nothing (""), something unreadable ("?"),
// or its type and content. Two contents are equal when their names are.
func (l *Look) content(w *Want, name string) string {
	switch {
	case l.State == stateUnknown:
		return contentUnknown
	case l.State == stateAbsent:
		return ""
	case name == "":
		return contentOf(l.Facts, w.Whole)
	}
	entry, ok := l.Names[name]
	switch {
	case !ok:
		return ""
	case entry["state"] == stateUnknown:
		return contentUnknown
	}
	return contentOf(entry, false)
}

const contentUnknown = "?"

// contentOf shortens digests to 128 bits: enough to tell contents apart, and
// half the bytes in the ledger.
func contentOf(facts map[string]string, whole bool) string {
	switch t := facts["type"]; t {
	case "file":
		return "file:" + clipHex(facts["sha256"])
	case "link":
		return "link:" + digest(facts["link"])
	case "dir":
		if whole {
			return "dir:" + clipHex(facts["tree"])
		}
		return "dir:"
	default:
		return t + ":" + digest(facts["oid"], facts["revision"], facts["status"], facts["exit"], facts["sha256"], facts["etag"], facts["version"])
	}
}

func fileContent(sha string) string { return "file:" + clipHex(sha) }

func clipHex(s string) string { return s[:min(len(s), 32)] }

// digest is 128 bits of the SHA-256 over parts, each with its length before it.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":"))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// digest is the look's part of the state digest: type or absence, content,
// permission bits; of a folder the same for its entries. Never times, owner or
// inode.
func (l *Look) digest(w *Want) string {
	if l.State == stateAbsent {
		return "-"
	}
	if l.State == stateUnknown {
		return contentUnknown
	}
	ignoreBits := slices.Contains(w.Ignore, ignoreMode)
	bits := func(facts map[string]string) string {
		if ignoreBits {
			return ""
		}
		return facts["mode"]
	}
	parts := []string{l.content(w, ""), bits(l.Facts)}
	for _, n := range w.Names {
		entry, ok := l.Names[n]
		if ok && entry["state"] == stateUnknown {
			return contentUnknown
		}
		parts = append(parts, l.content(w, n), bits(entry))
	}
	return digest(strings.Join(parts, "\x00"))
}
