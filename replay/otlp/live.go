package otlp

import (
	"encoding/json"
	"slices"

	"github.com/mcprec/mcprec/store"
)

// Builder makes the spans of a session that goes on, each when it has ended. They are those that
// [WriteJSON] writes of the session.
type Builder struct {
	session *session
}

// Span is a span that has ended.
type Span struct {
	Service string          // the name of the service that the span is of
	JSON    json.RawMessage // in the form of OTLP
}

// NewBuilder returns a Builder of a session without events. version is the version of the program.
func NewBuilder(version string) *Builder { return &Builder{newSession(version)} }

// Apply takes the next event, and returns the spans that it ends.
func (b *Builder) Apply(event store.Event) []Span {
	b.session.apply(event)
	return b.take()
}

// End ends the session. It returns the spans of the calls without an answer and, last, that of the
// session.
func (b *Builder) End() []Span {
	b.session.end()
	return b.take()
}

func (b *Builder) take() (spans []Span) {
	for _, ended := range b.session.ended {
		data, err := json.Marshal(ended)
		if err == nil { // a span can always be encoded
			spans = append(spans, Span{b.session.service(), data})
		}
	}
	b.session.ended = nil
	return spans
}

// Request returns the body of a request that exports spans, by the order in which they come.
// version is the version of the program.
func Request(version string, spans []Span) ([]byte, error) {
	var body struct {
		ResourceSpans []resourceSpans[json.RawMessage] `json:"resourceSpans"`
	}
	for len(spans) > 0 {
		service := spans[0].Service
		n := slices.IndexFunc(spans, func(span Span) bool { return span.Service != service })
		if n < 0 {
			n = len(spans)
		}
		var list []json.RawMessage
		for _, span := range spans[:n] {
			list = append(list, span.JSON)
		}
		body.ResourceSpans = append(body.ResourceSpans, tracesOf(service, version, list).ResourceSpans[0])
		spans = spans[n:]
	}
	return json.Marshal(body)
}
