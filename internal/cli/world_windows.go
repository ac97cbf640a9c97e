package cli

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ancestors names pid and its ancestors, nearest first, from a snapshot of all
// processes. A parent that has ended may be named by who has its number now.
func ancestors(pid int) []string {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer windows.CloseHandle(snap)
	type process struct {
		parent int
		name   string
	}
	all := map[int]process{}
	e := windows.ProcessEntry32{}
	e.Size = uint32(unsafe.Sizeof(e))
	for err = windows.Process32First(snap, &e); err == nil; err = windows.Process32Next(snap, &e) {
		all[int(e.ProcessID)] = process{int(e.ParentProcessID), windows.UTF16ToString(e.ExeFile[:])}
	}
	var out []string
	for range maxAncestors {
		p, ok := all[pid]
		if !ok || pid == 0 {
			break
		}
		out = append(out, p.name)
		pid = p.parent
	}
	return out
}

// showsStyles asks a console to obey escape sequences.
func showsStyles(f *os.File) bool {
	h := windows.Handle(f.Fd())
	var mode uint32
	return windows.GetConsoleMode(h, &mode) == nil &&
		windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
