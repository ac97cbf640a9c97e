package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// perProject is how many recoveries one project sees: each may leave a generation.
const perProject = 20

// killRecover shoots at recoveries, by turns at one that goes back in a whole ledger
// and at one from damage, which makes a new generation. It ends in the old ledger or
// in the new one: the same command, or a new preview, completes it, and every
// acknowledged save is in the chain.
func (t *torture) killRecover() (string, error) {
	rnd := rand.New(rand.NewPCG(t.seed, 5))
	killed, answered, again := 0, 0, 0
	spans := [2]time.Duration{}
	var p *place
	var acked []string
	for round := range t.rounds {
		if round%perProject == 0 {
			var err error
			if p, acked, err = t.recoveryPlace(p, round); err != nil {
				return "", err
			}
		}
		id := fmt.Sprintf("k-%d", round)
		if err := p.saveIn(id); err != nil {
			return "", fmt.Errorf("round %d: %w", round, err)
		}
		acked = append(acked, id)
		args, err := p.recoverable(round%2 == 1, rnd)
		if err != nil {
			return "", fmt.Errorf("round %d: %w", round, err)
		}
		kind := round % 2
		if spans[kind] == 0 { // the first of a kind is only timed
			if spans[kind], err = takes(p.command(p.bin, args...)); err != nil {
				return "", err
			}
			continue
		}
		whole, err := shot(p.command(p.bin, args...), time.Duration(rnd.Int64N(int64(spans[kind]))))
		if err != nil {
			return "", fmt.Errorf("round %d: %w", round, err)
		}
		if whole {
			answered++
		} else if killed++; p.finish(args) {
			again++
		}
		if err := p.recovered(acked); err != nil {
			return "", fmt.Errorf("round %d: %w", round, err)
		}
	}
	return fmt.Sprintf("%d rounds: %d killed, of which %d had to be done again, %d answered; each ends in the old or the new ledger, every save in the chain", t.rounds, killed, again, answered), nil
}

func (t *torture) recoveryPlace(old *place, round int) (*place, []string, error) {
	if old != nil {
		if err := os.RemoveAll(filepath.Dir(old.tree)); err != nil {
			return nil, nil, err
		}
	}
	p, err := t.place(fmt.Sprintf("kill-recover-%d", round))
	if err != nil {
		return nil, nil, err
	}
	acked := []string{"a", "b", "c"}
	for _, id := range acked {
		if err := p.save(id); err != nil {
			return nil, nil, err
		}
	}
	return p, acked, nil
}

// saveIn saves in the recovery generation that is current.
func (p *place) saveIn(id string) error {
	out, err := p.holdfast("resume", "--json")
	if err != nil {
		return err
	}
	var now struct{ Recovery string }
	if err := json.Unmarshal(out, &now); err != nil {
		return err
	}
	_, err = p.holdfast(append(note(id), "--expect-recovery", now.Recovery)...)
	return err
}

// recoverable damages the ledger, or not, and gives the command of a recovery with
// its preview's fingerprint.
func (p *place) recoverable(damage bool, rnd *rand.Rand) ([]string, error) {
	revs, err := filepath.Glob(filepath.Join(p.generation(), "rev", "*.json"))
	if err != nil || len(revs) < 3 {
		return nil, fmt.Errorf("find revisions: %d, %w", len(revs), err)
	}
	args := []string{"recover", "--json"}
	if damage {
		path := revs[1+rnd.IntN(len(revs)-1)]
		if err := errors.Join(os.Chmod(path, 0o600), os.Truncate(path, 100)); err != nil {
			return nil, err
		}
	} else {
		args = append(args, "--at", fmt.Sprint(len(revs)-2))
	}
	out, err := p.holdfast(args...)
	if err != nil {
		return nil, err
	}
	var preview struct{ Fingerprint string }
	if err := json.Unmarshal(out, &preview); err != nil {
		return nil, err
	}
	return append(args, "--apply", "--expect", preview.Fingerprint), nil
}

// generation is the folder of the highest one.
func (p *place) generation() string {
	gens, _ := filepath.Glob(filepath.Join(p.project, ".holdfast", "gen", "[0-9]*"))
	if len(gens) == 0 {
		return ""
	}
	return gens[len(gens)-1] // they come sorted
}

// finish repeats a recovery that was cut short. done: it was not complete.
func (p *place) finish(args []string) (done bool) {
	err := p.command(p.bin, args...).Run()
	_, failed := errors.AsType[*exec.ExitError](err)
	return !failed
}

// recovered checks that the ledger is one whole ledger with every acknowledged save.
// A fingerprint that was used, or that doesn't fit what the death left, asks for a
// new preview.
func (p *place) recovered(acked []string) error {
	out, err := p.command(p.bin, "doctor", "--json").Output()
	if err != nil {
		if out, err = p.holdfast("recover", "--json"); err != nil {
			return err
		}
		var preview struct{ Fingerprint, By string }
		if err := json.Unmarshal(out, &preview); err != nil {
			return err
		}
		if preview.By != "nothing" {
			if _, err := p.holdfast("recover", "--apply", "--expect", preview.Fingerprint); err != nil {
				return err
			}
		}
		if out, err = p.holdfast("doctor", "--json"); err != nil {
			return fmt.Errorf("after a second recovery: %w", err)
		}
	}
	if !strings.Contains(string(out), `"healthy":true`) {
		return fmt.Errorf("doctor: %.300s", out)
	}
	if wrong := p.mirrored(acked); wrong != "" {
		return errors.New(wrong)
	}
	var all strings.Builder
	for _, part := range []string{"rev", "pack"} {
		names, _ := filepath.Glob(filepath.Join(p.generation(), part, "*.json*"))
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			all.Write(b)
		}
	}
	for _, id := range acked {
		if !strings.Contains(all.String(), `"id":"`+id+`"`) {
			return fmt.Errorf("lost: %s", id)
		}
	}
	return nil
}
