//go:build !sabotage

package durable

// Sabotage names a fault that a build for the torture harness was given on
// purpose, to show that the harness would notice it. It is empty in every other
// build, where the compiler drops what asks for it.
const Sabotage = ""
