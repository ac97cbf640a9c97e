//go:build sabotage

package durable

// Sabotage is set by the linker: -X holdfast/internal/durable.Sabotage=NAME.
var Sabotage string
