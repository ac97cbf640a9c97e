// Package project is the hub: one opened project, every use case one method.
// It owns where a project's ledger is, who the caller is, the one function that
// every mutation goes through, what a briefing says, and the words in which any
// error is told (Explain).
//
// The three faces (command line, MCP server, browser view) decode, call it and
// render. It must never print, read the environment or the clock by itself, or
// let stored text into a message of its own.
package project
