package durable

import "fmt"

// PublishLink makes a symbolic link at a name that is free, and flushes the
// folder. The error is fs.ErrExist where something is there already.
func (d *Dir) PublishLink(target, name string) error {
	if err := d.checkNewName(name); err != nil {
		return fmt.Errorf("publish link: %w", err)
	}
	if err := d.l.do(OpLink, d.join(name), func() error { return d.root.Symlink(target, name) }); err != nil {
		return fmt.Errorf("publish link %s: %w", d.join(name), err)
	}
	return d.Sync()
}
