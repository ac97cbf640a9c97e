package project

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Revision is the ledger's newest revision, -1 without a ledger.
func (p *Project) Revision(ctx context.Context) (int64, error) {
	head, err := p.log.Head(ctx)
	if err != nil {
		return -1, err
	}
	if head.Hash == "" {
		return -1, nil
	}
	return head.Rev, nil
}

// JSON is v as indented text, for people and agents.
func JSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return b.String(), nil
}
