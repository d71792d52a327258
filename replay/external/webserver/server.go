package webserver

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Server is the recorded server over Streamable HTTP. One goroutine uses it.
type Server struct {
	recorded *standin.Responses
	options  Options
	version  string // of the protocol, as the recorded server names it; "": not yet, or each request does

	sessions []*sessionState // the latest is the last
	streams  []*streamState  // of requests, by their numbers

	// Returns is how often a client came back for the rest of a stream, and Strays how often it asked for the
	// standalone stream beside it, or again without naming the event that it was at.
	Returns, Strays int
}

// Options say how a server is otherwise than the recorded one.
type Options struct {
	IDs     bool       // every event has an id, by which a client can come back
	NoIDs   bool       // none has, unless IDs: a response that ends for good leaves no way back
	NoAlone bool       // there is no standalone stream
	Note    func(Note) // gets what passes, but for the frames of the client; nil: nothing does
}

// Note is what passes in an exchange: something of HTTP, or a frame of the server.
type Note struct {
	Exchange uint64
	HTTP     *store.HTTPInfo
	Frame    *Frame
}

// Frame is a frame of the recorded server.
type Frame struct {
	Line   []byte // as it is written
	Stream uint64 // the number of the request that it belongs to; 0: none
	Split  int    // behind so many bytes the rest goes out by itself; 0: it does not
	Other  bool   // in the other form than the recorded one: application/json, or a stream

	Said []byte // for notes: before it was fit for the process
	Seq  uint64 // for notes: of the recorded event
}

// Way is what can be done with the response that a frame goes out on.
type Way struct {
	IsAlone     bool // it is the standalone stream
	IsBeside    bool // there is a standalone stream
	IsFirst     bool // nothing was said on it, so that it can have any status and form
	InSession   bool // the client has the id of its session
	IsResumable bool // the client can come back for the frame
}

// sessionState is a session of a client. Without session ids there is one for all.
type sessionState struct {
	id       string
	isNamed  bool // the client has been told the id
	isOver   bool // it is not known any more
	isEnded  bool // by the client
	alone    *streamState
	expected map[string][]streamable.Answer // the recorded ones, to other requests than POST
}

// Request is a request of the client.
type Request struct {
	*http.Request
	Number   uint64
	Body     []byte
	Response Response
}

// Response is the response to a request.
type Response interface {
	// Respond writes a whole response.
	Respond(status int, header http.Header, body []byte)
	// Begin writes the head of one whose body comes in pieces, Finish ends it.
	Begin(header http.Header)
	Piece(data []byte)
	Finish()
	// BreakOff closes the connection.
	BreakOff()
}

// New returns a server with the recorded responses.
func New(recorded *standin.Responses, options Options) *Server {
	return &Server{recorded: recorded, options: options}
}

// endpoint is the path of the MCP endpoint.
const endpoint = "/mcp"

// Take takes a request, and returns the frame in it, if there is one for the server.
func (s *Server) Take(r *Request) (frame transport.Frame, isFrame bool) {
	s.http(r.Number, store.HTTPInfo{What: store.HTTPRequest, Method: r.Method, Path: r.URL.RequestURI(), Header: httpevent.Header(r.Header)})
	session := s.sessionOf(r)
	if r.URL.Path != endpoint { // such as where an authorization server would say what it is
		s.respond(r, http.StatusNotFound, nil, nil)
		return frame, false
	}
	switch r.Method {
	case http.MethodPost:
		return s.post(r, session)
	case http.MethodGet:
		s.get(r, session)
	case http.MethodDelete:
		s.delete(r, session)
	default:
		s.respond(r, http.StatusMethodNotAllowed, http.Header{"Allow": {"GET, POST, DELETE"}}, nil)
	}
	return frame, false
}

// sessionOf returns the session of a request; nil: there is none (any more).
func (s *Server) sessionOf(r *Request) *sessionState {
	id := r.Header.Get(mcp.HeaderSessionID)
	for _, session := range slices.Backward(s.sessions) {
		if !session.isOver && (id == session.id || id == "" && !session.isNamed) {
			return session
		}
	}
	return nil
}

// open begins a session.
func (s *Server) open() *sessionState {
	session := &sessionState{id: fmt.Sprintf("explored-%d", len(s.sessions)+1), expected: map[string][]streamable.Answer{}}
	for method, answers := range s.recorded.Options.Expected {
		session.expected[method] = slices.Clone(answers)
	}
	s.sessions = append(s.sessions, session)
	return session
}

// post takes a message in. A request is answered when the server says so, another message at once.
func (s *Server) post(r *Request, session *sessionState) (frame transport.Frame, isFrame bool) {
	frame = transport.Frame{Bytes: r.Body, Stream: r.Number}
	messages, err := frame.Messages()
	isHello := slices.ContainsFunc(messages, func(m transport.Message) bool { return m.Method == mcp.MethodInitialize })
	named := r.Header.Get(mcp.HeaderSessionID)
	switch {
	case err != nil:
		s.respond(r, http.StatusBadRequest, jsonHeader(), []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`))
		return frame, false
	case session == nil && named == "" && (isHello || s.recorded.Options.Stateless || len(s.sessions) == 0):
		session = s.open()
	case session == nil && named == "":
		s.respond(r, http.StatusBadRequest, jsonHeader(), []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Bad Request: Mcp-Session-Id header is required"}}`))
		return frame, false
	case session == nil:
		s.refuseSession(r)
		return frame, false
	}
	stream := &streamState{number: r.Number, session: session, on: r, unanswered: map[mcp.Key]bool{}, isHello: isHello}
	for _, m := range messages {
		if version := transport.MemberText(m.Params, mcp.MemberMeta, mcp.MetaProtocolVersion); version != "" {
			s.version = version
		}
		if m.Kind() == transport.Request {
			stream.unanswered[mcp.KeyOf(m.ID)] = true
		}
	}
	if len(stream.unanswered) == 0 {
		s.respond(r, http.StatusAccepted, nil, nil)
		return frame, true
	}
	s.streams = append(s.streams, stream)
	return frame, true
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {mcp.MediaJSON}} }

// refuseSession answers a request of a session that is not there.
func (s *Server) refuseSession(r *Request) {
	s.respond(r, http.StatusNotFound, jsonHeader(), []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`))
}

// Heard takes what the recording says of the response to a frame that the player has received.
func (s *Server) Heard(number uint64, player *standin.Player) {
	stream := s.streamOf(number)
	if stream == nil || stream.on == nil {
		return
	}
	answer, isRecorded := s.recorded.To(player, number)
	if !isRecorded {
		return
	}
	stream.answer = answer
	switch {
	case answer.None:
		s.breakOff(stream)
	case answer.Plain && answer.Status >= http.StatusMultipleChoices:
		s.respond(stream.on, answer.Status, answer.Header, answer.Body)
		stream.on, stream.isOver = nil, true
	}
}

// streamOf returns the stream of a request.
func (s *Server) streamOf(number uint64) *streamState {
	for _, stream := range s.streams {
		if stream.number == number {
			return stream
		}
	}
	return nil
}

// get gives the standalone stream, or the rest of a stream.
func (s *Server) get(r *Request, session *sessionState) {
	last := r.Header.Get(mcp.HeaderLastEventID)
	switch {
	case session == nil && r.Header.Get(mcp.HeaderSessionID) != "":
		s.refuseSession(r)
		return
	case session == nil:
		s.respond(r, http.StatusMethodNotAllowed, http.Header{"Allow": {http.MethodPost}}, nil)
		return
	case last != "":
		if !s.resume(r, last) {
			s.respond(r, http.StatusBadRequest, nil, []byte("no event has this id"))
		}
		return
	}
	var answer streamable.Answer
	if queue := session.expected[http.MethodGet]; len(queue) > 0 {
		answer, session.expected[http.MethodGet] = queue[0], queue[1:]
	}
	switch {
	case answer.Plain && answer.Status != 0:
		s.respond(r, answer.Status, answer.Header, answer.Body)
	case s.options.NoAlone || s.recorded.Options.Stateless:
		s.respond(r, http.StatusMethodNotAllowed, http.Header{"Allow": {http.MethodPost}}, nil)
	case session.alone != nil && session.alone.on != nil:
		s.Strays++
		s.respond(r, http.StatusConflict, nil, []byte("there is a standalone stream already"))
	case session.alone != nil && session.alone.isCut && len(session.alone.events) > 0: // it begins again, without what was said
		s.Strays++
		fallthrough
	case session.alone != nil:
		session.alone.on, session.alone.isBegun, session.alone.isCut, session.alone.isLost = r, false, false, false
		s.begin(session.alone)
	default:
		session.alone = &streamState{number: r.Number, session: session, on: r, answer: answer, unanswered: map[mcp.Key]bool{}}
		s.begin(session.alone)
	}
}

// resume goes on with a stream in the response to a request, behind an event.
func (s *Server) resume(r *Request, last string) bool {
	number, place := uint64(0), 0
	if _, err := fmt.Sscanf(last, "%d_%d", &number, &place); err != nil {
		return false
	}
	stream := s.streamOf(number)
	for _, session := range s.sessions {
		if session.alone != nil && session.alone.number == number {
			stream = session.alone
		}
	}
	if stream == nil || stream.isLost || place < 0 || place >= len(stream.events) {
		return false
	}
	if stream.on != nil { // the client thinks that its response has ended
		s.finish(stream)
	}
	s.Returns++
	stream.on, stream.isBegun, stream.isCut = r, false, false
	s.begin(stream)
	for _, event := range stream.events[place+1:] {
		s.say(r, event)
	}
	if stream.isOver {
		s.finish(stream)
	}
	return true
}

// delete ends a session for the client.
func (s *Server) delete(r *Request, session *sessionState) {
	if session == nil {
		s.refuseSession(r)
		return
	}
	status := http.StatusOK
	if queue := session.expected[http.MethodDelete]; len(queue) > 0 {
		status = max(queue[0].Status, http.StatusOK)
		session.expected[http.MethodDelete] = queue[1:]
	}
	s.respond(r, status, nil, nil)
	if status < http.StatusMultipleChoices {
		session.isEnded = true
		s.end(session)
	}
}

// end forgets a session: its streams end.
func (s *Server) end(session *sessionState) {
	session.isOver = true
	for _, stream := range append(slices.Clone(s.streams), session.alone) {
		if stream != nil && stream.session == session {
			s.lose(stream)
		}
	}
}

// HungUp notes that the client has ended a response.
func (s *Server) HungUp(number uint64) {
	s.http(number, store.HTTPInfo{What: store.HTTPAbort})
	for _, stream := range s.all() {
		if stream.on != nil && stream.on.Number == number {
			stream.on = nil
			stream.isCut = len(stream.events) > 0 && s.hasIDsOn(stream)
			stream.isLost = !stream.isCut
		}
	}
}

// all returns the streams of requests, and the standalone ones.
func (s *Server) all() []*streamState {
	list := slices.Clone(s.streams)
	for _, session := range s.sessions {
		if session.alone != nil {
			list = append(list, session.alone)
		}
	}
	return list
}

func (s *Server) note(note Note) {
	if s.options.Note != nil {
		s.options.Note(note)
	}
}

// http notes something of HTTP.
func (s *Server) http(exchange uint64, info store.HTTPInfo) {
	s.note(Note{Exchange: exchange, HTTP: &info})
}

// respond writes a whole response without a frame.
func (s *Server) respond(r *Request, status int, header http.Header, body []byte) {
	info := store.HTTPInfo{What: store.HTTPResponse, Status: status, Header: header}
	info.SetBody(body)
	s.http(r.Number, info)
	r.Response.Respond(status, header, body)
}

// Forget ends the session of a request as a server does that was started again: the request, and those behind it, get
// 404.
func (s *Server) Forget(frame transport.Frame) {
	stream := s.streamOf(frame.Stream)
	if stream == nil || stream.on == nil {
		return
	}
	r := stream.on
	stream.on, stream.isLost = nil, true
	s.refuseSession(r)
	s.end(stream.session)
}

// IsEnded reports whether the client has ended its session.
func (s *Server) IsEnded() bool {
	return len(s.sessions) > 0 && s.sessions[len(s.sessions)-1].isEnded
}
