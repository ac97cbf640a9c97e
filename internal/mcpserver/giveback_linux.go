package mcpserver

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// giveBack lets go of the pages of the program's own code and constants. They
// stay in the file cache and come back from there when they are used again,
// which cost the next call a millisecond or two when it was measured. Nothing
// writes into them, so that the file holds what the page held.
func giveBack() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find own program: %w", err)
	}
	constant, err := unrelocated(exe)
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("read own mappings: %w", err)
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		var from, to uintptr
		var perms string
		if _, err := fmt.Sscanf(s.Text(), "%x-%x %s", &from, &to, &perms); err != nil || perms != "r-xp" && (perms != "r--p" || !constant) || !strings.HasSuffix(s.Text(), " "+exe) {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("let go of code pages: %w", errno)
		}
	}
	return nil
}

// unrelocated reports whether what is mapped for reading is as in the file: a
// loader writes addresses into a program that is dynamic or can lie anywhere.
func unrelocated(exe string) (bool, error) {
	f, err := elf.Open(exe)
	if err != nil {
		return false, fmt.Errorf("read own program: %w", err)
	}
	defer f.Close()
	return f.Type == elf.ET_EXEC && !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool {
		return p.Type == elf.PT_INTERP || p.Type == elf.PT_GNU_RELRO || p.Type == elf.PT_DYNAMIC
	}), nil
}
