package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// TreeFile is a file or link in a tree.
type TreeFile struct {
	Name string // slash path below the tree's top; empty for a tree that is a file
	Info fs.FileInfo
}

// Tree lists what is at and below name, folders themselves left out. Nothing is
// followed or opened but folders of ours.
func (d *Dir) Tree(name string) ([]TreeFile, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	if !info.IsDir() {
		return []TreeFile{{Info: info}}, nil
	}
	s, err := d.Sub(name)
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	defer s.Close()
	names, err := s.Names()
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	var out []TreeFile
	for _, n := range names {
		below, err := s.Tree(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range below {
			f.Name = path.Join(n, f.Name)
			out = append(out, f)
		}
	}
	return out, nil
}

// RemoveTree removes name with all that is below it, and flushes d. Links go
// themselves, what they lead to stays. Folders that are not ours stop it. What is
// gone already is no error.
func (d *Dir) RemoveTree(name string) error {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		err = d.emptyFolder(name, info)
	}
	if err != nil {
		return fmt.Errorf("remove tree: %w", err)
	}
	return d.RemoveSync(name)
}

func (d *Dir) emptyFolder(name string, info fs.FileInfo) error {
	if hasModes && info.Mode().Perm()&0o700 != 0o700 { // a generation that was replaced is read-only
		if err := d.Chmod(name, 0o700); err != nil {
			return err
		}
	}
	s, err := d.Sub(name)
	if err != nil {
		return err
	}
	defer s.Close()
	names, err := s.Names()
	for _, n := range names {
		if err != nil {
			return err
		}
		info, err = s.Lstat(n)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		case err == nil && info.IsDir():
			if err = s.emptyFolder(n, info); err == nil {
				err = s.Remove(n)
			}
		case err == nil:
			err = s.Remove(n)
		}
	}
	return err
}
