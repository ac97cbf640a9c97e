// Package mcpserver is the MCP face: it serves one project's ledger to a coding
// agent over standard input and output, or loopback HTTP for tests. It decodes a
// call, calls the hub and renders the answer.
//
// It must never print to standard output anything but protocol messages, run a
// command, touch a client's settings, or let an agent do what only a person
// may. Nothing lives in the connection: a cursor or a preview is an explicit
// value in the arguments.
package mcpserver
