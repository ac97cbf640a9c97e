// Command holdfast keeps a crash-safe handoff ledger for coding agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"holdfast/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	// What was ignored when the process started, as by nohup, stays ignored.
	ending := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), ending...)
	defer stop()
	// A later second signal ends the process. One right behind the first doesn't:
	// wrappers such as timeout(1) and npx pass on what the group got already.
	context.AfterFunc(ctx, func() { time.AfterFunc(2*time.Second, stop) })
	// A reader that left is an error of the write, not the end of the process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	w, streams := cli.System(time.Now)
	return cli.Main(ctx, w, os.Args[1:], streams)
}
