package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/project"
)

// unlockFlags say where the passphrase or the key of an export comes from. There
// is no flag for the passphrase itself: command lines are seen by others.
type unlockFlags struct {
	passphraseFile string
}

func (u *unlockFlags) add(fs *pflag.FlagSet) {
	fs.Var(once{&u.passphraseFile, "file"}, "passphrase-file", "read the passphrase from the first line of a file")
}

// passphraseVariable is where a script may put a passphrase.
const passphraseVariable = "HOLDFAST_PASSPHRASE"

// passphrase finds the passphrase: in the file, in the environment, or by asking
// a person, twice for a new export.
func (a *app) passphrase(p *project.Project, u *unlockFlags, twice bool) (string, error) {
	if u.passphraseFile != "" {
		return p.PassphraseIn(u.passphraseFile)
	}
	if v := a.w.Getenv(passphraseVariable); v != "" {
		return v, nil
	}
	if !a.w.Terminal {
		return "", &usageError{msg: "a passphrase is needed: set " + passphraseVariable + " or give --passphrase-file"}
	}
	text, err := a.ask("passphrase, at least 12 characters: ", false)
	if err != nil || !twice {
		return text, err
	}
	if err := project.CheckPassphrase(text); err != nil {
		return "", err
	}
	again, err := a.ask("the same once more: ", false)
	if err == nil && strings.TrimSpace(again) != strings.TrimSpace(text) {
		err = &usageError{msg: "the two passphrases differ; nothing was written"}
	}
	return text, err
}

func newBackup(a *app) *cobra.Command {
	var q project.BackupRequest
	var u unlockFlags
	cmd := &cobra.Command{
		Use: "backup", Short: "Verify the ledger, complete its second copy, write an encrypted export",
		Long: `Verify the whole chain and complete the mirror, the second copy outside the project.
With --output it also writes an encrypted export in the age format, with the whole
history, opens it again and compares it before the file gets its name. Keep it on
another disk. Without Holdfast it opens with: age -d FILE | gunzip

It is encrypted by a passphrase of at least 12 characters (asked twice at a terminal,
or from HOLDFAST_PASSPHRASE or --passphrase-file; opening it takes 256 MiB of memory
and about a second), or to recipients: age X25519 or SSH public keys.` + exitStatus(saveExits...),
		Example:    "  holdfast backup\n  holdfast backup --output ~/backups/ledger.age\n  holdfast backup --output ledger.age --recipient age1...",
		SuggestFor: []string{"snapshot", "verify"}, ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Args = func(c *cobra.Command, args []string) error {
		if q.Output == "" && (u.passphraseFile != "" || len(q.Recipients) > 0 || q.RecipientsFile != "") {
			return &usageError{msg: "a passphrase or recipients belong to --output"}
		}
		return noArgs(c, args)
	}
	cmd.RunE = a.run(func(ctx ctxT, _ []string) error {
		return a.with(ctx, func(p *project.Project) (err error) {
			if q.Output != "" && len(q.Recipients) == 0 && q.RecipientsFile == "" {
				if q.Passphrase, err = a.passphrase(p, &u, true); err != nil {
					return err
				}
			}
			b, err := p.Backup(ctx, q)
			if err != nil {
				return err
			}
			perr := a.answer(&b, func(w *printer) { w.backup(&b) })
			for _, w := range b.Warnings {
				a.warn(w)
			}
			return errors.Join(perr)
		})
	})
	fs := cmd.Flags()
	fs.Var(once{&q.Output, "file"}, "output", "write an encrypted export to a new file")
	fs.StringArrayVar(&q.Recipients, "recipient", nil, "encrypt to this public key, age or SSH (repeatable)")
	fs.Var(once{&q.RecipientsFile, "file"}, "recipients-file", "encrypt to the public keys in a file, one a line")
	u.add(fs)
	return cmd
}

func (p *printer) backup(b *project.Backup) {
	p.printf("verified %d entries: revision %d, %s\n", b.Entries, b.Revision, b.Head)
	for _, m := range b.Mirrors {
		what := "complete"
		if m.Rebuilt {
			what = "made whole: it lacked revisions"
		}
		p.printf("  second copy %s: %s\n", project.Visible(m.Path, false), what)
	}
	if b.Output != "" {
		p.printf("  encrypted export %s: %d bytes, opened again and compared\n", project.Visible(b.Output, false), b.Bytes)
	}
}
