package mcpserver

import (
	"os"
	"os/signal"
	"syscall"
)

// swallowSignals keeps a second signal from ending the process in the middle of
// a save: clients send two within 100 ms (observed: SIGINT, then SIGTERM). The
// first has ended the caller's context; the end comes by itself within the
// drain's limit. The result gives the signals back.
func swallowSignals() func() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return func() { signal.Stop(ch) }
}
