package mcpserver

import (
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// openCalls are the calls that were read and not answered yet.
type openCalls struct {
	wait time.Duration // how long one answer is waited for at the end

	mu    sync.Mutex
	ids   map[string]bool
	moved chan struct{} // takes one token for each answer
	over  chan struct{} // closed when nothing is waited for any more
}

func newOpenCalls(wait time.Duration) *openCalls {
	return &openCalls{wait: wait, ids: map[string]bool{}, moved: make(chan struct{}, 1), over: make(chan struct{})}
}

// read notes a message that the SDK gets next. One that subscribes is answered
// only when the subscription ends, so nothing waits for it.
func (o *openCalls) read(m jsonrpc.Message) {
	req, ok := m.(*jsonrpc.Request)
	if !ok || !req.IsCall() || req.Method == "subscriptions/listen" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids[idKey(req.ID)] = true
}

func (o *openCalls) answered(id jsonrpc.ID) {
	o.mu.Lock()
	delete(o.ids, idKey(id))
	o.mu.Unlock()
	select {
	case o.moved <- struct{}{}:
	default:
	}
}

func idKey(id jsonrpc.ID) string { return fmt.Sprintf("%T %v", id.Raw(), id.Raw()) }

func (o *openCalls) left() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ids)
}

// drain waits until every call that was read is answered, but for no answer
// longer than the limit. It is called once.
func (o *openCalls) drain(closed <-chan struct{}) {
	defer close(o.over)
	timer := time.NewTimer(o.wait)
	defer timer.Stop()
	for o.left() > 0 {
		select {
		case <-o.moved:
			timer.Reset(o.wait)
		case <-timer.C:
			return
		case <-closed:
			return
		}
	}
}
