package cli

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// ancestors names pid and its ancestors, nearest first. Source: sysctl(3),
// KERN_PROC_PID.
func ancestors(pid int) []string {
	var out []string
	for range maxAncestors {
		if pid <= 0 {
			break
		}
		k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil {
			break
		}
		name, _, _ := bytes.Cut(k.Proc.P_comm[:], []byte{0})
		out = append(out, string(name))
		pid = int(k.Eproc.Ppid)
	}
	return out
}
