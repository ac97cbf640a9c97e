package cli

import (
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

// How long a hook works, and how long it waits for its input. Together with
// starting and ending that stays below the two seconds that are promised.
const (
	hookTime  = 1600 * time.Millisecond
	inputTime = 500 * time.Millisecond
)

const hookLong = `Do what a coding tool's hook asks for; setup writes these calls. At the start of
a session it prints the resume text as that tool reads it; before a compaction, at
a stop and at the end it notes the session in the state folder.

It never blocks and never fails: whatever is broken, it ends with 0 within two
seconds and prints nothing or one JSON object.`

func newHook(a *app) *cobra.Command {
	remind := false
	cmd := &cobra.Command{
		Use: "hook CLIENT EVENT", Short: "Called by the hooks of coding tools", Long: hookLong + exitStatus(project.ExitOK),
		Example:           "  holdfast hook claude SessionStart\n  holdfast hook codex Stop --remind",
		ValidArgsFunction: cobra.NoFileCompletions, Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&remind, "remind", false, "at a stop, ask once when work changed and nothing was saved")
	cmd.RunE = a.run(func(ctx ctxT, args []string) error {
		q := project.HookRequest{Remind: remind}
		if len(args) == 2 {
			q.Client, q.Event = args[0], args[1]
			a.hook(ctx, q)
		}
		return nil
	})
	return cmd
}

// hook answers within hookTime, or not at all. What is still under way then
// ends with the process; nothing acknowledged rests on it.
func (a *app) hook(ctx ctxT, q project.HookRequest) {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	q.Stdin = a.hookInput(ctx)
	answer := make(chan []byte, 1)
	go func() {
		defer func() {
			if recover() != nil { // a fault of ours must not stop anybody's work
				answer <- nil
			}
		}()
		answer <- project.Hook(ctx, a.w, a.dir, q)
	}()
	select {
	case out := <-answer:
		_ = a.print(out) // nobody is there to be told
	case <-ctx.Done():
	}
}

// hookInput reads what the client says. Input that doesn't end is used as far
// as it came; what is too much is read and dropped, so that the client's write
// doesn't fail.
func (a *app) hookInput(ctx context.Context) []byte {
	var mu sync.Mutex
	var data []byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			n, err := a.In.Read(buf)
			mu.Lock()
			data = append(data, buf[:min(n, project.MaxHookInput+1-len(data))]...)
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, inputTime)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	return append([]byte(nil), data...)
}

// isHook: even with a command line that can't be read, a hook ends with 0.
func isHook(cmd *cobra.Command) bool { return cmd != nil && cmd.Name() == "hook" }
