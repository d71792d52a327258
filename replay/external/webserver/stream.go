package webserver

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// streamState is what the server says in response to a request, or in the standalone stream. It goes on when its
// response ends before all is said, and the client comes back.
type streamState struct {
	number     uint64 // of the request; of the standalone stream that of the first GET
	session    *sessionState
	on         *Request // whose response carries it; nil: none does at this time
	answer     streamable.Answer
	isHello    bool
	unanswered map[mcp.Key]bool
	isBegun    bool         // on has the head of a stream
	isOver     bool         // all is said
	isLost     bool         // its response has ended, and no client can come back for the rest
	isCut      bool         // its response has ended, and a client can
	events     []savedEvent // so far; the place of each is in its id
	after      int          // messages behind the last answer
	written    int          // messages
}

// savedEvent is an event of a stream that has an id.
type savedEvent struct {
	text []byte // as it is written
	meta []byte // without its data
	of   *Frame // nil: it has no message
}

// place returns the stream of a frame of the server; nil: there is none at this time. What belongs to no request goes
// out on the standalone stream alone: on the other streams it should relate to the request.
func (s *Server) place(frame transport.Frame) *streamState {
	stream := s.streamOf(frame.Stream)
	if stream != nil && (!stream.isOver && !stream.isLost || isAnswer(frame)) {
		return stream
	}
	if len(s.sessions) == 0 || isAnswer(frame) {
		return nil
	}
	if session := s.sessions[len(s.sessions)-1]; !session.isOver {
		return session.alone
	}
	return nil
}

// MayGo reports whether a frame has a response to go out on now.
func (s *Server) MayGo(frame transport.Frame) bool {
	stream := s.place(frame)
	return stream != nil && stream.on != nil && !stream.isOver
}

func isAnswer(frame transport.Frame) bool {
	messages := timeline.MessagesOf(frame)
	return len(messages) > 0 && messages[0].Kind() == transport.Response
}

// Write writes a frame to its response: as its body, if the frame is all that there is to say, and the recorded
// server does so, or else as an event. Where it is split, pause is called between the parts.
func (s *Server) Write(out Frame, pause func()) {
	frame := transport.Frame{Bytes: out.Line, Stream: out.Stream}
	stream := s.place(frame)
	if stream == nil || stream.on == nil {
		return
	}
	if stream.isHello {
		s.version = versionIn(frame, s.version)
	}
	isAll := stream.takes(frame)
	isJSON := !stream.isBegun && stream.written == 0 && isAll && (stream.answer.Form != streamable.StreamForm) != out.Other && stream != stream.session.alone
	stream.written++
	if isJSON {
		header := s.headerOf(stream)
		header.Set("Content-Type", mcp.MediaJSON)
		s.http(stream.on.Number, store.HTTPInfo{What: store.HTTPResponse, Status: http.StatusOK, Header: header})
		s.note(Note{Exchange: stream.on.Number, Frame: &out})
		stream.on.Response.Respond(http.StatusOK, header, frame.Bytes)
		stream.on, stream.isOver = nil, true
		return
	}
	s.begin(stream)
	event := s.event(stream, &out)
	if out.Split == 0 {
		s.say(stream.on, event)
	} else {
		at := bytes.Index(event.text, out.Line) + out.Split
		s.noteEvent(stream.on, event)
		stream.on.Response.Piece(event.text[:at])
		pause()
		if stream.on != nil { // the client has not hung up
			stream.on.Response.Piece(event.text[at:])
		}
	}
	if isAll && stream.after >= stream.answer.After {
		stream.isOver = true
		s.finish(stream)
	}
}

// versionIn returns the revision in an answer to initialize, or the one that is known.
func versionIn(frame transport.Frame, known string) string {
	for _, m := range timeline.MessagesOf(frame) {
		if version := transport.MemberText(m.Result, mcp.MemberProtocolVersion); version != "" {
			return version
		}
	}
	return known
}

// takes notes what a frame answers, and reports whether nothing more is owed in the response.
func (stream *streamState) takes(frame transport.Frame) bool {
	wasOwed := len(stream.unanswered) > 0
	for _, m := range timeline.MessagesOf(frame) {
		if m.Kind() == transport.Response {
			delete(stream.unanswered, mcp.KeyOf(m.ID))
		}
	}
	if !wasOwed {
		stream.after++
	}
	return len(stream.unanswered) == 0 && stream != stream.session.alone
}

// begin writes the head of a stream, and the event without a message that gives a client an id to come back to.
func (s *Server) begin(stream *streamState) {
	if stream.isBegun {
		return
	}
	stream.isBegun = true
	header := s.headerOf(stream)
	header.Set("Content-Type", mcp.MediaEventStream)
	header.Set("Cache-Control", "no-cache")
	s.http(stream.on.Number, store.HTTPInfo{What: store.HTTPResponse, Status: http.StatusOK, Header: header})
	stream.on.Response.Begin(header)
	isPrimed := s.mayPrime() && s.options.IDs || stream.answer.Primed
	if isPrimed && len(stream.events) == 0 && s.hasIDsOn(stream) {
		s.say(stream.on, s.event(stream, nil))
	}
}

// mayPrime reports whether an event without a message may come: before the revision that has it, clients took the data
// of each event for a message.
func (s *Server) mayPrime() bool {
	return s.version >= mcp.Revision2025_11_25 && mcp.Resumption.Has(s.version)
}

// headerOf returns the header of a response with messages.
func (s *Server) headerOf(stream *streamState) http.Header {
	header := http.Header{}
	if stream.isHello && !s.recorded.Options.Stateless {
		stream.session.isNamed = true
		header.Set(mcp.HeaderSessionID, stream.session.id)
	}
	return header
}

// hasIDsOn reports whether the events of a stream have ids.
func (s *Server) hasIDsOn(stream *streamState) bool {
	return s.options.IDs && mcp.Resumption.Has(s.version) || stream.answer.IDs && !s.options.NoIDs
}

// event returns a frame as an event, and keeps it for a client that comes back. Without a frame it is the event that
// asks the client to come back soon.
func (s *Server) event(stream *streamState, out *Frame) (event savedEvent) {
	var head, data []byte
	if out != nil {
		head, data = []byte("event: message\n"), out.Line
		event.of = out
	}
	hasID := s.hasIDsOn(stream)
	if hasID {
		head = fmt.Appendf(head, "id: %d_%d\n", stream.number, len(stream.events))
	}
	if out == nil {
		head = append(head, "retry: 10\n"...)
	}
	head = append(head, "data: "...)
	event.text = slices.Concat(head, data, []byte("\n\n"))
	if hasID {
		event.meta = append(head, "\n\n"...)
		stream.events = append(stream.events, event)
	}
	return event
}

// say writes an event to the response to a request.
func (s *Server) say(r *Request, event savedEvent) {
	s.noteEvent(r, event)
	r.Response.Piece(event.text)
}

// noteEvent notes an event.
func (s *Server) noteEvent(r *Request, event savedEvent) {
	if event.meta != nil {
		s.http(r.Number, store.HTTPInfo{What: store.HTTPEvent, SSE: httpevent.SSE(event.meta, 0)})
	}
	if event.of != nil {
		s.note(Note{Exchange: r.Number, Frame: event.of})
	}
}

// finish ends the response of a stream.
func (s *Server) finish(stream *streamState) {
	if stream.on != nil {
		s.http(stream.on.Number, store.HTTPInfo{What: store.HTTPEnd})
		stream.on.Response.Finish()
		stream.on, stream.isBegun = nil, false
	}
}

// Cut ends the response of a frame in front of it. The client can come back for it.
func (s *Server) Cut(frame transport.Frame) {
	if stream := s.place(frame); stream != nil && stream.on != nil {
		s.begin(stream)
		s.finish(stream)
		stream.isCut = true
	}
}

// Drop ends the response of a frame in place of it, as a server does that has no more to say, or the connection with it.
func (s *Server) Drop(frame transport.Frame, isBroken bool) {
	switch stream := s.place(frame); {
	case stream == nil:
	case isBroken:
		s.begin(stream)
		s.breakOff(stream)
	default:
		s.lose(stream)
	}
}

// EndAlone ends the standalone stream. The client may ask for it again.
func (s *Server) EndAlone() {
	if len(s.sessions) == 0 {
		return
	}
	if alone := s.sessions[len(s.sessions)-1].alone; alone != nil && alone.on != nil {
		s.finish(alone)
		alone.isCut = len(alone.events) > 0
	}
}

// lose ends a stream for good.
func (s *Server) lose(stream *streamState) {
	stream.isLost = stream.isLost || !stream.isOver
	if stream.on != nil {
		if stream != stream.session.alone {
			s.begin(stream)
		}
		s.finish(stream)
	}
}

// breakOff ends the connection of a stream.
func (s *Server) breakOff(stream *streamState) {
	stream.isLost = true
	if stream.on != nil {
		what := store.HTTPBroken
		if !stream.isBegun {
			what = store.HTTPNone
		}
		s.http(stream.on.Number, store.HTTPInfo{What: what, Error: "the server has ended the connection"})
		stream.on.Response.BreakOff()
		stream.on, stream.isBegun = nil, false
	}
}

// Way tells of a frame that is about to go out what can be done with its response.
func (s *Server) Way(frame transport.Frame) (way Way) {
	stream := s.place(frame)
	if stream == nil {
		return way
	}
	alone := stream.session.alone
	return Way{
		IsAlone: stream == alone, IsBeside: alone != nil && alone.on != nil, IsFirst: stream != alone && !stream.isBegun && stream.written == 0,
		InSession: stream.session.isNamed, IsResumable: s.CanComeBack(frame),
	}
}

// CanComeBack reports whether a client can come back for a frame, by the id of an event in front of it.
func (s *Server) CanComeBack(frame transport.Frame) bool {
	stream := s.place(frame)
	return stream != nil && mcp.Resumption.Has(s.version) && (s.mayPrime() || stream.written > 0)
}
