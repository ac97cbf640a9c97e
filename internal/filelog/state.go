package filelog

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"holdfast/internal/durable"
	"holdfast/internal/ledger"
)

// state is one state folder as one call sees it. What it can't open or read is
// as if it weren't there; whoever writes meets the error.
type state struct {
	root string
	top  *durable.Dir // nil: it can't be opened
	dir  *durable.Dir // of the ledger, in it; nil: there is none
	key  ledger.Key   // nil: none can be read
	tail tail
}

type states []*state

func (ss states) close() {
	for _, s := range ss {
		for _, d := range []*durable.Dir{s.dir, s.top} {
			if d != nil {
				d.Close()
			}
		}
	}
}

// states opens the state folders for one look at a ledger. Keys and mirrors
// whose stamps didn't change are not read again.
func (l *Log) states(id string) states {
	ss := make(states, 0, len(l.m.State))
	for _, root := range l.m.State {
		s := &state{root: root, tail: tail{id: id, root: root}}
		ss = append(ss, s)
		var err error
		if s.top, err = l.m.Layer.OpenDir(root); err != nil {
			s.top = nil
			continue
		}
		s.key = l.key(s.top)
		if s.dir, err = s.top.Sub(id); err != nil {
			s.dir = nil
			continue
		}
		if t, err := l.tailOf(s.dir, root, id); err == nil {
			s.tail = t
		}
	}
	return ss
}

// keyed is a seal key with the stamp of the file that it was read from.
type keyed struct {
	stamp Stamp
	key   ledger.Key
}

func (l *Log) key(top *durable.Dir) ledger.Key {
	info, err := top.Lstat(keyName)
	if err != nil {
		return nil
	}
	if k, ok := l.keys[top.Path()]; ok && k.stamp == stampOf(info) {
		return k.key
	}
	k, err := readKey(top)
	if err != nil {
		return nil
	}
	l.keys[top.Path()] = keyed{stampOf(info), k}
	return k
}

// seals are the keys of all state folders.
func (ss states) seals() ledger.Seals {
	seals := ledger.Seals{}
	for _, s := range ss {
		if s.key != nil {
			seals[s.key.KeyID()] = s.key
		}
	}
	return seals
}

// sealKey is the key that this machine seals with, nil if none can be read.
func (ss states) sealKey() ledger.Key {
	for _, s := range ss {
		if s.key != nil {
			return s.key
		}
	}
	return nil
}

// byTail orders the folders for writing: the one whose mirror has the further
// head first, those without a mirror last and as they are preferred.
func (ss states) byTail() states {
	out := slices.Clone(ss)
	slices.SortStableFunc(out, func(a, b *state) int {
		switch x, y := a.tail.last, b.tail.last; {
		case x.Hash == "" || y.Hash == "":
			return cmp.Compare(len(y.Hash), len(x.Hash))
		default:
			return cmp.Compare(y.Rev, x.Rev)
		}
	})
	return out
}

// open gives the ledger's own folder as it is at its path now, making it where it
// is missing.
func (s *state) open(m *Machine, id string) (*durable.Dir, error) {
	if s.dir != nil && s.dir.Same() == nil {
		return s.dir, nil
	}
	states{s}.close()
	s.dir, s.top = nil, nil
	if err := m.Layer.MkdirAll(s.root, folderMode); err != nil {
		return nil, fmt.Errorf("open state folder: %w", err)
	}
	top, err := m.Layer.OpenDir(s.root)
	if err != nil {
		return nil, fmt.Errorf("open state folder: %w", err)
	}
	s.top = top
	dir, err := top.MakeSub(id, folderMode)
	if err != nil {
		return nil, fmt.Errorf("open state of ledger: %w", err)
	}
	s.dir = dir
	return dir, nil
}

// settle flushes the folders above a mirror that was just begun: an earlier
// process may have died before it did.
func (s *state) settle(m *Machine) error {
	if err := s.top.Sync(); err != nil {
		return err
	}
	parent, err := m.Layer.OpenForeignDir(realPath(filepath.Dir(s.root)))
	if err != nil {
		return fmt.Errorf("open state folder: %w", err)
	}
	defer parent.Close()
	return parent.Sync()
}
