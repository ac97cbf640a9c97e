package filelog

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
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
	revName        = "rev"
	packName       = "pack"
	tmpName        = "tmp"
	sealedName     = "SEALED"
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

var (
	revPattern  = regexp.MustCompile(`^([0-9]{8,18})\.json$`)
	packPattern = regexp.MustCompile(`^([0-9]{8,18})-([0-9]{8,18})\.jsonl$`)
	genPattern  = regexp.MustCompile(`^[0-9]{4,9}$`)
	// A copy that a synchronising program, a file manager or a person made of a
	// revision or pack: its number with something else around it.
	copyPattern = regexp.MustCompile(`(^|[^0-9])[0-9]{8,18}([^0-9]|$)`)
)

func revFile(rev int64) string { return fmt.Sprintf("%08d.json", rev) }

func packFile(from, to int64) string { return fmt.Sprintf("%08d-%08d.jsonl", from, to) }

func genFolder(n int) string { return fmt.Sprintf("%04d", n) }

func parseRev(name string) (int64, bool) {
	m := revPattern.FindStringSubmatch(name)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil && revFile(n) == name
}

func parsePack(name string) (pack, bool) {
	m := packPattern.FindStringSubmatch(name)
	if m == nil {
		return pack{}, false
	}
	from, err1 := strconv.ParseInt(m[1], 10, 64)
	to, err2 := strconv.ParseInt(m[2], 10, 64)
	ok := err1 == nil && err2 == nil && packFile(from, to) == name && to-from == PackSize-1 && to%PackSize == 0
	return pack{from, to}, ok
}

// pack is a sealed range of revisions, both ends included.
type pack struct{ from, to int64 }

func (p pack) name() string { return packFile(p.from, p.to) }

// place joins a ledger's folder and names below it, for messages.
func place(dir string, names ...string) string {
	return filepath.Join(append([]string{dir}, names...)...)
}
