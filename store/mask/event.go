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
// several pieces of a text, from the piece on in which a rule recognises the secret, and a private
// key to its END, however long it is.
type Session struct {
	masker *Masker
	texts  map[stream]*text
}

// text is a text in pieces, as far as it has come.
type text struct {
	end    []byte // what may belong to what follows: the line that goes on, and lines before it that a rule has begun in
	line   int    // where in end that line begins
	rows   table  // of the lines before it
	open   *block // a secret that goes on in the next piece; may be nil
	masked bool   // the last piece was a placeholder: the beginning of a secret was masked already
	credit int    // how many bytes may be looked at again: small pieces must not make that the most of the work
}

// How many bytes of a text are looked at again with the next piece.
const (
	lookBack    = 1 << 10
	leastBack   = 128
	backPerByte = 2        // of the pieces
	firstCredit = 64 << 10 // so many bytes need none
)

// stream is text in pieces: standard error, lines that are no JSON, or HTTP bodies.
type stream struct {
	kind store.Kind
	dir  transport.Direction
	http uint64
}

// Session returns a Session before its first event.
func (m *Masker) Session() *Session { return &Session{m, map[stream]*text{}} }

// MayWait reports whether an event can be masked later, or never, by [Masker.Frame]: it is one message, or several,
// in whatever order it is masked. Event may be left out for it. A line of a log may begin as a message does: in a
// frame with the words of a secret of several lines the whole is looked at.
func MayWait(event store.Event) bool {
	text := event.Payload[run(event.Payload, 0, inBlanks):]
	if event.Kind != store.Frame || len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	inside := text[1+run(text, 1, inBlanks):]
	if len(inside) == 0 || text[0] == '{' && inside[0] != '"' && inside[0] != '}' || text[0] == '[' && inside[0] != '{' {
		return false
	}
	return !bytes.Contains(text, []byte("-----")) || transport.Valid(text)
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

// Pass takes an event that is not shown: it remembers what the events behind it need, and costs little for most.
func (s *Session) Pass(event store.Event) {
	switch event.Kind {
	case store.Opened, store.Stderr:
		s.Event(event)
	case store.HTTP:
		if s.texts[stream{event.Kind, event.Dir, event.Stream}] != nil || bytes.Contains(event.Payload, []byte(`"body`)) {
			s.Event(event)
		}
	case store.Frame:
		if !MayWait(event) {
			s.Event(event)
		}
	}
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
		case s.texts[from] != nil || !transport.Valid(body):
			body, inBody = s.piece(from, body, "")
		case info.Body == "": // JSON as a whole
			body, inBody = s.masker.Frame(body)
		default: // masked below, with the payload
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

// piece masks a piece of a text. end is the line end that was cut off.
func (s *Session) piece(from stream, data []byte, end string) ([]byte, int) {
	if len(data)+len(end) == 0 {
		return data, 0
	}
	t := s.texts[from]
	if t == nil {
		t = &text{credit: firstCredit}
		s.texts[from] = t
	}
	if t.open == nil && t.masked && isKeyLine(data) {
		*t = text{open: &block{}, credit: t.credit}
	}
	t.masked = len(bytes.TrimSpace(data)) == len("[redacted:0123456789abcdef]") && placeholder().Match(data)
	var edits []edit
	whole := append(bytes.Clone(t.end), data...)
	whole = append(whole, end...)
	before := len(t.end)
	if t.open != nil {
		begin, stop, ended := t.open.take(whole)
		edits = append(edits, s.masker.hide(data, begin, min(stop, len(data)), t.open.rule())...)
		if !ended {
			return s.masker.finish(data, edits)
		}
		t.open = nil
		whole, before = whole[stop:], -stop
		t.line = 0
	}
	look := scan{Masker: s.masker, data: whole, begin: len(whole)}
	look.lookAll()
	for _, e := range append(look.edits, t.lookAtRows(s.masker, whole)...) {
		if e.to > before {
			e.from = max(0, e.from-before)
			e.to = min(e.to-before, len(data))
			edits = append(edits, e)
		}
	}
	t.keep(&look, len(data)+len(end))
	return s.masker.finish(data, edits)
}

// lookAtRows returns the edits of the tables in a text that begins as t.end does.
func (t *text) lookAtRows(m *Masker, whole []byte) []edit {
	line := min(t.line, len(whole))
	rest := line + 1 + bytes.LastIndexByte(whole[line:], '\n')
	edits := t.rows.look(m, whole[:rest], line)
	unfinished := t.rows
	t.line = rest
	return append(edits, unfinished.look(m, whole, rest)...)
}

// keep keeps what the next piece needs of a text, whose last piece had so many bytes.
func (t *text) keep(look *scan, size int) {
	if t.open = look.open; t.open != nil {
		*t = text{open: t.open, masked: t.masked, credit: t.credit}
		return
	}
	data := look.data
	t.credit = min(t.credit+backPerByte*size, firstCredit)
	from := min(t.line, look.begin)
	for bytes.HasSuffix(data[:from], []byte("\\\n")) { // a command goes on
		from = 1 + bytes.LastIndexByte(data[:from-2], '\n')
	}
	from = max(from, len(data)-max(min(lookBack, t.credit), leastBack))
	t.end = append(t.end[:0], data[from:]...)
	t.line = max(0, t.line-from)
	t.credit = max(0, t.credit-len(t.end))
}

// mostOfHeader is how many secrets of a header are looked for in all that follows: each takes a look at every text.
const mostOfHeader = 256

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
	of.addValues(found[:min(len(found), mostOfHeader)])
	return &of
}
