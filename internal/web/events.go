package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"holdfast/internal/project"
)

// Streams of events that may be open at once.
const mostStreams = 32

// lookEvery is how often the ledger is looked at while somebody listens.
const lookEvery = time.Second

// happening is what listeners are told: where the ledger is, or why that can't
// be told.
type happening struct {
	project.Pulse
	Trouble string `json:"trouble,omitempty"`
}

// pulses looks at the ledger and tells those who listen.
type pulses struct {
	p  *project.Project
	mu sync.Mutex
	to map[chan happening]bool
}

func newPulses(p *project.Project) *pulses { return &pulses{p: p, to: map[chan happening]bool{}} }

func (u *pulses) look(ctx context.Context) happening {
	now, err := u.p.Pulse(ctx)
	h := happening{Pulse: now}
	if err != nil {
		e := project.Explain(err)
		h.Trouble = e.Message + ". Next: " + e.Next
	}
	return h
}

// run looks as long as ctx lasts, while there are listeners.
func (u *pulses) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last happening
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		u.mu.Lock()
		some := len(u.to) > 0
		u.mu.Unlock()
		if !some {
			continue
		}
		if h := u.look(ctx); h != last && ctx.Err() == nil {
			last = h
			u.tell(h)
		}
	}
}

func (u *pulses) tell(h happening) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.to {
		select {
		case c <- h:
		default: // it hasn't taken the last one yet: that one is replaced
			select {
			case <-c:
			default:
			}
			c <- h
		}
	}
}

func (u *pulses) listen() (chan happening, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.to) >= mostStreams {
		return nil, false
	}
	c := make(chan happening, 1)
	u.to[c] = true
	return c, true
}

func (u *pulses) leave(c chan happening) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.to, c)
}

// events is the stream that open pages listen to.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	c, ok := s.pulse.listen()
	if !ok {
		s.refuse(w, http.StatusServiceUnavailable, "Too many pages are open.")
		return
	}
	defer s.pulse.leave(c)
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the stream has no end of its own
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(format string, args ...any) bool {
		_ = out.SetWriteDeadline(time.Time{})
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	tell := func(h happening) bool {
		b, err := json.Marshal(h)
		return err == nil && send("data: %s\n\n", b)
	}
	if !tell(s.pulse.look(r.Context())) {
		return
	}
	beat := time.NewTicker(20 * time.Second)
	defer beat.Stop()
	for ok := true; ok; {
		select {
		case <-r.Context().Done():
			return
		case h := <-c:
			ok = tell(h)
		case <-beat.C: // a browser that left is noticed by writing
			ok = send(": still here\n\n")
		}
	}
}
