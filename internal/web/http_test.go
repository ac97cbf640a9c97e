package web

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// raw sends bytes as they are and gives the status and the headers.
func (h *house) raw(addr, text string) (int, http.Header) {
	h.t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Write([]byte(text)); err != nil {
		h.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		h.t.Fatalf("%v to %q", err, text)
	}
	res.Body.Close()
	return res.StatusCode, res.Header
}

func (h *house) cookie() string {
	h.t.Helper()
	u, err := url.Parse(h.at(""))
	if err != nil {
		h.t.Fatal(err)
	}
	return h.client().Jar.Cookies(u)[0].String()
}

// routes are every path there is, and some there aren't.
func (h *house) routes() []string {
	out := []string{"/", "/login", "/login.css", "/login.js", "/health", "/api", "/download/backup", "/favicon.ico"}
	for _, p := range []string{"", "list?section=notes", "record/g-release", "record/g-release/edit", "new", "timeline", "checks", "transactions", "recovery", "map", "search?q=a",
		"events", "carry?branch=x", "style.css", "app.js", "icon.svg", "save", "act", "nowhere"} {
		out = append(out, h.s.gate.prefix+p)
	}
	return out
}

// TestCaseC074_RawRequests sends the fixture's requests to every route, with the
// right cookie, so that only where they come from can refuse them.
func TestCaseC074_RawRequests(t *testing.T) {
	h := filled(t, 0).serve(0)
	port := fmt.Sprint(h.s.Port())
	addr, cookie := "127.0.0.1:"+port, h.cookie()
	fixture, err := os.ReadFile("testdata/C074-requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for l := range strings.Lines(string(fixture)) {
		verdict, req, ok := strings.Cut(strings.TrimSpace(l), "\t")
		if !ok || verdict != "deny" || strings.Contains(req, "0.0.0.0") || strings.Contains(req, "token=RIGHT") || strings.Contains(req, "simple request") {
			continue // these have tests of their own
		}
		req = strings.NewReplacer(`\r\n`, "\r\n", "OTHERPORT", "1", "PORT", port, "(no Host line)", "X-None: 1").Replace(req)
		line, headers, _ := strings.Cut(req, "\r\n")
		for _, path := range h.routes() {
			parts := strings.Fields(line)
			if !strings.Contains(headers, "Host:") && !strings.Contains(headers, "X-None") {
				headers = "Host: " + addr + "\r\n" + headers
			}
			text := parts[0] + " " + path + " HTTP/1.1\r\n" + headers + "\r\nCookie: " + cookie + "\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
			status, head := h.raw(addr, text)
			tried++
			if status < 400 || status > 499 {
				t.Errorf("%s: %d", text, status)
			}
			for k := range head {
				if strings.HasPrefix(k, "Access-Control-") {
					t.Errorf("%s: answers with %s", text, k)
				}
			}
		}
	}
	if tried < 200 {
		t.Fatalf("only %d requests were tried", tried)
	}
	for _, host := range []string{addr, "localhost:" + port} {
		status, _ := h.raw(addr, "GET "+h.s.gate.prefix+" HTTP/1.1\r\nHost: "+host+"\r\nCookie: "+cookie+"\r\nConnection: close\r\n\r\n")
		if status != http.StatusOK {
			t.Errorf("as %s: %d", host, status)
		}
	}
	if len(h.s.listeners) == 2 {
		status, _ := h.raw("[::1]:"+port, "GET "+h.s.gate.prefix+" HTTP/1.1\r\nHost: [::1]:"+port+"\r\nCookie: "+cookie+"\r\nConnection: close\r\n\r\n")
		if status != http.StatusOK {
			t.Errorf("over IPv6: %d", status)
		}
	}
}

func TestCaseC074_WhatElseIsRefused(t *testing.T) {
	h := filled(t, 0).serve(0)
	addr := fmt.Sprintf("127.0.0.1:%d", h.s.Port())
	cookie, p := h.cookie(), h.s.gate.prefix
	for name, text := range map[string]string{
		"without a session":                 "GET " + p + " HTTP/1.1\r\nHost: " + addr,
		"the secret in the query":           "GET " + p + "?token=" + h.s.Code() + "&code=" + h.s.Code() + " HTTP/1.1\r\nHost: " + addr + "\r\nReferer: http://evil.example.test/",
		"the secret as a bearer":            "GET " + p + " HTTP/1.1\r\nHost: " + addr + "\r\nAuthorization: Bearer " + h.s.Code(),
		"a wrong cookie":                    "GET " + p + " HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + h.s.gate.cookie() + "=" + strings.Repeat("0", 64),
		"text/plain, no origin":             "POST " + p + "act HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie + "\r\nContent-Type: text/plain\r\nContent-Length: 0",
		"json":                              "POST " + p + "save HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie + "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"no form token":                     "POST " + p + "save HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie + "\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0",
		"another site's link":               "GET " + p + " HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie + "\r\nSec-Fetch-Site: cross-site",
		"another port's link":               "GET " + p + " HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie + "\r\nSec-Fetch-Site: same-site",
		"two origins":                       "POST " + p + "act HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie + "\r\nOrigin: http://" + addr + "\r\nOrigin: http://evil.test\r\nContent-Length: 0",
		"the other name as the origin":      "POST " + p + "act HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie + "\r\nOrigin: http://localhost:" + fmt.Sprint(h.s.Port()) + "\r\nContent-Length: 0",
		"an absolute target":                "GET http://evil.example.test" + p + " HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie,
		"a host without a port":             "GET " + p + " HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: " + cookie,
		"a host of another writing":         "GET " + p + " HTTP/1.1\r\nHost: 127.1:" + fmt.Sprint(h.s.Port()) + "\r\nCookie: " + cookie,
		"a proxy's header beside a bad one": "GET " + p + " HTTP/1.1\r\nHost: evil.test\r\nX-Forwarded-Host: " + addr + "\r\nCookie: " + cookie,
		"a wrong method":                    "DELETE " + p + "record/g-release HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookie,
		"a websocket":                       "GET " + p + "events HTTP/1.1\r\nHost: " + addr + "\r\nOrigin: http://evil.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nCookie: " + cookie,
	} {
		status, head := h.raw(addr, text+"\r\nConnection: close\r\n\r\n")
		if status < 400 || status > 499 {
			t.Errorf("%s: %d", name, status)
		}
		if head.Get("Cache-Control") != "no-store" || !strings.Contains(head.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: headers %v", name, head)
		}
	}
	if rev, err := h.open(person).Revision(t.Context()); err != nil || rev != 1 {
		t.Errorf("the ledger is at revision %d, %v", rev, err)
	}
}

func TestCaseC073_BindsLoopbackOnly(t *testing.T) {
	h := newHouse(t).serve(0)
	for _, l := range h.s.listeners {
		if !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("bound to %s", l.Addr())
		}
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.IsLinkLocalUnicast() {
			continue
		}
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(ip.IP.String(), fmt.Sprint(h.s.Port())), time.Second)
		if err == nil {
			conn.Close()
			t.Errorf("something listens at %s", ip.IP)
		}
	}
}

func TestLoginByForm(t *testing.T) {
	h := newHouse(t).serve(0)
	jarless := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	post := func(code string) *http.Response {
		res, err := jarless.PostForm(h.s.gate.origin()+"/login", url.Values{"code": {code}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	for _, bad := range []string{"", "x", h.s.Code()[:63], h.s.Code() + "0"} {
		if res := post(bad); res.StatusCode != http.StatusForbidden || len(res.Cookies()) > 0 {
			t.Errorf("code %q: %d", bad, res.StatusCode)
		}
	}
	for _, good := range []string{h.s.Code(), " " + h.s.Link() + "\n"} {
		res := post(good)
		if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
			t.Fatalf("%d %v", res.StatusCode, res.Header)
		}
		c := res.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != h.s.gate.prefix || c.Name != fmt.Sprintf("holdfast_%d", h.s.Port()) || len(c.Value) != 64 {
			t.Errorf("cookie %+v", c)
		}
	}
}

func TestOpenerWorksOnceAndItsReuseEndsTheSession(t *testing.T) {
	h := newHouse(t).serve(0)
	code := loginCode(h.s.Opener())
	value, ok := h.s.gate.open(code)
	if !ok {
		t.Fatal("not let in")
	}
	req, _ := http.NewRequest(http.MethodGet, h.at(""), nil)
	req.AddCookie(&http.Cookie{Name: h.s.gate.cookie(), Value: value})
	if !h.s.gate.known(req) {
		t.Fatal("the session is not known")
	}
	if _, ok := h.s.gate.open(code); ok {
		t.Error("let in twice")
	}
	if h.s.gate.known(req) {
		t.Error("the session of a code that two knew goes on")
	}
	late := loginCode(h.s.Opener())
	now := h.s.gate.now()
	h.s.gate.now = func() time.Time { return now.Add(2 * time.Minute) }
	if _, ok := h.s.gate.open(late); ok {
		t.Error("let in after its time")
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if _, _, err := listen(port); err == nil {
		t.Fatal("bound a port that is in use")
	}
}

func TestReplayedFormSavesOnce(t *testing.T) {
	h := filled(t, 0).serve(0)
	_, page := h.get("new?kind=note")
	v := form(page)
	v.Set("kind", "note")
	v.Set("text", "A note from a form")
	v.Set("source", "a test")
	for range 3 {
		status, body := h.post("save", v)
		if status != http.StatusOK {
			t.Fatalf("%d\n%s", status, body)
		}
		wants(t, body, "A note from a form", "a person")
	}
	_, page = h.get("")
	act := form(page)
	act.Set("what", "confirm:g-release:1")
	for range 3 {
		if status, body := h.post("act", act); status != http.StatusOK {
			t.Fatalf("%d\n%s", status, body)
		}
	}
	if rev, err := h.open(person).Revision(t.Context()); err != nil || rev != 3 {
		t.Errorf("revision %d, %v; want 3", rev, err)
	}
	v.Set("text", "Another text with the same key")
	status, body := h.post("save", v)
	if status != http.StatusConflict {
		t.Errorf("another content with the same key: %d", status)
	}
	wants(t, body, "Another text with the same key")
	v.Set("token", strings.Repeat("0", 64))
	if status, _ := h.post("save", v); status != http.StatusForbidden {
		t.Errorf("a forged form: %d", status)
	}
}

func TestLimits(t *testing.T) {
	h := filled(t, 0).serve(0)
	_, page := h.get("new?kind=note")
	v := form(page)
	v.Set("text", strings.Repeat("x", maxBody))
	if status, _ := h.post("save", v); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d", status)
	}
	v.Set("text", strings.Repeat("x", 2001))
	v.Set("kind", "note")
	v.Set("source", "s")
	status, body := h.post("save", v)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a long text: %d", status)
	}
	wants(t, body, strings.Repeat("x", 2001))
	if status, _ := h.get("search?q=" + strings.Repeat("a", 9000)); status != http.StatusRequestURITooLong {
		t.Errorf("a long query: %d", status)
	}
}
