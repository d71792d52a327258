package check

import (
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// mostFaults is how many places of one message are told; the others are counted.
const mostFaults = 5

// fits is rule S1 of a message; the method is its request's if it is a response.
func (f *Fold) fits(e store.Event, s *scope, m *transport.Message, method string) {
	if f.gate.Schema == nil {
		return
	}
	revision := s.rules.Revision()
	if revision == "" {
		revision = f.revisionOf(f.courses.begin(e.Stream))
	}
	faults, err := f.gate.Schema.Check(revision, m, method)
	if err != nil && f.fault == nil {
		f.fault = err
	}
	for i, fault := range faults {
		if i == mostFaults {
			f.finds(misfit, e.Dir, revision, []uint64{e.Seq}, "%s of the %s does not fit in %s", named(m, method), e.Dir.Sender(), phrase.Plural(len(faults)-i, "more place"))
			return
		}
		d, text, path := misfit, phrase.Shorten(fault.Text, 300), fault.Path
		if path == "" {
			path = "the message"
		}
		if fault.Reason != "" {
			d, text = misprint, text+"; "+fault.Reason
		}
		f.finds(d, e.Dir, revision, []uint64{e.Seq}, "%s of the %s: %s: %s", named(m, method), e.Dir.Sender(), phrase.Shorten(path, 200), text)
	}
}

func named(m *transport.Message, method string) string {
	switch {
	case m.Kind() != transport.Response:
		return clip(m.Method)
	case method == "":
		return "a response"
	}
	return "the response to " + clip(method)
}
