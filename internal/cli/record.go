package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

type ctxT = context.Context

const recordLong = `Save a record, or correct one.

KIND is goal, next (an action), question (open), answer (text is the question),
decision or note. ID is yours to choose and names the record in the whole ledger:
letters, digits, dots, dashes and underscores, at most 80.

A new ID makes a record. An ID that exists is corrected: give its current
revision and only what changes; an empty value clears. Its earlier text stays
in the history.

With --file, records are read as JSON: one object or an array, saved together or
not at all. Fields: id, kind, text, answer, why, rejected [{option, why}],
revisit_when, supersedes, status, source, cites, done_when, key,
without_evidence, expected_revision, expected_recovery.`

const recordExample = `  holdfast record goal ship-1 --text "Ship the first release" --source "asked by the owner"
  holdfast record decision db --text "Use SQLite" --why "one file" --rejected "Postgres: needs a server"
  holdfast record answer q-7 --answer "Go 1.26" --expect-revision 12
  holdfast record --file records.json`

type recordOptions struct {
	req  project.RecordRequest
	key  string
	file string
}

func newRecord(a *app) *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use: "record KIND ID", Short: "Save a record, or several",
		Long: recordLong + exitStatus(saveExits...), Example: recordExample, Annotations: saving,
		SuggestFor:        []string{"add", "save", "note", "remember", "write", "set", "goal", "decision", "next", "question", "answer"},
		ValidArgsFunction: a.completeRecord,
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error { return o.check(cmd, args) }
	cmd.RunE = a.run(func(ctx ctxT, args []string) error { return runRecord(ctx, a, &o, args) })
	r, fs := &o.req, cmd.Flags()
	textFlag(fs, &r.Text, "text", "what it says; of an answer, the question")
	textFlag(fs, &r.Answer, "answer", "the answer itself")
	textFlag(fs, &r.Why, "why", "the reason")
	fs.Var(rejectedFlag{&r.Rejected}, "rejected", "an option that was turned down, with the reason; repeatable")
	textFlag(fs, &r.RevisitWhen, "revisit-when", "when a decision should be looked at again")
	textFlag(fs, &r.Supersedes, "supersedes", "`id` of the record whose place this one takes")
	textFlag(fs, &r.Status, "status", "open, done or dropped (goals and next actions)")
	textFlag(fs, &r.Source, "source", "where this comes from, in words (a person at a terminal may leave it out)")
	fs.Var(repeated{&r.Cites}, "cite", "a project file that this rests on; repeatable")
	textFlag(fs, &r.DoneWhen, "done-when", "`id` of the check that must pass before the action is done")
	fs.Var(once{&r.WithoutEvidence, "reason"}, "without-evidence", "why it is closed though its check has not passed")
	revisionFlag(fs, &r.ExpectedRevision, "expect-revision", "the revision that this replaces")
	fs.Var(once{&o.key, "key"}, "key", "repeating a save with the same key saves once")
	fs.Var(once{&o.file, "file"}, "file", "read records from this file, - for standard input")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{ledger.StatusOpen, ledger.StatusDone, ledger.StatusDropped}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check looks at what can be told from the command line alone.
func (o *recordOptions) check(cmd *cobra.Command, args []string) error {
	switch {
	case o.file == "" && len(args) != 2:
		return &usageError{msg: "record needs a KIND and an ID, or --file"}
	case o.file == "":
		return nil
	case len(args) > 0:
		return &usageError{msg: "with --file, kind and id stand in the file"}
	}
	for _, name := range []string{"text", "answer", "why", "rejected", "revisit-when", "supersedes", "status", "source", "cite", "done-when", "without-evidence", "expect-revision"} {
		if cmd.Flags().Changed(name) {
			return &usageError{msg: "with --file, what --" + name + " says stands in the file"}
		}
	}
	return nil
}

func runRecord(ctx ctxT, a *app, o *recordOptions, args []string) error {
	reqs := []project.RecordRequest{o.req}
	if o.file != "" {
		a.fields = true
		data, err := a.readInput(ctx, o.file)
		if err != nil {
			return err
		}
		if reqs, err = project.DecodeRecords(data); err != nil {
			return err
		}
	} else {
		reqs[0].Kind, reqs[0].ID = args[0], args[1]
	}
	for i := range reqs {
		if o.key != "" && reqs[i].Key == "" {
			reqs[i].Key = o.key
		}
		if a.recovery != nil && reqs[i].ExpectedRecovery == nil {
			reqs[i].ExpectedRecovery = a.recovery
		}
	}
	return a.with(ctx, func(p *project.Project) error {
		s, err := p.Record(ctx, reqs)
		if err != nil {
			return err
		}
		return a.saved("saved", &s)
	})
}

// readInput reads a whole input file, up to the limit of a request. An
// interrupt ends the wait for standard input or a pipe, which may never come.
func (a *app) readInput(ctx ctxT, name string) ([]byte, error) {
	var data []byte
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		data, err = a.readAll(name)
	}()
	select {
	case <-read:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, unreadable(err)
	}
	if len(data) > project.MaxRequest {
		return nil, &ledger.LimitError{What: "the input", Limit: project.MaxRequest, Got: len(data), Unit: "bytes"}
	}
	return data, nil
}

// readAll reads one byte more than the limit at most.
func (a *app) readAll(name string) ([]byte, error) {
	in := a.In
	if name != "-" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(a.w.Dir, name)
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, project.MaxRequest+1))
}

func unreadable(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &usageError{msg: "the input can't be read: " + err.Error() + "; nothing was saved", next: "name a readable file with --file, or - for standard input"}
}

// saved tells what a save did. The save stands whether or not the answer can
// be written.
func (a *app) saved(verb string, s *project.Saved) error {
	err := a.answerSaved(verb, s)
	if o, ok := errors.AsType[*outputError](err); ok {
		o.saved = s.Revision
	}
	return err
}

func (a *app) answerSaved(verb string, s *project.Saved) error {
	if a.json {
		return a.printJSON(s)
	}
	for _, w := range s.Warnings {
		a.warn(w)
	}
	if a.quiet {
		return nil
	}
	p := &printer{color: a.color(), width: a.width()}
	p.printf("%s %s as revision %d (%s)\n", p.style(green, verb), savedNames(s), s.Revision, savedFacts(s))
	for _, r := range s.Records {
		p.printf("  %s\n", r.ID)
	}
	return a.print(p.Bytes())
}

func savedNames(s *project.Saved) string {
	if len(s.Records) > 0 {
		return fmt.Sprintf("%d records", len(s.Records))
	}
	return s.ID
}

func savedFacts(s *project.Saved) string {
	facts := "durable"
	if !s.Durable {
		facts = "not durable"
	}
	if s.Protected {
		facts += ", protected"
	} else {
		facts += ", not protected by a second copy"
	}
	if s.Unconfirmed {
		facts += ", unconfirmed"
	}
	if s.Replayed {
		facts += ", saved before with this key"
	}
	return facts
}
