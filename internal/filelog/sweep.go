package filelog

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/internal/durable"
)

// stale is how old a temporary file must be before it counts as left behind.
const stale = 24 * time.Hour

// Sweep removes temporary files and probes that a crash left more than a day
// ago, in the ledger's folder and in the state folders, and says how many. It
// works under the ledger's lock, which it takes unless Lock gave it out before.
// A clock that is behind the newest revision's time is not gone by.
func (l *Log) Sweep(ctx context.Context) (n int, err error) {
	unlock, err := l.underLock(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	l.mu.Lock()
	defer l.mu.Unlock()
	v, err := l.legible(ctx)
	if errors.Is(err, ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer v.close()
	return l.sweep(v)
}

func (l *Log) sweep(v *view) (int, error) {
	now := l.m.Now()
	if info, err := v.f.rev.Info(); err != nil || now.Before(info.ModTime()) {
		return 0, err
	}
	s := &sweeper{before: now.Add(-stale)}
	s.folder(v.f.top)
	s.sub(v.f.top, genName, func(gens *durable.Dir) {
		names, err := gens.Names()
		s.note(0, err)
		for _, name := range names {
			if _, ok := parseGen(name); ok || strings.HasPrefix(name, buildPrefix) {
				s.sub(gens, name, s.generation)
			}
		}
	})
	for _, st := range v.st {
		if st.top != nil {
			s.folder(st.top)
			s.sub(st.top, pathsName, s.folder)
		}
		if st.dir != nil {
			s.folder(st.dir)
		}
	}
	return s.n, s.err
}

type sweeper struct {
	before time.Time
	n      int
	err    error
}

func (s *sweeper) note(n int, err error) {
	s.n += n
	s.err = errors.Join(s.err, err)
}

func (s *sweeper) generation(g *durable.Dir) {
	s.sub(g, revName, s.folder)
	s.sub(g, packName, s.folder)
	s.sub(g, tmpName, func(d *durable.Dir) {
		s.folder(d)
		s.probes(d)
	})
}

func (s *sweeper) sub(d *durable.Dir, name string, do func(*durable.Dir)) {
	sub, err := d.Sub(name)
	if notThere(err) {
		return
	}
	if err != nil {
		s.note(0, err)
		return
	}
	defer sub.Close()
	do(sub)
}

func (s *sweeper) folder(d *durable.Dir) { s.note(d.Sweep(s.before)) }

// probes are what looking for copies left, see copyAt.
func (s *sweeper) probes(d *durable.Dir) {
	names, err := d.Names()
	s.note(0, err)
	for _, name := range names {
		if !strings.HasPrefix(name, probePrefix) {
			continue
		}
		info, err := d.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(s.before) {
			continue
		}
		if err := d.Remove(name); err == nil {
			s.n++
		} else if !notThere(err) {
			s.note(0, err)
		}
	}
}
