package durable

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

// Temporary names carry 128 random bits between these two. The prefix hides
// them and keeps every one of them clear of the names Windows reserves.
const (
	tempPrefix = ".holdfast-"
	tempSuffix = ".tmp"
	tempRandom = 16 // bytes
)

func (l *Layer) tempName() (string, error) {
	var b [tempRandom]byte
	if _, err := io.ReadFull(l.random(), b[:]); err != nil {
		return "", fmt.Errorf("draw a temporary name: %w", err)
	}
	return tempPrefix + hex.EncodeToString(b[:]) + tempSuffix, nil
}

// IsTemporary reports whether name is one that this package gives to its
// temporary files.
func IsTemporary(name string) bool {
	s, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return false
	}
	s, ok = strings.CutSuffix(s, tempSuffix)
	return ok && len(s) == 2*tempRandom && strings.Trim(s, "0123456789abcdef") == ""
}

// checkName accepts one path element.
func (d *Dir) checkName(name string) error {
	if name == "" || name == "." || name == ".." ||
		strings.ContainsAny(name, "/\x00"+string(os.PathSeparator)) {
		return &UnsafeFileError{d.path, fmt.Sprintf("%q is not the name of a file in it", name)}
	}
	return nil
}

// checkNewName accepts one path element that every platform can have.
func (d *Dir) checkNewName(name string) error {
	if err := d.checkName(name); err != nil {
		return err
	}
	if IsReserved(name) {
		return &UnsafeFileError{d.path, fmt.Sprintf("%q is a name that Windows can't have", name)}
	}
	return nil
}

// IsReserved reports whether Windows reserves name or can't have it; such a
// file is never made, on any platform.
// Source: "Naming Files, Paths, and Namespaces" in the Win32 documentation.
func IsReserved(name string) bool {
	if strings.ContainsAny(name, `<>:"/\|?*`) || strings.TrimRight(name, ". ") != name {
		return true
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return true
	}
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(base, "COM")
	if !ok {
		port, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && len([]rune(port)) == 1 && strings.ContainsAny(port, "0123456789¹²³")
}
