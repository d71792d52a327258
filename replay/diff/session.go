package diff

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// message is the record of one message.
type message struct {
	raw     json.RawMessage // nil beyond KeptBytes
	seq     uint64
	at      time.Duration
	stream  uint64
	content uint64 // [Digest].content
	key     uint64 // of a request
	bytes   uint64
	shape   uint64 // the content without values that look made up; only of unpaired messages
	name    int32  // the index in names
	call    int32  // the request that an answer, progress or a cancellation names, or none
	near    int32  // else, of a notification and a request: the only call that was open, or none
	reply   int32  // of a request: its answer, or none
	pair    int32  // the message of the other session, or none
	kind    transport.MessageKind
	dir     transport.Direction

	cancelled bool // of a request
}

// none is the index of no message.
const none = -1

// owner is the call that a message belongs to, as far as the session tells.
func (m *message) owner() int32 {
	if m.call != none {
		return m.call
	}
	return m.near
}

// isAnswer reports whether a message answers a request of the session.
func (m *message) isAnswer() bool { return m.kind == transport.Response && m.call != none }

// Session is one recording, folded into a list of messages.
type Session struct {
	Header store.Header
	Events uint64
	Frames uint64
	Lost   uint64
	Exit   string

	took     time.Duration
	digester *Digester
	names    *names
	list     []message
	parts    [3][]message    // of each direction, the latest lines if they may be parts of a message
	asked    []int32         // the requests, by their numbers in the model
	requests [3][]int32      // of each direction
	tools    map[string]tool // that the server listed, by name
	toolsSeq uint64          // the last list of tools
	kept     int             // bytes of texts
	stderr   uint64          // lines of standard error
	lines    map[uint64]int  // how often each line of standard error came, by hash
	status   map[uint64]int  // of an HTTP exchange
	legacy   bool            // the transport is HTTP+SSE
	selected []uint64        // a bit for each selected event; nil: all events are
}

// Remembered is how many past calls the Model of a compared session remembers, so that progress that comes
// late names one of them.
const Remembered = 10_000

func newSession(digester *Digester, names *names) *Session {
	return &Session{
		digester: digester, names: names,
		tools: map[string]tool{}, lines: map[uint64]int{}, status: map[uint64]int{},
	}
}

// SelectNone limits the report to events that Select names.
func (s *Session) SelectNone() { s.selected = make([]uint64, s.Events/64+1) }

// Select adds an event to the report's.
func (s *Session) Select(seq uint64) {
	if at := seq / 64; at < uint64(len(s.selected)) {
		s.selected[at] |= 1 << (seq % 64)
	}
}

// isSelected reports whether one of the events is selected.
func (s *Session) isSelected(seqs ...uint64) bool {
	for _, seq := range seqs {
		if at := seq / 64; s.selected == nil || at < uint64(len(s.selected)) && s.selected[at]>>(seq%64)&1 == 1 {
			return true
		}
	}
	return false
}

// keptLines is how many different lines of standard error a session distinguishes.
const keptLines = 100_000

// Take takes the next step. digests are those of the messages of its line, which are made elsewhere because
// they take the most time.
func (s *Session) Take(step timeline.Step, digests []Digest) (err error) {
	event := step.Event
	s.Events = event.Seq
	s.took = max(s.took, event.At)
	switch event.Kind {
	case store.Frame:
		s.Frames++
		s.frame(step, digests)
	case store.Stderr:
		s.stderr++
		if h := maphash.Bytes(s.digester.seed, bytes.TrimSpace(event.Payload)); s.lines[h] > 0 || len(s.lines) < keptLines {
			s.lines[h]++
		}
	case store.Opened:
		s.Header, err = store.ParseHeader(event.Payload)
	case store.Exited:
		var info store.ExitInfo
		info, err = store.DecodePayload[store.ExitInfo](event)
		s.Exit = info.String()
	case store.Lost:
		var info store.LostInfo
		info, err = store.DecodePayload[store.LostInfo](event)
		s.Lost += info.Frames
	case store.HTTP:
		info := step.HTTP
		if info == nil {
			_, err = store.DecodePayload[store.HTTPInfo](event)
			return err
		}
		if info.What == store.HTTPResponse {
			s.status[event.Stream] = info.Status
		}
		s.undo(step.Undone)
		s.legacy = s.legacy || info.SSE != nil && info.SSE.Event == "endpoint"
	}
	return err
}

// frame appends the messages of a frame.
func (s *Session) frame(step timeline.Step, digests []Digest) {
	dir := side(step.Dir)
	switch {
	case step.Part: // the step that ends the message has it
		for _, d := range s.digester.noise(step.Payload) {
			s.parts[dir] = append(s.parts[dir], s.messageOf(step, &d))
		}
		return
	case step.Misframed != nil:
		s.parts[dir] = nil
		var messages []transport.Message
		for i := range step.Messages {
			messages = append(messages, step.Messages[i].Message)
		}
		digests = s.digester.Digest(messages)
	}
	s.keepParts(dir)
	if step.Noise {
		digests = s.digester.noise(step.Payload)
	}
	for i := range digests {
		linked := step.Message(i)
		if id := digests[i].subscription; id != nil && linked.Call == nil {
			linked.Call = step.Find(step.Dir.Reverse(), mcp.KeyOf(id))
		}
		s.message(step, &digests[i], linked)
	}
}

// undo takes back the client's answers and cancellations, of calls that are as before: HTTP has refused them.
func (s *Session) undo(calls []*timeline.Call) {
	for _, c := range calls {
		request := &s.list[s.asked[c.Number()]]
		if reply := request.reply; c.Response == 0 && reply != none {
			s.list[reply].call = none
			request.reply = none
		}
		request.cancelled = c.Cancelled != 0
	}
}

// keepParts appends the lines that are parts of no message after all.
func (s *Session) keepParts(dir int) {
	s.list = append(s.list, s.parts[dir]...)
	s.parts[dir] = nil
}

// side returns a direction as an index, whatever a damaged event says.
func side(dir transport.Direction) int {
	if dir != transport.ClientToServer && dir != transport.ServerToClient {
		return 0
	}
	return int(dir)
}

// messageOf returns the record of a message that belongs to no call so far.
func (s *Session) messageOf(step timeline.Step, digest *Digest) message {
	m := message{
		seq: step.Seq, at: step.At, stream: step.Stream, kind: digest.kind, dir: step.Dir,
		content: digest.content, key: digest.key, bytes: digest.bytes,
		name: s.names.of(digest.method, digest.target), call: none, near: none, reply: none, pair: none,
	}
	if s.kept += len(digest.raw); s.kept <= KeptBytes {
		m.raw = digest.raw
	}
	return m
}

// message appends one message, linked to the request that it names.
func (s *Session) message(step timeline.Step, digest *Digest, linked timeline.Message) {
	m := s.messageOf(step, digest)
	at := int32(len(s.list))
	switch linked.Role {
	case timeline.Asks:
		s.asked = append(s.asked, at)
	case timeline.Answers, timeline.Cancels, timeline.Reports, timeline.Unlinked:
		if linked.Call != nil {
			m.call = s.asked[linked.Call.Number()]
		}
	}
	switch {
	case m.call == none:
	case linked.Role == timeline.Answers:
		s.list[m.call].reply = at
		m.name = s.list[m.call].name
	case linked.Role == timeline.Cancels:
		s.list[m.call].cancelled = true
	}
	if digest.kind == transport.Response && s.names.list[m.name].method == mcp.MethodListTools {
		s.toolsSeq = m.seq
		for _, t := range digest.tools {
			if _, known := s.tools[t.name]; known || len(s.tools) < keptTools {
				s.tools[t.name] = t
			}
		}
	}
	s.list = append(s.list, m)
}

// close ends the fold. It gives each notification and request that names no call the only
// call that was open then, counting only calls that were answered.
func (s *Session) close() {
	for dir := range s.parts {
		s.keepParts(dir)
	}
	var open, sum [3]int32 // of each direction's calls: how many, and the sum of their indices
	for i := range s.list {
		m := &s.list[i]
		to := m.dir.Reverse()
		if m.isAnswer() {
			open[to]--
			sum[to] -= m.call
			continue
		}
		if (m.kind == transport.Notification || m.kind == transport.Request) && m.call == none && open[to] == 1 {
			m.near = sum[to]
		}
		if m.kind != transport.Request {
			continue
		}
		s.requests[m.dir] = append(s.requests[m.dir], int32(i))
		if m.reply != none {
			open[m.dir]++
			sum[m.dir] += int32(i)
		}
	}
	s.asked = nil
}

// latency is how long an answered call took.
func (s *Session) latency(message *message) time.Duration {
	return max(0, s.list[message.reply].at-message.at)
}

// KeptBytes is how much text of a session a comparison holds.
const KeptBytes = 1 << 30

// text returns a message; false if its text was too much to keep.
func (m *message) text() (transport.Message, bool) {
	switch {
	case m.raw == nil:
		return transport.Message{}, false
	case m.kind == transport.Invalid: // noise is compared as a text
		text, _ := json.Marshal(string(m.raw))
		return transport.Message{Params: text}, true
	}
	return transport.Pack(m.raw).Message(), true
}
