package mask

import (
	"bytes"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Session masks the events of one session, which it is given in their order. Besides what
// its Masker finds in each event, it knows the secrets of the session's command line and URL
// wherever they stand, and a secret that a stream of text has in several pieces: from the
// piece on in which it can be known.
type Session struct {
	masker *Masker
	texts  map[stream][]byte // what came last on a stream and may go on
}

// stream is standard error, lines that are no JSON, or the bodies of an HTTP exchange.
type stream struct {
	kind store.Kind
	dir  transport.Direction
	http uint64
}

// contextSize is how many bytes of a stream are remembered, at most.
const contextSize = 4096

// Session returns a Session that has seen no events yet.
func (m *Masker) Session() *Session { return &Session{m, map[stream][]byte{}} }

// Event returns an event as [Masker.Event] does.
func (s *Session) Event(e store.Event) store.Event {
	from, n := stream{e.Kind, e.Dir, e.Stream}, 0
	switch {
	case e.Kind == store.Opened:
		if h, err := store.ParseHeader(e.Payload); err == nil {
			s.masker = s.masker.Of(h)
		}
		return s.masker.Event(e)
	case e.Kind == store.HTTP:
		return s.http(from, e)
	case e.Kind == store.Stderr:
		e.Payload, n = s.piece(from, e.Payload, "")
	case e.Kind == store.Frame && !isContainer(e.Payload):
		e.Payload, n = s.piece(from, e.Payload, "\n")
	default:
		return s.masker.Event(e)
	}
	e.Redacted += uint64(n)
	return e
}

// isContainer tells an object or a list from a line of text.
func isContainer(b []byte) bool {
	b = bytes.TrimLeft(b, " \t\r\n")
	return len(b) > 0 && (b[0] == '{' || b[0] == '[')
}

// http masks what HTTP says around frames, of which bodies may come in pieces.
func (s *Session) http(from stream, e store.Event) store.Event {
	info, err := store.DecodePayload[store.HTTPInfo](e)
	if info.What != store.HTTPBody && info.What != store.HTTPEvent {
		delete(s.texts, from)
	}
	body := info.Body64
	if info.Body != "" {
		body = []byte(info.Body)
	}
	if err != nil || len(body) == 0 || info.Coding != "" {
		return s.masker.Event(e)
	}
	began := len(s.texts[from]) == 0
	masked, n := s.piece(from, body, "")
	if began { // it may be JSON as a whole
		return s.masker.Event(e)
	}
	info.SetBody(nil)
	e.Payload = store.EncodePayload(&info)
	e = s.masker.Event(e)
	info, _ = store.DecodePayload[store.HTTPInfo](e) // it was encoded here
	info.SetBody(masked)
	e.Payload, e.Redacted = store.EncodePayload(&info), e.Redacted+uint64(n)
	return e
}

// piece masks a piece of a stream of text. end is the line end that the piece was cut at.
func (s *Session) piece(from stream, b []byte, end string) ([]byte, int) {
	before := s.texts[from]
	text := slices.Concat(before, b, []byte(end))
	delete(s.texts, from)
	openKey := bytes.LastIndex(text, []byte("-----BEGIN")) > bytes.LastIndex(text, []byte("-----END"))
	if openKey || !bytes.HasSuffix(text, []byte("\n")) {
		s.texts[from] = text[max(0, len(text)-contextSize):]
	}
	var edits []edit
	for _, found := range s.masker.anyText(text) {
		if found.to > len(before) {
			found.from, found.to = max(0, found.from-len(before)), min(found.to-len(before), len(b))
			edits = append(edits, found)
		}
	}
	return s.masker.finish(b, edits)
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
