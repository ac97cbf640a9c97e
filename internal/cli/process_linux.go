package cli

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/internal/project"
)

// processes tells processes apart. Source: proc(5), random(4).
func processes() *project.Process {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil
	}
	return &project.Process{Boot: strings.TrimSpace(string(boot)), Space: space, Start: processStart, Up: sinceBoot}
}

// processStart is when a process started, in clock ticks since boot; empty for
// one that is gone or has ended.
func processStart(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	shut := bytes.LastIndexByte(stat, ')')
	if err != nil || shut < 0 {
		return ""
	}
	fields := strings.Fields(string(stat[shut+1:])) // from the third on
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// sinceBoot counts time that the machine slept.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
