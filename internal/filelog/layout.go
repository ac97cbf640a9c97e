package filelog

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"holdfast/internal/durable"
)

// Names in a ledger's folder.
const (
	FolderName     = ".holdfast" // in a project
	BareFolderName = "holdfast"  // in the common folder of a bare repository
	HandoffName    = "HANDOFF.md"
	formatName     = "FORMAT"
	ignoreName     = ".gitignore"
	lockName       = "lock"
	genName        = "gen"
	buildPrefix    = ".build-" // a generation in the making, beside the others
	revName        = "rev"
	packName       = "pack"
	tmpName        = "tmp"
	sealedName     = "SEALED"
	probePrefix    = "probe-" // empty files that tell a copy from another mount
	QuarantineName = "quarantine"
	ManifestsName  = "manifests"
)

// Names in a state folder.
const (
	keyName        = "key"
	pathsName      = "paths"
	mirrorName     = "mirror.jsonl"
	mirrorLockName = "mirror.lock"
	damageName     = "damage.json"
)

const (
	// PackSize is how many revisions a pack holds.
	PackSize = 1000
	// MaxLoose is how many loose revisions make a save pack the oldest.
	MaxLoose = 2 * PackSize

	folderMode = 0o700
	fileMode   = 0o600
	sealedMode = 0o400 // revisions and packs: written once
)

func revFile(rev int64) string { return fmt.Sprintf("%08d.json", rev) }

func packFile(from, to int64) string { return fmt.Sprintf("%08d-%08d.jsonl", from, to) }

func genFolder(n int) string { return fmt.Sprintf("%04d", n) }

// parseNumber reads a number of at least width digits, in the one form in which
// %0*d writes it.
func parseNumber(s string, width int) (int64, bool) {
	if len(s) < width || len(s) > 18 || len(s) > width && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}

func parseRev(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, ".json")
	if !ok {
		return 0, false
	}
	return parseNumber(digits, 8)
}

func parsePack(name string) (pack, bool) {
	digits, ok := strings.CutSuffix(name, ".jsonl")
	if !ok {
		return pack{}, false
	}
	a, b, ok := strings.Cut(digits, "-")
	from, ok1 := parseNumber(a, 8)
	to, ok2 := parseNumber(b, 8)
	p := pack{from, to}
	return p, ok && ok1 && ok2 && p == packOf(from)
}

func parseGen(name string) (int, bool) {
	n, ok := parseNumber(name, 4)
	return int(n), ok && n > 0 && n < 1<<30
}

// pack is a sealed range of revisions, both ends included.
type pack struct{ from, to int64 }

func (p pack) name() string { return packFile(p.from, p.to) }

// packOf is the pack that holds rev, once it is packed.
func packOf(rev int64) pack {
	from := (rev-1)/PackSize*PackSize + 1
	return pack{from, from + PackSize - 1}
}

// copiedNumber finds the number that a copy of a numbered file carries: what a
// synchronising program, a file manager or a person put beside it, such as
// "00000118 (conflicted copy).json" or ".00000118.json.icloud".
func copiedNumber(name string, width int) (int64, bool) {
	if durable.IsTemporary(name) {
		return 0, false
	}
	for i := 0; i < len(name); {
		n := 0
		for i+n < len(name) && name[i+n] >= '0' && name[i+n] <= '9' {
			n++
		}
		if n >= width && n <= 18 {
			v, err := strconv.ParseUint(name[i:i+n], 10, 63)
			return int64(v), err == nil
		}
		i += max(n, 1)
	}
	return 0, false
}

// place joins a ledger's folder and names below it, for messages.
func place(dir string, names ...string) string {
	return filepath.Join(append([]string{dir}, names...)...)
}
