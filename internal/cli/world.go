package cli

import (
	"crypto/rand"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/term"

	"holdfast/internal/durable"
	"holdfast/internal/project"
)

// System is the world and the streams of this process. What costs something
// and is rarely asked for is read when it is asked for.
func System(now func() time.Time) (*project.World, Streams) {
	w := &project.World{
		Now: now, Rand: rand.Reader, Env: os.Environ(), Temp: os.TempDir(), OS: runtime.GOOS, Arch: runtime.GOARCH, PID: os.Getpid(),
		Start: now().UTC().Format(time.RFC3339), Layer: &durable.Layer{}, Version: ReadBuild().Version, CPUs: runtime.GOMAXPROCS(0), Process: processes(),
		Parents: sync.OnceValue(func() []string { return ancestors(os.Getppid()) }),
	}
	// What can't be told stays empty, which the project copes with.
	w.Dir, _ = os.Getwd()
	w.Home, _ = os.UserHomeDir()
	w.Host, _ = os.Hostname()
	w.Program, _ = os.Executable()
	s := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, OutTTY: isTerminal(os.Stdout), ErrTTY: isTerminal(os.Stderr)}
	w.Terminal = isTerminal(os.Stdin) && s.ErrTTY
	if s.OutTTY {
		s.Width, _, _ = term.GetSize(int(os.Stdout.Fd()))
		s.OutTTY = showsStyles(os.Stdout)
	}
	return w, s
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// maxAncestors bounds the walk: process numbers can be reused while it goes on.
const maxAncestors = 32
