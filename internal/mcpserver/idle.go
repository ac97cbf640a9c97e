package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"holdfast/internal/project"
)

const (
	// quiet is how long nothing must have come before the server tidies up.
	quiet = 400 * time.Millisecond
	// tight is the garbage collector's percentage in a server that rests: it
	// trades time that nobody waits for against memory that stays for days.
	// While a call is answered it is loose, since that time is somebody's.
	tight, loose = 40, 150
)

// idler lets index and HANDOFF.md follow, and gives memory back, whenever no
// call has come for a while. Nothing that was acknowledged depends on it.
type idler struct {
	p      *project.Project
	errs   io.Writer
	ctx    context.Context // of the tidying, which yields to the end
	cancel func()
	gc     int // percentage before

	mu    sync.Mutex
	calls int
	timer *time.Timer
}

func newIdler(p *project.Project, errs io.Writer) *idler {
	i := &idler{p: p, errs: errs, gc: debug.SetGCPercent(tight)}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	i.timer = time.AfterFunc(quiet, i.tidy)
	return i
}

// busy notes that something is done, until the function it gives is called.
func (i *idler) busy() func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls++; i.calls == 1 {
		debug.SetGCPercent(loose)
	}
	i.timer.Stop()
	return i.rest
}

func (i *idler) rest() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calls--; i.calls == 0 {
		i.timer.Reset(quiet)
	}
}

func (i *idler) tidy() {
	i.mu.Lock()
	running := i.calls > 0
	i.mu.Unlock()
	if running {
		return
	}
	if i.p != nil {
		if err := errors.Join(i.p.Settle(i.ctx), i.p.Idle()); err != nil && i.ctx.Err() == nil {
			fmt.Fprintf(i.errs, "holdfast: index or handoff not refreshed: %s\n", project.Visible(err.Error(), false))
		}
	}
	debug.SetGCPercent(tight)
	runtime.GC() // what lies in a pool survives one collection
	debug.FreeOSMemory()
	// Without it the server is larger, and as right.
	_ = giveBack()
}

func (i *idler) stop() {
	i.cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.timer.Stop()
	debug.SetGCPercent(i.gc)
}
