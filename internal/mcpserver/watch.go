package mcpserver

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/internal/project"
)

// watcher announces changes, by this process and others, to clients that
// subscribed.
type watcher struct {
	h *handlers
	s *mcp.Server

	mu   sync.Mutex
	uris map[string]int // subscriptions
	last int64          // revision that the subscribers know of
}

const watchEvery = time.Second

func (w *watcher) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	if uri != handoffURI && !strings.HasPrefix(uri, recordPrefix) {
		return mcp.ResourceNotFoundError(uri)
	}
	rev := w.revision(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.uris) == 0 {
		w.last = rev
	}
	w.uris[uri]++
	return nil
}

func (w *watcher) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uris[req.Params.URI]--; w.uris[req.Params.URI] <= 0 {
		delete(w.uris, req.Params.URI)
	}
	return nil
}

// revision is the head's, or -2 where it can't be told: that is said when a
// tool is called.
func (w *watcher) revision(ctx context.Context) int64 {
	if w.h.p == nil {
		return -2
	}
	rev, err := w.h.p.Revision(ctx)
	if err != nil {
		return -2
	}
	return rev
}

// run looks at the head while somebody is subscribed, until ctx ends.
func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look(ctx)
		}
	}
}

func (w *watcher) look(ctx context.Context) {
	w.mu.Lock()
	wanted := len(w.uris) > 0
	w.mu.Unlock()
	if !wanted {
		return
	}
	rev := w.revision(ctx)
	w.mu.Lock()
	last := w.last
	if rev < -1 || rev == last {
		w.mu.Unlock()
		return
	}
	w.last = rev
	uris := make([]string, 0, len(w.uris))
	for uri := range w.uris {
		uris = append(uris, uri)
	}
	w.mu.Unlock()
	touched := w.touched(ctx, last, uris)
	for _, uri := range uris {
		if id, one := strings.CutPrefix(uri, recordPrefix); !one || touched == nil || touched[id] {
			// A client that went away is noticed by the transport.
			_ = w.s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
		}
	}
}

// most entries that are looked through for the records that changed.
const mostEntries = 200

// touched are the records that changed behind revision last; nil: any may have.
func (w *watcher) touched(ctx context.Context, last int64, uris []string) map[string]bool {
	if len(uris) == 1 && uris[0] == handoffURI {
		return nil
	}
	entries, _, err := w.h.p.Log(ctx, project.LogRequest{Since: &last, Limit: mostEntries})
	if err != nil || len(entries) == mostEntries {
		return nil
	}
	ids := map[string]bool{}
	for _, e := range entries {
		if len(e.IDs) == 0 { // such as a recovery
			return nil
		}
		for _, id := range e.IDs {
			ids[id] = true
		}
	}
	return ids
}
