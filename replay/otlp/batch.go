package otlp

import (
	"fmt"
	"io"
	"iter"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

// batchSpans is how many spans are written at once.
const batchSpans = 8192

// WriteJSON writes a session in the JSON form, a batch a line. version is that of the
// program that writes.
func WriteJSON(w io.Writer, events iter.Seq2[store.Event, error], version string) error {
	var m ptrace.JSONMarshaler
	return write(events, version, func(t ptrace.Traces) error {
		line, err := m.MarshalTraces(t)
		if err != nil {
			return fmt.Errorf("encode traces: %w", err)
		}
		_, err = w.Write(append(line, '\n'))
		return err
	})
}

// WriteProto writes a session in the form of Protocol Buffers. Its batches make one
// message.
func WriteProto(w io.Writer, events iter.Seq2[store.Event, error], version string) error {
	var m ptrace.ProtoMarshaler
	return write(events, version, func(t ptrace.Traces) error {
		b, err := m.MarshalTraces(t)
		if err != nil {
			return fmt.Errorf("encode traces: %w", err)
		}
		_, err = w.Write(b)
		return err
	})
}

// write folds the events and sends a batch whenever it is full.
func write(events iter.Seq2[store.Event, error], version string, send func(ptrace.Traces) error) error {
	s := newSession(version)
	err := replay.Project(events, projection(func(e store.Event) error {
		s.apply(e)
		if s.spans.Len() < batchSpans {
			return nil
		}
		return s.flush(send)
	}))
	if err != nil {
		return err
	}
	s.end()
	return s.flush(send)
}

// projection is a function that takes events.
type projection func(store.Event) error

// Apply takes the next event.
func (p projection) Apply(e store.Event) error { return p(e) }

// flush sends the spans that have ended.
func (s *session) flush(send func(ptrace.Traces) error) error {
	t := s.batch
	s.describe(t.ResourceSpans().At(0).Resource().Attributes())
	s.begin()
	return send(t)
}
