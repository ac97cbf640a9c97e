package project

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// World is everything a project takes from outside. The zero fields of a World
// made by hand must be filled as main does.
type World struct {
	Now   func() time.Time
	Rand  io.Reader
	Env   []string // NAME=value, as os.Environ gives it
	Dir   string   // working directory; empty if it is gone
	Home  string   // the user's home folder; empty if unknown
	Temp  string   // folder for temporary files
	OS    string   // as runtime.GOOS
	Arch  string   // as runtime.GOARCH
	PID   int
	Host  string
	Start string // when this process started, for the lock's text
	// Terminal: a person can be asked at standard input and error.
	Terminal bool
	// Process tells processes apart; nil where that can't be done.
	Process *Process
	// Parents are the names of this process's ancestors, nearest first.
	Parents func() []string
	Layer   *durable.Layer
	Version string
	Program string // the running binary, absolute; empty if unknown
	// HashFile and such take their parallelism from here.
	CPUs int
}

// Getenv is the value of an environment variable, empty if unset.
func (w *World) Getenv(name string) string {
	v, _ := w.lookup(name)
	return v
}

func (w *World) lookup(name string) (string, bool) {
	for i := len(w.Env) - 1; i >= 0; i-- {
		k, v, ok := strings.Cut(w.Env[i], "=")
		if ok && (k == name || w.OS == "windows" && strings.EqualFold(k, name)) {
			return v, true
		}
	}
	return "", false
}

// stateFolders are the folders that may hold keys and mirrors, the preferred
// one first: the one that the environment names, and the default, since some
// clients strip a server's environment. Relative values are ignored, as the
// XDG base directory specification asks.
func (w *World) stateFolders() []string {
	return w.folders("XDG_STATE_HOME", filepath.Join(".local", "state"))
}

// cacheFolder is where the index of every ledger lies; empty if none is known.
func (w *World) cacheFolder() string {
	if fs := w.folders("XDG_CACHE_HOME", ".cache"); len(fs) > 0 {
		return fs[0]
	}
	return ""
}

func (w *World) folders(variable, underHome string) []string {
	var out []string
	add := func(dir string) {
		if dir != "" && filepath.IsAbs(dir) {
			dir = filepath.Join(dir, "holdfast")
			for _, o := range out {
				if o == dir {
					return
				}
			}
			out = append(out, dir)
		}
	}
	add(w.Getenv(variable))
	switch {
	case w.OS == "windows" && w.Getenv("LOCALAPPDATA") != "":
		add(filepath.Join(w.Getenv("LOCALAPPDATA"), "holdfast", filepath.Base(underHome)))
	case w.Home != "":
		add(filepath.Join(w.Home, underHome))
	}
	return out
}

// Caller is who acts, as far as the tool can tell. It is a threshold, not a
// proof: a process of the same user can pretend anything.
type Caller struct {
	ledger.Actor
	// Asked: a person sits at a terminal and can answer.
	Asked bool
}

// agentVariables are set by coding agents for the commands they run; the value
// is the client's name. CURSOR_TRACE_ID and VSCODE_* are set in ordinary
// terminals too and say nothing. Source: docs of the clients, and runs of them.
var agentVariables = []struct{ name, client string }{
	{"CLAUDECODE", "claude-code"}, {"CODEX_", "codex"}, {"GEMINI_CLI", "gemini-cli"},
	{"COPILOT_", "copilot"}, {"OPENCODE", "opencode"}, {"CURSOR_AGENT", "cursor"},
}

var agentPrograms = map[string]string{
	"claude": "claude-code", "codex": "codex", "gemini": "gemini-cli",
	"copilot": "copilot", "opencode": "opencode", "cursor-agent": "cursor",
}

// CLICaller tells who runs a command: an agent when a known agent's environment
// or parent process is there or there is no terminal, else a person.
func CLICaller(w *World) Caller {
	if client := agentClient(w); client != "" {
		return Caller{Actor: ledger.Actor{Kind: ledger.Agent, Client: client, Via: ledger.ViaCLI}}
	}
	if !w.Terminal {
		return Caller{Actor: ledger.Actor{Kind: ledger.Agent, Client: "unknown", Via: ledger.ViaCLI}}
	}
	return Caller{Actor: ledger.Actor{Kind: ledger.Person, Via: ledger.ViaCLI}, Asked: true}
}

func agentClient(w *World) string {
	for _, v := range agentVariables {
		for _, e := range w.Env {
			k, val, _ := strings.Cut(e, "=")
			if val != "" && (k == v.name || strings.HasSuffix(v.name, "_") && strings.HasPrefix(k, v.name)) {
				return v.client
			}
		}
	}
	if w.Parents == nil {
		return ""
	}
	for _, p := range w.Parents() {
		if c := agentPrograms[strings.TrimSuffix(filepath.Base(p), ".exe")]; c != "" {
			return c
		}
	}
	return ""
}

// MCPCaller is the client of an MCP server, by the name it gave itself.
func MCPCaller(name, version string) Caller {
	if name == "" {
		name = "unknown"
	}
	return Caller{Actor: ledger.Actor{Kind: ledger.Agent, Client: clip(name, 100), Version: clip(version, 100), Via: ledger.ViaMCP}}
}

// clip makes a name of a client storable: printable and short.
func clip(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffd {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}

// isDir reports whether path is a folder, links not followed.
func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
