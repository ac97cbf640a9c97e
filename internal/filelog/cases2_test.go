package filelog

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// C021: a synchronising program swaps files under a session; the session stops
// before its next write, and nothing is deleted.
func TestCaseC021_SyncedFolder(t *testing.T) {
	for name, do := range map[string]func(l *Log){
		"the head renamed, an older one in its place": func(l *Log) {
			check(t, os.Rename(l.rev(4), l.at("gen/0001/rev/00000004 (Ana's conflicted copy 2026-11-30).json")))
			put(t, l.rev(4), get(t, l.rev(3)))
		},
		"a copy beside it":   func(l *Log) { put(t, l.at("gen/0001/rev/00000004-DESKTOP-1.json"), get(t, l.rev(4))) },
		"a number beside it": func(l *Log) { put(t, l.at("gen/0001/rev/00000004 2.json"), get(t, l.rev(4))) },
		"evicted to the cloud": func(l *Log) {
			check(t, os.Rename(l.rev(2), l.at("gen/0001/rev/.00000002.json.icloud")))
		},
		"the folder renamed, an older one in its place": func(l *Log) {
			check(t, os.Rename(l.Dir(), l.Dir()+" (conflicted copy)"))
			copyTree(t, l.Dir()+" (conflicted copy)", l.Dir())
			check(t, os.Remove(l.rev(4)))
		},
		"the generation copied": func(l *Log) { copyTree(t, l.at("gen/0001"), l.at("gen/0001 (1)")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, p := made(t, 4)
			session := l.again()
			head(t, session)
			do(l)
			before := snapshot(t, l.p.Dir)
			for _, s := range []*Log{session, l.again()} {
				if err := refuses(t, s, p); !Damaged(err) {
					t.Errorf("got %v", err)
				}
			}
			same(t, before, snapshot(t, l.p.Dir))
		})
	}
}

// C024: ledger files that were tracked come back with an old branch. The id
// decides: what lies there is another ledger than the one known here.
func TestCaseC024_OldLedgerComesBack(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	l := testLog(t)
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", l.p.Dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+t.TempDir())
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	put(t, filepath.Join(l.p.Dir, "README"), "x")
	git("add", "README")
	git("commit", "-q", "-m", "first")
	git("checkout", "-q", "-b", "old")
	p := create(t, l)
	p = add(t, l, p, note("tracked"))
	git("add", "-f", ".holdfast")
	git("commit", "-q", "-m", "ledger files, tracked")
	oldID := l.id()
	git("checkout", "-q", "main")
	if _, err := l.again().Head(t.Context()); !Damaged(err) {
		t.Errorf("deleted by the checkout: %v", err)
	}
	check(t, os.RemoveAll(l.Dir()))
	fresh := l.again()
	_, err := fresh.StartOver(t.Context())
	check(t, err)
	q := create(t, fresh)
	q = add(t, fresh, q, note("the ledger of today"))
	newID := l.id()
	kept := filepath.Join(t.TempDir(), "kept")
	copyTree(t, l.Dir(), kept)

	git("checkout", "-q", "-f", "old")
	if l.id() != oldID {
		t.Fatalf("FORMAT is %s", l.id())
	}
	for _, s := range []*Log{fresh, l.again()} {
		err := refuses(t, s, p)
		if !Damaged(err) {
			t.Errorf("the old branch's ledger is used: %v", err)
		}
	}
	check(t, os.RemoveAll(l.Dir()))
	git("checkout", "-q", "-f", "main")
	check(t, os.RemoveAll(l.Dir()))
	copyTree(t, kept, l.Dir())
	if l.id() != newID {
		t.Fatalf("FORMAT is %s", l.id())
	}
	verify(t, l, add(t, l.again(), q, note("back")))
}

// C027: one folder under several spellings is one ledger with one lock.
func TestCaseC027_Spellings(t *testing.T) {
	l, p := made(t, 1)
	dir := t.TempDir()
	link := filepath.Join(dir, "Link")
	check(t, os.Symlink(l.p.Dir, link))
	spellings := []string{
		l.p.Dir, link, filepath.Join(l.p.Dir, "x", ".."), l.p.Dir + "/", filepath.Join(link, "."),
		filepath.Dir(l.p.Dir) + "/./" + filepath.Base(l.p.Dir),
	}
	unlock, err := l.elsewhere(spellings[1]).Lock(t.Context())
	check(t, err)
	for _, s := range spellings {
		_, err := l.elsewhere(s).Lock(t.Context())
		want[*durable.BusyError](t, err)
	}
	check(t, unlock())
	for _, s := range spellings {
		p = add(t, l.elsewhere(s), p, note("through "+s))
	}
	verify(t, l, p)
	if got := l.noteMap(); len(got) != 1 {
		t.Errorf("notes %v", got)
	}
}

// C029, as far as a log decides it: reading makes nothing anywhere, and no folder
// is made above the ledger's own.
func TestCaseC029_NoProject(t *testing.T) {
	dir := t.TempDir()
	l := testLog(t)
	for _, place := range []string{"/", filepath.Join(dir, "gone"), filepath.Join(dir, "gone", "deep")} {
		s := l.elsewhere(place)
		if h := head(t, s); h != (ledger.Pos{}) {
			t.Errorf("%s has a ledger", place)
		}
		if place != "/" {
			if _, err := s.Append(t.Context(), ledger.Pos{}, ledger.Draft{Type: ledger.TypeLedger}); err == nil {
				t.Errorf("%s: a ledger was made", place)
			}
		}
		if _, err := os.Lstat(s.Dir()); err == nil {
			t.Errorf("%s: the folder was made", place)
		}
	}
}

// C030: git clean -fdx under a session. The loss is a loss, in the session and in
// every new process; the mirror has every save.
func TestCaseC030_GitClean(t *testing.T) {
	for _, state := range []bool{true, false} {
		l, p := made(t, 50)
		session := l.again()
		if !state { // a session in a sandbox has nothing but what it saw itself
			session.m = new(*l.m)
			session.m.State, session.m.Adopted = nil, []string{l.id()}
		}
		head(t, session)
		check(t, os.RemoveAll(l.Dir()))
		for _, after := range []ledger.Pos{{}, p} {
			lost := want[*LostError](t, refuses(t, session, after))
			if lost.Saves != 50 || lost.ID == "" {
				t.Errorf("%+v", lost)
			}
		}
		want[*LostError](t, refuses(t, l.again(), ledger.Pos{}))
		n := 0
		for range l.again().Salvage(t.Context()) {
			n++
		}
		if n != 51 {
			t.Errorf("%d entries in the mirror, want 51", n)
		}
		if _, err := os.Lstat(l.Dir()); err == nil {
			t.Error("the folder was made again")
		}
	}
}

// C082: times that contradict the order are kept and change nothing: order is
// the sequence, and nothing waits or sweeps by a clock that lies.
func TestCaseC082_Clocks(t *testing.T) {
	l := testLog(t)
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	l.m.Now = func() time.Time { return now }
	p := create(t, l)
	times := []time.Time{now, now.AddDate(5, 0, 0), now.Add(5 * time.Minute), now.AddDate(0, 0, -1), time.Unix(0, 0), time.Time{}, now.AddDate(7000, 0, 0)}
	texts := []string{"blue", "green", "red", "yellow", "white", "grey", "black"}
	for i, at := range times {
		now = at
		d := note(texts[i])
		d.At = at
		p = add(t, l.again(), p, d)
	}
	verify(t, l, p)
	es := l.chain(t)
	for i, at := range times {
		body, _, err := es[i+1].Body()
		check(t, err)
		if es[i+1].At != at.UTC().Format(ledger.TimeLayout) || body.Records[0].Text != texts[i] {
			t.Errorf("entry %d: %s %q", i+1, es[i+1].At, body.Records[0].Text)
		}
	}

	// Temporaries: a clock behind the newest revision sweeps nothing.
	temp := l.at("gen/0001/tmp/.holdfast-00112233445566778899aabbccddeeff.tmp")
	put(t, temp, "x")
	check(t, os.Chtimes(temp, time.Unix(0, 0), time.Unix(0, 0)))
	now = time.Now().AddDate(-1, 0, 0)
	if n, err := l.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	now = time.Now().Add(time.Hour)
	if n, err := l.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}

	// The fixture's lines are no entries; whatever they say of times, they are
	// named and passed over.
	put(t, l.mirror(), get(t, l.mirror())+fixture(t, "C082/future.jsonl"))
	p = add(t, l.again(), p, note("next"))
	wantMirrored(t, l, p)
}
