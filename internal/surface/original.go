package surface

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Original is a file or a link that may have to be kept.
type Original struct {
	Surface string // of the want
	Name    string // slash path below the folder; empty for the surface itself
	SHA256  string // of a file
	Seen    string // of a file of which parts are ignored: the SHA-256 that a look gives
	Link    string // target of a link
	Mode    string // of a file
	Size    int64

	st   stat
	want Want
}

// Originals lists the files and links at a want: the file itself, the named
// entries of a folder, or everything below it. The error tells that not all
// could be seen; it is a fixed phrase.
func (o *Observer) Originals(ctx context.Context, w Want) ([]Original, error) {
	whole := w
	whole.Ignore = nil
	list, err := o.originals(ctx, whole)
	if v := (&visit{o: o, w: &w}); err != nil || len(v.pointers()) == 0 || w.Whole {
		return list, err
	}
	seen, err := o.originals(ctx, w)
	if err != nil || len(seen) != len(list) {
		return list, err
	}
	for i := range list {
		if list[i].Name == seen[i].Name && list[i].SHA256 != "" {
			list[i].Seen = seen[i].SHA256
		}
	}
	return list, nil
}

func (o *Observer) originals(ctx context.Context, w Want) ([]Original, error) {
	k, name, ok := split(w.Surface)
	if !ok || k != kindFile && k != kindDir {
		return nil, errForm
	}
	dir, base, why := o.open(&w, name)
	if why != "" || dir == nil {
		return nil, whyError(why)
	}
	defer dir.close()
	v := &visit{o: o, ctx: ctx, w: &w}
	actual, st, err := v.find(dir, base)
	if err != nil {
		return nil, whyError(reasonUnlessAbsent(err))
	}
	var list []*found
	switch {
	case !st.mode.IsDir():
		e := v.entry(dir, actual, "", st)
		list = []*found{&e}
	case k == kindDir:
		if list, err = v.originalsIn(dir, actual); err != nil {
			return nil, whyError(reason(err))
		}
	}
	return originalsOf(list, &w)
}

func (v *visit) originalsIn(parent *handle, name string) ([]*found, error) {
	dir, err := parent.sub(name)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	if v.w.Whole {
		t, err := v.tree(dir, func() (*handle, error) { return parent.sub(name) })
		return t.list, err
	}
	var list []*found
	for _, e := range v.named(dir) {
		if e != nil {
			list = append(list, e)
		}
	}
	return list, nil
}

func originalsOf(list []*found, w *Want) ([]Original, error) {
	var out []Original
	for _, e := range list {
		if e.err != nil {
			return nil, whyError(reason(e.err))
		}
		if e.typ != "file" && e.typ != "link" {
			continue
		}
		o := Original{Surface: w.Surface, Name: e.path, Link: e.link, st: e.st, want: *w}
		if e.typ == "file" {
			o.SHA256, o.Mode, o.Size = hex.EncodeToString(e.sum[:]), mode(e.st.mode), e.st.now.size
		}
		out = append(out, o)
	}
	return slices.Clip(out), nil
}

// Open opens an original for copying. It fails with fs.ErrNotExist or another
// error where the file is not the one that was listed; what is read must be
// compared with SHA256, for a file can change under a reader.
func (o *Observer) Open(f *Original) (*os.File, error) {
	k, name, ok := split(f.Surface)
	if !ok || f.SHA256 == "" {
		return nil, errForm
	}
	if k == kindDir {
		name = path.Join(name, f.Name)
	}
	dir, base, why := o.open(&f.want, name)
	if why != "" {
		return nil, whyError(why)
	}
	if dir == nil {
		return nil, fs.ErrNotExist
	}
	defer dir.close()
	v := &visit{o: o, w: &f.want}
	actual, _, err := v.find(dir, base)
	if err != nil {
		return nil, err
	}
	opened, err := dir.file(actual)
	if err != nil {
		return nil, err
	}
	st, err := opened.stat()
	if err == nil && (!st.mode.IsRegular() || !st.same(&f.st)) {
		err = errChanging
	}
	if err != nil {
		opened.close()
		return nil, err
	}
	return opened.osFile(f.Surface), nil
}

func whyError(why string) error {
	if why == "" {
		return nil
	}
	return fmt.Errorf("look at originals: %s", strings.TrimSpace(why))
}

func reasonUnlessAbsent(err error) string {
	if absent(err) {
		return ""
	}
	return reason(err)
}
