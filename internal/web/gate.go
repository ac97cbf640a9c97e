package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Bytes of a secret: 256 bits.
const secretSize = 32

// Sessions that may be open at once. The oldest makes way.
const mostSessions = 64

// openerTime is how long a link for a command line works.
const openerTime = time.Minute

// gate decides who may ask for what.
type gate struct {
	now    func() time.Time
	rand   io.Reader
	port   int
	code   string // this run's secret
	prefix string // the path under which everything lives, "/…/"
	token  string // what this run's forms carry

	mu       sync.Mutex
	sessions []session
	openers  []opener
}

// session is one browser that was let in.
type session struct {
	sum    [sha256.Size]byte
	opener int // number of the opener that began it; -1: the code did
}

// opener is a code that works once.
type opener struct {
	sum  [sha256.Size]byte
	till time.Time
	used bool
}

func newGate(rand io.Reader, now func() time.Time, port int) (*gate, error) {
	g := &gate{now: now, rand: rand, port: port}
	for _, to := range []*string{&g.code, &g.prefix, &g.token} {
		s, err := g.secret()
		if err != nil {
			return nil, err
		}
		*to = s
	}
	g.prefix = "/" + g.prefix[:32] + "/"
	return g, nil
}

func (g *gate) secret() (string, error) {
	b := make([]byte, secretSize)
	if _, err := io.ReadFull(g.rand, b); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(b), nil
}

func (g *gate) origin() string { return "http://127.0.0.1:" + strconv.Itoa(g.port) }

// cookie's name holds the port, since browsers send the cookies of one host to
// all its ports.
func (g *gate) cookie() string { return "holdfast_" + strconv.Itoa(g.port) }

// refusal is why a request is refused before anything is done for it.
type refusal struct {
	status int
	why    string
}

// check looks where a request comes from: it must name this server by one of
// its three names, and what browsers add must say that the page is ours.
// Headers that are absent pass: the secret covers what isn't a browser.
func (g *gate) check(r *http.Request) *refusal {
	port := strconv.Itoa(g.port)
	switch r.Host {
	case "127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port:
	default:
		return &refusal{http.StatusMisdirectedRequest, "This address is not the one that Holdfast serves. Use the link shown in the terminal."}
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+r.Host {
		return &refusal{http.StatusForbidden, "Another page asked for this. Holdfast answers only its own pages."}
	}
	sites := r.Header.Values("Sec-Fetch-Site")
	if len(sites) > 1 || len(sites) == 1 && sites[0] != "same-origin" && sites[0] != "none" {
		return &refusal{http.StatusForbidden, "Another page led here. Open the link from the terminal, or paste it into the address bar."}
	}
	return nil
}

func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// open begins a session for whoever knows the code, or one of the openers.
func (g *gate) open(code string) (cookie string, ok bool) {
	by, ok := -1, same(code, g.code)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		if by, ok = g.useOpener(code); !ok {
			return "", false
		}
	}
	value, err := g.secret()
	if err != nil {
		return "", false
	}
	if len(g.sessions) == mostSessions {
		g.sessions = g.sessions[1:]
	}
	g.sessions = append(g.sessions, session{sha256.Sum256([]byte(value)), by})
	return value, true
}

// useOpener takes a code that works once. One that was used before is known to
// somebody else: what it began ends. g.mu is held.
func (g *gate) useOpener(code string) (int, bool) {
	sum := sha256.Sum256([]byte(code))
	for i := range g.openers {
		o := &g.openers[i]
		if subtle.ConstantTimeCompare(sum[:], o.sum[:]) != 1 {
			continue
		}
		if o.used {
			kept := g.sessions[:0]
			for _, s := range g.sessions {
				if s.opener != i {
					kept = append(kept, s)
				}
			}
			g.sessions = kept
			return 0, false
		}
		o.used = true
		return i, g.now().Before(o.till)
	}
	return 0, false
}

func (g *gate) makeOpener() string {
	code, err := g.secret()
	if err != nil {
		return "" // the form asks for the code
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.openers = append(g.openers, opener{sum: sha256.Sum256([]byte(code)), till: g.now().Add(openerTime)})
	return code
}

// known reports whether a request carries an open session.
func (g *gate) known(r *http.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := 0
	for _, c := range r.CookiesNamed(g.cookie()) {
		sum := sha256.Sum256([]byte(c.Value))
		for _, s := range g.sessions {
			found |= subtle.ConstantTimeCompare(sum[:], s.sum[:])
		}
	}
	return found == 1
}
