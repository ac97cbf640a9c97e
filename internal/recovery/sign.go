package recovery

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// sign computes the fingerprint over everything that the preview rests on. The
// mark and the last revision of a seal are left out, so that the same recovery
// goes on after a crash.
func (p *Plan) sign() error {
	type signed struct {
		Ledger, Folder, Generation string
		Head, Target               ledger.Pos
		Files                      []filelog.FileSum
		By                         string
		Base                       int64
		From                       string
		KeepHits                   bool
		Replaces                   []ledger.Pos
		Redact                     []int64
	}
	from := p.want.From
	if p.s.export != nil {
		from = p.s.export.Head.Hash
	}
	b, err := json.Marshal(signed{p.Ledger, p.s.log.Folder(), p.s.current, p.s.Head, p.Target, p.s.Files, p.By, p.Base, from, p.want.KeepHits, p.Replaces, p.redact})
	if err != nil {
		return fmt.Errorf("fingerprint recovery: %w", err)
	}
	sum := sha256.Sum256(b)
	p.Fingerprint = hex.EncodeToString(sum[:])
	g := sha256.Sum256([]byte("recovery generation\n" + p.Fingerprint))
	h := hex.EncodeToString(g[:16])
	p.Recovery = h[:8] + "-" + h[8:12] + "-8" + h[13:16] + "-8" + h[17:20] + "-" + h[20:32]
	return nil
}

// Used looks for a recovery with this fingerprint in every chain that was found.
func (s *Survey) Used(fingerprint string) error {
	if rev, ok := s.g.used[fingerprint]; ok {
		return &UsedError{Rev: rev}
	}
	return nil
}
