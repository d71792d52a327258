package otlp

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// The JSON form of OTLP, by opentelemetry-proto's trace.proto and "JSON Protobuf Encoding" in
// the OTLP specification: ids are hexadecimal, 64-bit numbers are strings.

type traces[S any] struct {
	ResourceSpans [1]resourceSpans[S] `json:"resourceSpans"`
}

type resourceSpans[S any] struct {
	Resource struct {
		Attributes attributes `json:"attributes"`
	} `json:"resource"`
	ScopeSpans [1]struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []S `json:"spans"`
	} `json:"scopeSpans"`
}

type span struct {
	TraceID       traceID    `json:"traceId"`
	SpanID        spanID     `json:"spanId"`
	TraceState    string     `json:"traceState,omitempty"`
	ParentSpanID  *spanID    `json:"parentSpanId,omitempty"`
	Flags         uint32     `json:"flags,omitempty"`
	Name          string     `json:"name"`
	Kind          int        `json:"kind"`
	Start         uint64     `json:"startTimeUnixNano,string"`
	End           uint64     `json:"endTimeUnixNano,string"`
	Attributes    attributes `json:"attributes,omitempty"`
	Events        []event    `json:"events,omitempty"`
	DroppedEvents uint32     `json:"droppedEventsCount,omitempty"`
	Links         []link     `json:"links,omitempty"`
	Status        status     `json:"status"`
}

const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

type status struct {
	Message string `json:"message,omitempty"`
	Code    int    `json:"code,omitempty"`
}

type event struct {
	Time       uint64     `json:"timeUnixNano,string"`
	Name       string     `json:"name"`
	Attributes attributes `json:"attributes,omitempty"`
}

type link struct {
	TraceID traceID `json:"traceId"`
	SpanID  spanID  `json:"spanId"`
}

type (
	traceID [16]byte
	spanID  [8]byte
)

// MarshalText writes the id in hexadecimal.
func (id traceID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// MarshalText writes the id in hexadecimal.
func (id spanID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

type attributes []attribute

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// value has one member.
type value struct {
	String *string  `json:"stringValue,omitempty"`
	Int    *int64   `json:"intValue,omitempty,string"`
	Double *float64 `json:"doubleValue,omitempty"`
	Array  *array   `json:"arrayValue,omitempty"`
}

type array struct {
	Values []value `json:"values"`
}

func stringOf(text string) value {
	text = strings.ToValidUTF8(text, "\ufffd")
	return value{String: &text}
}

func intOf[T int | uint64 | int64](n T) value {
	number := int64(n)
	return value{Int: &number}
}

// set sets an attribute, or replaces its value.
func (a *attributes) set(key string, value value) {
	for i := range *a {
		if (*a)[i].Key == key {
			(*a)[i].Value = value
			return
		}
	}
	*a = append(*a, attribute{key, value})
}

// batchSpans is how many spans a line has.
const batchSpans = 8192

// WriteJSON writes a session in the JSON form, a batch a line. version is the version of the
// writing program.
func WriteJSON(w io.Writer, events iter.Seq2[store.Event, error], version string) error {
	s := newSession(version)
	flush := func() error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(tracesOf(s.service(), s.version, s.ended)); err != nil {
			return fmt.Errorf("encode traces: %w", err)
		}
		s.ended = []*span{}
		return nil
	}
	for step, err := range timeline.Steps(events) {
		if err != nil {
			return err
		}
		s.take(step)
		if len(s.ended) < batchSpans {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	s.end()
	return flush()
}

// tracesOf puts spans of a service below their resource.
func tracesOf[S any](service, version string, spans []S) traces[S] {
	var t traces[S]
	t.ResourceSpans[0].Resource.Attributes.set("service.name", stringOf(service))
	scope := &t.ResourceSpans[0].ScopeSpans[0]
	scope.Scope.Name = "github.com/mcprec/mcprec"
	scope.Scope.Version = version
	scope.Spans = spans
	return t
}
