//go:build !windows

package mcpserver

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// client is a process that starts a server, sends one save and waits for ever.
func (b *bed) client(i int) (c *exec.Cmd, serverEnds io.Reader) {
	b.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	c = exec.Command(os.Args[0])
	c.Dir, c.Stderr = b.dir, w
	c.Env = append(b.env(), asClient+"="+binary(b.t), "KEY="+fmt.Sprint(i))
	out, err := c.StdoutPipe()
	if err != nil {
		b.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.t.Fatal(err)
	}
	w.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "sent\n" {
		b.t.Fatalf("client: %q, %v", line, err)
	}
	return c, r
}

func TestASaveOutlivesTheClientThatSentIt(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for i := range rounds {
		c, ends := b.client(i)
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // killed
		if _, err := io.ReadAll(ends); err != nil {
			t.Fatal(err) // at its end the server has closed its standard error
		}
	}
	p := b.start()
	p.initialize()
	for i := range rounds {
		r := p.must("holdfast_record", note(fmt.Sprintf("n-%d", i), "key", fmt.Sprint(i)))
		if r.field("replayed") != true {
			t.Errorf("round %d: the save was lost", i)
		}
	}
	p.closed()
	b.saved(t, rounds)
}

// holdLock takes the ledger's lock until the function it gives is called.
func (b *bed) holdLock() (release func()) {
	b.t.Helper()
	f, err := os.OpenFile(filepath.Join(b.dir, ".holdfast", "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		b.t.Fatal(err)
	}
	return func() { f.Close() }
}

// A save that was read is finished and answered in spite of a signal, or two as
// clients send them, and the process ends by itself.
func TestSignalsDuringASave(t *testing.T) {
	t.Parallel()
	for _, sigs := range [][]os.Signal{{syscall.SIGTERM}, {os.Interrupt, syscall.SIGTERM}, {syscall.SIGHUP, syscall.SIGHUP}} {
		t.Run(fmt.Sprint(sigs), func(t *testing.T) {
			b := newBed(t)
			p := b.start()
			p.initialize()
			p.must("holdfast_record", note("n-0"))
			release := b.holdLock()
			p.write(call("late", "holdfast_record", note("n-1")) + `{"jsonrpc":"2.0","id":"mark","method":"ping"}` + "\n")
			if m := p.read(); string(m.ID) != `"mark"` { // so the save was read
				t.Fatalf("%s", m.raw)
			}
			for _, s := range sigs {
				if err := p.cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
			release()
			ms := p.rest()
			if len(ms) != 1 || string(ms[0].ID) != `"late"` || ms[0].tool(t).IsError {
				t.Fatalf("after the signal: %v\n%s", ms, p.errs)
			}
			b.saved(t, 2)
		})
	}
}

func TestASignalEndsAnIdleServer(t *testing.T) {
	b := newBed(t)
	p := b.start()
	p.initialize()
	begin := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if ms := p.rest(); len(ms) != 0 {
		t.Errorf("%v", ms)
	}
	t.Logf("ended after %v", time.Since(begin).Round(time.Millisecond))
}

// The reader of standard output is gone, standard input stays open.
func TestBrokenOutputEndsTheServer(t *testing.T) {
	b := newBed(t)
	cmd := b.command("mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	r.Close()
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"codex","version":"1"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// Some clients die without closing the pipe, which another process holds.
func TestADeadParentEndsTheServer(t *testing.T) {
	b := newBed(t)
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer inW.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// A background job of a shell has no standard input but by descriptor 3.
	sh := exec.Command("sh", "-c", binary(t)+" mcp <&3 & read line")
	sh.Dir, sh.Env, sh.Stdout, sh.ExtraFiles = b.dir, b.env(), outW, []*os.File{inR}
	hold, err := sh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	outW.Close()
	inR.Close()
	if _, err := io.WriteString(inW, strings.Replace(call(1, "holdfast_resume", map[string]any{}), `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`, 1)); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(outR)
	if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
		t.Fatalf("%q, %v", line, err)
	}
	hold.Close()
	if err := sh.Wait(); err != nil {
		t.Log("shell:", err)
	}
	begin := time.Now()
	if _, err := io.ReadAll(out); err != nil {
		t.Fatal(err)
	}
	t.Logf("ended %v after its parent", time.Since(begin).Round(time.Millisecond))
}

func TestCaseC029_TheWorkingDirectoryIsGone(t *testing.T) {
	b := newBed(t)
	gone := filepath.Join(b.root, "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "rmdir "+gone+" && exec "+binary(t)+" mcp")
	cmd.Dir, cmd.Env = gone, b.env()
	p := b.run(cmd)
	p.initialize()
	if r := p.ask("holdfast_record", note("n-1")); !r.IsError || r.field("code") != "no_project" {
		t.Errorf("%s", r.text())
	}
	p.closed()
}
