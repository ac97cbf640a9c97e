package project

import (
	"encoding/json"

	"holdfast/internal/txn"
)

// The answers about transactions, for the faces, which know only this package.
type (
	TxnBegun    = txn.BeginAnswer
	TxnObserved = txn.ObserveAnswer
	TxnAsked    = txn.AttemptAnswer
	TxnMismatch = txn.Mismatch
)

// TxnBlocked is the state of a transaction that only a person reopens.
const TxnBlocked = txn.StateBlocked

// TxnReported reads the JSON of --reported.
func TxnReported(data []byte) (map[string]json.RawMessage, error) { return txn.ParseReported(data) }
