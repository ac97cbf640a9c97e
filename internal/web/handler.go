package web

import (
	"fmt"
	"net/http"
	"strings"
)

// maxBody is a form's largest size in bytes: a record with every field full,
// as a form encodes it.
const maxBody = 256 << 10

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// handler is everything a request meets, in order: where it comes from, who
// sent it, and only then what it wants.
func (s *Server) handler() http.Handler {
	inside := s.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w.Header())
		if no := s.gate.check(r); no != nil {
			s.refuse(w, no.status, no.why)
			return
		}
		if len(r.URL.RawQuery) > 8<<10 {
			s.refuse(w, http.StatusRequestURITooLong, "That address is too long.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		switch r.URL.Path {
		case "/login":
			s.login(w, r)
			return
		case "/login.css", "/login.js": // nothing of the project is in them
			s.static(w, r, map[string]string{"/login.css": "style.css", "/login.js": "app.js"}[r.URL.Path])
			return
		}
		if !s.gate.known(r) {
			s.showLogin(w, r, http.StatusUnauthorized, "")
			return
		}
		rest, ok := strings.CutPrefix(r.URL.Path, s.gate.prefix)
		if !ok {
			if r.URL.Path == "/" && r.Method == http.MethodGet {
				http.Redirect(w, r, s.gate.prefix, http.StatusSeeOther)
				return
			}
			s.refuse(w, http.StatusNotFound, "There is no such page.")
			return
		}
		if r.Method == http.MethodPost && !s.formOK(w, r) {
			return
		}
		r.URL.Path = "/" + rest
		inside.ServeHTTP(w, r)
	})
}

// protect sets what every answer carries.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form of ours would have the origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("Cache-Control", "no-store")
}

// formOK takes only forms that one of this run's pages sent.
func (s *Server) formOK(w http.ResponseWriter, r *http.Request) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		s.refuse(w, http.StatusUnsupportedMediaType, "Only a form of these pages can be sent here.")
		return false
	}
	if err := r.ParseForm(); err != nil {
		status, why := http.StatusBadRequest, "The form could not be read; nothing was saved."
		if tooLarge(err) {
			status, why = http.StatusRequestEntityTooLarge, "The form is too large; nothing was saved. Make the text shorter."
		}
		s.refuse(w, status, why)
		return false
	}
	if !same(r.PostForm.Get("token"), s.gate.token) {
		s.refuse(w, http.StatusForbidden, "This form was not made by the view that is running now; nothing was saved. Reload the page; your draft is kept in this tab.")
		return false
	}
	return true
}

func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	for pattern, h := range map[string]http.HandlerFunc{
		"GET /{$}": s.overview, "GET /list": s.list, "GET /record/{id}": s.record, "GET /record/{id}/edit": s.edit, "GET /new": s.edit,
		"GET /timeline": s.timeline, "GET /checks": s.checks, "GET /transactions": s.transactions, "GET /recovery": s.recovery,
		"GET /map": s.graph, "GET /search": s.search, "GET /events": s.events, "GET /carry": s.carry,
		"POST /recovery": s.recover, "POST /save": s.save, "POST /act": s.act, "POST /carry": s.doCarry, "GET /transactions/{id}": s.transaction, "POST /transactions/{id}": s.decide,
	} {
		m.HandleFunc(pattern, h)
	}
	for _, name := range []string{"style.css", "app.js", "icon.svg"} {
		m.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { s.static(w, r, name) })
	}
	m.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, http.StatusNotFound, "There is no such page.")
	})
	return m
}

// login lets in who knows the code.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		s.showLogin(w, r, http.StatusMethodNotAllowed, "")
		return
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		s.refuse(w, http.StatusUnsupportedMediaType, "Only the form of this page can be sent here.")
		return
	}
	if err := r.ParseForm(); err != nil {
		s.showLogin(w, r, http.StatusBadRequest, "The form could not be read.")
		return
	}
	value, ok := s.gate.open(loginCode(r.PostForm.Get("code")))
	if !ok {
		s.showLogin(w, r, http.StatusForbidden, "That is not the code of the view that is running now. Copy the code again from the terminal.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.gate.cookie(), Value: value, Path: s.gate.prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, s.gate.prefix, http.StatusSeeOther)
}

// loginCode takes the code out of what people paste: the code or the whole link.
func loginCode(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '#'); i >= 0 {
		s = s[i+1:]
	}
	return s
}

func (s *Server) showLogin(w http.ResponseWriter, _ *http.Request, status int, problem string) {
	s.render(w, status, "login", loginPage{Problem: problem})
}

type loginPage struct{ Problem string }

// refuse tells in one plain page why nothing was done.
func (s *Server) refuse(w http.ResponseWriter, status int, why string) {
	s.render(w, status, "refused", refusedPage{Status: status, Title: http.StatusText(status), Why: why})
}

type refusedPage struct {
	Status     int
	Title, Why string
}

func (s *Server) static(w http.ResponseWriter, r *http.Request, name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.refuse(w, http.StatusMethodNotAllowed, "This can only be read.")
		return
	}
	b, err := assets.ReadFile("static/" + name)
	if err != nil {
		s.refuse(w, http.StatusNotFound, "There is no such file.")
		return
	}
	w.Header().Set("Content-Type", map[string]string{"style.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}[name])
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	_, _ = w.Write(b) // a browser that left wants nothing more
}
