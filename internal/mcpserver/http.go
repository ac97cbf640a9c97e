package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/project"
)

// ServeHTTP serves a project at an address of this machine until ctx ends, for
// the protocol's conformance suite: whoever can reach it can save as an agent.
// The URL is written to errs.
func ServeHTTP(ctx context.Context, w *project.World, o project.Options, addr string, errs io.Writer) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().IsLoopback() {
		return &project.UsageError{Why: "HTTP is served at an address of this machine only, such as 127.0.0.1:0"}
	}
	h := open(ctx, w, o, errs, tools())
	server, watch, err := newServer(h, w.Version)
	if err != nil {
		return errors.Join(err, h.close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go watch.run(ctx)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return errors.Join(fmt.Errorf("listen: %w", err), h.close())
	}
	// The newest protocol has no sessions; the handler looks at the host's name
	// itself, and other origins are kept out here.
	stream := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, MaxRequestBodyBytes: project.MaxRequest})
	s := &http.Server{Handler: http.NewCrossOriginProtection().Handler(stream), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = s.Close() }) // Serve tells the end
	fmt.Fprintf(errs, "http://%s/\n", l.Addr())
	if err = s.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, h.close())
}
