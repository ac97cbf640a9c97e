package web

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// HOLDFAST_NEED_CHROMIUM makes a missing browser a failure, as in CI. Elsewhere
// the tests that need one say that they did not run.
const needBrowser = "HOLDFAST_NEED_CHROMIUM"

// chromium is the one browser of this test run; each test has tabs of its own.
var chromium struct {
	once  sync.Once
	ctx   context.Context
	why   string
	close func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.close != nil {
		chromium.close()
	}
	os.Exit(code)
}

func startChromium() {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		chromium.why = "no Chromium or Chrome on PATH"
		return
	}
	dir, err := os.MkdirTemp("", "holdfast-chromium-")
	if err != nil {
		chromium.why = err.Error()
		return
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(dir),
		chromedp.Flag("host-resolver-rules", "MAP evil.test 127.0.0.1, MAP *.evil.test 127.0.0.1"))
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(opts...))
	if err := chromedp.Do(ctx); err != nil {
		chromium.why = "Chromium doesn't start: " + err.Error()
		cancel()
		os.RemoveAll(dir)
		return
	}
	chromium.ctx = ctx
	chromium.close = func() {
		_ = chromedp.Cancel(ctx) // the tests are over
		cancel()
		os.RemoveAll(dir)
	}
}

// tab is one tab of the browser.
type tab struct {
	t   testing.TB
	ctx context.Context
}

func newTab(t testing.TB) *tab {
	t.Helper()
	chromium.once.Do(startChromium)
	if chromium.ctx == nil {
		if os.Getenv(needBrowser) != "" {
			t.Fatal(needBrowser + " is set, and there is no browser: " + chromium.why)
		}
		t.Skip("needs a browser: " + chromium.why)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx)
	t.Cleanup(cancel)
	b := &tab{t, ctx}
	b.do()
	b.size(1280, 900)
	return b
}

// within bounds one step, so that a page that hangs fails its test.
func (b *tab) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, 30*time.Second)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if len(steps) == 0 {
		if err := chromedp.Do(b.ctx); err != nil {
			b.t.Fatal(err)
		}
		return
	}
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) open(url string) *tab {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	return b
}

// eval runs script in the page and gives its value.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// try is eval in a page that may refuse to run it.
func try[T any](b *tab, script string) (T, error) {
	ctx, cancel := b.within()
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// until waits for a condition of the page.
func (b *tab) until(condition string) *tab {
	b.t.Helper()
	for end := time.Now().Add(25 * time.Second); ; time.Sleep(40 * time.Millisecond) {
		if ok, err := try[bool](b, "!!("+condition+")"); err == nil && ok {
			return b
		}
		if time.Now().After(end) {
			text, _ := try[string](b, "location.href + '\\n' + document.body.innerText")
			b.t.Fatalf("never came true: %s\nthe page:\n%s", condition, text)
		}
	}
}

func quote(s string) string {
	j, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(j)
}

// has waits for a text on the page.
func (b *tab) has(text string) *tab {
	b.t.Helper()
	return b.until("document.body && document.body.innerText.includes(" + quote(text) + ")")
}

// click presses what a person would press.
func (b *tab) click(selector string) *tab {
	b.t.Helper()
	b.until("document.querySelector(" + quote(selector) + ")")
	eval[bool](b, "(document.querySelector("+quote(selector)+").click(), true)")
	return b
}

// press clicks the button or link of that text.
func (b *tab) press(text string) *tab {
	b.t.Helper()
	find := "[...document.querySelectorAll('main button, main a')].find(e => e.textContent.trim() === " + quote(text) + ")"
	b.until(find)
	eval[bool](b, "("+find+".click(), true)")
	return b
}

// write puts text into a field, as typing does.
func (b *tab) write(name, text string) *tab {
	b.t.Helper()
	b.until("document.querySelector('main [name=" + name + "]')")
	eval[bool](b, "(() => { const e = document.querySelector('main [name="+name+"]'); e.focus(); e.value = "+quote(text)+"; e.dispatchEvent(new InputEvent('input', {bubbles: true})); return true })()")
	return b
}

func (b *tab) value(name string) string {
	b.t.Helper()
	return eval[string](b, "document.querySelector('main [name="+name+"]').value")
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) dark(on bool) {
	b.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	f := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: f}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) script(on bool) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		b.t.Fatal(err)
	}
}

// enter opens the view with its link, as a person does.
func (h *house) enter() *tab {
	h.t.Helper()
	b := newTab(h.t)
	b.open(h.s.Link()).until("document.getElementById('where')")
	return b
}

func (b *tab) shot(file string) {
	b.t.Helper()
	res, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, res.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// pageList are the pages with what is tried on each.
var pageList = []struct{ name, path string }{
	{"now", ""}, {"list", "list?section=next+actions"}, {"record", "record/d-writer"}, {"edit", "record/d-writer/edit"}, {"answer", "record/q-licence/edit?as=answer"},
	{"new", "new?kind=decision"}, {"timeline", "timeline"}, {"filtered", "timeline?kind=decision&actor=codex"}, {"checks", "checks"}, {"transactions", "transactions"},
	{"recovery", "recovery"}, {"map", "map"}, {"around", "map?at=record:d-writer"}, {"search", "search?q=writer"}, {"nothing", "search?q=zzz"}, {"missing", "record/none"},
}

const axeRun = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
	JSON.stringify({passes: r.passes.length, violations: r.violations.map(v => v.id + ": " + v.help + " " + v.nodes.map(n => n.html.slice(0, 160) + " | " + n.failureSummary).slice(0, 3).join(" || "))}))`

// accessible runs axe on the page that is open.
func (b *tab) accessible(name string) {
	b.t.Helper()
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	eval[bool](b, string(axe)+"\n;true")
	var out struct {
		Passes     int
		Violations []string
	}
	if err := json.Unmarshal([]byte(eval[string](b, axeRun)), &out); err != nil {
		b.t.Fatal(err)
	}
	if out.Passes < 10 {
		b.t.Errorf("%s: axe passed only %d rules", name, out.Passes)
	}
	for _, v := range out.Violations {
		b.t.Errorf("%s: %s", name, v)
	}
}
