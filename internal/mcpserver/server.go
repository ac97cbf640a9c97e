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

// Streams are those of the process: In and Out belong to the protocol.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

const (
	// lastLook is how long index and HANDOFF.md may take to follow at the end.
	lastLook = time.Second
	// letGo is how long a call that wasn't answered in time has, once it was
	// cancelled.
	letGo = 500 * time.Millisecond
)

// Run serves a project over s until the input ends, ctx ends, the output breaks
// or the parent process dies. Calls that were read by then are finished and
// answered. What was saved before is durable; nothing important happens at the
// end. Where there can be no project it serves all the same, and every tool
// says so.
func Run(ctx context.Context, w *project.World, o project.Options, s Streams) error {
	return run(ctx, w, o, s, tools())
}

func run(ctx context.Context, w *project.World, o project.Options, s Streams, ts []tool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer swallowSignals()()
	if f, ok := s.Out.(*os.File); ok {
		real, err := takeStdout(f)
		if err != nil {
			return fmt.Errorf("take standard output: %w", err)
		}
		s.Out = real
	}
	h := open(ctx, w, o, s.Err, ts)
	server, watch, err := newServer(h, w.Version)
	if err != nil {
		return err
	}
	go watch.run(ctx)
	go watchParent(ctx, cancel)
	t := &stdio{in: newLineReader(s.In), out: s.Out, stop: ctx.Done(), open: newOpenCalls(drainFor(w)), idle: h.idle}
	err = serve(ctx, server, t)
	if cerr := h.close(); cerr != nil {
		fmt.Fprintf(s.Err, "holdfast: index or handoff not refreshed: %s\n", project.Visible(cerr.Error(), false))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// serve runs the server to its end. The end isn't held up by a call that
// doesn't let go of what it does.
func serve(ctx context.Context, server *mcp.Server, t *stdio) error {
	done := make(chan error, 1)
	// The SDK gives no answers any more once its own context has ended; t ends
	// the input instead.
	go func() { done <- server.Run(context.WithoutCancel(ctx), t) }()
	select {
	case err := <-done:
		return err
	case <-t.open.over:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(letGo):
		return nil
	}
}

func open(ctx context.Context, w *project.World, o project.Options, errs io.Writer, ts []tool) *handlers {
	h := &handlers{errs: errs, tools: ts}
	o.Caller = project.MCPCaller("", "")
	h.p, h.noWay = project.Open(ctx, w, o)
	h.idle = newIdler(h.p, errs)
	return h
}

func (h *handlers) close() error {
	h.idle.stop()
	if h.p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastLook)
	defer cancel()
	return h.p.Close(ctx)
}

// drainFor is how long the end of input waits for an answer: a save's longest
// wait for its turn, and a second for the save itself.
func drainFor(w *project.World) time.Duration {
	wait := project.DefaultLockWait
	if d, err := time.ParseDuration(w.Getenv("HOLDFAST_LOCK_TIMEOUT")); err == nil && d > 0 {
		wait = d
	}
	return wait + time.Second
}

func newServer(h *handlers, version string) (*mcp.Server, *watcher, error) {
	watch := &watcher{h: h, uris: map[string]int{}}
	s := mcp.NewServer(&mcp.Implementation{Name: "holdfast", Title: "Holdfast", Version: version}, &mcp.ServerOptions{
		Instructions: instructions, Logger: slog.New(slog.DiscardHandler),
		// The lists never change while the server runs.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{Subscribe: true}},

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

// parentEvery is how often the server looks whether its parent lives.
const parentEvery = time.Second

// watchParent ends the server when the process that started it is gone: some
// clients die without closing the pipe.
func watchParent(ctx context.Context, cancel func()) {
	parent := os.Getppid()
	tick := time.NewTicker(parentEvery)
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
