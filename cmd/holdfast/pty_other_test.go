//go:build !linux

package main

// No pseudo-terminals in these tests here: scripts that need a person skip.
const hasPTY = false

func person([]string) int { return 99 }
