package project

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/client"
)

// Verified tells how the server started as a client would start it.
type Verified struct {
	OK      bool   `json:"ok"`
	Server  string `json:"server,omitempty"`
	Version string `json:"version,omitempty"`
	Tools   int    `json:"tools,omitempty"`
	Why     string `json:"why,omitempty"`
}

// verifyTime is how long a server may take. The impatient client, opencode,
// waits 5 s.
const verifyTime = 5 * time.Second

// Verify starts the configured command as a client would (its arguments, its
// environment, the project as the working directory), completes the handshake
// and lists the tools. The server saves nothing by that.
func (p *Project) Verify(ctx context.Context, id, command string) Verified {
	launch := client.LaunchOf(id, command, p.loc.top)
	env := p.w.Env
	if launch.Env != nil {
		env = p.w.only(launch.Env)
	}
	path := launch.Argv[0]
	if !strings.ContainsAny(path, `/\`) {
		if path = p.w.lookPath(path, p.w.Getenv("PATH")); path == "" {
			return Verified{Why: launch.Argv[0] + " is not on PATH"}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, launch.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.loc.top, env, time.Second
	v, err := handshake(cmd, p.w.Version)
	if err != nil {
		v.OK, v.Why = false, sentence(err)
		if ctx.Err() != nil {
			v.Why = fmt.Sprintf("no answer within %s", verifyTime)
		}
	}
	return v
}

// only is the environment reduced to some names.
func (w *World) only(names []string) []string {
	out := []string{}
	for _, n := range names {
		if v, ok := w.lookup(n); ok {
			out = append(out, n+"="+v)
		}
	}
	return out
}

// The lines of JSON-RPC that a client of MCP 2025-06-18 starts with.
const (
	mcpInitialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"holdfast-setup","version":%q}}}` + "\n"
	mcpInitialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	mcpTools       = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
)

func handshake(cmd *exec.Cmd, version string) (v Verified, err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return v, fmt.Errorf("start: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return v, fmt.Errorf("start: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return v, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), errors.Unwrap(err))
	}
	v, err = converse(in, out, version)
	in.Close()
	if err != nil {
		_ = cmd.Process.Kill() // what it says no longer counts
	}
	werr := cmd.Wait()
	if err == nil && werr != nil {
		err = fmt.Errorf("end: %w", werr)
	}
	v.OK = err == nil
	return v, err
}

// mcpAnswer is what is looked at of an answer.
type mcpAnswer struct {
	ID     int             `json:"id"`
	Error  json.RawMessage `json:"error"`
	Result struct {
		ServerInfo struct{ Name, Version string } `json:"serverInfo"`
		Tools      []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"result"`
}

func converse(in io.Writer, out io.Reader, version string) (v Verified, err error) {
	r := bufio.NewReaderSize(io.LimitReader(out, 1<<20), 64<<10)
	if _, err := fmt.Fprintf(in, mcpInitialize, version); err != nil {
		return v, fmt.Errorf("handshake: %w", err)
	}
	first, err := nextAnswer(r, 1)
	if err != nil {
		return v, fmt.Errorf("handshake: %w", err)
	}
	v.Server, v.Version = clip(first.Result.ServerInfo.Name, 60), clip(first.Result.ServerInfo.Version, 60)
	if v.Server != "holdfast" {
		return v, errors.New("the program that was started is another server")
	}
	if _, err := io.WriteString(in, mcpInitialized+mcpTools); err != nil {
		return v, fmt.Errorf("list tools: %w", err)
	}
	second, err := nextAnswer(r, 2)
	if err != nil {
		return v, fmt.Errorf("list tools: %w", err)
	}
	if v.Tools = len(second.Result.Tools); v.Tools == 0 {
		return v, errors.New("it lists no tools")
	}
	return v, nil
}

// nextAnswer reads up to the answer with an id. Anything that is no message
// breaks the protocol.
func nextAnswer(r *bufio.Reader, id int) (a mcpAnswer, err error) {
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) == 0 && err != nil {
			return a, errors.New("it ended without an answer")
		}
		a = mcpAnswer{}
		if json.Unmarshal(line, &a) != nil {
			return a, errors.New("it printed something that is no message")
		}
		if a.ID == id {
			if a.Error != nil {
				return a, errors.New("it answered with an error")
			}
			return a, nil
		}
	}
}
