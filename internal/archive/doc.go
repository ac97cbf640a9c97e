// Package archive writes and opens encrypted exports of a ledger in the age
// format (age-encryption.org/v1), so that they open without Holdfast:
// age -d FILE | gunzip.
//
// It owns the form of an export, how it gets its name, the keys that open it
// and the limits within which one is read. It must never hand out a byte of an
// export before the whole file was authenticated, overwrite a file, derive a key
// whose cost an export chose without a limit, or let a passphrase or a key into
// an error.
package archive
