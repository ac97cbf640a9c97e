package check

import "errors"

// ErrNoTTY: no pseudo-terminal is to be had here.
var ErrNoTTY = errors.New("no pseudo-terminal can be made here")

// ErrOutside: an input lies outside of the worktree.
var ErrOutside = errors.New("an input lies outside of the project")

// PatternError: an input can't be taken as it was given.
type PatternError struct{ Pattern, Why string }

func (e *PatternError) Error() string { return "input " + e.Pattern + ": " + e.Why }
func (e *PatternError) Unwrap() error { return ErrOutside }
