// Package client knows what each coding tool's project files look like and
// edits them byte-exactly: JSON with or without comments, TOML, and one marked
// block in Markdown files. It also holds the contracts of their hooks, the
// instruction block and the skill.
//
// It owns the shapes of those files and the rules of editing them: outside the
// inserted text no byte changes, a file that is not fully understood is refused
// with a *RefusedError, and what is ours is decided by parsed value.
//
// It must never touch a disk, a clock, an environment or a stream: callers read
// the files, hand the bytes in, and write what comes back. It imports no other
// package of Holdfast. No error names the content of a file.
package client
