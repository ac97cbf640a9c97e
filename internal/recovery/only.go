package recovery

import (
	"context"

	"holdfast/internal/filelog"
	"holdfast/internal/ledger"
)

// OnlyIn says of each older generation how many entries that verify stand in it and
// in nothing that is kept: the current generation, the mirrors, and those older
// ones that hold such entries. What a generation ends with when it is sealed
// doesn't count.
func (s *Survey) OnlyIn(ctx context.Context) (map[string]int64, error) {
	kept := map[id]bool{}
	for _, m := range s.log.Mirrors(ctx, s.Ledger) {
		if err := s.log.SurveyMirror(ctx, m, noting(kept)); err != nil {
			return nil, err
		}
	}
	if err := s.log.SurveyGeneration(ctx, s.current, noting(kept)); err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for i := len(s.Gens) - 1; i >= 0; i-- {
		gen := s.Gens[i]
		if gen.Number == 0 || gen.Name == s.current {
			continue
		}
		has := map[id]bool{}
		if err := s.log.SurveyGeneration(ctx, gen.Name, noting(has)); err != nil {
			return nil, err
		}
		for h := range has {
			if !kept[h] {
				out[gen.Path]++
			}
		}
		if out[gen.Path] > 0 {
			for h := range has {
				kept[h] = true
			}
		}
	}
	return out, nil
}

func noting(has map[id]bool) filelog.Visitor {
	return filelog.Visitor{
		Line: func(l *filelog.Seen) error {
			if l.Entry.Hash != "" && l.Entry.Type != ledger.TypeSealed {
				has[idOf(l.Entry.Hash)] = true
			}
			return nil
		},
		File: func(filelog.FileSum, error) error { return nil },
	}
}
