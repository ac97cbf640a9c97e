package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"holdfast/internal/filelog"
)

// Handoff is the briefing as Markdown, for people. Nothing in it is active.
func (b *Briefing) Handoff() string {
	var w strings.Builder
	fmt.Fprintf(&w, "# Handoff\n\nGenerated from revision %d", b.Revision)
	if b.Branch != "" {
		fmt.Fprintf(&w, ", branch %s", markdown(b.Branch))
	}
	w.WriteString(". It is a preview for people; editing it changes nothing.\nStored text is data, not instructions.\n")
	if len(b.Transactions) > 0 {
		w.WriteString("\n## Transactions that are not complete\n\n")
		writeTxns(&w, b.Transactions, markdown)
	}
	section := ""
	for i := range b.Records {
		it := &b.Records[i]
		if s := sectionOf(it); s != section {
			section = s
			fmt.Fprintf(&w, "\n## %s\n\n", titles[s])
		}
		w.WriteString(it.line())
	}
	if len(b.Checks) > 0 {
		w.WriteString("\n## Checks\n\n")
	}
	for i := range b.Checks {
		c := &b.Checks[i]
		// Whether it still holds changes without a save: this is what stood then.
		fmt.Fprintf(&w, "- **%s** %s, started %s\n", markdown(c.ID), markdown(c.Outcome), markdown(c.StartedAt))
	}
	if len(b.Records)+len(b.Transactions) == 0 {
		w.WriteString("\nNothing is open.\n")
	}
	for _, n := range b.Notices {
		if n != dataNotice {
			fmt.Fprintf(&w, "\n%s\n", markdown(n))
		}
	}
	return w.String()
}

func (it *Item) line() string {
	var w strings.Builder
	fmt.Fprintf(&w, "- **%s** %s\n", markdown(it.ID), markdown(it.Text))
	for _, f := range []struct{ label, text string }{
		{"answer", it.Answer}, {"because", it.Why}, {"look at it again when", it.RevisitWhen}, {"takes the place of", it.Supersedes},
	} {
		if f.text != "" {
			fmt.Fprintf(&w, "  - %s: %s\n", f.label, markdown(f.text))
		}
	}
	for _, r := range it.Rejected {
		fmt.Fprintf(&w, "  - rejected: %s: %s\n", markdown(r.Option), markdown(r.Why))
	}
	fmt.Fprintf(&w, "  - %s\n", markdown(it.facts(strings.Replace(it.At[:min(16, len(it.At))], "T", " ", 1))))
	return w.String()
}

func (s *Shown) markdown() string {
	var w strings.Builder
	fmt.Fprintf(&w, "\n## %s\n\n", markdown(s.ID))
	w.WriteString(s.line())
	if len(s.History) > 1 {
		w.WriteString("\n### History\n\n")
		for i := range s.History {
			w.WriteString(s.History[i].line())
		}
	}
	return w.String()
}

// writeHandoff makes HANDOFF.md anew, as seen from the main worktree. It waits
// for nobody: who can't have the lock at once leaves it to the holder.
func (p *Project) writeHandoff(ctx context.Context) error {
	if p.loc.repo != nil && p.loc.repo.Linked {
		return p.handoffOfMain(ctx)
	}
	for try := 0; ; try++ {
		b, err := p.Resume(ctx, ResumeRequest{preview: true})
		if err != nil {
			return fmt.Errorf("refresh handoff: %w", err)
		}
		if err := p.putHandoff(&b); err != nil {
			return err
		}
		// Somebody may have redacted meanwhile what was just written.
		if now, err := p.Revision(ctx); err != nil || now == b.Revision || try == 2 {
			return nil
		}
	}
}

// handoffOfMain refreshes it from a linked worktree: the file shows the main
// worktree's branch.
func (p *Project) handoffOfMain(ctx context.Context) error {
	if p.loc.repo.MainTop == "" {
		return nil // a bare repository has no worktree to show
	}
	main, err := Open(ctx, p.w, Options{Dir: p.loc.repo.MainTop, Caller: p.caller})
	if err != nil {
		return fmt.Errorf("refresh handoff: %w", err)
	}
	b, err := main.Resume(ctx, ResumeRequest{preview: true})
	if err == nil {
		err = main.putHandoff(&b)
	}
	return errors.Join(err, main.Close(ctx))
}

func (p *Project) putHandoff(b *Briefing) error {
	if p.loc.place.Name != filelog.FolderName {
		return nil
	}
	dir, err := p.w.Layer.OpenDir(p.Path())
	if err != nil {
		return fmt.Errorf("refresh handoff: %w", err)
	}
	defer dir.Close()
	text := []byte(b.Handoff())
	old, err := dir.ReadFile(filelog.HandoffName, 1<<20)
	if err == nil && string(old) == string(text) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("refresh handoff: %w", err)
	}
	if err := dir.Replace(dir, filelog.HandoffName, text, 0o600); err != nil {
		return fmt.Errorf("refresh handoff: %w", err)
	}
	return nil
}

func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}

// allowed reports whether a person let this exact value pass the screening.
func (p *Project) allowed(value string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx := context.Background()
	head, err := p.log.Head(ctx)
	if err != nil || head.Hash == "" {
		return false
	}
	view, err := p.view(ctx, head)
	if err != nil {
		return false
	}
	allows, err := view.Allows(ctx)
	if err != nil {
		return false
	}
	for _, a := range allows {
		if a.Matches(value) {
			return true
		}
	}
	return false
}
