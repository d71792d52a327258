package streamable

import (
	"testing"
	"time"
)

// TestFields: the fields of an event are read as the specification of server-sent events has them.
func TestFields(t *testing.T) {
	for _, test := range []struct {
		stream    string
		want      EventFields
		isMessage bool
		pause     time.Duration
	}{
		{"event: message\ndata: {}\n\n", EventFields{Event: "message", Any: true}, true, 0},
		{"data: {}\n\n", EventFields{Any: true}, true, 0},
		{"\xef\xbb\xbfevent:ping\r\ndata: {}\r\n\r\n", EventFields{Event: "ping", Any: true}, false, 0},
		{"id: 7\nid\ndata: {}\n\n", EventFields{HasID: true, Any: true}, true, 0},
		{"id:  7\nretry: 20\ndata:\n\n", EventFields{ID: " 7", HasID: true, Retry: "20", Any: true}, true, 20 * time.Millisecond},
		{"retry: soon\ndata: {}\n\n", EventFields{Retry: "soon", Any: true}, true, 0},
		{": a comment\n\n", EventFields{}, true, 0},
	} {
		var s EventScanner
		found := s.Scan([]byte(test.stream))
		if len(found) == 0 {
			found, _ = s.End()
		}
		if len(found) != 1 {
			t.Fatalf("%q: %d events", test.stream, len(found))
		}
		got := found[0].Fields()
		pause, asked := got.Pause()
		if got != test.want || got.IsMessage() != test.isMessage || pause != test.pause || asked != (test.pause != 0) {
			t.Errorf("%q: %+v, pause %v", test.stream, got, pause)
		}
	}
}
