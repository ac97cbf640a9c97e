package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/project"
)

// Run serves a project over in and out until the input ends, ctx ends, the
// output breaks or the parent process dies. What was saved before is durable;
// nothing important happens at the end. Where there can be no project it serves
// all the same, and every tool says so.
func Run(ctx context.Context, w *project.World, o project.Options, in io.Reader, out, errs io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f, ok := out.(*os.File); ok {
		real, err := takeStdout(f)
		if err != nil {
			return fmt.Errorf("take standard output: %w", err)
		}
		out = real
	}
	h := &handlers{errs: errs}
	o.Caller = project.MCPCaller("", "")
	h.p, h.noWay = project.Open(ctx, w, o)
	h.idle = &idler{p: h.p, errs: errs}
	server, watch, err := newServer(h, w.Version)
	if err != nil {
		return err
	}
	go watch.run(ctx)
	go watchParent(ctx, cancel)
	err = server.Run(ctx, &stdio{in: newLineReader(in), out: out, wait: drainFor(w)})
	h.idle.stop()
	if h.p != nil {
		err = errors.Join(err, h.p.Close(context.WithoutCancel(ctx)))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// drainFor is how long the end of input waits for answers: a save's longest
// wait for its turn, and a second for the save itself.
func drainFor(w *project.World) time.Duration {
	wait := project.DefaultLockWait
	if d, err := time.ParseDuration(w.Getenv("HOLDFAST_LOCK_TIMEOUT")); err == nil && d > 0 {
		wait = d
	}
	return wait + time.Second
}

func newServer(h *handlers, version string) (*mcp.Server, *watcher, error) {
	watch := &watcher{h: h}
	s := mcp.NewServer(&mcp.Implementation{Name: "holdfast", Title: "Holdfast", Version: version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}, Logger: slog.New(slog.DiscardHandler),
		SubscribeHandler: watch.subscribe, UnsubscribeHandler: watch.unsubscribe,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	watch.s = s
	if err := h.register(s); err != nil {
		return nil, nil, err
	}
	h.registerResources(s)
	return s, watch, nil
}

// watchParent ends the server when the process that started it is gone: some
// clients die without closing the pipe.
func watchParent(ctx context.Context, cancel func()) {
	parent := os.Getppid()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if os.Getppid() != parent {
				cancel()
				return
			}
		}
	}
}
