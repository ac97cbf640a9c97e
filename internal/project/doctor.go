package project

import (
	"context"
	"errors"
	"fmt"

	"holdfast/internal/filelog"
	"holdfast/internal/recovery"
)

// Finding is one thing that doctor found. Codes are API.
type Finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"` // note, warn or error
	Evidence string `json:"evidence"`
	AtRisk   bool   `json:"at_risk"` // saved data could be lost
	Next     string `json:"next"`
}

// Severities of findings: a note needs nobody.
const (
	SeverityNote  = "note"
	SeverityWarn  = "warn"
	SeverityError = "error"
)

// DoctorRequest says what else doctor is to do.
type DoctorRequest struct {
	Probe   bool // write: take the lock, write a scratch file beside the revisions, flush it, read it back
	Secrets bool // screen everything that was ever saved by today's rules
}

// Diagnosis is what doctor says.
type Diagnosis struct {
	State     string    `json:"state"`
	Healthy   bool      `json:"healthy"` // no warning and no error
	Version   string    `json:"version"` // of this program
	Ledger    string    `json:"ledger"`
	Revision  int64     `json:"revision"` // -1: none verifies
	Protected bool      `json:"protected"`
	Findings  []Finding `json:"findings"`
	Repaired  []string  `json:"repaired,omitempty"` // what Repair did
}

func (d *Diagnosis) add(code, severity, evidence, next string) {
	d.Findings = append(d.Findings, Finding{code, severity, evidence, severity == SeverityError, next})
	d.Healthy = d.Healthy && severity == SeverityNote
}

// Doctor reads every copy of the ledger and says what is wrong. It writes nothing,
// but for what Probe asks for: the index is read as it is, or made in memory.
// The error says that it could not look.
func (p *Project) Doctor(ctx context.Context, q DoctorRequest) (Diagnosis, error) {
	d, _, err := p.diagnose(ctx, q)
	return d, err
}

func (p *Project) diagnose(ctx context.Context, q DoctorRequest) (Diagnosis, *recovery.Survey, error) {
	defer p.onlyLook()()
	d := Diagnosis{Healthy: true, Revision: -1, Findings: []Finding{}, Version: p.w.Version}
	s, err := recovery.Look(ctx, p.log, p.m, recovery.Options{})
	if foreign, ok := errors.AsType[*filelog.ForeignError](err); ok {
		d.State, d.Ledger = "foreign", foreign.ID
		d.add("foreign", SeverityError, "this machine neither made nor adopted the ledger", "holdfast adopt")
		return d, s, nil
	}
	if err != nil {
		return d, s, err
	}
	d.State, _ = stateOf(s.State)
	d.Ledger = s.Ledger
	if s.Head.Hash != "" {
		d.Revision = s.Head.Rev
	}
	if s.State != nil && d.State != StateNone {
		d.add(d.State, SeverityError, sentence(s.State), "holdfast recover")
	}
	d.fileFindings(s)
	d.sourceFindings(s)
	noted := p.log.NotedDamage(s.Ledger)
	if noted != nil && s.Healthy() {
		d.add("noted_damage", SeverityError, "damage was noted and stops every save: "+sentence(noted), "holdfast doctor --repair")
	}
	if d.State != StateNone {
		p.placeFindings(ctx, &d, s)
	}
	if noted == nil && d.State == StateHealthy {
		p.indexFindings(ctx, &d)
		p.stateFindings(ctx, &d)
	}
	if q.Secrets {
		p.secretFindings(ctx, &d)
	}
	if q.Probe {
		p.probeFindings(ctx, &d)
	}
	return d, s, nil
}

// onlyLook keeps the cache folder as it is until the result is called.
func (p *Project) onlyLook() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.lookOnly
	p.lookOnly = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lookOnly = was
		_ = p.closeIndex() // it may be one in memory; the next call opens what it needs
	}
}

// fileFindings names each line and file that is not as it was written.
func (d *Diagnosis) fileFindings(s *recovery.Survey) {
	mirrors := map[string]bool{}
	for _, src := range s.Sources {
		if src.Kind == recovery.SourceMirror {
			mirrors[src.Path] = true
		}
	}
	for _, f := range s.Flaws {
		where := fmt.Sprintf("%s, line %d", visible(f.Path), f.Line)
		if mirrors[f.Path] {
			d.add("mirror_line", SeverityWarn, where+": a line is no entry or was changed", "holdfast backup")
			continue
		}
		if d.State == StateHealthy {
			d.State = StateDamaged
		}
		d.add("changed", SeverityError, fmt.Sprintf("%s, revision %d: %s", where, f.Rev, visible(f.Why)), "holdfast recover")
	}
	if s.More > 0 {
		d.add("more", SeverityError, fmt.Sprintf("%d more lines or files are not as they were written", s.More), "holdfast recover")
	}
}

func (d *Diagnosis) sourceFindings(s *recovery.Survey) {
	for _, src := range s.Sources {
		switch src.Kind {
		case recovery.SourceOlder:
			what := " was replaced by a recovery and is kept"
			if src.Bad > 0 {
				what += fmt.Sprintf("; %d of its lines are not as they were written", src.Bad)
			}
			d.add("older_generation", SeverityNote, visible(src.Path)+what, "holdfast prune")
		case recovery.SourceMirror:
			d.Protected = d.Protected || src.Head == s.Head && src.Bad == 0
			if src.Again > 0 {
				d.add("mirror_repeats", SeverityNote, fmt.Sprintf("%s has %d lines twice, which is no harm", visible(src.Path), src.Again), "holdfast recover --list")
			}
		}
	}
	if s.Ledger != "" && !d.Protected {
		d.add("not_protected", SeverityWarn, "no mirror holds every revision", "holdfast backup")
	}
	if n := s.Counts.Elsewhere + s.Counts.Unsealed; n > 0 {
		d.add("not_sealed_here", SeverityNote, fmt.Sprintf("%d entries were sealed elsewhere or not at all", n), "holdfast log")
	}
	if s.Counts.Newer > 0 {
		d.add("newer", SeverityError, fmt.Sprintf("%d entries are of a newer build", s.Counts.Newer), "holdfast version")
	}
}
