package ledger

// Receipt is what the tool saw when it ran a check. See docs of the check
// command for the outcomes.
type Receipt struct {
	ID           string            `json:"id"`
	Title        string            `json:"title,omitempty"`
	Argv         []string          `json:"argv"`
	Dir          string            `json:"dir"` // slash path relative to the worktree's top
	Worktree     string            `json:"worktree,omitempty"`
	Inputs       Inputs            `json:"inputs"`
	InputsStable bool              `json:"inputs_stable"`
	ExitCode     int               `json:"exit_code"`
	Signal       string            `json:"signal,omitempty"`
	TimedOut     bool              `json:"timed_out,omitempty"`
	Outcome      string            `json:"outcome"`
	StartedAt    string            `json:"started_at"` // TimeLayout
	DurationMS   int64             `json:"duration_ms"`
	Output       Output            `json:"output"`
	Counts       *Counts           `json:"counts,omitempty"`
	DirtyDigest  string            `json:"dirty_digest,omitempty"` // of the uncommitted changes; branch and commit stand in the entry's git
	Runtime      Runtime           `json:"runtime"`
	Env          map[string]string `json:"env,omitempty"` // declared names and the keyed hash of each value
	External     bool              `json:"external,omitempty"`
	ValidForMS   int64             `json:"valid_for_ms,omitempty"`
	Flags        []string          `json:"flags,omitempty"` // such as cached, errors_in_tail
	Why          string            `json:"why,omitempty"`   // of an outcome that the status alone doesn't tell
	Options      Options           `json:"options,omitzero"`
}

// Options are those that a check was run with, for the next run.
type Options struct {
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
	TTY       bool  `json:"tty,omitempty"`
	KeepTail  bool  `json:"keep_tail,omitempty"`
}

// Outcomes of a check. Only Passed closes anything.
const (
	Passed          = "passed"
	Failed          = "failed"
	TimedOut        = "timed_out"
	Killed          = "killed"
	NotFound        = "not_found"
	NothingRan      = "nothing_ran"
	InputsChanged   = "inputs_changed"
	NotAttributable = "not_attributable"
)

// Inputs are the files a check's result rests on.
type Inputs struct {
	Declared      []string    `json:"declared,omitempty"` // patterns as given; empty: every tracked and unignored file
	Count         int         `json:"count"`
	Digest        string      `json:"digest"` // SHA-256 over the sorted lines path NUL sha256 LF
	ChangedDuring []string    `json:"changed_during,omitempty"`
	Files         []InputFile `json:"files,omitempty"`    // up to 500; a longer list is in a manifest
	Manifest      string      `json:"manifest,omitempty"` // digest of the manifest's content
	Partial       bool        `json:"partial,omitempty"`  // the limit of files was reached
}

// InputFile is one input as it was.
type InputFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // keyed by this machine's key when Keyed
	Keyed  bool   `json:"keyed,omitempty"`
}

// Output describes what a command printed; it is never kept.
type Output struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Lines  int64  `json:"lines"`
	Tail   string `json:"tail,omitempty"` // screened, at most 4 KiB, only when asked for
}

// Counts are a test runner's own totals.
type Counts struct {
	Runner  string `json:"runner"`
	Unit    string `json:"unit,omitempty"` // what is counted; empty: tests
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped,omitempty"`
	Total   int    `json:"total"`
}

// Runtime identifies the program and the platform a check ran on.
type Runtime struct {
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Program string `json:"program"` // resolved path
	Size    int64  `json:"size,omitempty"`
	SHA256  string `json:"sha256,omitempty"`
	Version string `json:"version,omitempty"`
	// Through are the other programs that the command goes through, as far as
	// its words tell: the interpreter of a script, the programs of a shell text.
	Through []Program `json:"through,omitempty"`
}

// Program is one program as it was.
type Program struct {
	Path   string `json:"path"`
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}
