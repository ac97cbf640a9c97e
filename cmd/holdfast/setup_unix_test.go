//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/internal/durable"
)

func TestCaseC041_SetupKeepsModeAndOwner(t *testing.T) {
	t.Parallel()
	for _, umask := range []int{0, 0o022, 0o077} {
		for _, mode := range []os.FileMode{0o600, 0o640, 0o644, 0o664, 0o755} {
			t.Run(fmt.Sprintf("%04o under umask %03o", mode, umask), func(t *testing.T) {
				b := newBox(t)
				for _, f := range []string{".mcp.json", "AGENTS.md", ".claude/settings.json"} {
					b.write(f, []byte("{}\n"))
					b.chmod(f, mode)
				}
				if os.Geteuid() == 0 {
					for _, p := range []string{b.dir, b.path(".mcp.json"), b.path("AGENTS.md"), b.path(".claude"), b.path(".claude/settings.json")} {
						if err := os.Lchown(p, 4242, 4343); err != nil {
							t.Fatal(err)
						}
					}
				}
				before := b.owners()
				for _, args := range []string{"setup --client claude --yes", "setup --remove --yes"} {
					cmd := exec.Command("sh", "-c", fmt.Sprintf("umask %03o; exec holdfast %s", umask, args))
					cmd.Dir, cmd.Env = b.dir, b.env
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
					for f, was := range before {
						if now := b.owners()[f]; now != was {
							t.Errorf("%s: %s: was %s, is %s", args, f, was, now)
						}
					}
				}
			})
		}
	}
	t.Run("new files", func(t *testing.T) {
		b := newBox(t)
		b.must(0, "setup", "--client", "all", "--yes")
		for path, text := range b.snapshot(false) {
			mode, _, _ := strings.Cut(text, " ")
			if want := map[bool]string{true: "-rw-r--r--", false: "-rw-------"}[strings.HasSuffix(path, ".md")]; mode[0] == '-' && mode != want {
				t.Errorf("%s: %s, want %s", path, mode, want)
			}
		}
	})
	t.Run("somebody else's file", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a file away")
		}
		b := newBox(t)
		b.write(".mcp.json", []byte("{}\n"))
		if err := os.Chown(b.path(".mcp.json"), 4242, 4242); err != nil {
			t.Fatal(err)
		}
		s := b.must(1, "setup", "--client", "claude", "--yes", "--json").setup(t)
		if why, _, _ := s.whyOf(".mcp.json"); !strings.Contains(why, "belongs to another user") || string(b.read(".mcp.json")) != "{}\n" {
			t.Errorf("%s", why)
		}
	})
}

// owners is mode, owner and group of each file.
func (b *box) owners() map[string]string {
	out := map[string]string{}
	for _, f := range []string{".mcp.json", "AGENTS.md", ".claude/settings.json"} {
		info, err := os.Lstat(b.path(f))
		if err != nil {
			b.t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		out[f] = fmt.Sprint(info.Mode(), st.Uid, st.Gid)
	}
	return out
}

func TestSetupFollowsLinksWithinTheProject(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("docs/rules.md", []byte("# Rules\n"))
	b.write("config/mcp.json", []byte("{}\n"))
	b.link("docs/rules.md", "AGENTS.md")
	b.link("AGENTS.md", "CLAUDE.md")
	b.link("config/mcp.json", ".mcp.json")
	b.mkdir(".agents/skills")
	b.link("../.agents/skills", ".claude/skills")
	before := b.snapshot(false)
	b.must(0, "setup", "--client", "claude,codex", "--yes")
	if n := strings.Count(string(b.read("docs/rules.md")), "holdfast:begin"); n != 1 {
		t.Errorf("%d blocks behind two links", n)
	}
	for _, l := range []string{"AGENTS.md", "CLAUDE.md", ".mcp.json", ".claude/skills"} {
		if info, err := os.Lstat(b.path(l)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
	b.must(0, "setup", "--client", "claude,codex", "--check")
	b.must(0, "setup", "--remove", "--yes")
	b.same("remove", before, b.snapshot(false))
}

func TestSetupStaysOutOfOtherPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ target, why string }{
		"outside":        {"../outside.json", "outside the project"},
		"the user's own": {"../../home/.claude/settings.json", "user's own settings"},
		"git":            {".git/x.json", "writes nothing"},
		"the ledger":     {".holdfast/x.json", "writes nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write(c.target, []byte("{}\n"))
			if name == "the ledger" {
				b.chmod(".holdfast", 0o700)
				os.RemoveAll(b.path(".holdfast"))
				b.must(0, "record", "note", "n", "--text", "t", "--source", "s")
				b.write(c.target, []byte("{}\n"))
			}
			b.link(c.target, ".mcp.json")
			s := b.must(1, "setup", "--client", "claude", "--yes", "--json").setup(t)
			if why, snippet, _ := s.whyOf(".mcp.json"); !strings.Contains(why, c.why) || snippet == "" {
				t.Errorf("why: %s", why)
			}
			if string(b.read(c.target)) != "{}\n" {
				t.Error("it was written")
			}
		})
	}
	t.Run("a dotfiles folder in the home folder", func(t *testing.T) {
		b := newBox(t)
		b.write("../../home/dotfiles/mcp.json", []byte("{}\n"))
		b.link("../../home/dotfiles/mcp.json", ".mcp.json")
		b.must(0, "setup", "--client", "claude", "--yes")
		if !bytes.Contains(b.read("../../home/dotfiles/mcp.json"), []byte("holdfast")) {
			t.Error("the target was not edited")
		}
		b.must(0, "setup", "--remove", "--yes")
		if string(b.read("../../home/dotfiles/mcp.json")) != "{}\n" {
			t.Error("not restored")
		}
	})
}

func TestSetupLeavesOddFiles(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	if err := syscall.Mkfifo(b.path(".mcp.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write("other.md", []byte("# one file, two names\n"))
	if err := os.Link(b.path("other.md"), b.path("AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	b.write(".cursor", []byte("a file in the place of a folder"))
	s := b.must(1, "setup", "--client", "claude,cursor,gemini", "--yes", "--json").setup(t)
	for file, want := range map[string]string{".mcp.json": "a FIFO", "AGENTS.md": "hard links", ".cursor/mcp.json": "in the place of a folder"} {
		if why, _, _ := s.whyOf(file); !strings.Contains(why, want) {
			t.Errorf("%s: %q", file, why)
		}
	}
	if s.changes()[".gemini/settings.json"] != "create" || string(b.read("other.md")) != "# one file, two names\n" {
		t.Error("the others did not go on, or a second name was written")
	}
}

// inNamespace runs a shell line as root of a user name space of its own.
func (b *box) inNamespace(script string) (string, error) {
	cmd := exec.Command("unshare", "-rm", "sh", "-ec", script)
	cmd.Dir, cmd.Env = b.dir, b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func needNamespaces(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() != nil {
		t.Skip("needs mounts in a user name space")
	}
}

func TestSetupWritesAMountedFileInPlace(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	b := newBox(t)
	b.write(".mcp.json", []byte("{\"mcpServers\": {}}\n"))
	before := b.snapshot(false)
	out, err := b.inNamespace(`mount --bind .mcp.json .mcp.json
		holdfast setup --client claude --yes >&2
		grep -q holdfast .mcp.json
		holdfast setup --remove --yes >&2`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b.same("remove", before, b.snapshot(false))
}

func TestCaseC010_SetupOnAFullDisk(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	b := newBox(t)
	b.write("keep", []byte("x"))
	// The project's disk is full: nothing changes, and it works with space again.
	out, err := b.inNamespace(`mount -t tmpfs -o size=256k t .
		cd . ; cd "$PWD"
		echo '{"mcpServers": {}}' > .mcp.json
		holdfast record note n --text t --source s >&2
		cp .mcp.json ../was
		dd if=/dev/zero of=filler bs=1k 2>/dev/null || :
		if holdfast setup --client all --yes >../out 2>&1; then echo "it said it worked"; exit 1; fi
		grep -q 'disk is full' ../out || { cat ../out; exit 1; }
		cmp .mcp.json ../was
		holdfast resume > ../resume
		rm filler
		holdfast setup --client all --yes >../out 2>&1 || { cat ../out; exit 1; }
		! holdfast resume | grep interrupted
		holdfast setup --remove --yes >/dev/null
		cmp .mcp.json ../was
		test -z "$(find . -name '*.tmp*' -o -name '.holdfast-*')"`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestCaseC011_SetupOnAReadOnlyProject(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	b := newBox(t)
	b.must(0, "setup", "--client", "claude", "--yes")
	out, err := b.inNamespace(`mount --bind . . ; mount -o remount,bind,ro . ; cd "$PWD"
		holdfast setup --client claude --check >&2
		holdfast setup --client claude --yes >&2
		holdfast setup --client codex --yes --json && exit 1 || test $? -eq 6 -o $? -eq 1`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestTortureKilledSetup kills setups and removals anywhere, and looks that a
// plain run afterwards completes them: no file torn, no temporary left, every
// byte back.
func TestTortureKilledSetup(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("AGENTS.md", []byte("# House rules\n"))
	b.write(".mcp.json", b.fixture("C035/mcp.jsonc"))
	b.write(".gemini/settings.json", b.fixture("C039/settings.json"))
	before := b.snapshot(false)
	b.must(0, "setup", "--client", "all", "--yes")
	after := b.snapshot(false)
	b.must(0, "setup", "--remove", "--yes")
	b.same("remove", before, b.snapshot(false))
	seen := 0
	for i := range rounds(4) {
		for _, args := range [][]string{{"setup", "--client", "all", "--yes"}, {"setup", "--remove", "--yes"}} {
			b.killed(time.Duration(12+i*9%60)*time.Millisecond, args...)
			for path, text := range b.snapshot(false) {
				if was, now := before[path], after[path]; text != was && text != now && !strings.HasPrefix(filepath.Base(path), ".") {
					t.Fatalf("%s is neither as before nor as after:\n%s", path, text)
				}
			}
			if strings.Contains(b.must(0, "resume").out, "setup of the coding tools was interrupted") {
				seen++
			}
			b.must(0, args...)
			if strings.Contains(b.must(0, "resume").out, "interrupted") {
				t.Fatal("still interrupted after a whole run")
			}
		}
		b.sweepTemps()
		b.same("remove", before, b.snapshot(false))
	}
	t.Logf("%d interrupted runs were seen", seen)
}

// killed starts a run and kills it after a while.
func (b *box) killed(after time.Duration, args ...string) {
	path, err := exec.LookPath("holdfast")
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = b.dir, b.env
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // killed, or done before that
}

// sweepTemps removes the temporary files of killed runs, which the program
// itself leaves alone for a minute: they could be a living one's.
func (b *box) sweepTemps() {
	_ = filepath.WalkDir(b.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && durable.IsTemporary(e.Name()) {
			return os.Remove(path)
		}
		return nil
	})
}

// rounds is how often a torture test goes round: HOLDFAST_TORTURE says how much
// longer than by default.
func rounds(n int) int {
	if v, err := strconv.Atoi(os.Getenv("HOLDFAST_TORTURE")); err == nil && v > 0 {
		return max(n, v)
	}
	return n
}
