package surface

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const benchFiles = 10_000

// benchFolder makes a git repository of 10,000 files of about 4 KiB in 100
// folders, all older than the window in which stamps are distrusted.
func benchFolder(b *testing.B) string {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	buf := make([]byte, 4096)
	for i := range benchFiles {
		name := filepath.Join(dir, "tree", fmt.Sprintf("d%02d", i%100), fmt.Sprintf("f%05d.txt", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		copy(buf, fmt.Sprintf("file %d\n", i))
		if err := os.WriteFile(name, buf, 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(name, old, old); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	time.Sleep(Racy + 200*time.Millisecond) // ctime can't be set back
	return dir
}

func benchObserver(dir string, c *Cache) *Observer {
	return New(Options{Worktree: "main", Tops: map[string]string{"main": dir}, Cache: c, Now: time.Now, Workers: 2})
}

// hashAll hashes every regular file below dir with two goroutines: what any
// look must do at least.
func hashAll(b *testing.B, dir string) {
	names := make(chan string, 64)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			buf := make([]byte, 64<<10)
			h := sha256.New()
			for name := range names {
				f, err := os.Open(name)
				if err != nil {
					b.Error(err)
					return
				}
				h.Reset()
				if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buf); err != nil {
					b.Error(err)
				}
				h.Sum(nil)
				f.Close()
			}
		})
	}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names <- p
		}
		return err
	})
	close(names)
	wg.Wait()
	if err != nil {
		b.Fatal(err)
	}
}

// reportCPU reports the processor time of the benchmark: unlike the time on the
// wall it can be compared on a machine that is busy with something else.
func reportCPU(b *testing.B) func() {
	before := cpuTime(b)
	return func() {
		b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N)/1000, "cpu-ms/op")
	}
}

func BenchmarkFolder(b *testing.B) {
	dir := benchFolder(b)
	want := []Want{{Key: "k", Surface: "dir:tree", Worktree: "main", Whole: true}}
	look := func(b *testing.B, o *Observer) {
		ls, err := o.Look(context.Background(), want)
		if err != nil || ls[0].State != Present || ls[0].Facts["files"] != fmt.Sprint(benchFiles) {
			b.Fatalf("look: %v %v", ls, err)
		}
	}
	b.Run("hashing", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			hashAll(b, filepath.Join(dir, "tree"))
		}
	})
	b.Run("first-look", func(b *testing.B) {
		defer reportCPU(b)()
		for b.Loop() {
			look(b, benchObserver(dir, NewCache()))
		}
	})
	b.Run("git-status", func(b *testing.B) {
		var used time.Duration
		defer func() { b.ReportMetric(float64(used.Microseconds())/float64(b.N)/1000, "cpu-ms/op") }()
		for b.Loop() {
			cmd := exec.Command("git", "status", "--porcelain")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				b.Fatalf("%v %s", err, out)
			}
			used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
	})
	b.Run("second-look", func(b *testing.B) {
		defer reportCPU(b)()
		o := benchObserver(dir, NewCache())
		look(b, o)
		for b.Loop() {
			look(b, o)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		o := benchObserver(dir, nil)
		looks, err := o.Look(context.Background(), want)
		if err != nil {
			b.Fatal(err)
		}
		defer reportCPU(b)()
		for b.Loop() {
			if same, err := o.Unchanged(context.Background(), want, looks); err != nil || !same {
				b.Fatal(same, err)
			}
		}
	})
}
