package archive

import (
	"crypto/sha256"
	"encoding/hex"
)

func sum256(s string) string {
	b := sha256.Sum256([]byte(s))
	return hex.EncodeToString(b[:])
}
