//go:build unix

package index_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the time that this process has computed: on a busy machine a
// better measure than the clock.
func cpuTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
