package filelog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/ledgertest"
)

// What the mirror may lack, and how its end may look, is normal: the next save
// completes it, and it then holds every line of the ledger.
func TestMirrorIsCompleted(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(lines []string) string
	}{
		{"lacks the newest", func(l []string) string { return strings.Join(l[:5], "") }},
		{"lacks several", func(l []string) string { return strings.Join(l[:2], "") }},
		{"has a torn last line", func(l []string) string { return strings.Join(l[:5], "") + l[5][:40] }},
		{"lacks only the final newline", func(l []string) string { return strings.TrimSuffix(strings.Join(l, ""), "\n") }},
		{"ends in NUL bytes", func(l []string) string { return strings.Join(l[:4], "") + strings.Repeat("\x00", 5000) }},
		{"ends in a long torn line", func(l []string) string { return strings.Join(l[:4], "") + strings.Repeat("x", 3*ledger.MaxEntry) }},
		{"has several torn lines", func(l []string) string { return strings.Join(l[:3], "") + "{\"head\n{\"he\n" + l[3][:100] }},
		{"is empty", func([]string) string { return "" }},
		{"is garbage", func([]string) string { return "garbage\n\n\x00\xff\n" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, p := made(t, 5)
			lines := strings.SplitAfter(get(t, l.mirror()), "\n")[:6]
			put(t, l.mirror(), c.cut(lines))
			fresh := l.again()
			if h := head(t, fresh); h != p {
				t.Fatalf("head %v, want %v", h, p)
			}
			p = add(t, fresh, p, note("next"))
			verify(t, l, p)
			wantMirrored(t, l, p)
		})
	}
}

// wantMirrored checks that each line of the ledger is a line of the mirror, and
// the last the head's.
func wantMirrored(t testing.TB, l *Log, p ledger.Pos) {
	t.Helper()
	have := map[string]bool{}
	for _, line := range strings.SplitAfter(get(t, l.mirror()), "\n") {
		have[line] = true
	}
	for e, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
		check(t, err)
		if !have[string(e.Raw)] {
			t.Errorf("the mirror lacks revision %d", e.Rev)
		}
	}
	tail, err := l.again().tailIn(l.m.State[0], l.id())
	if err != nil || tail.last != p {
		t.Errorf("the mirror ends at %v, %v; want %v", tail.last, err, p)
	}
}

// A mirror that is gone is begun again with the whole history.
func TestMirrorIsBegunAgain(t *testing.T) {
	l, p := made(t, 5)
	check(t, os.RemoveAll(filepath.Dir(l.mirror())))
	p = add(t, l, p, note("next"))
	wantMirrored(t, l, p)
	check(t, os.Remove(l.mirror()))
	p = add(t, l.again(), p, note("next"))
	wantMirrored(t, l, p)
}

// A state folder that is deleted under the hand, between the look and the line,
// is made again by its name: a save is never called protected by a file that is
// gone.
func TestStateFolderDeletedMeanwhile(t *testing.T) {
	for _, gone := range []string{"ID", ""} {
		l, p := made(t, 3)
		s := l.with(when(durable.OpLink, revFile(4), func() { check(t, os.RemoveAll(l.state(strings.Replace(gone, "ID", l.id(), 1)))) }))
		saved, err := s.Append(t.Context(), p, note("x"))
		check(t, err)
		if !saved.Protected {
			t.Errorf("saved %+v", saved)
		}
		wantMirrored(t, l, saved.Pos)
	}
}

// Every row of damage: what is done to the files, and what every reader and
// writer says from then on.
func TestDamageStopsWriting(t *testing.T) {
	const n = 6
	edit := func(path string, f func(string) string) func(*testing.T, *Log) {
		return func(t *testing.T, l *Log) { put(t, l.at(path), f(get(t, l.at(path)))) }
	}
	flip := func(s string) string {
		i := strings.Index(s, `"text":"`) + 9
		return s[:i] + "X" + s[i+1:]
	}
	remove := func(path string) func(*testing.T, *Log) {
		return func(t *testing.T, l *Log) { check(t, os.Remove(l.at(path))) }
	}
	write := func(path, content string) func(*testing.T, *Log) {
		return func(t *testing.T, l *Log) { put(t, l.at(path), content) }
	}
	const rev = "gen/0001/rev/"
	for _, c := range []struct {
		name string
		do   func(*testing.T, *Log)
		kind string
	}{
		{"a revision in the middle is missing", remove(rev + revFile(3)), DamageMissing},
		{"the first revision is missing", remove(rev + revFile(0)), DamageMissing},
		{"the newest revision is missing", remove(rev + revFile(n)), DamageRegressed},
		{"the newest revisions are missing", func(t *testing.T, l *Log) {
			for r := int64(4); r <= n; r++ {
				check(t, os.Remove(l.rev(r)))
			}
		}, DamageRegressed},
		{"the head's body was changed", edit(rev+revFile(n), flip), DamageChanged},
		{"the head's hash was changed", edit(rev+revFile(n), func(s string) string { return strings.Replace(s, `"hash":"`, `"hash":"0`, 1) }), DamageUnreadable},
		{"the head is another revision", func(t *testing.T, l *Log) { put(t, l.rev(n), get(t, l.rev(n-1))) }, DamageChanged},
		{"the head is too large", edit(rev+revFile(n), func(s string) string { return s + strings.Repeat(" ", ledger.MaxEntry) }), DamageChanged},
		{"the head has a second line", edit(rev+revFile(n), func(s string) string { return s + s }), DamageUnreadable},
		{"a conflict copy", write(rev+"00000004 (conflicted copy).json", "x"), DamageCopy},
		{"a conflict copy of another kind", write(rev+"00000004-DESKTOP-1.json", "x"), DamageCopy},
		{"a conflict copy of the next revision", write(rev+"00000007 2.json", "x"), DamageCopy},
		{"a placeholder of a cloud folder", write(rev+".00000004.json.icloud", "x"), DamageCopy},
		{"a revision under a longer number", write(rev+"000000004.json", "x"), DamageCopy},
		{"a backup of an editor", write(rev+"00000004.json~", "x"), DamageCopy},
		{"a copy of the generation", func(t *testing.T, l *Log) { mkdir(t, l.at("gen/0001 2")) }, DamageCopy},
		{"a revision behind a gap", write(rev+"00000099.json", "x"), DamageMissing},
		{"a pack behind a gap", func(t *testing.T, l *Log) {
			mkdir(t, l.at("gen/0001/pack"))
			put(t, l.packed(packOf(1001)), "x")
		}, DamageMissing},
		{"a copy of a pack", func(t *testing.T, l *Log) {
			mkdir(t, l.at("gen/0001/pack"))
			put(t, l.at("gen/0001/pack/00000001-00001000 (1).jsonl"), "x")
		}, DamageCopy},
		{"an empty higher generation", func(t *testing.T, l *Log) { mkdir(t, l.at("gen/0002")) }, DamageGone},
		{"a higher generation without revisions", func(t *testing.T, l *Log) { mkdir(t, l.at("gen/0002/rev")) }, DamageGone},
		{"a sealed generation without a successor", write("gen/0001/SEALED", "x"), DamageIncomplete},
		{"FORMAT is missing", remove("FORMAT"), DamageGone},
		{"FORMAT is empty", write("FORMAT", ""), DamageUnreadable},
		{"FORMAT is NUL", write("FORMAT", strings.Repeat("\x00", 80)), DamageUnreadable},
		{"FORMAT is half NUL", edit("FORMAT", func(s string) string { return s[:30] + strings.Repeat("\x00", len(s)-30) }), DamageUnreadable},
		{"FORMAT is huge", write("FORMAT", strings.Repeat("x", 1<<20)), DamageUnreadable},
		{"FORMAT names another ledger", write("FORMAT", string(formatOf(strings.Repeat("0", 32)).bytes())), DamageOther},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, p := made(t, n)
			session := l.again()
			head(t, session)
			c.do(t, l)
			before := snapshot(t, l.p.Dir)
			for name, l := range map[string]*Log{"a session": session, "a new process": l.again()} {
				t.Run(name, func(t *testing.T) {
					err := refuses(t, l, p)
					d := wantDamage(t, err, c.kind)
					if strings.Contains(err.Error(), "text") || d.Path == "" || d.Why == "" {
						t.Errorf("error %q", err)
					}
					if l.ID() == "" {
						t.Error("damage can't be noted without an id")
					}
					if _, err := l.Head(t.Context()); c.kind != DamageIncomplete && !Damaged(err) {
						t.Errorf("head: %v", err)
					}
				})
			}
			delete(before, l.at("lock"))
			after := snapshot(t, l.p.Dir)
			delete(after, l.at("lock"))
			same(t, before, after)
		})
	}
}

// Noted damage stops every process, in this folder only, until it is cleared.
func TestNotedDamage(t *testing.T) {
	l, p := made(t, 3)
	d := damage(DamageChanged, 2, l.rev(2), "its body was changed")
	check(t, l.NoteDamage(l.ID(), d, time.Now()))
	check(t, l.NoteDamage(l.ID(), damage(DamageGone, -1, "x", "a later note"), time.Now()))
	for _, l := range []*Log{l, l.again()} {
		got := wantDamage(t, refuses(t, l, p), DamageChanged)
		if got.Rev != 2 || got.Path != l.rev(2) || got.Why != d.Why {
			t.Errorf("got %+v", got)
		}
		if h := head(t, l); h != p {
			t.Errorf("reading gives %v", h)
		}
	}
	if got := l.NotedDamage(l.ID()); got == nil || got.Kind != DamageChanged {
		t.Errorf("noted: %v", got)
	}

	// The note goes with a folder that is moved, and doesn't concern others.
	moved := filepath.Join(t.TempDir(), "moved")
	check(t, os.Rename(l.p.Dir, moved))
	wantDamage(t, refuses(t, l.elsewhere(moved), p), DamageChanged)
	check(t, os.Rename(moved, l.p.Dir))

	check(t, l.ClearDamage(l.ID()))
	p = add(t, l, p, note("after clearing"))
	verify(t, l, p)
	if found := l.temporaries(t); len(found) > 0 {
		t.Errorf("left: %v", found)
	}

	// What every look finds by itself is not noted.
	for _, kind := range []string{DamageOther, DamageIncomplete} {
		check(t, l.NoteDamage(l.ID(), damage(kind, -1, "x", "y"), time.Now()))
	}
	p = add(t, l, p, note("still"))

	put(t, l.state(l.ID()+"/"+damageName), "not a note")
	wantDamage(t, refuses(t, l.again(), p), DamageUnreadable)
	check(t, l.ClearDamage(l.ID()))
	add(t, l.again(), p, note("after clearing"))
}

// A copy of the ledger in another folder keeps its damage to itself.
func TestDamageOfACopyIsItsOwn(t *testing.T) {
	l, p := made(t, 3)
	other := l.elsewhere(filepath.Join(t.TempDir(), "copy"))
	copyTree(t, l.p.Dir, other.p.Dir)
	check(t, os.Remove(other.rev(1)))
	_, err := other.Head(t.Context())
	d := wantDamage(t, err, DamageMissing)
	check(t, other.NoteDamage(other.ID(), d, time.Now()))
	add(t, l.again(), p, note("the original goes on"))
}

// A mirror whose last line the ledger has not is damage, whatever brought it
// about.
func TestRegressedLedger(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, l *Log, old string)
	}{
		{"an old copy came back", func(t *testing.T, l *Log, old string) {
			check(t, os.RemoveAll(l.Dir()))
			copyTree(t, old, l.Dir())
		}},
		{"the end was forged", func(t *testing.T, l *Log, old string) {
			var es []ledger.Entry
			for e, err := range l.Entries(t.Context(), ledger.Pos{}) {
				check(t, err)
				es = append(es, e)
			}
			for i, e := range ledgertest.Extend(es[:4:4], nil, note("forged"), note("forged"), note("forged"))[4:] {
				put(t, l.rev(int64(4+i)), string(e.Raw))
			}
		}},
		{"all of it was forged", func(t *testing.T, l *Log, old string) {
			first := ledgertest.First()
			first.Ledger = l.id()
			for _, e := range ledgertest.Entries(nil, first, note("a"), note("b"), note("c"), note("d"), note("e"), note("f")) {
				put(t, l.rev(e.Rev), string(e.Raw))
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, _ := made(t, 3)
			old := filepath.Join(t.TempDir(), "old")
			copyTree(t, l.Dir(), old)
			p := fill(t, l, 3)
			session := l.again()
			head(t, session)
			c.do(t, l, old)
			for _, l := range []*Log{session, l.again()} {
				_, err := l.Head(t.Context())
				if _, foreign := errors.AsType[*ForeignError](err); !foreign && !Damaged(err) {
					t.Errorf("head: %v", err)
				}
				refuses(t, l, p)
				now := head2(l)
				if now.Hash != "" {
					refuses(t, l, now)
				}
			}
		})
	}
}

// head2 is the last revision that can be read, whatever the log says of it.
func head2(l *Log) (p ledger.Pos) {
	for e, err := range l.again().Entries(context.Background(), ledger.Pos{}) {
		if err != nil {
			break
		}
		p = e.Pos()
	}
	return p
}

// A mirror that is ahead may mean that this kernel's view of the folder lags
// behind: it is looked at again, up to the lock's wait.
func TestMirrorAheadIsWaitedFor(t *testing.T) {
	l, p := made(t, 4)
	l.m.LockWait = 10 * time.Second
	hidden := l.at("gen/0001/rev/hidden")
	check(t, os.Rename(l.rev(4), hidden))
	time.AfterFunc(300*time.Millisecond, func() {
		if err := os.Rename(hidden, l.rev(4)); err != nil {
			t.Error(err)
		}
	})
	p = add(t, l.again(), p, note("next"))
	verify(t, l, p)
}

// What a damaged ledger still has can be shown: from the files up to the damage,
// from the mirror where that has more.
func TestSalvage(t *testing.T) {
	count := func(l *Log) (n int) {
		p, c := ledger.Pos{}, ledger.Checker{}
		for e, err := range l.Salvage(t.Context()) {
			check(t, err)
			check(t, c.Add(p, &e))
			p = e.Pos()
			n++
		}
		return n
	}
	l, _ := made(t, 5)
	check(t, os.Remove(l.rev(3)))
	if n := count(l.again()); n != 6 {
		t.Errorf("%d entries with the mirror, want 6", n)
	}
	check(t, os.Remove(l.mirror()))
	if n := count(l.again()); n != 3 {
		t.Errorf("%d entries without the mirror, want 3", n)
	}
	if n := count(l.stranger(t)); n != 0 {
		t.Errorf("%d entries shown to a stranger", n)
	}
	l, _ = made(t, 5)
	check(t, os.RemoveAll(l.Dir()))
	if n := count(l.again()); n != 6 {
		t.Errorf("%d entries of a lost ledger, want 6", n)
	}
}

// Entries gives what stands before the damage, and then the damage.
func TestEntriesUpToTheDamage(t *testing.T) {
	for _, c := range []struct {
		kind string
		do   func(*testing.T, *Log)
	}{
		{DamageMissing, func(t *testing.T, l *Log) { check(t, os.Remove(l.rev(3))) }},
		{DamageUnreadable, func(t *testing.T, l *Log) { put(t, l.rev(3), "garbage\n") }},
		{DamageUnreadable, func(t *testing.T, l *Log) { put(t, l.rev(3), get(t, l.rev(3))[:50]) }},
		{DamageChanged, func(t *testing.T, l *Log) {
			put(t, l.rev(3), strings.Replace(get(t, l.rev(3)), `"text":"text"`, `"text":"tixt"`, 1))
		}},
	} {
		l, _ := made(t, 5)
		c.do(t, l)
		n, last := 0, error(nil)
		for _, err := range l.again().Entries(t.Context(), ledger.Pos{}) {
			if last = err; err == nil {
				n++
			}
		}
		wantDamage(t, last, c.kind)
		if n != 3 {
			t.Errorf("%d entries before the damage, want 3", n)
		}
	}
}
