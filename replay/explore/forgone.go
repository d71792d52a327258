package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
)

// forgone counts what the recorded halves of a search went on without.
type forgone struct {
	runs   int
	halves []*forgoneBy // in the order of their first time
}

// forgoneBy is what one half did.
type forgoneBy struct {
	name string
	runs int
	what []string
}

// shownForgone is how many messages of a recording a note names.
const shownForgone = 3

// count adds a run.
func (f *forgone) count(r *Run) {
	f.runs++
	for _, h := range r.halves {
		if !h.mu.TryLock() { // of a run that was given up where it stood
			continue
		}
		list := h.without()
		h.mu.Unlock()
		if len(list) > 0 {
			f.of(h.name).add(list)
		}
	}
}

func (f *forgone) of(name string) *forgoneBy {
	for _, by := range f.halves {
		if by.name == name {
			return by
		}
	}
	by := &forgoneBy{name: name}
	f.halves = append(f.halves, by)
	return by
}

func (by *forgoneBy) add(list []string) {
	by.runs++
	for _, what := range list {
		if !slices.Contains(by.what, what) {
			by.what = append(by.what, what)
		}
	}
}

// notes says it: a search is blind to the orders around what it goes on without.
func (f *forgone) notes() []string {
	var notes []string
	for _, by := range f.halves {
		what := by.what
		text := strings.Join(what[:min(len(what), shownForgone)], ", ")
		if more := len(what) - shownForgone; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, fmt.Sprintf("the %s had to go on without %s in %d of %s; orders around it were not tried",
			by.name, text, by.runs, phrase.Plural(f.runs, "schedule")))
	}
	return notes
}
