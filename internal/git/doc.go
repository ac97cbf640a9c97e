// Package git owns the facts that Holdfast takes from a git repository: where
// it is, which branch and commit are checked out, how commits descend from one
// another, and what is uncommitted.
//
// Facts come from files where these settle them and from the git binary
// otherwise. Everything in a repository is untrusted: files are read with
// bounds, only regular ones, and no command that the repository configures
// (filter, hook, file system monitor, text conversion, pager, remote helper)
// is ever run.
//
// The package must never write anything, move a ref, HEAD or the index, fetch,
// or put a repository's text into an error message.
package git
