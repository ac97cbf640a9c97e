package project

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/internal/filelog"
)

func TestRepairClearsNotedDamage(t *testing.T) {
	s := newSick(t, 3)
	p := s.open(codex)
	d := &filelog.DamageError{Kind: filelog.DamageChanged, Rev: 2, Path: s.revision(2), Why: "its body was changed"}
	if err := p.log.NoteDamage(s.id, d, time.Now()); err != nil {
		t.Fatal(err)
	}
	found, err := p.Doctor(context.Background(), DoctorRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found.Findings, func(f Finding) bool {
		return f.Code == "noted_damage" && f.Next == "holdfast doctor --repair"
	}) {
		t.Errorf("found %+v", found.Findings)
	}
	got, err := p.Repair(context.Background())
	if err != nil || !got.Healthy || !strings.Contains(strings.Join(got.Repaired, "\n"), "cleared") {
		t.Fatalf("repaired %+v, %v", got, err)
	}
	save(t, p, request("note", "after", "saves go on"))
}

func TestRepairCompletesMirror(t *testing.T) {
	s := newSick(t, 3)
	whole, err := os.ReadFile(s.mirror())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.mirror()); err != nil {
		t.Fatal(err)
	}
	p := s.open(codex)
	if got, err := p.Repair(context.Background()); err != nil || !got.Healthy || !got.Protected {
		t.Fatalf("repaired %+v, %v", got, err)
	}
	if b, err := os.ReadFile(s.mirror()); err != nil || !bytes.Equal(b, whole) {
		t.Errorf("the mirror is not what it was: %v", err)
	}
}

// Damage is for recover: a repair changes nothing of it, and clears no note.
func TestRepairLeavesDamage(t *testing.T) {
	s := newSick(t, 3)
	p := s.open(codex)
	s.change(s.revision(2), func(b []byte) []byte { return bytes.Replace(b, []byte("text"), []byte("tixt"), 1) })
	before := manifest(t, s.rev)
	mirror, _ := os.ReadFile(s.mirror())
	got, err := p.Repair(context.Background())
	if err != nil || got.Healthy || len(got.Repaired) > 0 {
		t.Fatalf("repaired %+v, %v", got, err)
	}
	after, _ := os.ReadFile(s.mirror())
	if !bytes.Equal(before, manifest(t, s.rev)) || !bytes.Equal(mirror, after) {
		t.Error("a repair of damage wrote")
	}
}
