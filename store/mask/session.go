package mask

import (
	"bytes"
	"slices"

	"github.com/mcprec/mcprec/store"
)

// Session masks the events of one session, which it is given in their order. Besides what
// its Masker finds in each event, it knows the secrets of the session's command line and URL
// wherever they stand, and a secret that standard error has in several pieces: from the
// piece on in which it can be known.
type Session struct {
	masker *Masker
	stderr []byte // what came last and may go on
}

// contextSize bounds what is remembered of standard error.
const contextSize = 4096

// Session returns what masks a session.
func (m *Masker) Session() *Session { return &Session{masker: m} }

// Event returns an event as [Masker.Event] does.
func (s *Session) Event(e store.Event) store.Event {
	if e.Kind == store.Opened {
		if h, err := store.ParseHeader(e.Payload); err == nil {
			s.masker = s.masker.Of(h)
		}
	}
	if e.Kind != store.Stderr {
		return s.masker.Event(e)
	}
	before, text := s.stderr, slices.Concat(s.stderr, e.Payload)
	s.stderr = text[max(0, len(text)-contextSize):]
	if bytes.HasSuffix(text, []byte("\n")) && !bytes.Contains(text, []byte("-----BEGIN")) {
		s.stderr = nil
	}
	var edits []edit
	for _, found := range s.masker.anyText(text) {
		if found.to > len(before) {
			found.from, found.to = max(0, found.from-len(before)), found.to-len(before)
			edits = append(edits, found)
		}
	}
	masked, n := s.masker.finish(e.Payload, edits)
	e.Payload, e.Redacted = masked, e.Redacted+uint64(n)
	return e
}

// Of returns a Masker that also finds the secrets of a session's command line and URL
// wherever they stand. One that it returned knows its session already.
func (m *Masker) Of(h store.Header) *Masker {
	if len(h.Command) == 0 && h.URL == "" || m.isOf {
		return m
	}
	var found []string
	look, of := *m, *m
	look.report, look.found = nil, &found
	look.masked(store.Header{Command: h.Command, URL: h.URL}.Encode(), m.rules.fields["opened"])
	of.patterns, of.isOf = slices.Clone(m.patterns), true
	of.addValues(found)
	return &of
}
