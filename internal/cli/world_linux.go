package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ancestors names pid and its ancestors, nearest first: each by the kernel's
// name for it, by the program it was started as, and for an interpreter by the
// script. Source: proc(5).
func ancestors(pid int) []string {
	var out []string
	for range maxAncestors {
		if pid <= 0 {
			break
		}
		dir := "/proc/" + strconv.Itoa(pid)
		stat, err := os.ReadFile(dir + "/stat")
		// pid (name) state ppid …: the name can hold spaces and parentheses.
		open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		if err != nil || open < 0 || shut < open {
			break
		}
		out = append(out, string(stat[open+1:shut]))
		if cmd, err := os.ReadFile(dir + "/cmdline"); err == nil {
			out = append(out, programs(strings.Split(string(cmd), "\x00"))...)
		}
		fields := strings.Fields(string(stat[shut+1:]))
		if len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			break
		}
	}
	return out
}

// programs are the names in a command line that tell what runs.
func programs(argv []string) []string {
	name := filepath.Base(argv[0])
	switch name {
	case "node", "nodejs", "bun", "deno", "python", "python3":
		for _, arg := range argv[1:] {
			if arg != "" && !strings.HasPrefix(arg, "-") {
				base := filepath.Base(arg)
				return []string{name, strings.TrimSuffix(base, filepath.Ext(base))}
			}
		}
	}
	return []string{name}
}
