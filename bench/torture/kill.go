package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// recipient is a public key of which nobody here has the secret: the example of
// the age documentation.
const recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"

// kill ends processes with SIGKILL at random instants. It sees a protocol that
// is torn between two calls; it can't see a flush that is missing.
func (t *torture) kill() error {
	for _, v := range []struct {
		name string
		do   func() (string, error)
	}{{"saves", t.killSaves}, {"setup", t.killSetup}, {"backup", t.killBackup}, {"recover", t.killRecover}, {"grant", t.killInAction}} {
		if !t.wants(v.name) {
			continue
		}
		begin := time.Now()
		said, err := v.do()
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		fmt.Printf("kill   %-8s %s; %.1f s\n", v.name, said, time.Since(begin).Seconds())
	}
	return nil
}

// shot runs a command and kills it after a while. answered: it ended by itself,
// with success.
func shot(cmd *exec.Cmd, after time.Duration) (answered bool, err error) {
	if err := cmd.Start(); err != nil {
		return false, err
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	timer.Stop()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if exit.Exited() && exit.ExitCode() != 6 { // busy is an answer, too
			return false, fmt.Errorf("%v: %w", cmd.Args[1:], err)
		}
		return false, nil
	}
	return err == nil, err
}

const savers = 4

// takes gives how long a command takes when nobody kills it: kills are spread
// over twice as long, so that they hit every part of it.
func takes(cmd *exec.Cmd) (time.Duration, error) {
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%v: %w: %s", cmd.Args[1:], err, out)
	}
	return 2 * time.Since(begin), nil
}

// killSaves shoots at four saves at once in every round.
func (t *torture) killSaves() (string, error) {
	p, err := t.place("kill-saves")
	if err != nil {
		return "", err
	}
	if err := p.save("before"); err != nil {
		return "", err
	}
	span, err := takes(p.command(p.bin, note("timed")...))
	if err != nil {
		return "", err
	}
	span *= 2 // four at once on few processors
	acked, killed := []string{"before", "timed"}, 0
	rnd := rand.New(rand.NewPCG(t.seed, 1))
	for round := range t.rounds {
		var wg sync.WaitGroup
		errs := make([]error, savers)
		done := make([]bool, savers)
		for i := range savers {
			after := time.Duration(rnd.Int64N(int64(span)))
			wg.Go(func() { done[i], errs[i] = shot(p.command(p.bin, note(fmt.Sprintf("k-%d-%d", round, i))...), after) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return "", err
		}
		for i, d := range done {
			if d {
				acked = append(acked, fmt.Sprintf("k-%d-%d", round, i))
			} else {
				killed++
			}
		}
		if round%20 == 19 || round == t.rounds-1 {
			if wrong := p.intact(acked, fmt.Sprintf("after-%d", round)); wrong != "" {
				return "", fmt.Errorf("after round %d: %s", round, wrong)
			}
		}
	}
	stray, err := strays(p.project)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d rounds of %d processes: %d saves acknowledged, %d processes killed, 0 lost, chain valid, %d temporary files left", t.rounds, savers, len(acked), killed, stray), nil
}

// strays counts the temporary files below a folder.
func strays(dir string) (n int, err error) {
	err = filepath.WalkDir(filepath.Join(dir, ".holdfast"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) == "tmp" {
			n++
		}
		return err
	})
	return n, err
}

func (t *torture) killSetup() (string, error) {
	s := settingUp()
	rnd := rand.New(rand.NewPCG(t.seed, 2))
	whole, span := 0, time.Duration(0)
	for round := range t.rounds {
		p, err := t.place(fmt.Sprintf("kill-setup-%d", round))
		if err != nil {
			return "", err
		}
		steps, err := s.before(p)
		if err != nil {
			return "", err
		}
		if span == 0 { // the first is only timed
			if span, err = takes(p.command(p.bin, steps[0].args...)); err != nil {
				return "", err
			}
			continue
		}
		answered, err := shot(p.command(p.bin, steps[0].args...), time.Duration(rnd.Int64N(int64(span))))
		if err != nil {
			return "", err
		}
		n := 0
		if answered {
			n = 1
			whole++
		}
		wrong := s.also(p, n)
		if wrong == "" {
			wrong = p.intact(steps[0].saves, "after")
		}
		if wrong != "" {
			return "", fmt.Errorf("round %d: %s", round, wrong)
		}
		if err := os.RemoveAll(filepath.Dir(p.tree)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d rounds: %d killed, %d answered; every file whole, the next setup completes", t.rounds-1, t.rounds-1-whole, whole), nil
}

func (t *torture) killBackup() (string, error) {
	p, err := t.place("kill-backup")
	if err != nil {
		return "", err
	}
	if err := p.save("before"); err != nil {
		return "", err
	}
	if err := p.grow(1500); err != nil {
		return "", err
	}
	backup := func(name string) []string {
		return []string{"backup", "--output", filepath.Join(p.home, name), "--recipient", recipient, "--json"}
	}
	span, err := takes(p.command(p.bin, backup("reference")...))
	if err != nil {
		return "", err
	}
	reference, err := os.Stat(filepath.Join(p.home, "reference"))
	if err != nil {
		return "", err
	}
	rnd := rand.New(rand.NewPCG(t.seed, 3))
	whole := 0
	for round := range t.rounds {
		name := fmt.Sprintf("export-%d", round)
		answered, err := shot(p.command(p.bin, backup(name)...), time.Duration(rnd.Int64N(int64(span))))
		if err != nil {
			return "", err
		}
		b, err := os.ReadFile(filepath.Join(p.home, name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && !answered:
		case err != nil:
			return "", fmt.Errorf("round %d: %w", round, err)
		case int64(len(b)) < reference.Size()-sizeSpread || !bytes.HasPrefix(b, []byte("age-encryption.org/v1\n")):
			return "", fmt.Errorf("round %d: an export of %d bytes has its name, whole it is %d", round, len(b), reference.Size())
		default:
			whole++
		}
	}
	if wrong := p.intact([]string{"before", "grown-2", "grown-1500"}, "after"); wrong != "" {
		return "", errors.New(wrong)
	}
	return fmt.Sprintf("%d rounds: %d exports, each whole; none half", t.rounds, whole), nil
}

// sizeSpread is by how many bytes two whole exports of one ledger may differ:
// the compressed time of the export is in them.
const sizeSpread = 32

// killInAction kills the tool while the command that it granted runs: the grant
// must stand, or a later session would grant the same again.
func (t *torture) killInAction() (string, error) {
	rounds := min(t.rounds, 20)
	for round := range rounds {
		p, err := t.place(fmt.Sprintf("kill-grant-%d", round))
		if err != nil {
			return "", err
		}
		cmd := p.command(p.bin, "txn", "run", "--intent", "make it", "--expect", "file:never=present", "--", "sh", "-c", "kill -9 $PPID")
		if err := cmd.Run(); err == nil {
			return "", errors.New("the tool outlived its command")
		}
		out, err := p.holdfast("log", "--json")
		if err != nil {
			return "", err
		}
		if !strings.Contains(string(out), `"txn.attempt"`) {
			return "", fmt.Errorf("round %d: the action ran, and no grant stands: %s", round, out)
		}
		if wrong := p.intact(nil, "after"); wrong != "" {
			return "", fmt.Errorf("round %d: %s", round, wrong)
		}
	}
	return fmt.Sprintf("%d rounds: killed in the granted action, the grant stands each time", rounds), nil
}
