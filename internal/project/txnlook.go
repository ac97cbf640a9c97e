package project

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os/exec"
	"slices"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/surface"
	"holdfast/internal/txn"
)

// Process is what tells processes apart, for whoever holds a grant.
type Process struct {
	Boot  string               // boot id
	Space string               // pid namespace
	Start func(pid int) string // when a process started; empty: there is none
	Up    func() time.Duration // since boot
}

var txnTypes = []string{ledger.TypeTxnBegin, ledger.TypeTxnAttempt, ledger.TypeTxnReport, ledger.TypeTxnObserve, ledger.TypeTxnEnd}

// txnBook folds the entries about transactions. Only they are read.
func (p *Project) txnBook(ctx context.Context) (*txn.Book, error) {
	book := &txn.Book{}
	err := p.look(ctx, "", func(r *reading) (err error) {
		book, err = p.foldTxns(ctx, r)
		return err
	})
	return book, err
}

// tops are the worktrees whose files can be reached from here.
func (p *Project) tops() map[string]string {
	out := map[string]string{p.loc.worktree: p.loc.top}
	if r := p.loc.repo; r != nil && r.Linked && r.MainTop != "" {
		out["main"] = r.MainTop
	}
	return out
}

// observer looks at surfaces for one call.
func (c *txnCall) observer() *surface.Observer {
	p := c.p
	o := surface.Options{
		Worktree: p.loc.worktree, Tops: p.tops(), Outside: p.caller.Via == ledger.ViaCLI, Deny: []string{p.Path()},
		Record: c.recordAt, Cache: p.hashes, Now: p.w.Now, Workers: max(p.w.CPUs, 1),
	}
	if r := p.loc.repo; r != nil {
		o.Deny = append(o.Deny, r.GitDir, r.CommonDir)
		o.Refs = map[string]surface.Refs{}
		for name := range o.Tops {
			if name == p.loc.worktree {
				o.Refs[name] = r
			}
		}
	}
	if p.caller.Via == ledger.ViaCLI {
		o.Probe = p.txnProbe(c.book)
	}
	return surface.New(o)
}

// recordAt finds what is in force of a record. Under the ledger's lock held is
// what is known there.
func (c *txnCall) recordAt(ctx context.Context, id string) (rec surface.Record, found bool, err error) {
	find := func(r *reading) error {
		if r.head.Hash == "" {
			return nil
		}
		vs, err := r.view.Versions(ctx, id)
		if err != nil {
			return err
		}
		if cur, ok := ledger.CurrentOf(vs, r.scope); ok && !cur.Retracted {
			rec, found = surface.Record{Revision: cur.Rev, Status: cur.Status}, true
		}
		return nil
	}
	if c.held != nil {
		err = find(c.held)
		return rec, found, err
	}
	err = c.p.look(ctx, "", find)
	return rec, found, err
}

var errProbe = errors.New("the probe's definition is not sealed here")

// maxProbeOutput is how much of a probe's output is hashed; more is an error.
const maxProbeOutput = 64 << 20

// txnProbe runs a probe, if its definition was sealed here or stands in no
// entry yet: then it was just given at the command line.
func (p *Project) txnProbe(book *txn.Book) func(context.Context, string, []string, time.Duration) (int, string, error) {
	return func(ctx context.Context, name string, argv []string, timeout time.Duration) (int, string, error) {
		seals := p.seals()()
		for _, t := range book.Txns {
			d, ok := t.Probes[name]
			if _, here := seals[t.SealKey]; ok && slices.Equal(d.Argv, argv) && !here {
				return 0, "", errProbe
			}
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		var out capped
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.WaitDelay = p.loc.top, p.w.Env, &out, time.Second
		err := cmd.Run()
		var exit *exec.ExitError
		if ctx.Err() != nil || out.over || err != nil && (!errors.As(err, &exit) || exit.ExitCode() < 0) {
			return 0, "", errors.Join(errProbe, err, ctx.Err())
		}
		sum := sha256.Sum256(out.Bytes())
		return cmd.ProcessState.ExitCode(), hex.EncodeToString(sum[:]), nil
	}
}

// capped is a buffer that stops growing.
type capped struct {
	bytes.Buffer
	over bool
}

func (c *capped) Write(b []byte) (int, error) {
	if c.Len()+len(b) > maxProbeOutput {
		c.over = true
		return len(b), nil
	}
	return c.Buffer.Write(b)
}
