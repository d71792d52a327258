package foreign

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// A log of a host (claudelog.go, vscodelog.go) has the messages between the host's clients and
// their servers among lines for people. Each run of a server is a session: it begins where the
// host starts the server, where the client says initialize again, or where it speaks after both
// ends have closed. The events are
//
//	frame   a message, with the bytes of the file; a line of the server that the host could not read, as far as
//	        the host quotes it
//	lost    a message that the host wrote in part; a note has the text
//	stderr  a line of the server's standard error
//	eof     the host says that an end has closed
//	exit    the host says that the server has exited
//	note    every other line, without its time
//
// A host may start a server twice, and both processes then write into one log. If the second starts
// before the first has done its handshake, each message goes to the process that it fits: see [processes].
//
// A session's id follows from its own lines, so that the earlier sessions of a log that has
// grown are known again. A time that goes back stays in a note.
type hostLine struct {
	stamp     time.Time
	server    string // whose line it is; "": the file does not say
	label     string // the server that starts, where lines do not say whose they are
	transport string // "": the line does not say
	level     string // "info", "error", …
	what      hostFact
	dir       transport.Direction // of a message, or of an end
	code      int                 // of an exit
	quoted    []byte              // of a line of the server that the host could not read, as far as the host quotes it
	text      []byte              // without the time, the server and the level; of a message the message
	more      hostRest
}

// hostFact is what a line tells.
type hostFact int

const (
	hostWords   hostFact = iota // anything
	hostStart                   // the host starts the server
	hostMessage                 // a message
	hostStderr                  // a line of the server's standard error
	hostEOF                     // an end has closed
	hostStop                    // the session is over
	hostExit                    // the server has exited
	hostNotJSON                 // the host could not read a line of the server's output
)

// hostRest is what lines without a time are that follow a line.
type hostRest int

const (
	restStderr hostRest = iota // lines of the server's standard error
	restWords                  // more of the same text
	restObject                 // more of the same text up to a line that begins with "}"
)

// hostDialect is how a host writes its log.
type hostDialect struct {
	host   string // its name
	remark string // a note for every session
	wants  string // what to do about a log without messages
	// parse reads a line that begins with a time. It reports false for any other.
	parse func(line []byte) (hostLine, bool)
}

// detects reports whether a line of head tells something that only this host writes.
func (d hostDialect) detects(head []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(head, byteOrderMark)) {
		l, ok := d.parse(trimLineEnd(line))
		if ok && l.what != hostWords {
			return true
		}
	}
	return false
}

// decodeAll returns the sessions of a log in the order of their first lines.
func (d hostDialect) decodeAll(data []byte) ([][]store.Event, error) {
	sessions, err := d.read(data)
	if err != nil {
		return nil, err
	}
	var all [][]store.Event
	for _, s := range sessions {
		all = append(all, s.close(d))
	}
	return all, nil
}

// decode returns the session of a log with one.
func (d hostDialect) decode(data []byte) ([]store.Event, error) {
	sessions, err := d.read(data)
	if err != nil {
		return nil, err
	}
	if len(sessions) > 1 {
		var servers []string
		for _, s := range sessions {
			if s.label != "" && !slices.Contains(servers, s.label) {
				servers = append(servers, s.label)
			}
		}
		of := ""
		if len(servers) > 0 {
			of = " of " + strings.Join(servers[:min(len(servers), 4)], ", ")
		}
		return nil, fmt.Errorf("line %d: %d sessions%s: want one session in a file; mcprec import makes a session of each", sessions[1].line, len(sessions), of)
	}
	return sessions[0].close(d), nil
}

// hostSession is one run of a server in a log.
type hostSession struct {
	log
	label       string
	line        int // of the file, where it begins
	start       time.Time
	hash        hash.Hash // of its lines
	initialized bool      // the client has sent initialize
	starts      int       // how often the host has started the server
	hasRun      bool      // there was a message, or an end
	hasEnded    bool
	closed      map[transport.Direction]bool
	transport   string
	words       []byte        // of a note that flush will add; nil: none
	wordsAt     time.Duration // its time
	more        hostRest      // what a line without a time is
}

// read sorts the lines of a log into sessions.
func (d hostDialect) read(data []byte) (sessions []*hostSession, err error) {
	current := map[string]*hostSession{} // by server
	twice := map[string]*processes{}     // servers of which two processes write at once
	var last *hostSession                // of the last line
	var before []byte                    // lines in front of the first with a time
	label := ""                          // the last that a line has told
	frames := uint64(0)
	number := 0
	for whole := range bytes.Lines(bytes.TrimPrefix(data, byteOrderMark)) {
		number++
		line := trimLineEnd(whole)
		l, ok := d.parse(line)
		if last == nil && (!ok || l.server == "" && l.what == hostWords) {
			before = append(before, whole...)
			continue
		}
		if !ok {
			last.hash.Write(whole)
			last.addRest(line)
			continue
		}
		s := current[l.server]
		if l.server == "" && l.what == hostWords {
			s = last // the host's own words stay where they stand
		}
		label = cmp.Or(l.label, label)
		switch both := twice[l.server]; {
		case both != nil && l.what == hostStart && both.haveEnded():
			delete(twice, l.server)
		case both != nil:
			s = both.of(l, last)
		case s != nil && s.isSecondProcess(l):
			both = s.second(d, l, number)
			twice[l.server] = both
			s = both.runs[1]
			sessions = append(sessions, s)
			both.saw(1, l)
		}
		if s == nil || twice[l.server] == nil && s.isOver(l) {
			parallel := s != nil && !s.hasEnded
			s = &hostSession{label: cmp.Or(l.server, label), line: number, start: l.stamp, hash: sha256.New(), closed: map[transport.Direction]bool{}}
			s.add(store.Event{Kind: store.Opened}) // close has the header
			s.remark(d.remark)
			if parallel {
				s.remark("the log does not tell the end of the run of this server before: if both went on together, lines of that run stand here")
			}
			sessions = append(sessions, s)
			current[l.server] = s
		}
		if before != nil {
			s.hash.Write(before)
			s.note(0, trimLineEnd(before))
			before = nil
		}
		s.hash.Write(whole)
		s.take(d, l)
		last = s
	}
	for _, s := range sessions {
		s.flush()
		frames += s.frames + s.lost
	}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, Unknown(data)
	case frames == 0:
		return nil, unreadable("no message between a client and a server is in it; " + d.wants)
	}
	return sessions, nil
}

// isOver reports whether a line is of another run of the server.
func (s *hostSession) isOver(line hostLine) bool {
	isClosed := s.closed[transport.ClientToServer] && s.closed[transport.ServerToClient]
	return line.what == hostStart && s.hasRun || line.isInitialize() && s.initialized ||
		isClosed && line.what == hostMessage && line.dir == transport.ClientToServer
}

// isInitialize reports whether the line is the client's request initialize.
func (l hostLine) isInitialize() bool {
	if l.what != hostMessage || l.dir != transport.ClientToServer || !bytes.Contains(l.text, []byte(mcp.MethodInitialize)) {
		return false
	}
	messages, err := transport.Frame{Bytes: l.text}.Messages()
	return err == nil && len(messages) == 1 && messages[0].Kind() == transport.Request && messages[0].Method == mcp.MethodInitialize
}

// take adds the events of a line that begins with a time.
func (s *hostSession) take(d hostDialect, line hostLine) {
	s.flush()
	at := line.stamp.Sub(s.start)
	if at < s.at() {
		at = s.at()
		s.noteRest(at, transport.NoDirection, object{{"time", store.EncodePayload(line.stamp.Format(time.RFC3339Nano))}})
	}
	s.more = line.more
	s.transport = cmp.Or(s.transport, line.transport)
	s.hasRun = s.hasRun || !slices.Contains([]hostFact{hostWords, hostStart, hostStderr, hostNotJSON}, line.what)
	if line.what == hostStart {
		s.starts++
	}
	words := line.text
	switch line.what {
	case hostMessage:
		s.initialized = s.initialized || line.isInitialize()
		if json.Valid(line.text) {
			s.add(store.Event{At: at, Kind: store.Frame, Dir: line.dir, Payload: line.text})
			return
		}
		s.lose(at, store.LostInfo{Frames: 1, Reason: d.host + " wrote only a part of it", Streams: []string{line.dir.String()}})
	case hostStderr:
		s.add(store.Event{At: at, Kind: store.Stderr, Payload: line.text})
		return
	case hostNotJSON:
		if len(line.quoted) > 0 {
			s.add(store.Event{At: at, Kind: store.Frame, Dir: transport.ServerToClient, Payload: line.quoted})
		}
	case hostEOF:
		s.hasEnded = true
		if !s.closed[line.dir] {
			s.closed[line.dir] = true
			s.add(store.Event{At: at, Kind: store.EOF, Dir: line.dir, Payload: store.EncodePayload(store.EOFInfo{By: "sender"})})
			return
		}
	case hostStop:
		s.hasEnded = true
	case hostExit:
		s.hasEnded = true
		s.add(store.Event{At: at, Kind: store.Exited, Payload: store.EncodePayload(store.ExitInfo{Code: line.code})})
		return
	}
	if line.level != "info" && line.what != hostMessage {
		words = slices.Concat([]byte("["+line.level+"] "), words)
	}
	s.note(at, words)
}

// addRest adds a line without a time.
func (s *hostSession) addRest(line []byte) {
	if bytes.HasPrefix(line, []byte("```")) { // the log stands in a text, which goes on
		s.flush()
		s.more = restWords
	}
	switch {
	case s.more == restStderr:
		s.flush()
		s.add(store.Event{At: s.at(), Kind: store.Stderr, Payload: line})
	case s.words == nil:
		s.note(s.at(), line)
	default:
		s.words = append(append(s.words, '\n'), line...)
	}
	if s.more == restObject && bytes.HasPrefix(line, []byte("}")) {
		s.more = restStderr
	}
}

// note begins a note, which may have more lines.
func (s *hostSession) note(at time.Duration, words []byte) {
	s.words = append([]byte{}, words...)
	s.wordsAt = at
}

// flush adds the note that was begun.
func (s *hostSession) flush() {
	if s.words == nil {
		return
	}
	note := object{{"text", store.EncodePayload(string(s.words))}}
	s.noteRest(s.wordsAt, transport.NoDirection, note)
	s.words = nil
}

// close gives the session its header, and an end if the log has told one: the host may still write.
func (s *hostSession) close(d hostDialect) []store.Event {
	header := store.Header{
		ID: store.DeriveSessionID(s.hash.Sum(nil)), Start: s.start, Transport: s.transport, Label: s.label, Recorder: "log of " + d.host,
	}
	s.events[0].Payload = header.Encode()
	if !s.hasEnded {
		return s.events
	}
	return s.log.close()
}

// trimLineEnd returns a line without its line end.
func trimLineEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// lazily returns an expression that is compiled at its first use, for every command would pay for
// it before main.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
