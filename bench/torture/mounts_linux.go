package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	fuse "github.com/hanwen/go-fuse/v2/fs"
	raw "github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// mounts has six writers save through two mounts of one folder. Each mount has
// a lock table of its own, as a host and a container have: no lock that one
// side takes is seen by the other.
func (t *torture) mounts() error {
	if os.Getuid() != 0 {
		fmt.Println("mounts: SKIPPED, mounting needs root: two lock tables were not tried")
		return nil
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		fmt.Printf("mounts: SKIPPED, no FUSE here (%v): two lock tables were not tried\n", err)
		return nil
	}
	p, err := t.place("mounts")
	if err != nil {
		return err
	}
	var sides []*place
	for _, side := range []string{"a", "b"} {
		q := *p
		q.project = filepath.Join(t.dir, "mount-"+side)
		if err := os.Mkdir(q.project, 0o700); err != nil {
			return err
		}
		unmount, err := mountApart(p.project, q.project)
		if err != nil {
			fmt.Printf("mounts: SKIPPED, FUSE can't mount here (%v): two lock tables were not tried\n", err)
			return nil
		}
		defer unmount()
		sides = append(sides, &q)
	}
	if err := separate(sides); err != nil {
		return err
	}
	return t.writeThrough(p, sides)
}

// mountApart mounts a folder from another process: one that serves a mount must
// not start programs in it, since both wait for each other then.
func mountApart(folder, at string) (unmount func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, serveMount, folder, at)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		in.Close()
		return nil, fmt.Errorf("mount %s: %w", at, cmd.Wait())
	}
	return func() { in.Close(); cmd.Wait() }, nil
}

// serve is the other process: it serves the mount until its input ends.
func serve(folder, at string) error {
	root, err := fuse.NewLoopbackRoot(folder)
	if err != nil {
		return err
	}
	_, err = fuse.Mount(at, root, &fuse.Options{MountOptions: raw.MountOptions{DirectMount: true}})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	_, _ = io.Copy(io.Discard, os.Stdin)
	// Not the library's way, which needs fusermount.
	return unix.Unmount(at, unix.MNT_DETACH)
}

// separate makes sure that the experiment is one: a lock held through one mount
// is not seen through the other.
func separate(sides []*place) error {
	var answers []string
	for _, q := range []*place{sides[0], sides[0], sides[1]} {
		hold := len(answers) == 0
		name := filepath.Join(q.project, "locked")
		if hold {
			cmd := exec.Command("flock", name, "sleep", "2")
			if err := cmd.Start(); err != nil {
				return fmt.Errorf("hold a lock: %w", err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			time.Sleep(500 * time.Millisecond)
			answers = append(answers, "held")
			continue
		}
		free := exec.Command("flock", "-n", name, "true").Run() == nil
		answers = append(answers, fmt.Sprint(free))
	}
	if answers[1] != "false" || answers[2] != "true" {
		return fmt.Errorf("the mounts don't have separate lock tables: free on the same side %s, on the other %s", answers[1], answers[2])
	}
	return nil
}

const (
	mountWriters = 6
	mountSaves   = 60
)

func (t *torture) writeThrough(p *place, sides []*place) error {
	if err := sides[0].save("before"); err != nil {
		return err
	}
	begin := time.Now()
	var mu sync.Mutex
	revs, busy := map[int64]string{}, 0
	var acked []string
	errs := make([]error, mountWriters)
	var wg sync.WaitGroup
	for w := range mountWriters {
		q := sides[w%2]
		wg.Go(func() {
			for i := range mountSaves {
				id := fmt.Sprintf("m-%d-%d", w, i)
				out, tries, err := q.insist(note(id))
				if err != nil {
					errs[w] = err
					return
				}
				var a struct{ Revision int64 }
				if err := json.Unmarshal(out, &a); err != nil {
					errs[w] = err
					return
				}
				mu.Lock()
				if other := revs[a.Revision]; other != "" {
					errs[w] = fmt.Errorf("%s and %s were both acknowledged as revision %d", other, id, a.Revision)
				}
				revs[a.Revision] = id
				acked, busy = append(acked, id), busy+tries
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, q := range sides {
		if wrong := q.intact(acked, "after-"+filepath.Base(q.project)); wrong != "" {
			return errors.New(wrong)
		}
	}
	fmt.Printf("mounts: 2 mounts with separate lock tables, %d writers x %d saves: %d acknowledged, %d distinct revisions, %d answers busy or conflict and tried again; %.1f s\n",
		mountWriters, mountSaves, len(acked), len(revs), busy, time.Since(begin).Seconds())
	return nil
}

// insist repeats a save that was refused as busy or for a conflict: neither is
// an acknowledgement.
func (p *place) insist(args []string) (out []byte, tries int, err error) {
	for ; tries < 200; tries++ {
		out, err = p.command(p.bin, args...).Output()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			return out, tries, err
		}
		if code := exit.ExitCode(); code != 3 && code != 6 {
			return nil, tries, fmt.Errorf("%v: %w: %s%s", args, err, exit.Stderr, out)
		}
	}
	return nil, tries, fmt.Errorf("%v: refused %d times: %w", args, tries, err)
}
