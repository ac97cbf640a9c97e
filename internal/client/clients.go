package client

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// The clients that setup knows.
const (
	Codex    = "codex"
	Cursor   = "cursor"
	Claude   = "claude"
	Gemini   = "gemini"
	Copilot  = "copilot"
	VSCode   = "vscode"
	OpenCode = "opencode"
)

// Client is one coding tool: how it is recognised and what it leaves to people.
type Client struct {
	ID       string
	Name     string
	Marks    []string // files and folders of a project in which it is used
	Programs []string // names of its program on PATH
	Todo     string   // what a person must still do; setup touches no approval or trust setting
}

// Clients lists every client, in the order in which they are shown.
func Clients() []Client {
	return []Client{
		{Codex, "Codex", []string{".codex"}, []string{"codex"},
			"trust this project when Codex asks, then review the hooks with /hooks"},
		{Cursor, "Cursor", []string{".cursor", ".cursorrules"}, []string{"cursor", "cursor-agent"},
			"switch the server \"holdfast\" on under Settings, MCP, and trust the workspace for its hooks"},
		{Claude, "Claude Code", []string{".claude", "CLAUDE.md"}, []string{"claude"},
			"approve the project server \"holdfast\" when Claude Code asks, or with /mcp"},
		{Gemini, "Gemini CLI", []string{".gemini", "GEMINI.md"}, []string{"gemini"},
			"trust this folder when Gemini CLI asks; it then names the new hooks once"},
		{Copilot, "GitHub Copilot CLI", []string{".github/mcp.json", ".github/hooks", ".github/copilot-instructions.md"}, []string{"copilot"},
			"trust this folder when Copilot asks"},
		{VSCode, "VS Code", []string{".vscode"}, []string{"code", "code-insiders", "codium"},
			"start the server \"holdfast\" once with \"MCP: List Servers\" and trust it"},
		{OpenCode, "opencode", []string{"opencode.json", "opencode.jsonc", ".opencode"}, []string{"opencode"},
			"nothing; a running opencode sees the server after a restart"},
	}
}

// Detect names the clients that are used in a project. exists answers for a
// path of the project, onPath for the name of a program.
func Detect(exists, onPath func(string) bool) []string {
	var out []string
	for _, c := range Clients() {
		if slices.ContainsFunc(c.Marks, exists) || slices.ContainsFunc(c.Programs, onPath) {
			out = append(out, c.ID)
		}
	}
	return out
}

// Known reports whether id names a client.
func Known(id string) bool {
	return slices.ContainsFunc(Clients(), func(c Client) bool { return c.ID == id })
}

// Spec is what decides the content of entries.
type Spec struct {
	Command      string   // what entries run: "holdfast", or an absolute path
	Aliases      []string // other commands that setup writes on this machine: they are ours too
	Windows      bool     // paths and quotes of Windows
	Remind       bool     // the stop hook may ask once for a save
	Transactions bool     // the holdfast_txn_* tools are there: the block names them
}

const (
	serverName   = "holdfast"
	skillName    = "recovering-persistent-work"
	agentsMD     = "AGENTS.md"
	claudeMD     = "CLAUDE.md"
	geminiMD     = "GEMINI.md"
	sharedMCP    = ".mcp.json"
	githubMCP    = ".github/mcp.json"
	claudeFile   = ".claude/settings.json"
	geminiFile   = ".gemini/settings.json"
	codexFile    = ".codex/config.toml"
	codexHooks   = ".codex/hooks.json"
	cursorMCP    = ".cursor/mcp.json"
	cursorHooks  = ".cursor/hooks.json"
	copilotHooks = ".github/hooks/holdfast.json"
	vscodeMCP    = ".vscode/mcp.json"
	agentsSkill  = ".agents/skills/" + skillName + "/SKILL.md"
	claudeSkill  = ".claude/skills/" + skillName + "/SKILL.md"
	codexHides   = "AGENTS.override.md" // Codex reads it instead of AGENTS.md
)

// opencodeFiles are the places of opencode's settings, the preferred one first.
func opencodeFiles() []string {
	return []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.jsonc", ".opencode/opencode.json"}
}

// passedOn are the variables that a server needs and that Codex strips. They
// are passed by name; no value is ever written.
func passedOn() []any { return []any{"XDG_STATE_HOME", "XDG_CACHE_HOME"} }

// Paths lists every file that Plan and PlanRemove may look at, relative to the
// project.
func Paths() []string {
	return append([]string{
		agentsMD, claudeMD, geminiMD, codexHides, sharedMCP, githubMCP, claudeFile, geminiFile, codexFile, codexHooks,
		cursorMCP, cursorHooks, copilotHooks, vscodeMCP, agentsSkill, claudeSkill,
	}, opencodeFiles()...)
}

// Launch is how a client starts the server.
type Launch struct {
	Argv []string
	Env  []string // the names of variables it passes on; nil for all
}

// LaunchOf tells how a client starts the configured command in a project. The
// environment of Codex was measured (0.171): HOME, LANG, PATH and TERM.
func LaunchOf(client, command, project string) Launch {
	l := Launch{Argv: []string{command, "mcp"}}
	switch client {
	case Cursor:
		l.Argv = append(l.Argv, "--project", project)
	case Codex:
		l.Env = []string{"HOME", "LANG", "PATH", "TERM"}
		for _, v := range passedOn() {
			l.Env = append(l.Env, v.(string))
		}
	}
	return l
}

// server is the value of the MCP entry of a client.
func server(client, command string) Obj {
	args := []any{"mcp"}
	switch client {
	case Cursor: // may start servers elsewhere than in the project
		return Obj{{"command", command}, {"args", append(args, "--project", "${workspaceFolder}")}}
	case Gemini:
		return Obj{{"command", command}, {"args", args}}
	case Codex:
		return Obj{{"command", command}, {"args", args}, {"env_vars", passedOn()}}
	case OpenCode:
		return Obj{{"type", "local"}, {"command", []any{command, "mcp"}}, {"enabled", true}}
	}
	return Obj{{"type", "stdio"}, {"command", command}, {"args", args}}
}

// names matches our program as a whole command.
func (s Spec) names() string {
	all := []string{"holdfast", `holdfast\.exe`}
	for _, c := range append([]string{s.Command}, s.Aliases...) {
		all = append(all, regexp.QuoteMeta(path.Base(strings.ReplaceAll(c, `\`, "/"))))
	}
	slices.Sort(all)
	return "(" + strings.Join(slices.Compact(all), "|") + ")"
}

// entry is the item of a client's MCP server under the given key.
func (s Spec) entry(client, under string) Item {
	it := Item{ID: "server", Role: Entry, At: []string{under}, Name: serverName, Want: server(client, s.Command)}
	it.Mark = `(^|[/\\])` + s.names() + `$`
	for _, c := range s.Aliases {
		it.Also = append(it.Also, server(client, c))
	}
	return it
}

// block is the item of the instructions in a Markdown file.
func (s Spec) block() Item {
	return Item{ID: "instructions", Role: Block, Want: Instructions(s.Transactions), Also: []any{Instructions(!s.Transactions)}}
}
