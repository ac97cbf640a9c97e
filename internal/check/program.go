package check

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"holdfast/internal/ledger"
)

// Platform is where a check runs.
type Platform struct{ OS, Arch string }

// Runtime identifies what a command goes through: its program, the interpreter
// of a script, and the programs that a shell text names. Nothing is run.
func (h *Hasher) Runtime(ctx context.Context, argv []string, dir string, env []string, on Platform) ledger.Runtime {
	rt := ledger.Runtime{OS: on.OS, Arch: on.Arch}
	if len(argv) == 0 {
		return rt
	}
	file, err := Find(argv[0], dir, env)
	if err != nil {
		return rt
	}
	rt.Program = file
	if p, err := h.HashProgram(ctx, file); err == nil {
		rt.Size, rt.SHA256 = p.Size, p.SHA256
	}
	for _, name := range append(interpreter(file), programsIn(argv)...) {
		full, err := Find(name, dir, env)
		if err != nil || full == file {
			continue
		}
		if p, err := h.HashProgram(ctx, full); err == nil && !slices.Contains(rt.Through, p) {
			rt.Through = append(rt.Through, p)
		}
	}
	return rt
}

// interpreter reads a script's first line. Source: execve(2).
func interpreter(file string) []string {
	f, err := openInput(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return nil
	}
	if path.Base(words[0]) == "env" {
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				return []string{words[0], w}
			}
		}
	}
	return words[:1]
}

// maxPrograms bounds what is looked at of a shell text.
const maxPrograms = 32

// programsIn lists the words that a shell text runs.
func programsIn(argv []string) []string {
	text, _, ok := shellIn(argv)
	if !ok {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	var out []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, is := n.(*syntax.CallExpr); is && len(call.Args) > 0 && len(out) < maxPrograms {
			if name, known := literal(call.Args[0]); known && name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
		return true
	})
	return out
}

// versions are the programs that are asked for their version line, and how.
var versions = map[string]string{
	"go": "version", "node": "--version", "npm": "--version", "pnpm": "--version", "yarn": "--version", "bun": "--version", "deno": "--version",
	"python": "--version", "python3": "--version", "pytest": "--version", "uv": "--version", "cargo": "--version", "rustc": "--version",
	"ruby": "--version", "php": "--version", "java": "-version", "mvn": "--version", "gradle": "--version", "dotnet": "--version", "make": "--version",
}

// versionTime is how long a program may take to tell its version.
const versionTime = 5 * time.Second

// Version is the first line of what a program on the list says of itself, ""
// for any other. It runs the program: only where a check runs anyway.
func Version(ctx context.Context, program, dir string, env []string) string {
	arg, known := versions[strings.TrimSuffix(path.Base(strings.ReplaceAll(program, `\`, "/")), ".exe")]
	if !known {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, arg)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	b, err := cmd.CombinedOutput()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if line = strings.ToValidUTF8(strings.TrimSpace(line), ""); len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "")
	}
	return line
}
