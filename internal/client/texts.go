package client

import (
	_ "embed"
	"strings"
)

//go:embed texts/instructions.md
var instructions string

//go:embed texts/transactions.txt
var transactions string

//go:embed texts/recovering-persistent-work/SKILL.md
var skill string

// Instructions is the marked block for AGENTS.md and its like, without a final
// line end. With transactions it names the holdfast_txn_* tools.
func Instructions(withTransactions bool) string {
	more := ""
	if withTransactions {
		more = transactions
	}
	return strings.TrimSuffix(strings.Replace(instructions, "{transactions}", more, 1), "\n")
}

// Skill is the SKILL.md of recovering-persistent-work, the same bytes in every
// folder it is put into.
func Skill() string { return skill }
