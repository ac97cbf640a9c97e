package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"

	"holdfast/internal/project"
	"holdfast/internal/web"
)

// viewStarted is the answer of view.
type viewStarted struct {
	URL  string `json:"url"`
	Code string `json:"code"`
	Port int    `json:"port"`
}

func newView(a *app) *cobra.Command {
	noOpen, port := false, 0
	cmd := &cobra.Command{
		Use: "view", Short: "Look at the project in your browser", Annotations: saving,
		Long: `Serve this project to your own browser, on this machine only, until Ctrl-C. The
link that is printed lets whoever has it in: don't pass it on.` + exitStatus(project.ExitOK, project.ExitUsage, project.ExitBusy),
		Example: "  holdfast view\n  holdfast view --no-open --port 8080", Args: noArgs, ValidArgsFunction: cobra.NoFileCompletions,
		SuggestFor: []string{"browse", "web", "ui", "open", "serve"},
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		if port < 0 || port > 65535 {
			return &usageError{msg: "--port is a number from 1 to 65535, or 0 for a free one"}
		}
		return a.view(ctx, port, !noOpen)
	})
	fs := cmd.Flags()
	fs.BoolVar(&noOpen, "no-open", false, "don't start a browser")
	fs.IntVar(&port, "port", 0, "serve at this port `N` instead of a free one")
	return cmd
}

func (a *app) view(ctx context.Context, port int, open bool) error {
	p, err := project.Open(ctx, a.w, project.Options{Dir: a.dir, Caller: project.ViewCaller(a.w)})
	if err != nil {
		return err
	}
	// The ledger's files are compared with what was last seen of them, as whenever
	// a server starts. What is wrong is noted, and the pages tell it.
	_, _ = p.Resume(ctx, project.ResumeRequest{Budget: 100})
	s, err := web.Listen(web.Options{Project: p, Port: port, Now: a.w.Now, Rand: rand.Reader})
	if err != nil {
		return errors.Join(portBusy(err), p.Close(ctx))
	}
	v := viewStarted{URL: s.Link(), Code: s.Code(), Port: s.Port()}
	err = a.answer(&v, func(w *printer) {
		w.printf("%s is open at:\n\n  %s\n\nThe code, if you are asked for it: %s\nThe link lets whoever has it in. Ctrl-C ends the view.\n", project.Visible(p.Name(), false), v.URL, v.Code)
	})
	if err == nil {
		if open && a.w.Terminal && p.ByPerson() {
			a.openBrowser(s.Opener())
		}
		err = s.Serve(ctx)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if cerr := p.Close(late); cerr != nil && err == nil {
		a.warn("the preview or the index could not be refreshed, which loses nothing: " + cerr.Error())
	}
	return err
}

// portBusy makes a port that can't be had a matter of the command line.
func portBusy(err error) error {
	if e, ok := errors.AsType[*web.PortError](err); ok {
		return &usageError{msg: fmt.Sprintf("port %d can't be used here", e.Port), next: "leave --port out to take a free one"}
	}
	return err
}

// openBrowser starts the system's own opener. The link is printed anyway, so
// failing is only told.
func (a *app) openBrowser(link string) {
	var args []string
	switch a.w.OS {
	case "darwin":
		args = []string{"open", link}
	case "windows":
		args = []string{"rundll32", "url.dll,FileProtocolHandler", link}
	default:
		if a.w.Getenv("DISPLAY") == "" && a.w.Getenv("WAYLAND_DISPLAY") == "" && a.w.Getenv("WSL_DISTRO_NAME") == "" {
			return
		}
		args = []string{"xdg-open", link}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = a.w.Env
	if err := cmd.Start(); err != nil {
		a.warn("no browser could be started; open the link yourself")
		return
	}
	go func() { _ = cmd.Wait() }() // how it ends says nothing about the page
}
