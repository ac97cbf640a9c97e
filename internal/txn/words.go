package txn

import (
	"fmt"
	"strings"
)

// States of a transaction.
const (
	StateOpen             = "open"
	StateComplete         = "complete"
	StateCompleteReported = "complete_reported"
	StateBlocked          = "blocked"
	StateAbandoned        = "abandoned"
)

// Roles of an attempt.
const (
	RoleInitial  = "initial"
	RoleRecovery = "recovery"
)

// Codes of refusals.
const (
	CodeAlreadySatisfied  = "already_satisfied"
	CodeBlocked           = "blocked"
	CodeInFlight          = "attempt_in_flight"
	CodeNothingToMutate   = "nothing_to_mutate"
	CodeUnknownState      = "unknown_state"
	CodeObservationNeeded = "observation_needed"
	CodeOscillated        = "oscillated"
	CodeFingerprintSpent  = "fingerprint_spent"
	CodeBudgetSpent       = "budget_spent"
	CodeDestructive       = "destructive"

	CodeOverlapsBlocked       = "overlaps_blocked"
	CodeSameOperation         = "same_operation"
	CodeNoTransaction         = "no_such_transaction"
	CodeNoOperation           = "no_such_operation"
	CodeNoAttempt             = "no_such_attempt"
	CodeCannotReplace         = "cannot_replace"
	CodeNotBlocked            = "not_blocked"
	CodeReopened              = "already_reopened"
	CodePersonOnly            = "person_only"
	CodeOver                  = "transaction_over"
	CodeErased                = "text_erased"
	codeNoProgress            = "no_progress"
	codeRegressed             = "regressed"
	classUnknown              = "unknown"
	classPending              = "pending"
	classReached              = "reached"
	classReachedDespite       = "reached_despite_report"
	classNoEffect             = "no_effect"
	classDiverged             = "diverged"
	classPartial              = "partial"
	progressNoneYet           = "none_yet"
	progressDecreased         = "decreased"
	outcomeInterrupted        = "interrupted"
	outcomeUnknown            = "unknown"
	outcomeSucceeded          = "succeeded"
	outcomeAllowed            = "allowed"  // head of a txn.observe: a person allowed an operation to destroy
	outcomeRestored           = "restored" // head of a txn.observe: a person put originals back
	outcomeGivenUp            = "given_up"
	maxShown                  = 200 // names and surfaces that an entry or an answer lists
	maxBody                   = 200 << 10
	otherSideMS         int64 = 15 * 60 * 1000 // how long a grant made elsewhere stays in flight
)

// Refusal is a call that was refused, and why. Message and Next are fixed
// sentences with ids.
type Refusal struct {
	Code      string
	Message   string
	Next      string
	BlockedBy []string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(code, message string, next ...string) *Refusal {
	return &Refusal{Code: code, Message: message, Next: strings.Join(next, " ")}
}

// reasons are what a refused attempt, or the end of a transaction, is explained with.
var reasons = map[string]string{
	CodeAlreadySatisfied:  "The target holds already; there is nothing to do.",
	CodeBlocked:           "The transaction is over and not complete.",
	CodeInFlight:          "An attempt is open and its result is not known yet.",
	CodeNothingToMutate:   "Reading and verifying are completed by observing, never by a mutation.",
	CodeUnknownState:      "Something could not be read, so nothing may be changed.",
	CodeObservationNeeded: "The effect of the last attempt may still arrive.",
	CodeOscillated:        "The state is one that was seen before, with another in between: the changes go round in a circle.",
	CodeFingerprintSpent:  "The operation had its attempt and its one recovery.",
	CodeBudgetSpent:       "The transaction had its two recoveries.",
	CodeDestructive:       "It would destroy content that is neither preserved nor part of the target.",
	codeNoProgress:        "The recovery did not make the mismatch smaller.",
	codeRegressed:         "The recovery left something new or worse than before.",
	outcomeGivenUp:        "A person gave it up.",
}

// decisions are the smallest next decisions that a person has after a block.
var decisions = map[string]string{
	CodeOscillated:       "Find out what else writes to these surfaces and stop it, or decide which of the states is the right one.",
	CodeFingerprintSpent: "Look at what is still missing and do that step by hand, or decide that the target has to be another one.",
	CodeBudgetSpent:      "Look at what is still missing and decide whether the rest is done by hand or in a new, smaller transaction.",
	codeNoProgress:       "Find out why the step has no effect (rights, login, space, a wrong target) before it is tried again.",
	codeRegressed:        "Look at what became worse, put the preserved originals back if they are missed, and decide how to go on.",
}

// afterBlock is the next step after a block, for agents and people alike.
func afterBlock(id string) string {
	return fmt.Sprintf("Stop changing these surfaces and tell the user. A person looks with: holdfast txn show %[1]s, and then reopens it (holdfast txn reopen %[1]s) or gives it up (holdfast txn abandon %[1]s).", id)
}
