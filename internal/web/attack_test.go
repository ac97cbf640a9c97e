package web

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// other is another server of this machine that a hostile page came from, and
// what reached it.
type other struct {
	*httptest.Server
	mu   sync.Mutex
	page string
	seen []string // cookies that came along
}

func newOther(t *testing.T) *other {
	o := &other{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if c := r.Header.Get("Cookie"); c != "" {
			o.seen = append(o.seen, c)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, o.page)
	}))
	t.Cleanup(o.Close)
	return o
}

// count is what reached the view, by status.
type count struct {
	mu   sync.Mutex
	by   map[int]int
	good []string // requests that were answered with content
}

func (c *count) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := fmt.Sprintf("%s %s host %s origin %q site %q cookie %v", r.Method, r.URL.Path, r.Host, r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Cookie") != "")
		rec := &statusWriter{ResponseWriter: w, status: 200}
		next.ServeHTTP(rec, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.by[rec.status]++
		if rec.status < 400 {
			c.good = append(c.good, line)
		}
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestCaseC073_OtherOriginsInTheBrowser: a logged-in browser visits a hostile
// page at another port and at another name. Nothing reaches the project.
func TestCaseC073_OtherOriginsInTheBrowser(t *testing.T) {
	c := &count{by: map[int]int{}}
	h := filled(t, 0)
	h.wrap = c.wrap
	h.serve(0)
	b := h.enter() // the browser has a session now
	b.open("about:blank")
	time.Sleep(200 * time.Millisecond) // the stream of the page that was left ends
	o := newOther(t)
	target := h.at("")
	attack := `<!doctype html><title>hostile</title><body><script>
window.results = {};
const T = ` + quote(target) + `, form = 'token=x&key=k&what=' + encodeURIComponent('retract:d-writer:1');
const note = (name, p) => p.then(v => results[name] = 'GOT ' + v, e => results[name] = 'refused');
const element = (name, tag, attr) => note(name, new Promise((good, bad) => { const e = document.createElement(tag); e.onload = () => good('load'); e.onerror = bad; Object.assign(e, attr); document.body.append(e); }));
note('fetch', fetch(T).then(r => r.text()));
note('fetch with cookies', fetch(T, {credentials: 'include'}).then(r => r.text()));
note('preflight', fetch(T + 'act', {method: 'POST', credentials: 'include', headers: {'Content-Type': 'application/json'}, body: '{}'}).then(r => r.text()));
note('no-cors', fetch(T + 'act', {method: 'POST', mode: 'no-cors', credentials: 'include', headers: {'Content-Type': 'application/x-www-form-urlencoded'}, body: form}).then(r => { if (r.type !== 'opaque') return 'readable'; throw 0 }));
note('text/plain', fetch(T + 'save', {method: 'POST', mode: 'no-cors', credentials: 'include', body: form}).then(r => { if (r.type !== 'opaque') return 'readable'; throw 0 }));
element('image', 'img', {src: T + 'icon.svg'});
element('script', 'script', {src: T + 'app.js'});
element('style', 'link', {rel: 'stylesheet', href: T + 'style.css'});
note('websocket', new Promise((good, bad) => { const s = new WebSocket(T.replace('http', 'ws') + 'events'); s.onopen = () => good('open'); s.onerror = bad; }));
note('eventsource', new Promise((good, bad) => { const s = new EventSource(T + 'events', {withCredentials: true}); s.onmessage = m => good(m.data); s.onerror = () => { s.close(); bad(); }; }));
note('beacon', new Promise((good, bad) => { navigator.sendBeacon(T + 'act', new URLSearchParams(form)); bad(); }));
const frame = document.createElement('iframe'); frame.name = 'f'; frame.src = T; document.body.append(frame);
const f = document.createElement('form'); f.method = 'post'; f.action = T + 'act'; f.target = 'f2';
for (const [k, v] of new URLSearchParams(form)) { const i = document.createElement('input'); i.name = k; i.value = v; f.append(i); }
const frame2 = document.createElement('iframe'); frame2.name = 'f2'; document.body.append(frame2); document.body.append(f); f.submit();
const l = document.createElement('form'); l.method = 'post'; l.action = T.replace(/\/[0-9a-f]+\/$/, '/login'); l.target = 'f3'; const i3 = document.createElement('input'); i3.name = 'code'; i3.value = ` + quote(h.s.Code()) + `; l.append(i3);
const frame3 = document.createElement('iframe'); frame3.name = 'f3'; document.body.append(frame3); document.body.append(l); l.submit();
</script>`
	o.mu.Lock()
	o.page = attack
	o.mu.Unlock()
	_, port, err := net.SplitHostPort(o.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.good = nil
	c.mu.Unlock()
	for _, from := range []string{"http://127.0.0.1:" + port, "http://localhost:" + port, "http://evil.test:" + port} {
		b.open(from + "/").until("window.results && Object.keys(results).length >= 11")
		for name, got := range eval[map[string]string](b, "results") {
			if got != "refused" {
				t.Errorf("from %s, %s: %s", from, name, got)
			}
		}
		b.do() // the frames' requests are on their way
		time.Sleep(300 * time.Millisecond)
	}
	c.mu.Lock()
	if len(c.good) > 0 || c.by[http.StatusForbidden] < 20 {
		t.Errorf("answered: %v; refused: %v", c.good, c.by)
	}
	c.good = nil
	c.mu.Unlock()
	// A link from there leads nowhere either.
	b.open("http://127.0.0.1:" + port + "/")
	eval[bool](b, "(location.href = "+quote(target)+", true)")
	b.has("Another page led here")
	o.mu.Lock()
	for _, cookie := range o.seen {
		if strings.Contains(cookie, "holdfast_") {
			t.Errorf("another port received the session: %s", cookie)
		}
	}
	o.mu.Unlock()
	if rev, err := h.open(person).Revision(t.Context()); err != nil || rev != 1 {
		t.Errorf("the ledger is at revision %d, %v", rev, err)
	}
	b.open(h.at("")).has("Ship the first release") // the person's own session goes on
}

// TestCaseC074_RebindingInTheBrowser: a name of a stranger leads to this
// machine. To the browser it is one origin; the view doesn't know the name.
func TestCaseC074_RebindingInTheBrowser(t *testing.T) {
	c := &count{by: map[int]int{}}
	h := filled(t, 0)
	h.wrap = c.wrap
	h.serve(0)
	b := newTab(t)
	for _, name := range []string{"evil.test", "127.0.0.1.evil.test", "localhost.evil.test"} {
		site := fmt.Sprintf("http://%s:%d", name, h.s.Port())
		b.open(site + "/").has("This address is not the one that Holdfast serves")
		for _, path := range h.routes() {
			got := eval[int](b, "fetch("+quote(path)+", {credentials: 'include'}).then(r => r.status)")
			if got != http.StatusMisdirectedRequest {
				t.Errorf("%s%s: %d", site, path, got)
			}
		}
		if got := eval[int](b, "fetch('/login', {method: 'POST', body: new URLSearchParams({code: "+quote(h.s.Code())+"})}).then(r => r.status)"); got != http.StatusMisdirectedRequest {
			t.Errorf("login as %s: %d", name, got)
		}
	}
	if len(c.good) > 0 {
		t.Errorf("answered: %v", c.good)
	}
}

// hostile are texts that want to be more than text.
var hostile = []string{
	`<script>window.pwned=1</script>`, `"><img src=x onerror=window.pwned=2>`, `'-window.pwned=3-'`, `</textarea><svg onload=window.pwned=4>`, `{{.Token}}{{printf "x"}}`,
	`javascript:window.pwned=5`, `</title><script>window.pwned=6</script>`, "a\u202egnp.exe\u2066\u200b\U000E0041", "\x1b]8;;http://evil.test\x07link\x1b[2J", `<a href="http://evil.test">x</a>`,
	`--></style><base href="http://evil.test/">`, `&lt;b&gt;&#x3c;script&#x3e;`, "<iframe srcdoc='<script>parent.pwned=7</script>'>", strings.Repeat("W", 1900),
}

// TestHostileTextInEveryField: nothing of it becomes markup, runs, or widens a
// page, wherever it is shown.
func TestHostileTextInEveryField(t *testing.T) {
	h := filled(t, 0)
	for i, bad := range hostile {
		short := bad
		if len(short) > 400 {
			short = short[:400]
		}
		id := fmt.Sprintf("h-%d", i)
		d := request("decision", id, bad)
		d.Why, d.RevisitWhen, d.Source, d.Rejected = str(bad), str(bad), str(short), &[]ledger.Rejected{{Option: short, Why: short}}
		if strings.ContainsAny(bad, "\x1b\x07") {
			d.Source = str("a test")
		}
		a := request("answer", id+"-a", bad)
		a.Answer = str(bad)
		n := request("next", id+"-n", bad)
		p := h.open(project.MCPCaller(short, short))
		if _, err := p.Record(t.Context(), []project.RecordRequest{d, a, n}); err != nil {
			t.Fatalf("%q: %v", bad, err)
		}
		if _, err := p.Record(t.Context(), []project.RecordRequest{{ID: id, Why: str(bad + " again"), ExpectedRevision: new(rev(t, p))}}); err != nil {
			t.Fatalf("%q: %v", bad, err)
		}
	}
	h.serve(0)
	b := h.enter()
	b.size(390, 800)
	pages := []string{"", "list?section=answers+and+decisions", "timeline", "map", "search?q=window", "search?q=" + "%22%3E%3Cimg+src%3Dx+onerror%3Dpwned%3D9%3E", "timeline?branch=%3Cscript%3E&actor=%22%3E%3Cb%3E", "map?at=record:%3Cscript%3E", "carry?branch=%3Cimg+src%3Dx%3E"}
	for i := range hostile {
		pages = append(pages, fmt.Sprintf("record/h-%d", i), fmt.Sprintf("record/h-%d/edit", i), fmt.Sprintf("record/h-%d-a", i), fmt.Sprintf("map?at=record:h-%d", i))
	}
	for _, p := range pages {
		b.open(h.at(p)).until("document.readyState === 'complete'")
		out := eval[string](b, `JSON.stringify([window.pwned ?? 0, document.querySelectorAll('iframe, main img, main script, base, main [onerror], main [onload], [style]').length,
			[...document.links].filter(a => a.origin !== location.origin).length, document.documentElement.scrollWidth > 390 ? document.documentElement.scrollWidth : 0, document.scripts.length,
			/[\u202a-\u202e\u2066-\u2069\u200b\u001b]/.test(document.body.innerText) ? 1 : 0])`)
		if out != "[0,0,0,0,1,0]" {
			t.Errorf("%s: %s", p, out)
		}
	}
	// What a form shows is what is saved: exactly the text.
	b.open(h.at("record/h-7/edit"))
	if got := b.value("text"); got != hostile[7] {
		t.Errorf("the form has %q", got)
	}
}

func rev(t *testing.T, p *project.Project) int64 {
	t.Helper()
	r, err := p.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
