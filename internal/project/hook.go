package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf16"

	"holdfast/internal/client"
	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// MaxHookInput is how much of a hook's standard input counts, in bytes.
const MaxHookInput = client.MaxHookInput

// HookRequest is what a client's hook was called with.
type HookRequest struct {
	Client string
	Event  string
	Stdin  []byte
	Remind bool // a stop may ask once for a save
}

// sizes of a text for session start: characters as JavaScript counts them, and
// bytes, since Codex cuts the middle out of about 10,000.
const (
	maxHookText  = 7900
	maxHookBytes = 8800
)

// Hook does what a client's hook asks for and gives what to print: nothing, or
// one JSON object. It has no error: a hook must not stop anybody's work. dir is
// the --project flag. It takes no lock of the ledger and writes nothing to it.
func Hook(ctx context.Context, w *World, dir string, q HookRequest) []byte {
	in, _ := client.ParseHookInput(q.Client, q.Event, q.Stdin) // what could be read is used
	if in.Event == "" {
		return nil
	}
	if dir == "" && w.Getenv("HOLDFAST_PROJECT") == "" && filepath.IsAbs(in.CWD) && isDir(in.CWD) {
		dir = in.CWD
	}
	p, err := Open(ctx, w, Options{Dir: dir, Caller: MCPCaller(in.Client, "")})
	if err != nil {
		return nil
	}
	p.m.LockWait = hookWait
	defer p.Close(ctx) // nothing was saved: only files are closed
	if in.Event == client.SessionStart {
		return p.hookStart(ctx, in)
	}
	return p.hookLater(ctx, in, q.Remind)
}

// hookWait is how long a look at a ledger that seems damaged is repeated before
// it is believed.
const hookWait = 400 * time.Millisecond

// hookStart gives the resume text, once for each start.
func (p *Project) hookStart(ctx context.Context, in client.HookInput) []byte {
	state := p.worktreeState(ctx)
	short, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	b, err := p.Resume(short, ResumeRequest{})
	if short.Err() != nil && err != nil {
		return client.RenderHookOutput(in.Shape, in.Event, tooSlow, nil)
	}
	if err != nil && !b.Incomplete {
		return client.RenderHookOutput(in.Shape, in.Event, trouble(err), nil)
	}
	if b.Ledger == "" && !b.Incomplete {
		return nil // no ledger here yet
	}
	book, berr := p.openSessions(ctx)
	if berr == nil {
		defer book.close()
		if book.seen(in.Key(), p.w.Now()) {
			return nil
		}
		if last := book.lastEnd(in.Session); last != nil {
			b.Notices = append(b.Notices, last.notice(p.w.Now()))
		}
		line := book.line(in, p.w.Now())
		line.Revision, line.Commit, line.Digest = &b.Revision, b.Commit, state()
		_ = book.add(line) // not writable: skipped
	}
	return client.RenderHookOutput(in.Shape, in.Event, b.hookText(p.Fence()), nil)
}

// readTime is how long a hook reads a ledger: a large one whose index is gone
// takes longer than a hook may.
const readTime = 1200 * time.Millisecond

const tooSlow = "Holdfast: the handoff ledger could not be read in the time that a hook has. Call holdfast_resume now, or run: holdfast resume\n"

// trouble is all that a session hears of a ledger that can't be read.
func trouble(err error) string {
	e := Explain(err)
	return fmt.Sprintf("Holdfast: %s\nNext: %s\n", strings.TrimSuffix(e.Message, "; nothing was saved"), e.Next)
}

// hookText is the briefing within what every client passes on whole: what is
// least wanted is left out and counted.
func (b *Briefing) hookText(fence string) string {
	for {
		text := b.Text(fence)
		if len(utf16.Encode([]rune(text))) <= maxHookText && len(text) <= maxHookBytes || !b.Drop(1) {
			return text
		}
	}
}

// worktreeState starts to find the digest of the uncommitted changes; nil if it
// takes too long or there is none.
func (p *Project) worktreeState(ctx context.Context) func() *string {
	if p.loc.repo == nil {
		return func() *string { return nil }
	}
	ctx, cancel := context.WithTimeout(ctx, digestTime)
	done := make(chan *string, 1)
	go func() {
		d, err := p.loc.repo.DirtyDigest(ctx)
		if err != nil {
			done <- nil
			return
		}
		done <- &d
	}()
	return func() *string {
		defer cancel()
		select {
		case d := <-done:
			return d
		case <-ctx.Done():
			return nil
		}
	}
}

// digestTime is how long the digest of a worktree may take within a hook.
const digestTime = 800 * time.Millisecond

// hookLater notes a compaction, a stop or an end, and at a stop may ask once.
func (p *Project) hookLater(ctx context.Context, in client.HookInput, remind bool) []byte {
	remind = remind && in.Event == client.Stop && !in.Reentry
	state := func() *string { return nil }
	if remind {
		state = p.worktreeState(ctx)
	}
	head, err := p.log.Head(ctx)
	if err != nil || head.Hash == "" {
		return nil
	}
	book, err := p.openSessions(ctx)
	if err != nil {
		return nil
	}
	defer book.close()
	if book.seen(in.Key(), p.w.Now()) || book.repeats(in, p.w.Now()) {
		return nil
	}
	line := book.line(in, p.w.Now())
	start := book.start(in)
	if start != nil && start.Revision != nil {
		line.Revision = &head.Rev
		if n, err := p.savesSince(ctx, *start.Revision, in.Client); err == nil {
			line.Saves = &n
		}
	}
	ask := remind && start != nil && start.Revision != nil && !book.reminded(in) && p.worked(ctx, start, state())
	if ask {
		some, err := p.savesSince(ctx, *start.Revision, "")
		ask = err == nil && some == 0
	}
	line.Reminded = ask
	if err := book.add(line); err != nil || !ask {
		return nil // what can't be written down is never asked
	}
	return client.RenderHookOutput(in.Shape, in.Event, "", &client.Ask{Reason: reminder})
}

const reminder = "Files or commits changed since this session began, and nothing was saved in the project's handoff ledger. " +
	"Save with holdfast_record what the next session needs: decisions with their reason, answers, next actions. If there is nothing to save, just stop; this is asked once."

// worked reports whether the worktree's digest or commit is another than at the
// session's start. What isn't known is no difference.
func (p *Project) worked(ctx context.Context, start *sessionLine, digest *string) bool {
	place, err := p.where(ctx)
	if err != nil || place.NoGit {
		return false
	}
	return place.Git.Commit != start.Commit || digest != nil && start.Digest != nil && *digest != *start.Digest
}

// savesSince counts the saves behind a revision by one client, however it names
// itself; an empty client means everybody.
func (p *Project) savesSince(ctx context.Context, rev int64, id string) (n int, err error) {
	err = p.look(ctx, "", func(r *reading) error {
		events, err := r.view.Events(ctx, ledger.EventQuery{Since: rev, Limit: maxCounted})
		n = 0
		for _, e := range events {
			if !isOp(e.Type) && (id == "" || named(e.Actor, id)) {
				n++
			}
		}
		return err
	})
	if filelog.Damaged(err) || errors.Is(err, context.DeadlineExceeded) {
		return 0, err
	}
	return n, err
}

// maxCounted is how many saves of a session are counted.
const maxCounted = 1000

// named reports whether an actor is the client of a hook: clients call
// themselves claude-code, codex-mcp-client, gemini-cli-mcp-client and the like.
func named(a ledger.Actor, id string) bool {
	name := strings.ToLower(a.Client)
	if id == client.VSCode {
		return strings.Contains(name, "visual studio code") || strings.Contains(name, "vscode")
	}
	return strings.Contains(name, id)
}
