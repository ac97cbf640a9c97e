package holdfast

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// may lists what each package may import of ours. Imports point inward: a face
// calls the hub, the hub calls adapters, adapters know the domain.
var may = map[string][]string{
	"ledger": {}, "durable": {},
	"txn":      {"ledger"},
	"index":    {"ledger", "durable"},
	"filelog":  {"ledger", "durable"},
	"git":      {"ledger", "durable"},
	"secret":   {"ledger", "durable"},
	"client":   {"ledger", "durable"},
	"surface":  {"ledger", "durable", "git"},
	"check":    {"ledger", "durable", "git"},
	"archive":  {"ledger", "durable"},
	"recovery": {"ledger", "durable", "filelog", "archive"},
	"project":  {"recovery", "archive", "check", "txn", "surface", "client", "secret", "git", "index", "filelog", "ledger", "durable"},
	// Faces never import an adapter; ledger has the types that they show.
	"mcpserver": {"project", "ledger"},
	"web":       {"project", "ledger"},
	"cli":       {"mcpserver", "web", "project", "ledger", "durable"},
}

// fenced lists libraries and the packages that alone may import them.
var fenced = map[string]string{
	"github.com/spf13/cobra":                 "cli",
	"modernc.org/sqlite":                     "index",
	"github.com/modelcontextprotocol/go-sdk": "mcpserver",
	"filippo.io/age":                         "archive",
	"github.com/zricethezav/gitleaks":        "secret",
	"github.com/tailscale/hujson":            "client",
	"github.com/pelletier/go-toml":           "client secret",
	"mvdan.cc/sh":                            "check",
	"github.com/hanwen/go-fuse":              "bench",
}

// forbidden calls, outside cmd and the files named: the world is passed in.
var forbidden = map[string]string{
	"time.Now": "pass a clock", "os.Getenv": "pass the environment", "os.Environ": "pass the environment", "os.Exit": "return an error",
	"fmt.Print": "pass a stream", "fmt.Println": "pass a stream", "fmt.Printf": "pass a stream", "log.Printf": "return an error", "log.Fatal": "return an error",
}

// outside may do what is forbidden elsewhere: it takes the world from the
// operating system, for main.
func outside(file string) bool {
	return strings.HasPrefix(file, "cmd/") || strings.HasPrefix(file, "bench/") || strings.HasPrefix(path.Base(file), "world") && strings.HasPrefix(file, "internal/cli/")
}

// source calls fn for each Go file that is not a test.
func source(t *testing.T, fn func(file, pkg string, f *ast.File, fset *token.FileSet)) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		file = filepath.ToSlash(file)
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := ""
		if parts := strings.Split(file, "/"); parts[0] == "internal" {
			pkg = parts[1]
			if len(parts) > 3 && !strings.HasPrefix(file, "internal/ledger/ledgertest/") {
				t.Errorf("%s: packages are one level deep", file)
			}
			if strings.HasPrefix(file, "internal/ledger/ledgertest/") {
				pkg = "ledgertest"
			}
		}
		fn(file, pkg, f, fset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsPointInward(t *testing.T) {
	seen := 0
	source(t, func(file, pkg string, f *ast.File, _ *token.FileSet) {
		for _, imp := range f.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			ours, inside := strings.CutPrefix(name, "holdfast/internal/")
			if inside && pkg != "" && pkg != "ledgertest" {
				seen++
				if !slices.Contains(may[pkg], ours) {
					t.Errorf("%s imports %s, which %s may not", file, ours, pkg)
				}
			}
			if (pkg == "ledger" || pkg == "durable" && !strings.HasPrefix(name, "golang.org/x/sys")) && strings.Contains(name, ".") {
				t.Errorf("%s imports %s: %s uses the standard library only", file, name, pkg)
			}
			who := pkg
			if strings.HasPrefix(file, "bench/") {
				who = "bench"
			}
			for lib, owner := range fenced {
				if (name == lib || strings.HasPrefix(name, lib+"/")) && !slices.Contains(strings.Fields(owner), who) {
					t.Errorf("%s imports %s, which only %s may", file, name, owner)
				}
			}
		}
	})
	if seen == 0 {
		t.Error("no import was looked at")
	}
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	docs, all := map[string]bool{}, map[string]bool{}
	source(t, func(file, _ string, f *ast.File, _ *token.FileSet) {
		dir := path.Dir(file)
		all[dir] = true
		docs[dir] = docs[dir] || f.Doc != nil && len(f.Doc.Text()) > 40
	})
	for dir := range all {
		if !docs[dir] {
			t.Errorf("%s has no package comment", dir)
		}
		if pkg, inside := strings.CutPrefix(dir, "internal/"); inside && !strings.Contains(pkg, "/") && may[pkg] == nil {
			t.Errorf("%s is not in the house's plan", dir)
		}
	}
}

func TestTheWorldIsPassedIn(t *testing.T) {
	source(t, func(file, _ string, f *ast.File, fset *token.FileSet) {
		if outside(file) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil {
				if why, bad := forbidden[x.Name+"."+sel.Sel.Name]; bad {
					t.Errorf("%s uses %s.%s: %s", fset.Position(sel.Pos()), x.Name, sel.Sel.Name, why)
				}
			}
			return true
		})
	})
}

func TestFilesStaySmall(t *testing.T) {
	source(t, func(file, _ string, f *ast.File, fset *token.FileSet) {
		if n := fset.Position(f.End()).Line; n > 400 {
			t.Errorf("%s has %d lines, at most 400 are wanted", file, n)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line; n > 70 {
					t.Errorf("%s: %s has %d lines, at most 70 are wanted", fset.Position(fn.Pos()), fn.Name.Name, n)
				}
			}
		}
	})
}

// TestNoTraceOfAMachine: what is committed names no registry's host and no
// path of a machine.
func TestNoTraceOfAMachine(t *testing.T) {
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", ".ci/run"} {
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"/wo" + "rk/", "/ro" + "ot/", "proxy.gol" + "ang", "registry.np" + "mjs"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
	}
}
