package client

import (
	"encoding/json"

	"github.com/tailscale/hujson"
)

// secondOpinion reads both texts with parsers that are not ours: what was
// strict JSON stays strict JSON, and what has comments stays readable.
func secondOpinion(before, after []byte) error {
	before, after = before[bomLen(before):], after[bomLen(after):]
	if json.Valid(before) {
		if !json.Valid(after) {
			return errVerify
		}
		return nil
	}
	if _, err := hujson.Parse(before); err != nil {
		return flawAt(-1, "two readers of JSON with comments differ about this file")
	}
	if _, err := hujson.Parse(after); err != nil {
		return errVerify
	}
	return nil
}
