// Package surface looks at things for transactions: files, folders, git refs,
// records and probes. It owns how a surface's text becomes one canonical place
// whatever its spelling, and how a look is taken safely and fast: parents
// walked and links resolved, the last component never followed, nothing but
// regular files opened, contents hashed in parallel, and a cache of hashes that
// a stat may stand in for.
//
// It must never write, follow the last component of a path, block on a FIFO, a
// device or a socket, look into git's or Holdfast's folder, look outside of the
// worktree (or of a folder that a person allowed), take what it could not read
// for something absent, or judge: what a look means is decided by package txn.
// No error and no look holds the content of a file.
package surface
