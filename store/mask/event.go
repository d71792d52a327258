package mask

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Event returns an event without its secrets, and counts the secrets. An event without secrets
// comes back unchanged. The payload of event does not change.
func (m *Masker) Event(event store.Event) store.Event { return m.Session().Event(event) }

// Session masks the events of one session in their order. Besides the Masker's rules, it knows
// the secrets of the session's command line and URL in every place. It finds a secret in
// several pieces of a text, from the piece on in which a rule recognises the secret.
type Session struct {
	masker *Masker
	texts  map[stream][]byte // the end of each stream
}

// stream is text in pieces: standard error, lines that are no JSON, or HTTP bodies.
type stream struct {
	kind store.Kind
	dir  transport.Direction
	http uint64
}

// Session returns a Session before its first event.
func (m *Masker) Session() *Session { return &Session{m, map[stream][]byte{}} }

// MayWait reports whether an event can be masked later, or never, by [Masker.Frame]: it is one message, or several,
// in whatever order it is masked. Event may be left out for it.
func MayWait(event store.Event) bool {
	text := event.Payload[run(event.Payload, 0, inBlanks):]
	return event.Kind == store.Frame && len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// Event returns an event as [Masker.Event] does.
func (s *Session) Event(event store.Event) store.Event {
	from := stream{event.Kind, event.Dir, event.Stream}
	n := 0
	size := event.Size()
	switch {
	case event.Kind == store.Opened:
		event.Payload = s.opened(event.Payload)
	case event.Kind == store.HTTP:
		event.Payload, n = s.http(from, event)
	case event.Kind == store.Stderr:
		event.Payload, n = s.piece(from, event.Payload, "")
	case event.Kind == store.Frame && !MayWait(event):
		event.Payload, n = s.piece(from, event.Payload, "\n")
	default:
		event.Payload, n = s.masker.Frame(event.Payload)
	}
	event.Redacted += uint64(n)
	if len(event.Payload) != size {
		event.RecordedSize = size
	}
	return event
}

// opened masks a header. The number of secrets stands in the header, which is the first line
// of a fixture.
func (s *Session) opened(data []byte) []byte {
	h, err := store.ParseHeader(data)
	if err == nil {
		s.masker = s.masker.Of(h)
	}
	payload, n := s.masker.masked(data, s.masker.rules.fields["opened"])
	if n == 0 || err != nil {
		return payload
	}
	count := fmt.Appendf(nil, `"redacted":%d`, h.Redacted)
	if !bytes.Contains(payload, count) {
		payload = slices.Concat(payload[:len(payload)-1], []byte{','}, count, []byte{'}'})
	}
	return bytes.Replace(payload, count, fmt.Appendf(nil, `"redacted":%d`, h.Redacted+uint64(n)), 1)
}

// http masks an HTTP event. Bytes that are not UTF-8 stand there in base64, and a body may
// come in pieces.
func (s *Session) http(from stream, event store.Event) (payload []byte, n int) {
	info, err := store.DecodePayload[store.HTTPInfo](event)
	if info.What != store.HTTPBody && info.What != store.HTTPEvent {
		delete(s.texts, from)
	}
	if err == nil && info.Coding == "" {
		body := info.Body64
		inBody := 0
		inRaw := 0
		if info.Body != "" {
			body = []byte(info.Body)
		}
		switch {
		case len(s.texts[from]) > 0:
			body, inBody = s.piece(from, body, "")
		case info.Body == "": // it may be JSON as a whole
			s.join(from, body)
			body, inBody = s.masker.Frame(body)
		default: // masked below, with the payload
			s.join(from, body)
		}
		if info.SSE != nil {
			info.SSE.Raw, inRaw = s.masker.Text(info.SSE.Raw)
		}
		n = inBody + inRaw
		if n > 0 {
			info.SetBody(body)
			event.Payload = store.EncodePayload(&info)
		}
	}
	payload, inText := s.masker.masked(event.Payload, s.masker.rules.fields["http"])
	return payload, n + inText
}

// join appends a piece to the remembered text of its stream, and returns both.
func (s *Session) join(from stream, piece []byte) []byte {
	text := slices.Concat(s.texts[from], piece)
	delete(s.texts, from)
	openKey := bytes.LastIndex(text, []byte("-----BEGIN")) > bytes.LastIndex(text, []byte("-----END"))
	if openKey || !bytes.HasSuffix(text, []byte("\n")) {
		s.texts[from] = text[max(0, len(text)-4*reach):]
	}
	return text
}

// piece masks a piece of a text. end is the line end that was cut off.
func (s *Session) piece(from stream, data []byte, end string) ([]byte, int) {
	before := len(s.texts[from])
	var edits []edit
	for _, found := range s.masker.anyText(s.join(from, slices.Concat(data, []byte(end)))) {
		if found.to > before {
			found.from = max(0, found.from-before)
			found.to = min(found.to-before, len(data))
			edits = append(edits, found)
		}
	}
	return s.masker.finish(data, edits)
}

// Of returns a Masker that also finds the secrets of a session's command line and URL in every
// place. A Masker from Of returns itself.
func (m *Masker) Of(header store.Header) *Masker {
	if len(header.Command) == 0 && header.URL == "" || m.isOf {
		return m
	}
	var found []string
	look, of := *m, *m
	look.report = nil
	look.found = &found
	look.masked(store.Header{Command: header.Command, URL: header.URL}.Encode(), m.rules.fields["opened"])
	of.values = slices.Clone(m.values)
	of.isOf = true
	of.addValues(found)
	return &of
}
