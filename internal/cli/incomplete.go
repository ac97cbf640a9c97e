package cli

import "holdfast/internal/project"

const possiblyIncomplete = "POSSIBLY INCOMPLETE: this is what verifies of the ledger.\n"

// answerRead prints the answer of a reading command. That of a damaged ledger is
// marked, which in JSON its own field "incomplete" does, and the damage is told.
func (a *app) answerRead(err error, v any, text func(*printer)) error {
	if err == nil {
		return a.answer(v, text)
	}
	if !project.Incomplete(err) {
		return err
	}
	perr := a.answer(v, func(w *printer) {
		w.WriteString(possiblyIncomplete)
		text(w)
	})
	if perr != nil {
		return perr
	}
	return a.incomplete(err)
}
