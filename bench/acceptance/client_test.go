package acceptance

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tool is one real client: how it is made ready, asked for its servers, and run
// with one prompt. Facts: the versions pinned in bench/acceptance.sh.
type tool struct {
	id    string
	actor string // what its name in the ledger holds
	hooks bool   // it has hooks that setup writes
	// ready writes what a person would have: trust, and where the model is.
	ready func(h *house, m *model)
	list  []string // shows the server
	shows string   // in what list prints
	run   []string // with the prompt
	env   func(m *model) []string
}

var tools = []tool{
	{
		id: "codex", actor: "codex", hooks: true, list: []string{"codex", "mcp", "list"}, shows: "holdfast",
		run: []string{"codex", "exec", "--json", "--dangerously-bypass-hook-trust", "-s", "read-only", "hello"},
		ready: func(h *house, m *model) {
			h.home(".codex/config.toml", "model = \"fake\"\nmodel_provider = \"fake\"\n[model_providers.fake]\nname = \"fake\"\nbase_url = \""+m.URL+"/v1\"\nwire_api = \"responses\"\nrequires_openai_auth = false\nrequest_max_retries = 0\n[projects."+quote(h.dir)+"]\ntrust_level = \"trusted\"\n")
		},
		env: func(*model) []string { return nil },
	},
	{
		id: "claude", actor: "claude", hooks: true, list: []string{"claude", "mcp", "list"}, shows: "Connected",
		run: []string{"claude", "-p", "hello", "--output-format", "stream-json", "--verbose", "--allowedTools", "mcp__holdfast"},
		ready: func(h *house, _ *model) {
			h.home(".claude/settings.json", `{"enabledMcpjsonServers":["holdfast"]}`)
		},
		env: func(m *model) []string {
			return []string{"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=dummy", "ENABLE_TOOL_SEARCH=false"}
		},
	},
	{
		id: "gemini", actor: "gemini", hooks: true, list: []string{"gemini", "mcp", "list"}, shows: "Connected",
		run: []string{"gemini", "-p", "hello", "--approval-mode", "yolo", "-m", "gemini-2.5-flash"},
		ready: func(h *house, _ *model) {
			h.home(".gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
			h.home(".gemini/trustedFolders.json", `{`+quote(h.dir)+`:"TRUST_FOLDER"}`)
		},
		env: func(m *model) []string {
			return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + m.URL, "GEMINI_CLI_TRUST_WORKSPACE=true"}
		},
	},
	{
		id: "copilot", actor: "copilot", hooks: true, list: []string{"copilot", "mcp", "list", "--json"}, shows: "holdfast",
		run: []string{"copilot", "-p", "hello", "--allow-all-tools"},
		ready: func(h *house, _ *model) {
			h.home(".copilot/config.json", `{"trustedFolders":[`+quote(h.dir)+`]}`)
		},
		env: func(m *model) []string {
			return []string{"COPILOT_PROVIDER_BASE_URL=" + m.URL + "/v1", "COPILOT_MODEL=fake", "COPILOT_OFFLINE=true"}
		},
	},
	{
		id: "opencode", actor: "opencode", list: []string{"opencode", "mcp", "list"}, shows: "connected",
		run: []string{"opencode", "run", "--format", "json", "-m", "fake/fake", "hello"},
		ready: func(h *house, m *model) {
			h.home(".config/opencode/opencode.json", `{"provider":{"fake":{"npm":"@ai-sdk/openai-compatible","name":"fake","options":{"baseURL":"`+m.URL+`/v1","apiKey":"dummy"},"models":{"fake":{"name":"fake"}}}},"small_model":"fake/fake"}`)
		},
		env: func(*model) []string { return nil },
	},
}

func quote(s string) string { j, _ := json.Marshal(s); return string(j) }

// house is a home folder and a project, apart from everybody's own.
type house struct {
	t        *testing.T
	dir, own string
}

// newHouse makes one beside the installed clients: Codex warns of a home in the
// folder for temporary files.
func newHouse(t *testing.T) *house {
	t.Helper()
	cache := os.Getenv("HOLDFAST_ACCEPTANCE")
	if cache == "" {
		t.Skip("runs real clients from npm: use make acceptance")
	}
	if err := os.MkdirAll(filepath.Join(cache, "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	top, err := os.MkdirTemp(filepath.Join(cache, "runs"), "run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(top)
		}
	})
	h := &house{t: t, dir: filepath.Join(top, "project"), own: filepath.Join(top, "home")}
	h.write("README.md", "# A project\n")
	h.home(".gitconfig", "[user]\n\tname = T\n\temail = t@example.com\n[init]\n\tdefaultBranch = main\n")
	h.must(nil, "git", "init", "-q")
	h.must(nil, "git", "add", ".")
	h.must(nil, "git", "commit", "-qm", "first")
	return h
}

func (h *house) put(path, text string) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) home(name, text string)  { h.put(filepath.Join(h.own, name), text) }
func (h *house) write(name, text string) { h.put(filepath.Join(h.dir, name), text) }

// command runs a program in the project, with closed input and an environment of
// its own. It gives what was printed on both streams.
func (h *house) command(env []string, argv ...string) (string, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	path := filepath.Dir(os.Getenv("HOLDFAST_BIN")) + ":/usr/local/bin:/usr/bin:/bin"
	program := argv[0]
	if p := filepath.Join(os.Getenv("HOLDFAST_ACCEPTANCE"), program, "node_modules", ".bin", program); exists(p) {
		program = p
	} else if program == "holdfast" {
		program = os.Getenv("HOLDFAST_BIN")
	}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Dir, cmd.WaitDelay = h.dir, 5*time.Second
	cmd.Env = append([]string{"HOME=" + h.own, "PATH=" + path, "TERM=dumb", "NO_COLOR=1", "LANG=C.UTF-8", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func (h *house) must(env []string, argv ...string) string {
	h.t.Helper()
	out, err := h.command(env, argv...)
	if err != nil {
		h.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, tail(out))
	}
	return out
}

func tail(s string) string {
	if len(s) > 4000 {
		return "…" + s[len(s)-4000:]
	}
	return s
}

// files is every file of the project but git's and the ledger's.
func (h *house) files() map[string]string {
	h.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(h.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" || e.Name() == ".holdfast" {
			return filepath.SkipDir
		}
		rel, _ := filepath.Rel(h.dir, path)
		out[rel] = "folder"
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			out[rel] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}
