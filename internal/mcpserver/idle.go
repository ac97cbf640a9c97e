package mcpserver

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"holdfast/internal/project"
)

// quiet is how long no call must have come before the server tidies up.
const quiet = 500 * time.Millisecond

// idler lets index and HANDOFF.md follow, and gives memory back, whenever no
// call has come for a while. Nothing that was acknowledged depends on it.
type idler struct {
	p    *project.Project
	errs io.Writer

	mu    sync.Mutex
	calls int
	timer *time.Timer
}

// busy notes that a call runs, until the function it gives is called.
func (i *idler) busy() func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls++
	if i.timer != nil {
		i.timer.Stop()
	}
	return i.rest
}

func (i *idler) rest() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls--; i.calls > 0 || i.p == nil {
		return
	}
	if i.timer == nil {
		i.timer = time.AfterFunc(quiet, i.tidy)
		return
	}
	i.timer.Reset(quiet)
}

func (i *idler) tidy() {
	i.mu.Lock()
	running := i.calls > 0
	i.mu.Unlock()
	if running {
		return
	}
	if err := i.p.Settle(context.Background()); err != nil {
		fmt.Fprintf(i.errs, "holdfast: index or handoff not refreshed: %s\n", project.Visible(err.Error(), false))
	}
	i.p.Idle()
	debug.FreeOSMemory()
}

func (i *idler) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer != nil {
		i.timer.Stop()
	}
}
