package filelog

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// childEnv makes the test binary a child that does something to a ledger.
const childEnv = "HOLDFAST_FILELOG_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := child(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// command is such a child.
func (l *Log) command(t testing.TB, what string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	check(t, err)
	c := exec.Command(exe, append([]string{l.p.Dir, l.m.State[0]}, args...)...)
	c.Env = append(os.Environ(), childEnv+"="+what)
	c.Stderr = os.Stderr
	return c
}

func child(what string, args []string) error {
	m := &Machine{
		State: []string{args[1]}, Layer: &durable.Layer{}, Rand: rand.Reader, Now: time.Now,
		LockWait: 5 * time.Second, Owner: fmt.Sprintf("pid %d", os.Getpid()), Tool: "test",
	}
	l := New(m, Place{Dir: args[0], Name: FolderName})
	switch what {
	case "save":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return saveMany(l, n)
	case "race":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return raceMany(l, n)
	case "history":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return recordHistory(l, n)
	case "head":
		_, err := l.Head(context.Background())
		return err
	}
	return errors.New("a child doesn't know " + what)
}

// saveMany saves as the hub does, under the lock, and tells of each save once
// it is acknowledged.
func saveMany(l *Log, n int) error {
	ctx := context.Background()
	for i := range n {
		unlock, err := l.Lock(ctx)
		if err != nil {
			return err
		}
		saved, err := saveOne(ctx, l, fmt.Sprintf("%d-%d", os.Getpid(), i))
		if err != nil {
			return err
		}
		if err := unlock(); err != nil {
			return err
		}
		fmt.Printf("%d %s\n", saved.Rev, saved.Hash)
	}
	return nil
}

func saveOne(ctx context.Context, l *Log, text string) (ledger.Saved, error) {
	p, err := l.Head(ctx)
	if err != nil {
		return ledger.Saved{}, err
	}
	if p.Hash == "" {
		saved, err := l.Append(ctx, p, ledger.Draft{Type: ledger.TypeLedger, At: time.Now()})
		if c, lost := errors.AsType[*ledger.ConflictError](err); lost {
			saved.Pos, err = c.Head, nil
		}
		if err != nil {
			return saved, err
		}
		p = saved.Pos
	}
	for {
		saved, err := l.Append(ctx, p, note(text))
		c, lost := errors.AsType[*ledger.ConflictError](err)
		if lost {
			p = c.Head
			continue
		}
		if err == nil && (!saved.Protected || len(saved.Warnings) > 0) {
			err = fmt.Errorf("saved %+v", saved)
		}
		return saved, err
	}
}

// raceMany saves without the lock, as on two mounts that don't share locks.
func raceMany(l *Log, n int) error {
	for i := range n {
		saved, err := saveOne(context.Background(), l, fmt.Sprintf("%d-%d", os.Getpid(), i))
		if err != nil {
			return err
		}
		fmt.Printf("%d %s\n", saved.Rev, saved.Hash)
	}
	return nil
}

// acks reads what children acknowledged.
func acks(t testing.TB, r io.Reader) (ps []ledger.Pos) {
	t.Helper()
	s := bufio.NewScanner(r)
	for s.Scan() {
		rev, hash, ok := strings.Cut(s.Text(), " ")
		n, err := strconv.ParseInt(rev, 10, 64)
		if !ok || err != nil || len(hash) != 64 {
			continue // cut off by a kill
		}
		ps = append(ps, ledger.Pos{Rev: n, Hash: hash})
	}
	return ps
}

// together runs children at once and gives what they acknowledged.
func together(t testing.TB, l *Log, procs, each int, what string) (all []ledger.Pos) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range procs {
		wg.Go(func() {
			out, err := l.command(t, what, strconv.Itoa(each)).Output()
			if err != nil {
				t.Errorf("a child: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, acks(t, strings.NewReader(string(out)))...)
		})
	}
	wg.Wait()
	return all
}

// wantAll checks that every acknowledged save is there, at its place.
func wantAll(t testing.TB, l *Log, acked []ledger.Pos) {
	t.Helper()
	at := map[int64]string{}
	for e, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
		check(t, err)
		at[e.Rev] = e.Hash
	}
	seen := map[int64]bool{}
	for _, p := range acked {
		if at[p.Rev] != p.Hash {
			t.Errorf("revision %d was acknowledged and is not there", p.Rev)
		}
		if seen[p.Rev] {
			t.Errorf("revision %d was acknowledged twice", p.Rev)
		}
		seen[p.Rev] = true
	}
}

// Several processes save at once, into a ledger that isn't there yet: every save
// is there, none is refused.
func TestCaseC001_ManyProcesses(t *testing.T) {
	for _, c := range []struct{ procs, each int }{{2, 200}, {8, 200}} {
		t.Run(fmt.Sprintf("%dx%d", c.procs, c.each), func(t *testing.T) {
			l := testLog(t)
			if testing.Short() {
				c.each = 25
			}
			acked := together(t, l, c.procs, c.each, "save")
			if len(acked) != c.procs*c.each {
				t.Errorf("%d saves acknowledged, want %d", len(acked), c.procs*c.each)
			}
			wantAll(t, l, acked)
			h := head(t, l)
			if h.Rev != int64(c.procs*c.each) {
				t.Errorf("head %d", h.Rev)
			}
			verify(t, l, h)
			wantMirrored(t, l, h)
			if found := l.temporaries(t); len(found) > 0 {
				t.Errorf("left: %v", found)
			}
		})
	}
}

// The same without any lock: exclusive publishing alone decides.
func TestCaseC018_ManyProcessesWithoutALock(t *testing.T) {
	l := testLog(t)
	const procs, each = 6, 60
	acked := together(t, l, procs, each, "race")
	if len(acked) != procs*each {
		t.Errorf("%d saves acknowledged, want %d", len(acked), procs*each)
	}
	wantAll(t, l, acked)
	h := head(t, l)
	verify(t, l, h)
	wantMirrored(t, l, h)
}

// Processes are killed at random instants of saves, packings and creations:
// what they acknowledged is there, and the next one goes on.
// HOLDFAST_KILL_ROUNDS says how often.
func TestKilled(t *testing.T) {
	n := rounds(t, "HOLDFAST_KILL_ROUNDS", 25)
	l := quickLog(t)
	var acked []ledger.Pos
	for round := range n {
		if round%20 == 10 { // now and then the ledger is in its first moments, or about to pack
			l = quickLog(t)
			acked = nil
			if round%40 == 10 {
				l, _ = seeded(t, l, MaxLoose-5, plain)
			}
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		for range 3 {
			c := l.command(t, "save", "1000")
			c.Stderr = nil
			out, err := c.StdoutPipe()
			check(t, err)
			check(t, c.Start())
			time.AfterFunc(time.Duration(mrand.IntN(60_000))*time.Microsecond, func() { _ = c.Process.Kill() })
			wg.Go(func() {
				got := acks(t, out)
				_ = c.Wait() // killed
				mu.Lock()
				defer mu.Unlock()
				acked = append(acked, got...)
			})
		}
		wg.Wait()
		wantAll(t, l, acked)
		if h := head(t, l.again()); h.Hash != "" {
			verify(t, l, add(t, l.again(), h, note("after the kill")))
			wantMirrored(t, l, head(t, l.again()))
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("%d rounds of 3 processes, %d saves acknowledged in the last ledger", n, len(acked))
}
