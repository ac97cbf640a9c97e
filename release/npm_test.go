package release

import (
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const version = "1.2.3-test"

// TestNpxRunsTheProgram packs what a release publishes, serves it as a registry
// on the loopback does, and runs npx against that: the program of this platform
// alone is installed, no script runs, and arguments, input, output and exit
// status pass through.
func TestNpxRunsTheProgram(t *testing.T) {
	host := npmPlatform(t)
	for _, tool := range []string{"node", "npm", "npx"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("HOLDFAST_NEED_NODE") != "" {
				t.Fatal(err)
			}
			t.Skip("no", tool, "here")
		}
	}
	tmp := t.TempDir()
	program := filepath.Join(tmp, "program")
	run(t, "..", nil, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/holdfast")
	other := filepath.Join(tmp, "other")
	if err := os.WriteFile(other, []byte("not for this platform"), 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"npm/build.mjs", "--version", version, "--owner", "somebody", "--out", filepath.Join(tmp, "npm")}
	for _, p := range platforms {
		file := other
		if p == host {
			file = program
		}
		args = append(args, p+"="+file)
	}
	run(t, "..", nil, "node", args...)
	registry := serve(t, filepath.Join(tmp, "npm"))

	project := filepath.Join(tmp, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + filepath.Join(tmp, "home"), "npm_config_registry=" + registry, "npm_config_cache=" + filepath.Join(tmp, "cache"),
		"npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_yes=true", "PATH=" + os.Getenv("PATH")}
	run(t, project, env, "git", "init", "-q")
	out := run(t, project, env, "npx", "holdfast", "record", "note", "n-1", "--text", "said through npx", "--source", "a test")
	if !strings.Contains(out, "durable") && !strings.Contains(out, "revision 1") {
		t.Errorf("record through npx said %q", out)
	}
	if out := run(t, project, env, "npx", "holdfast", "resume"); !strings.Contains(out, "said through npx") {
		t.Errorf("resume through npx said %q", out)
	}
	cmd := exec.Command("npx", "holdfast", "show", "no-such-record")
	cmd.Dir, cmd.Env = project, env
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("exit status through npx: %v, want 2", err)
	}
	cmd = exec.Command("npx", "holdfast", "mcp")
	cmd.Dir, cmd.Env = project, env
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	answer, err := cmd.Output()
	if err != nil || !bytes.Contains(answer, []byte(`"serverInfo"`)) {
		t.Errorf("mcp through npx: %v, %q", err, answer)
	}
	run(t, project, env, "npm", "install", "holdfast")
	got, err := filepath.Glob(filepath.Join(project, "node_modules", "holdfast*"))
	if err != nil || len(got) != 2 {
		t.Errorf("installed %v, want holdfast and the package of %s: %v", got, host, err)
	}
}

// TestNothingRunsAtInstall: no package has an install script.
func TestNothingRunsAtInstall(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "npm", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if p["scripts"] != nil || p["dependencies"] != nil {
		t.Errorf("npm/package.json has scripts %v, dependencies %v", p["scripts"], p["dependencies"])
	}
}

// TestServerJSON: what the registry of MCP servers asks of the two files
// together: the name is a namespace and a name, and the package repeats it.
func TestServerJSON(t *testing.T) {
	var server struct {
		Name, Description, Version string
		Packages                   []struct{ RegistryType, Identifier, Version string }
	}
	var pkg struct{ Name, Version, McpName string }
	for file, v := range map[string]any{"../server.json": &server, "../npm/package.json": &pkg} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if server.Name != pkg.McpName || strings.Count(server.Name, "/") != 1 {
		t.Errorf("server.json is %q, the package's mcpName %q", server.Name, pkg.McpName)
	}
	if n := len(server.Description); n == 0 || n > 100 {
		t.Errorf("the description has %d characters, 1 to 100 are allowed", n)
	}
	if len(server.Packages) != 1 || server.Packages[0].Identifier != pkg.Name || server.Packages[0].RegistryType != "npm" {
		t.Errorf("packages: %+v", server.Packages)
	}
}

var platforms = []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"}

func npmPlatform(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("npx is a script for cmd.exe here")
	}
	return runtime.GOOS + "-" + map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
}

// serve packs each folder of dir and answers as a registry of packages does.
func serve(t *testing.T, dir string) string {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	folders, err := filepath.Glob(filepath.Join(dir, "holdfast*"))
	if err != nil || len(folders) != len(platforms)+1 {
		t.Fatalf("packages: %v, %v", folders, err)
	}
	for _, folder := range folders {
		name := filepath.Base(folder)
		run(t, folder, nil, "npm", "pack", "--silent", "--pack-destination", dir)
		tarball, err := os.ReadFile(filepath.Join(dir, name+"-"+version+".tgz"))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "package.json"))
		if err != nil {
			t.Fatal(err)
		}
		var manifest map[string]any
		if err := json.Unmarshal(text, &manifest); err != nil {
			t.Fatal(err)
		}
		sum := sha512.Sum512(tarball)
		manifest["dist"] = map[string]any{"tarball": srv.URL + "/-/" + name + ".tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		doc, err := json.Marshal(map[string]any{"name": name, "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: manifest}})
		if err != nil {
			t.Fatal(err)
		}
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) { w.Write(doc) })
		mux.HandleFunc("/-/"+name+".tgz", func(w http.ResponseWriter, _ *http.Request) { w.Write(tarball) })
	}
	return srv.URL
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(fmt.Errorf("%s %v: %w\n%s%s", name, args, err, out.Bytes(), errs.Bytes()))
	}
	return out.String()
}
