package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"holdfast/internal/ledger"
	"holdfast/internal/project"
)

// functions are what templates can call. Stored text passes through text or
// line, which make control characters visible; html/template then escapes it.
var functions = template.FuncMap{
	"text": func(s string) string { return project.Visible(s, true) }, "line": func(s string) string { return project.Visible(s, false) },
	"kind": kindWord, "who": who, "did": did, "deed": deed, "passage": passage, "txnState": txnState, "judged": judged, "severity": severity, "outcome": outcome, "holding": holding, "took": took, "section": sectionTitle, "empty": sectionEmpty, "short": short, "plural": plural, "minute": minute,
	"open": func(it project.Item) bool {
		return !it.Retracted && (it.Kind == ledger.KindNext || it.Kind == ledger.KindGoal) && it.Status == ledger.StatusOpen
	},
	"add": func(a, b int) int { return a + b }, "thousands": thousands, "clip": clip, "sectionKind": sectionKind,
	"pair": func(f, x any) any { return pairOf(f, x) }, "nav": navOf,
}

// pairOf hands a part of a page the frame and one thing of it.
func pairOf(f, x any) any {
	switch x := x.(type) {
	case project.Item:
		return struct {
			F    any
			Item project.Item
		}{f, x}
	case project.LogEntry:
		return struct {
			F any
			E project.LogEntry
		}{f, x}
	}
	return nil
}

// navItem is a link to a page.
type navItem struct {
	Href, Word string
	Here       bool
}

// framed is any page: each embeds its frame.
type framed interface{ framing() *frame }

func (f frame) framing() *frame { return &f }

func navOf(page framed, name, path, word string) navItem {
	f := page.framing()
	return navItem{f.Base + path, word, f.Page == name}
}

var kindWords = map[string]string{
	ledger.KindGoal: "Goal", ledger.KindQuestion: "Open question", ledger.KindAnswer: "Answer", ledger.KindDecision: "Decision",
	ledger.KindNext: "Next action", ledger.KindNote: "Note", ledger.CategoryCheck: "Check",
}

// typeWords are the entry types that the timeline can be filtered by.
var typeWords = map[string]string{
	ledger.TypeConfirm: "Confirmations", ledger.TypeRetract: "Retractions", ledger.TypeRestore: "Restorations", ledger.TypeRecover: "Recoveries",
	ledger.TypeCarry: "Branches brought here",
}

func kindWord(kind string) string {
	if w, ok := typeWords[kind]; ok {
		return w
	}
	if w, ok := kindWords[kind]; ok {
		return w
	}
	return project.Visible(kind, false)
}

// who names an actor for people.
func who(a ledger.Actor) string {
	switch {
	case a.Kind == ledger.Person:
		return "a person"
	case a.Client != "":
		return project.Visible(a.Client, false)
	case a.Kind == "tool":
		return "Holdfast"
	}
	return "an agent"
}

// deeds are the types of entries as what somebody did.
var deeds = map[string]string{
	ledger.TypeRecord: "saved", ledger.TypeStatus: "closed", ledger.TypeRetract: "retracted", ledger.TypeRestore: "restored", ledger.TypeConfirm: "confirmed",
	ledger.TypeCarry: "brought a branch here", ledger.TypeCheck: "ran", ledger.TypeAdopt: "took the ledger over", ledger.TypeAllow: "allowed a value",
	ledger.TypeRecover: "recovered the ledger", ledger.TypeSealed: "sealed the old ledger", ledger.TypeRedact: "erased a leaked text", ledger.TypeMerge: "imported",
	ledger.TypeLedger: "started the ledger", ledger.TypeOpBegin: "began to change settings", ledger.TypeOpEnd: "finished changing settings",
	ledger.TypeTxnBegin: "began a transaction", ledger.TypeTxnAttempt: "asked for an attempt", ledger.TypeTxnReport: "reported an attempt",
	ledger.TypeTxnObserve: "looked at a transaction", ledger.TypeTxnEnd: "ended a transaction",
}

func did(e project.LogEntry) string { return deed(e.Type) }

func deed(kind string) string {
	w, ok := deeds[kind]
	if !ok {
		return "made an entry newer than this build"
	}
	return w
}

func sectionTitle(name string) string {
	switch name {
	case "goals":
		return "Goals"
	case "next actions":
		return "Next actions"
	case "open questions":
		return "Open questions"
	case "answers and decisions":
		return "Answers and decisions"
	case "notes":
		return "Notes"
	}
	return "Finished in the last 7 days"
}

func sectionEmpty(name string) string {
	switch name {
	case "goals":
		return "No goal is open. A goal says what this project is to reach."
	case "next actions":
		return "Nothing is waiting to be done. The next action is what an agent picks up first."
	case "open questions":
		return "No question is open. Agents leave questions here when only a person can decide."
	case "answers and decisions":
		return "Nothing is decided yet. A decision with its reason keeps the next session from arguing it again."
	case "notes":
		return "No notes. A note is a fact or a trap worth knowing."
	}
	return "Nothing was finished in the last 7 days."
}

// sectionKind is the kind that a section's button adds; empty for none.
func sectionKind(name string) string {
	return map[string]string{"goals": "goal", "next actions": "next", "open questions": "question", "answers and decisions": "decision", "notes": "note"}[name]
}

func short(hash string) string { return clip(hash, 10) }

func clip(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n]) + "…"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// minute is a time to the minute, in UTC.
func minute(at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return project.Visible(clip(at, 30), false)
	}
	return t.UTC().Format("2006-01-02 15:04") + " UTC"
}

// lines joins a list for a text area.
func lines(items []string) string { return strings.Join(items, "\n") }

// passage cuts a match's passage where its words matched.
func passage(m project.Match) []Part {
	var out []Part
	at := 0
	for _, k := range m.Marks {
		if k[0] < at || k[1] <= k[0] || k[1] > len(m.Passage) {
			continue
		}
		if k[0] > at {
			out = append(out, Part{Text: m.Passage[at:k[0]]})
		}
		out = append(out, Part{Text: m.Passage[k[0]:k[1]], New: true})
		at = k[1]
	}
	return append(out, Part{Text: m.Passage[at:]})
}

// txnState says how a transaction stands.
func txnState(state string, interrupted bool) string {
	switch {
	case interrupted:
		return "interrupted"
	case state == "blocked":
		return "blocked, not complete"
	case state == "complete_reported":
		return "complete, as reported"
	}
	return project.Visible(state, false)
}

// judged says what an attempt really did.
func judged(classification string) string {
	switch classification {
	case "reached":
		return "reached its target"
	case "reached_despite_report":
		return "reached its target, whatever was reported"
	case "no_effect":
		return "changed nothing"
	case "partial":
		return "reached a part of its target"
	case "diverged":
		return "made something worse"
	case "pending":
		return "not judged yet: it may still take effect"
	case "":
		return "not judged yet"
	}
	return "could not be seen"
}

func severity(n int) string {
	switch n {
	case 3:
		return "content was lost"
	case 2:
		return "there or not there, against what was wanted"
	}
	return "other content than wanted"
}
