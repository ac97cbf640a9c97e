package surface

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"time"

	"holdfast/internal/git"
)

// Want is one surface that must be looked at, and how. Package txn has a type
// of the same shape.
type Want struct {
	Key      string   // names the want; the look carries it
	Surface  string   // as Place.Surface
	Worktree string   // name of the worktree that its path is relative to
	Outside  bool     // its path is absolute, under one of Roots
	Roots    []string // allowed folders
	Ignore   []string // mode, json:/pointer
	Names    []string // dir: these entries, slash paths below it
	Whole    bool     // dir: everything below it
	Argv     []string // probe: the command
	TimeoutS int      // probe: seconds, 0 for the default
}

// Look is what was found. Package txn has a type of the same shape, whose
// comment tells the facts.
type Look struct {
	Key   string
	State string // present, absent or unknown
	Why   string // of an unknown one: a fixed phrase
	Facts map[string]string
	Names map[string]map[string]string
	Stamp string // of a path: changes whenever a stat could tell that the look is stale
}

// States of a look.
const (
	Present = "present"
	Absent  = "absent"
	Unknown = "unknown"
)

// Refs reads a repository's refs; *git.Repo does. A missing ref is git.ErrNoRef.
type Refs interface {
	Ref(ctx context.Context, name string) (string, error)
}

// Record is what can be expected of a record.
type Record struct {
	Revision int64
	Status   string
}

// Options are what an observer may use of the world. Whatever is missing makes
// the looks that need it unknown.
type Options struct {
	Worktree string            // name of the caller's worktree
	Tops     map[string]string // folders of the worktrees reachable from here, absolute, links resolved, by name
	Outside  bool              // look at paths under allowed folders: only at the command line
	Deny     []string          // folders never looked into: git's and Holdfast's
	Refs     map[string]Refs   // repositories by worktree
	// Record looks up a record; false: there is none.
	Record func(ctx context.Context, id string) (Record, bool, error)
	// Probe runs a probe's command and gives its exit status and the SHA-256 of
	// its output. Set only where running is allowed.
	Probe func(ctx context.Context, name string, argv []string, timeout time.Duration) (exit int, sha256 string, err error)
	Cache *Cache // hashes of earlier looks; nil for none
	Now   func() time.Time
	// Workers is how many files are read at a time; 0 for one.
	Workers int
	// Insensitive tells whether a folder's file system takes the cases of a
	// letter for one name. Nil: the file system is asked.
	Insensitive func(dir string) bool
}

// Observer looks at surfaces. It may be used by several goroutines at once.
type Observer struct {
	worktree    string
	tops        map[string]string
	outside     bool
	deny        []stat
	refs        map[string]Refs
	record      func(context.Context, string) (Record, bool, error)
	probe       func(context.Context, string, []string, time.Duration) (int, string, error)
	cache       *Cache
	now         func() time.Time
	gate        chan struct{} // a place for each helper that may read files
	insensitive func(string) bool

	mu      sync.Mutex
	folding *bool // answer of the file system at the caller's top
}

// DefaultProbeTimeout is how long a probe may run where nothing else is said.
const DefaultProbeTimeout = 60 * time.Second

// New makes an observer.
func New(o Options) *Observer {
	x := &Observer{
		worktree: o.Worktree, tops: o.Tops, outside: o.Outside, refs: o.Refs, record: o.Record,
		probe: o.Probe, cache: o.Cache, now: o.Now, insensitive: o.Insensitive,
		gate: make(chan struct{}, max(o.Workers, 1)-1),
	}
	for _, d := range o.Deny {
		if st, err := statInfo(d); err == nil {
			x.deny = append(x.deny, st)
		}
	}
	return x
}

// Look looks at all wants that can be seen by looking; reported surfaces are
// left out. The only error is ctx's.
func (o *Observer) Look(ctx context.Context, wants []Want) ([]Look, error) {
	return o.look(ctx, wants, false)
}

// Unchanged reports whether looks that were taken at wants still hold, paths by
// stat alone. Probes are not run again.
func (o *Observer) Unchanged(ctx context.Context, wants []Want, looks []Look) (bool, error) {
	now, err := o.look(ctx, wants, true)
	if err != nil || len(now) != len(looks) {
		return false, err
	}
	for i := range now {
		was := &looks[i]
		if now[i].Key != was.Key || now[i].Stamp != was.Stamp {
			return false, nil
		}
		if k := now[i].Facts["type"]; (k == "ref" || k == "record") && !maps.Equal(now[i].Facts, was.Facts) {
			return false, nil
		}
		if now[i].State != was.State && was.Facts["type"] != "probe" {
			return false, nil
		}
	}
	return true, nil
}

func (o *Observer) look(ctx context.Context, wants []Want, statOnly bool) ([]Look, error) {
	looks := make([]Look, 0, len(wants))
	for i := range wants {
		w := &wants[i]
		k, name, ok := split(w.Surface)
		l := unknown("it is not a surface that this build knows")
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !ok:
		case k == kindReported:
			continue
		case k == kindFile || k == kindDir:
			l = o.lookPath(ctx, w, k, name, statOnly)
		case k == kindRef:
			l = o.lookRef(ctx, w.Worktree, name)
		case k == kindRecord:
			l = o.lookRecord(ctx, name)
		case statOnly:
			l = Look{}
		case k == kindProbe:
			l = o.lookProbe(ctx, w, name)
		}
		l.Key = w.Key
		looks = append(looks, l)
	}
	return looks, ctx.Err()
}

func unknown(why string) Look { return Look{State: Unknown, Why: why} }

func (o *Observer) lookRef(ctx context.Context, worktree, name string) Look {
	refs := o.refs[worktree]
	if refs == nil {
		return unknown("its repository can't be reached from here")
	}
	oid, err := refs.Ref(ctx, name)
	switch {
	case errors.Is(err, git.ErrNoRef):
		return Look{State: Absent}
	case err != nil:
		return unknown("git's ref could not be read")
	}
	return Look{State: Present, Facts: map[string]string{"type": "ref", "oid": oid}}
}

func (o *Observer) lookRecord(ctx context.Context, id string) Look {
	if o.record == nil {
		return unknown("records can't be read here")
	}
	r, ok, err := o.record(ctx, id)
	switch {
	case err != nil:
		return unknown("the record could not be read")
	case !ok:
		return Look{State: Absent}
	}
	return Look{State: Present, Facts: map[string]string{
		"type": "record", "revision": strconv.FormatInt(r.Revision, 10), "status": r.Status,
	}}
}

func (o *Observer) lookProbe(ctx context.Context, w *Want, name string) Look {
	switch {
	case len(w.Argv) == 0:
		return unknown("the probe has no definition")
	case o.probe == nil:
		return unknown("probes run only at the command line, on the machine that defined them")
	}
	timeout := time.Duration(w.TimeoutS) * time.Second
	if timeout == 0 {
		timeout = DefaultProbeTimeout
	}
	exit, sum, err := o.probe(ctx, name, w.Argv, timeout)
	if err != nil {
		return unknown("the probe could not be run to its end")
	}
	return Look{State: Present, Facts: map[string]string{"type": "probe", "exit": strconv.Itoa(exit), "sha256": sum}}
}
