package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/internal/project"
)

// TestView starts the view, uses it, and ends it as Ctrl-C does.
func TestView(t *testing.T) {
	h := newHouse(t)
	h.must(agent, "record", "note", "t-1", "--text", "Seen in the view", "--source", "a test")
	for _, by := range []actor{human, {}} { // the link is printed, terminal or not
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, w := io.Pipe()
		var errs bytes.Buffer
		done := make(chan int, 1)
		go func() {
			status := Main(ctx, h.world(by), []string{"view", "--no-open", "--json"}, Streams{In: strings.NewReader(""), Out: w, Err: &errs})
			w.Close()
			done <- status
		}()
		var v struct {
			URL, Code string
			Port      int
		}
		if err := json.NewDecoder(r).Decode(&v); err != nil {
			t.Fatal(err, errs.String())
		}
		if want := fmt.Sprintf("http://127.0.0.1:%d/#%s", v.Port, v.Code); v.URL != want || len(v.Code) != 64 {
			t.Errorf("url %s, want %s", v.URL, want)
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Jar: jar, Timeout: 10 * time.Second}
		res, err := c.PostForm(fmt.Sprintf("http://127.0.0.1:%d/login", v.Port), url.Values{"code": {v.Code}})
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(page, []byte("Seen in the view")) {
			t.Errorf("%d, %v: %s", res.StatusCode, err, page)
		}
		cancel()
		go io.Copy(io.Discard, r)
		if status := <-done; status != project.ExitOK || errs.Len() > 0 {
			t.Errorf("ended with %d: %s", status, errs.String())
		}
		if conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", v.Port), time.Second); err == nil {
			conn.Close()
			t.Error("something still listens")
		}
	}
}

func TestViewPort(t *testing.T) {
	h := newHouse(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, port := range []string{fmt.Sprint(l.Addr().(*net.TCPAddr).Port), "-1", "65536"} {
		r := h.run(human, "view", "--no-open", "--port", port)
		if r.status != project.ExitUsage || !strings.Contains(r.err, "port") || r.out != "" {
			t.Errorf("port %s: %d %s%s", port, r.status, r.out, r.err)
		}
	}
}
