package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
)

// Streams are a command's standard streams and what is known of them.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	OutTTY   bool // Out is a terminal
	ErrTTY   bool
	Width    int // columns of the terminal; 0: not known
}

// app is one run of the program: the world, the streams and the global flags.
type app struct {
	w *project.World
	Streams
	dir      string
	recovery *string
	json     bool
	quiet    bool
	noColor  bool
	// entered: the command's own code ran. An error before that is cobra's, and
	// about the command line.
	entered bool
	fields  bool   // the input has fields: errors use their names, not the flags'
	calm    func() // takes the progress line away; nil without one
	outErr  error  // of a write by cobra, which drops it
}

// Main runs one command and returns the exit status. args has no program name.
func Main(ctx context.Context, w *project.World, args []string, s Streams) int {
	a := &app{w: w, Streams: s}
	root := newRoot(a)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && a.outErr != nil {
		return a.fail(a.outErr)
	}
	if err == nil {
		return project.ExitOK
	}
	if !a.entered && isHook(cmd) {
		a.say("error", "the hook's command line can't be read")
		return project.ExitOK
	}
	if !a.entered {
		err = usageOf(cmd, err)
		a.json = a.json || wantsJSON(args)
	}
	return a.fail(err)
}

// wantsJSON looks for --json where the command line couldn't be read.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// run is a command's code as cobra wants it.
func (a *app) run(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.entered = true
		return f(cmd.Context(), args)
	}
}

// open finds the project for the caller.
func (a *app) open(ctx context.Context) (*project.Project, error) {
	return project.Open(ctx, a.w, a.options())
}

func (a *app) options() project.Options {
	return project.Options{Dir: a.dir, Caller: project.CLICaller(a.w)}
}

// settleTime is how long index and HANDOFF.md may take to follow a save after
// an interrupt.
const settleTime = time.Second

// shortLived is the garbage collector's percentage while one command runs: the
// first collection, at 16 MB, comes after most commands have ended.
const shortLived = 400

// with opens the project, lets f answer, and only then lets what is derived
// from the ledger follow: an answer doesn't wait for it.
func (a *app) with(ctx context.Context, f func(p *project.Project) error) error {
	a.calm = a.progress()
	defer a.calm()
	defer debug.SetGCPercent(debug.SetGCPercent(shortLived))
	p, err := a.open(ctx)
	if err != nil {
		return err
	}
	err = f(p)
	if ctx.Err() != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		ctx = late
	}
	if cerr := p.Close(ctx); cerr != nil && ctx.Err() == nil {
		a.warn("the preview or the index could not be refreshed, which loses nothing: " + cerr.Error())
	}
	return err
}

// answer prints one answer: v as JSON, or what text writes.
func (a *app) answer(v any, text func(b *printer)) error {
	if a.json {
		return a.printJSON(v)
	}
	p := &printer{color: a.color(), width: a.width()}
	text(p)
	return a.print(p.Bytes())
}

func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return a.print(b.Bytes())
}

// print writes to standard output in one piece.
func (a *app) print(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if a.calm != nil {
		a.calm()
	}
	if _, err := a.Out.Write(b); err != nil {
		return &outputError{err: err}
	}
	return nil
}

// fail tells an error and gives its exit status.
func (a *app) fail(err error) int {
	if o, ok := errors.AsType[*outputError](err); ok {
		if !errors.Is(o.err, syscall.EPIPE) { // a reader that left wants no more words
			a.say("error", o.message())
		}
		return project.ExitBusy
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		return s.code
	}
	p := explain(err)
	if _, told := errors.AsType[*toldError](err); told {
		return p.Exit
	}
	if !a.fields {
		p.Next = forFlags(p.Next)
	}
	if a.json {
		if perr := a.printJSON(map[string]any{"error": p}); perr != nil {
			a.say("error", p.Message)
		}
		return p.Exit
	}
	a.say("error", p.Message)
	a.sayCurrent(err)
	if p.Next != "" {
		a.say("hint", p.Next)
	}
	return p.Exit
}

// say writes one line to standard error.
func (a *app) say(label, text string) {
	if a.ErrTTY && a.styled() {
		label = map[string]string{"error": red, "warning": yellow, "hint": bold, "current": bold}[label] + label + reset
	}
	fmt.Fprintf(a.Err, "holdfast: %s: %s\n", label, strings.ReplaceAll(text, "\n", " "))
}

func (a *app) warn(text string) {
	if !a.quiet {
		a.say("warning", project.Visible(text, false))
	}
}

func (a *app) color() bool { return a.OutTTY && a.styled() }

func (a *app) styled() bool {
	return !a.noColor && a.w.Getenv("NO_COLOR") == "" && a.w.Getenv("TERM") != "dumb"
}

func (a *app) width() int {
	if !a.OutTTY {
		return 0
	}
	return a.Width
}
