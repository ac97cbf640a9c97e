package project

import "holdfast/internal/ledger"

// RecordRequest is one record to save. A nil field is left as it is in a
// correction and empty in a new record; an empty string or list clears.
type RecordRequest struct {
	ID              string             `json:"id"`
	Kind            string             `json:"kind,omitempty"`
	Text            *string            `json:"text,omitempty"`
	Answer          *string            `json:"answer,omitempty"`
	Why             *string            `json:"why,omitempty"`
	Rejected        *[]ledger.Rejected `json:"rejected,omitempty"`
	RevisitWhen     *string            `json:"revisit_when,omitempty"`
	Supersedes      *string            `json:"supersedes,omitempty"`
	Status          *string            `json:"status,omitempty"`
	Source          *string            `json:"source,omitempty"`
	Cites           *[]string          `json:"cites,omitempty"`
	DoneWhen        *string            `json:"done_when,omitempty"`
	Key             string             `json:"key,omitempty"`
	WithoutEvidence string             `json:"without_evidence,omitempty"`

	// ExpectedRevision guards a correction: the revision of the version that it
	// replaces.
	ExpectedRevision *int64 `json:"expected_revision,omitempty"`
	// ExpectedRecovery is the recovery generation that the caller resumed in.
	ExpectedRecovery *string `json:"expected_recovery,omitempty"`
}

// ChangeRequest asks for done, drop, retract or restore of one record.
type ChangeRequest struct {
	ID               string
	Category         string // check, or empty for a record
	ExpectedRevision *int64
	ExpectedRecovery *string
	WithoutEvidence  string
	Key              string
}

// Saved is the answer to every save.
type Saved struct {
	ID          string    `json:"id,omitempty"`
	Revision    int64     `json:"revision"`
	Hash        string    `json:"hash"`
	Durable     bool      `json:"durable"`
	Protected   bool      `json:"protected"`
	Unconfirmed bool      `json:"unconfirmed"`
	Recovery    string    `json:"recovery,omitempty"`
	Replayed    bool      `json:"replayed,omitempty"`
	Records     []SavedID `json:"records,omitempty"`
	Warnings    []string  `json:"warnings,omitempty"`
}

// SavedID names one record of a save of several.
type SavedID struct {
	ID string `json:"id"`
}
