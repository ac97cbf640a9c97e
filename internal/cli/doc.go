// Package cli is the command line: it decodes arguments and input files, calls
// one use case of package project, and renders the answer for a terminal, a
// pipe or (--json) a program.
//
// It owns the commands' names, flags, help and layout, and maps every error to
// words and an exit status. It must never decide anything about a ledger, put
// stored text on a screen without project.Visible, or end the process.
package cli
