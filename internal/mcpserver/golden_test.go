package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"holdfast/internal/project"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// TestTranscripts plays each testdata/*.txtar: the lines of its client, one
// answer awaited after each call, give exactly the lines of its server. Lines
// that begin with ! change the world between two calls.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(section(ar, "client")))
			want := string(section(ar, "server"))
			if got == want {
				return
			}
			if !*update {
				t.Fatalf("-want +got, -update writes it anew\n%s", cmp.Diff(want, got))
			}
			ar.Files = []txtar.File{{Name: "client", Data: section(ar, "client")}, {Name: "server", Data: []byte(got)}}
			if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func section(ar *txtar.Archive, name string) []byte {
	for _, f := range ar.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// opaque are the cursors of the index, whose form is its own business.
var opaque = regexp.MustCompile(`(cursor(?:": "| ))[A-Za-z0-9_-]{8,}`)

// stage is a server under a fixed clock and fixed randomness.
type stage struct {
	*bed
	now   time.Time
	in    *io.PipeWriter
	out   *lineReader
	ended chan error
}

func play(t *testing.T, script string) string {
	s := &stage{bed: newBed(t), now: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)}
	var out bytes.Buffer
	for _, line := range strings.Split(strings.TrimSpace(script), "\n") {
		if cmd, ok := strings.CutPrefix(line, "!"); ok {
			s.change(cmd)
			continue
		}
		if s.in == nil {
			s.begin()
		}
		line = strings.ReplaceAll(line, "$PROJECT", s.dir)
		if _, err := io.WriteString(s.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"id"`) {
			answer, err := s.out.next()
			if err != nil {
				t.Fatal(err)
			}
			out.Write(s.pretty(answer))
		}
	}
	s.end()
	return out.String()
}

func (s *stage) pretty(line []byte) []byte {
	if _, err := parse(string(line)); err != nil {
		s.t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, line, "", " "); err != nil {
		s.t.Fatal(err)
	}
	b.WriteByte('\n')
	return bytes.ReplaceAll(bytes.ReplaceAll(opaque.ReplaceAll(b.Bytes(), []byte("${1}$$CURSOR")), []byte(s.dir), []byte("$PROJECT")), []byte(s.home), []byte("$HOME"))
}

func (s *stage) begin() {
	w := s.world()
	w.Now = func() time.Time { return s.now }
	inR, in := io.Pipe()
	outR, out := io.Pipe()
	s.in, s.out, s.ended = in, newLineReader(outR), make(chan error, 1)
	go func() {
		s.ended <- Run(context.Background(), w, project.Options{}, Streams{inR, out, os.Stderr})
		out.Close()
	}()
}

func (s *stage) end() {
	if s.in == nil {
		return
	}
	s.in.Close()
	if err := <-s.ended; err != nil {
		s.t.Fatal(err)
	}
	s.in = nil
}

// change is what happens between two calls.
func (s *stage) change(cmd string) {
	switch f := strings.Fields(cmd); f[0] {
	case "git": // a repository with one commit
		s.git("init", "-q", "-b", "main")
		s.git("commit", "-q", "--allow-empty", "-m", "start")
	case "branch":
		s.git("switch", "-q", "-c", f[1])
	case "after":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = s.now.Add(d)
	case "restart":
		s.end()
	case "nowhere": // started in a home folder
		s.dir = s.home
	case "damage": // one byte of the newest revision flips
		s.end()
		s.flip()
	case "stranger": // this machine knows nothing of the ledger
		s.end()
		if err := os.RemoveAll(filepath.Join(s.home, ".local")); err != nil {
			s.t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(s.home, ".cache")); err != nil {
			s.t.Fatal(err)
		}
	default:
		s.t.Fatalf("unknown change %q", cmd)
	}
}

func (b *bed) flip() {
	b.t.Helper()
	var newest string
	err := filepath.WalkDir(filepath.Join(b.dir, ".holdfast"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(filepath.ToSlash(path), "/rev/") && path > newest {
			newest = path
		}
		return err
	})
	if err != nil || newest == "" {
		b.t.Fatalf("no revision file: %v", err)
	}
	data, err := os.ReadFile(newest)
	if err != nil {
		b.t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.Chmod(newest, 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(newest, data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
