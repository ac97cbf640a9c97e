// Package durable is the file layer: every write that Holdfast makes to disk
// goes through it. It owns how bytes become safe against a crash or a power
// cut (temporary file, mode, write, flush, exclusive link or rename, flush of
// the folder), how files and folders are opened without being led astray
// (links, FIFOs, devices, foreign owners), and the operating system's lock.
//
// It knows nothing about ledgers, and must never: follow a symbolic link below
// an opened folder, truncate a file before its new content is safe elsewhere,
// drop an error of write, flush, link, rename or close, or remove a file that
// it did not make or was not told to remove.
//
// Every name given to a method of Dir is one path element. Hooks and errors
// carry full paths and never file content.
package durable
