package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Another program holds the index for good: SQLite's locks, taken as SQLite
// takes them. Neither reading nor saving waits for it, and nothing turns silently
// into a mode that doesn't save.
func TestCaseC017_AHeldIndexStopsNobody(t *testing.T) {
	m := newMachine(t)
	m.three()
	indexes, err := filepath.Glob(filepath.Join(m.home, ".cache", "holdfast", "*", "index.db"))
	if err != nil || len(indexes) != 1 {
		t.Fatalf("%v, %v", indexes, err)
	}
	f, err := os.OpenFile(indexes[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Pending, reserved and shared bytes: https://sqlite.org/lockingv3.html
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 0x40000000, Len: 512}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &whole); err != nil {
		t.Fatal(err)
	}
	if out := m.ok(m.agent("list")); strings.Count(out, "text of") != 3 {
		t.Errorf("list: %s", out)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		s := m.open("codex")
		wg.Go(func() {
			if code := s.save(fmt.Sprintf("held-%d", i)); code != "" {
				t.Errorf("session %d: refused with %s", i, code)
			}
		})
	}
	wg.Wait()
	if out := m.ok(m.agent("search", "held")); strings.Count(out, "text of held") != 6 {
		t.Errorf("search: %s", out)
	}
}

// Somebody holds the ledger's lock: writers wait to the bound, then say that
// nothing was saved and who holds it; readers don't wait.
func TestCaseC017_AHeldLockIsNamed(t *testing.T) {
	m := newMachine(t)
	m.three()
	m.setEnv("HOLDFAST_LOCK_TIMEOUT", "200ms")
	lock, err := os.OpenFile(filepath.Join(m.project, ".holdfast", "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, status := m.agent("record", "note", "d", "--text", "text of d", "--source", "s", "--json")
	if status != 6 || code(t, out) != "busy" || !strings.Contains(out, "not saved") || !strings.Contains(out, "pid ") {
		t.Errorf("status %d: %s", status, out)
	}
	s := m.open("codex")
	if code := s.save("e"); code != "busy" {
		t.Errorf("mcp: %q", code)
	}
	if out := m.ok(m.agent("list")); strings.Count(out, "text of") != 3 {
		t.Errorf("list: %s", out)
	}
	if out := s.call("resume", "{}"); !strings.Contains(out, "text of c") {
		t.Errorf("resume: %s", out)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if code := s.save("e"); code != "" {
		t.Errorf("after it: %q", code)
	}
}

// Writers whose locks don't meet, as two systems on one mount: each has a lock
// file of its own. Every acknowledgement is a revision of its own.
func TestCaseC018_WritersWithoutACommonLock(t *testing.T) {
	m := newMachine(t)
	m.three()
	if ok, err := condition("namespaces"); err != nil || !ok {
		t.Skip("no namespaces to give each writer a lock file of its own")
	}
	const writers, saves = 4, 8
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			own := filepath.Join(m.root, fmt.Sprintf("lock%d", w))
			if err := os.WriteFile(own, nil, 0o600); err != nil {
				t.Error(err)
				return
			}
			m.sh(fmt.Sprintf(`unshare -rm sh -euc 'mount --bind %s .holdfast/lock; i=0; while [ $i -lt %d ]; do $HOLDFAST record note w%d-$i --text "text of w" --source s >/dev/null; i=$((i+1)); done'`, own, saves, w))
		})
	}
	wg.Wait()
	if out := m.ok(m.agent("list")); strings.Count(out, "text of w") != writers*saves {
		t.Errorf("%d of %d are there", strings.Count(out, "text of w"), writers*saves)
	}
}

// A damaged derived store never goes on answering: a damaged index is made anew,
// and every answer is the ledger's, in a session that is open, too.
func TestCaseC020_ADamagedIndexUnderAnOpenSession(t *testing.T) {
	for name, script := range map[string]string{
		"a page in the middle": `for f in $HOME/.cache/holdfast/*/index.db; do head -c 4096 /dev/urandom | dd of=$f bs=4096 seek=3 conv=notrunc 2>/dev/null; done`,
		"the header":           `for f in $HOME/.cache/holdfast/*/index.db; do head -c 100 /dev/zero | dd of=$f conv=notrunc 2>/dev/null; done`,
		"deleted":              `rm -r $HOME/.cache`,
		"replaced":             `for f in $HOME/.cache/holdfast/*/index.db; do cp $f $f.x; mv $f.x $f; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.three()
			s := m.open("codex")
			if out := s.call("resume", "{}"); !strings.Contains(out, "text of c") {
				t.Fatalf("resume: %s", out)
			}
			m.sh(script)
			if code := s.save("d"); code != "" {
				t.Errorf("save: %q", code)
			}
			for _, id := range []string{"a", "b", "c", "d"} {
				if out := s.call("search", `{"query":"`+id+`"}`); !strings.Contains(out, "text of "+id) {
					t.Errorf("search %s: %s", id, out)
				}
			}
			if out := m.ok(m.agent("list")); strings.Count(out, "text of") != 4 {
				t.Errorf("list: %s", out)
			}
		})
	}
}

// A sync program swaps the ledger for an older one under an open session.
func TestCaseC021_SwappedUnderAnOpenSession(t *testing.T) {
	m := newMachine(t)
	m.setEnv("HOLDFAST_LOCK_TIMEOUT", "300ms")
	m.three()
	m.sh("cp -a .holdfast ../older")
	s := m.open("codex")
	if code := s.save("d"); code != "" {
		t.Fatal(code)
	}
	m.sh(`mv .holdfast ".holdfast (Ana's conflicted copy 2026-11-30)"; cp -a ../older .holdfast`)
	before := m.snapshot()
	if code := s.save("e"); code != "damaged" {
		t.Errorf("session: %q", code)
	}
	if out, status := m.agent("record", "note", "f", "--text", "t", "--source", "s", "--json"); status != 5 || code(t, out) != "damaged" || !strings.Contains(out, "recover") {
		t.Errorf("status %d: %s", status, out)
	}
	if out := s.call("resume", "{}"); !strings.Contains(out, "text of d") || !strings.Contains(strings.ToLower(out), "possibly incomplete") {
		t.Errorf("resume: %s", out)
	}
	if m.snapshot() != before {
		t.Error("something was changed")
	}
}

// Files that a sync program or a file manager puts beside the ledger are no part
// of it, and are left alone.
func TestCaseC021_StrangeFilesBesideTheLedger(t *testing.T) {
	m := newMachine(t)
	m.three()
	m.sh(`cd .holdfast; touch ".FORMAT.icloud" "FORMAT 2" "desktop.ini" ".DS_Store" "gen/.DS_Store" gen/0001/.DS_Store "gen/0001/rev/.DS_Store" gen/0001/rev/Thumbs.db "HANDOFF (Ana's conflicted copy).md"`)
	m.ok(m.agent("record", "note", "d", "--text", "text of d", "--source", "s"))
	if out := m.ok(m.agent("list")); strings.Count(out, "text of") != 4 {
		t.Errorf("list: %s", out)
	}
	m.sh(`cd .holdfast; test -e ".FORMAT.icloud" -a -e "FORMAT 2" -a -e gen/0001/rev/Thumbs.db`)
	// A revision that is just arriving, or a second one, stops saving for as long
	// as it is there, and nobody but its owner removes it.
	for _, copy := range []string{".syncthing.00000005.json.tmp", "00000002 (Ana's conflicted copy 2026-11-30).json"} {
		path := filepath.Join(m.project, ".holdfast", "gen", "0001", "rev", copy)
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, status := m.agent("record", "note", "e", "--text", "t", "--source", "s", "--json")
		if status != 5 || code(t, out) != "damaged" || !strings.Contains(out, "second copy") {
			t.Errorf("%s: status %d: %s", copy, status, out)
		}
		if out, status := m.agent("list"); status != 5 || strings.Count(out, "text of") != 4 {
			t.Errorf("%s: status %d: %s", copy, status, out)
		}
		if err := os.Remove(path); err != nil {
			t.Fatalf("it is not there any more: %v", err)
		}
		m.ok(m.agent("list"))
	}
	m.ok(m.agent("record", "note", "e", "--text", "text of e", "--source", "s"))
}

// An old branch that tracked a ledger puts its files over those of today: the
// ledger's id tells, and it is not taken for the one that is known here.
func TestCaseC024_ABranchBringsOldLedgerFiles(t *testing.T) {
	m := newMachine(t)
	m.sh(`git init -q -b main .; git commit -q --allow-empty -m start; git checkout -q -b old; $HOLDFAST record note ancient --text "an old plan" --source s >/dev/null; git add -f .holdfast; git commit -q -m tracked; git checkout -q main; rm -rf .holdfast "$XDG_STATE_HOME" "$HOME/.cache"`)
	m.setEnv("HOLDFAST_LOCK_TIMEOUT", "300ms")
	m.three()
	id := m.ledgerID()
	s := m.open("codex")
	if code := s.save("d"); code != "" {
		t.Fatal(code)
	}
	// In a worktree of its own the old branch's ledger is not used.
	m.sh(`git worktree add -q ../wt old`)
	main := m.project
	m.project = filepath.Join(m.root, "work", "wt")
	if out := m.ok(m.agent("resume", "--json", "--branch", "main")); !strings.Contains(out, id) || strings.Contains(out, "old plan") || !strings.Contains(out, "is not used") {
		t.Errorf("worktree: %s", out)
	}
	m.project = main
	m.sh(`git worktree remove --force ../wt; git checkout -q -f old`)
	if out, status := m.agent("list"); status != 5 || strings.Contains(out, "old plan") {
		t.Errorf("status %d: %s", status, out)
	}
	if code := s.save("e"); code != "damaged" && code != "foreign" {
		t.Errorf("session: %q", code)
	}
}

// One folder under many spellings is one project, with one ledger and one lock.
func TestCaseC027_OneFolderManySpellings(t *testing.T) {
	m := newMachine(t)
	m.three()
	real := m.project
	m.sh(`mkdir -p sub/deep; ln -s "$PWD" ../link; mkdir ../Project`)
	spellings := []string{real, filepath.Join(m.root, "work", "link"), real + "/../project", real + "/sub/..", real + "//", m.root + "/./work/link/../project"}
	var wg sync.WaitGroup
	for i, dir := range spellings {
		for n := range 4 {
			wg.Go(func() {
				out, status := m.agent("--project", dir, "record", "note", fmt.Sprintf("n-%d-%d", i, n), "--text", "spelt", "--source", "s")
				if status != 0 {
					t.Errorf("%s: status %d: %s", dir, status, out)
				}
			})
		}
	}
	wg.Wait()
	if ok, err := condition("namespaces"); err == nil && ok {
		m.sh(`mkdir ../bound; unshare -rm sh -euc 'mount --bind . ../bound; cd ../bound; $HOLDFAST record note bound --text spelt --source s'`)
		m.ok(m.agent("record", "note", "unbound", "--text", "spelt", "--source", "s"))
		spellings = append(spellings, "") // for the count
	}
	out := m.ok(m.agent("list", "--json"))
	want := 4 * 6
	if len(spellings) > 6 {
		want += 2
	}
	if got := strings.Count(out, `"text":"spelt"`); got != want {
		t.Errorf("%d records, want %d", got, want)
	}
	if got := m.sh(`ls -d ../*/.holdfast | wc -l; ls "$XDG_STATE_HOME"/holdfast | grep -c '^[0-9a-f]\{32\}$'`); !strings.HasPrefix(got, "2\n1") { // the link shows the one folder twice
		t.Errorf("ledgers: %s", got)
	}
	// On a disk that tells case apart another spelling is another project.
	m.project = filepath.Join(m.root, "work", "Project")
	if out := m.ok(m.agent("list")); !strings.Contains(out, "no ledger here yet") {
		t.Errorf("Project: %s", out)
	}
}

// Whatever wipes the ledger's folder: it is a loss, not a new project, and a
// session that is open stops.
func TestCaseC030_WipedByGit(t *testing.T) {
	for name, script := range map[string]string{
		"clean":          `git clean -qfdx`,
		"only revisions": `rm -rf .holdfast/gen/0001/rev`,
		"only FORMAT":    `rm -f .holdfast/FORMAT`,
		"cloned anew":    `cp -a .git ../git; cd ..; rm -rf project; git clone -q git project; cd project`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.setEnv("HOLDFAST_LOCK_TIMEOUT", "300ms")
			m.sh(`git init -q -b main .; git commit -q --allow-empty -m start`)
			m.three()
			id := m.ledgerID()
			s := m.open("codex")
			if code := s.save("d"); code != "" {
				t.Fatal(code)
			}
			m.sh(script)
			out, status := m.agent("resume", "--json")
			if status != 5 || !strings.Contains(out, id) || !strings.Contains(out, "text of d") || !strings.Contains(out, `"incomplete":true`) {
				t.Errorf("status %d: %s", status, out)
			}
			out, status = m.agent("record", "note", "e", "--text", "t", "--source", "s", "--json")
			if c := code(t, out); status != 5 || c != "lost" && c != "damaged" || !strings.Contains(out, "recover") {
				t.Errorf("status %d: %s", status, out)
			}
			if name != "cloned anew" { // there the session's folder is gone
				if code := s.save("f"); code != "lost" && code != "damaged" {
					t.Errorf("session: %q", code)
				}
			}
		})
	}
	t.Run("what doesn't touch it", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t)
		m.sh(`git init -q -b main .; echo x > f; git add f; git commit -q -m start; git worktree add -q ../wt -b side`)
		m.three()
		m.sh(`echo y > f; echo z > untracked; git stash -q -u; git clean -qfd; git reset -q --hard; git worktree remove ../wt; git gc -q`)
		m.ok(m.agent("record", "note", "d", "--text", "text of d", "--source", "s"))
		if out := m.ok(m.agent("list")); strings.Count(out, "text of") != 4 {
			t.Errorf("list: %s", out)
		}
	})
}
