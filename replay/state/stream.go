package state

import (
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Stream is an HTTP exchange that waits for its response, or whose response is a stream
// of events that has not ended. Any other response is one body, at whose end no event is
// needed: not every recorder writes one.
type Stream struct {
	Number uint64 `json:"stream"`
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	Status int    `json:"status,omitempty"` // of the response; 0: none has begun
	Since  uint64 `json:"since"`
	C2S    uint64 `json:"c2s"` // frames
	S2C    uint64 `json:"s2c"`
}

// http follows an exchange.
func (s *State) http(e store.Event, info store.HTTPInfo) {
	switch info.What {
	case store.HTTPRequest:
		s.streams[e.Stream] = Stream{Number: e.Stream, Method: info.Method, Path: info.Path, Since: e.Seq}
	case store.HTTPResponse:
		x, ok := s.streams[e.Stream]
		x.Status = info.Status
		if s.streams[e.Stream] = x; !ok || !isEvents(info) {
			delete(s.streams, e.Stream)
		}
		s.taken(transport.ClientToServer, e.Stream, e.Seq)
		if info.Status >= 300 {
			s.each(e.Stream, s.closes) // the status was the answer
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		s.hangsUp(e, info.What)
	}
}

// isEvents reports whether a response is a stream of events.
func isEvents(info store.HTTPInfo) bool {
	return strings.HasPrefix(strings.Join(info.Header["Content-Type"], ""), "text/event-stream")
}

// hangsUp ends an exchange. What it had asked may still be answered on another, but for
// a client of 2026-07-28, whose hanging up cancels it.
func (s *State) hangsUp(e store.Event, what string) {
	delete(s.streams, e.Stream)
	s.taken(transport.ClientToServer, e.Stream, e.Seq)
	s.taken(transport.ServerToClient, e.Stream, e.Seq)
	s.each(e.Stream, func(x *call) {
		if what == store.HTTPAbort && x.version >= order.Revision2026_07_28 || x.method == methodListen {
			s.closes(x)
			return
		}
		x.cut = e.Seq
	})
	delete(s.asked, e.Stream)
}

// each calls f for the open calls of an exchange.
func (s *State) each(stream uint64, f func(*call)) {
	for _, x := range s.asked[stream] {
		if !x.closed {
			f(x)
		}
	}
}

// counts counts a frame of an exchange.
func (s *State) counts(e store.Event) {
	x, ok := s.streams[e.Stream]
	if !ok {
		return
	}
	if e.Dir == transport.ClientToServer {
		x.C2S++
	} else {
		x.S2C++
	}
	s.streams[e.Stream] = x
}
