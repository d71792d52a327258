package closed

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Recording is a session loaded for the closed replay. It may be played many
// times, also by several goroutines at once.
type Recording struct {
	header      store.Header
	frames      []recordedFrame   // in recorded order
	messages    []recordedMessage // of all frames, in order
	byDirection [3][]int32        // per direction: indices into frames
	delivered   []delivery
	lost        uint64    // events that could not be stored
	gaps        [3]uint64 // per direction: the last event that says that its frames are missing
	streams     bool      // a frame came on an HTTP stream
	refusal     int       // the last HTTP status that refused a request; 0: none
	exit        string    // how the server's process ended, in words; "" if unknown

	reasons map[int32]string // of cancellations, by message
	lastAt  time.Duration    // of the last event, or now if the session goes on
	closed  time.Duration    // when the client closed its output; 0 if it did not
}

// recordedFrame is a frame without its payload.
type recordedFrame struct {
	seq    uint64
	at     time.Duration
	dir    transport.Direction
	n      int32 // number in its direction, from 1
	before int32 // frames of the other direction recorded before it
	lo, hi int32 // its messages
}

// recordedMessage is a message of a frame. A frame that is not JSON has no messages.
type recordedMessage struct {
	kind   transport.MessageKind
	frame  int32 // index into frames
	pair   int32 // index of a request's answer, of a response's or a cancellation's request; -1: none
	method string
	target string
	id     string

	refused bool // of a request: an HTTP status is the answer
}

// delivery says that the receiver had the frames of a direction up to a number at a point
// of the recording.
type delivery struct {
	at   int32 // frames recorded before, of both directions
	dir  transport.Direction
	upto int32 // frame number in dir
}

// Load reads a session: the header, frames, delivered and lost events for the closed replay;
// HTTP statuses, the exit of the server's process, the end of the client's output and the
// time of the last event for the report.
func Load(events iter.Seq2[store.Event, error]) (*Recording, error) {
	return LoadSteps(timeline.Steps(events))
}

// LoadSteps is Load of the steps of a session.
func LoadSteps(steps iter.Seq2[timeline.Step, error]) (*Recording, error) {
	l := loader{
		Recording: Recording{reasons: map[int32]string{}},
		requests:  map[*timeline.Call]int32{},
	}
	if err := timeline.Project(steps, &l); err != nil {
		return nil, fmt.Errorf("load recording: %w", err)
	}
	return &l.Recording, nil
}

// GoesOn says that the session was still live at a time after its start: the verdicts measure
// waits to there, and not to the last event. It comes before the first replay, and never
// while goroutines share the recording.
func (r *Recording) GoesOn(now time.Duration) { r.lastAt = max(r.lastAt, now) }

// Header returns the session's header, or the zero Header.
func (r *Recording) Header() store.Header { return r.header }

// Frames returns the number of frames in direction dir.
func (r *Recording) Frames(dir transport.Direction) int {
	if dir > transport.ServerToClient {
		return 0
	}
	return len(r.byDirection[dir])
}

// Seq returns the Seq of the event with frame n, from 1, of direction dir.
func (r *Recording) Seq(dir transport.Direction, n int) uint64 { return r.frames[r.nth(dir, n)].seq }

// nth returns the index of frame n, from 1, of direction dir.
func (r *Recording) nth(dir transport.Direction, n int) int32 { return r.byDirection[dir][n-1] }

// frameOf returns the frame that a message is in.
func (r *Recording) frameOf(message int32) recordedFrame { return r.frames[r.messages[message].frame] }

func (r *Recording) messagesOf(f recordedFrame) []recordedMessage { return r.messages[f.lo:f.hi] }

// loader is the projection behind [Load].
type loader struct {
	Recording
	requests map[*timeline.Call]int32 // the message of each call
}

// Take takes the next step.
func (l *loader) Take(step timeline.Step) error {
	e := step.Event
	l.lastAt = e.At
	switch e.Kind {
	case store.Opened:
		h, err := store.ParseHeader(e.Payload)
		l.header = h
		return err
	case store.Lost:
		info, err := store.DecodePayload[store.LostInfo](e)
		l.lost += max(info.Frames, 1)
		for _, dir := range directions {
			if info.LacksFrames(dir) {
				l.gaps[dir] = e.Seq
			}
		}
		return err
	case store.Delivered:
		info, err := store.DecodePayload[store.DeliveredInfo](e)
		if err != nil {
			return err
		}
		if e.Dir != transport.ClientToServer && e.Dir != transport.ServerToClient {
			return fmt.Errorf("delivered event %d: no direction", e.Seq)
		}
		way := l.byDirection[e.Dir]
		upto := sort.Search(len(way), func(i int) bool { return l.frames[way[i]].seq > info.Upto })
		l.delivered = append(l.delivered, delivery{at: int32(len(l.frames)), dir: e.Dir, upto: int32(upto)})
	case store.Frame:
		if e.Dir != transport.ClientToServer && e.Dir != transport.ServerToClient {
			return fmt.Errorf("event %d: no direction", e.Seq)
		}
		index := int32(len(l.frames))
		l.byDirection[e.Dir] = append(l.byDirection[e.Dir], index)
		l.streams = l.streams || e.Stream != 0
		f := recordedFrame{
			seq: e.Seq, at: e.At, dir: e.Dir, n: int32(len(l.byDirection[e.Dir])), before: int32(len(l.byDirection[e.Dir.Reverse()])),
			lo: int32(len(l.messages)),
		}
		for i := range step.Messages {
			l.message(index, &step.Messages[i])
		}
		f.hi = int32(len(l.messages))
		l.frames = append(l.frames, f)
		for _, call := range step.Refused { // before the body came
			l.messages[l.requests[call]].refused = true
			l.refusal = step.Exchange.Status
		}
	case store.HTTP:
		for _, call := range step.Undone {
			l.undo(call)
		}
		for _, call := range step.Refused {
			l.messages[l.requests[call]].refused = true
			l.refusal = step.HTTP.Status
		}
		for _, call := range step.Over {
			delete(l.requests, call)
		}
	case store.EOF:
		info, err := store.DecodePayload[store.EOFInfo](e)
		if e.Dir == transport.ClientToServer && info.By == "sender" {
			l.closed = e.At
		}
		return err
	case store.Exited:
		info, err := store.DecodePayload[store.ExitInfo](e)
		l.exit = fmt.Sprintf("with exit status %d", info.Code)
		if info.Signal != "" {
			l.exit = "by the signal " + phrase.Clip(info.Signal, 48)
		}
		return err
	}
	return nil
}

// asks reports whether an end sends a request. Where none does, nobody waits, and nothing can hang.
func (r *Recording) asks() bool {
	return slices.ContainsFunc(r.messages, func(m recordedMessage) bool { return m.kind == transport.Request })
}

// WhyNothing says why a replay shows nothing: the recording has no request, or no answer to
// any request of the client. It returns "" for any other recording, and for a client with a
// subscription, which needs no answer.
func (r *Recording) WhyNothing() string {
	if len(r.frames) > 0 && !r.asks() {
		return "no request was sent"
	}
	asked := len(r.frames) == 0
	for _, m := range r.messages {
		if m.kind != transport.Request || r.frames[m.frame].dir != transport.ClientToServer {
			continue
		}
		asked = true
		if m.method == mcp.MethodListen || m.pair >= 0 && !m.refused {
			return ""
		}
	}
	if !asked {
		return ""
	}
	said := "no request was answered"
	if len(r.frames) == 0 {
		said = "nothing was said"
	}
	if gap := r.gaps[transport.ServerToClient]; gap != 0 {
		said = fmt.Sprintf("no request has an answer in the log, which lacks a message of the server (#%d)", gap)
	}
	if r.refusal != 0 {
		said += fmt.Sprintf(" (HTTP status %d)", r.refusal)
	}
	if r.exit != "" {
		said += "; the server ended " + r.exit
	}
	return said
}

// message adds a message of a frame, and pairs the message with its request.
func (l *loader) message(frame int32, m *timeline.Message) {
	index := int32(len(l.messages))
	pm := recordedMessage{kind: m.Kind, frame: frame, pair: -1, method: m.Method, target: m.ShownTarget(), id: string(m.ID)}
	switch m.Role {
	case timeline.Asks:
		l.requests[m.Call] = index
	case timeline.Answers:
		pm.pair = l.requests[m.Call]
		l.messages[pm.pair].pair = index
		delete(l.requests, m.Call)
	case timeline.Cancels:
		pm.pair = l.requests[m.Call]
	}
	if m.Method == mcp.NotificationCancelled {
		if reason := transport.MemberText(m.Shown().Params, "reason"); reason != "" {
			l.reasons[index] = phrase.Clip(reason, 120)
		}
	}
	l.messages = append(l.messages, pm)
}

// undo takes back the client's answer, or cancellation, of a call, which HTTP has refused.
func (l *loader) undo(call *timeline.Call) {
	for i := len(l.messages) - 1; i >= 0; i-- {
		m := &l.messages[i]
		if m.kind == transport.Request || m.pair < 0 || l.frames[m.frame].dir != transport.ClientToServer {
			continue
		}
		if request := &l.messages[m.pair]; l.frames[request.frame].seq == call.Request && request.id == call.ID {
			if m.kind == transport.Response {
				request.pair = -1
				l.requests[call] = m.pair
			}
			m.pair = -1
			return
		}
	}
}

// answers returns the number of the last request frame that frame responds to, 0 for none, and
// whether frame has no other messages.
func (r *Recording) answers(frame recordedFrame) (last int32, only bool) {
	only = true
	for _, m := range r.messagesOf(frame) {
		if m.kind != transport.Response || m.pair < 0 {
			only = false
			continue
		}
		last = max(last, r.frames[r.messages[m.pair].frame].n)
	}
	return last, only
}

// answeredBy returns the number of the last frame that answers a request of frame; 0 for none.
func (r *Recording) answeredBy(frame recordedFrame) int32 {
	last := int32(0)
	for _, m := range r.messagesOf(frame) {
		if m.kind == transport.Request && m.pair >= 0 {
			last = max(last, r.frames[r.messages[m.pair].frame].n)
		}
	}
	return last
}

func (r *Recording) unanswered() []Unanswered {
	list := []Unanswered{}
	cancelled := map[int32]int32{} // the cancellation of a request
	for i, m := range r.messages {
		if m.method == mcp.NotificationCancelled && m.pair >= 0 {
			cancelled[m.pair] = int32(i)
		}
	}
	for i, m := range r.messages {
		if m.kind != transport.Request || m.pair >= 0 || m.method == mcp.MethodListen || m.refused {
			continue
		}
		f, until := r.frames[m.frame], r.lastAt
		u := Unanswered{Seq: f.seq, Call: r.callName(int32(i)), Owes: f.dir.Receiver()}
		if gap := r.gaps[f.dir.Reverse()]; gap > f.seq {
			u.Lost = gap
		}
		if by, ok := cancelled[int32(i)]; ok {
			frame := r.frameOf(by)
			u.Cancelled = frame.seq
			u.Reason = r.reasons[by]
			until = frame.at
		}
		u.Waited = phrase.Brief(until - f.at).String()
		list = append(list, u)
	}
	return list
}

// Warnings names the parts of the recording that a replay cannot play as they were.
func (r *Recording) Warnings() []string {
	list := []string{}
	if r.lost > 0 {
		list = append(list, fmt.Sprintf("the recording has lost %s: what was there is not played", phrase.Plural(r.lost, "event")))
	}
	if r.streams {
		list = append(list, "the recording has HTTP streams, which have no order among them; they are played as one row of messages each way")
	}
	return list
}

// label names a frame in a report, such as #9 response to tools/call "x".
func (r *Recording) label(index int32) string {
	f := r.frames[index]
	messages := r.messagesOf(f)
	switch len(messages) {
	case 0:
		return fmt.Sprintf("#%d not a message", f.seq)
	case 1:
		return fmt.Sprintf("#%d %s", f.seq, r.messageLabel(messages[0]))
	}
	return fmt.Sprintf("#%d batch of %d: %s, …", f.seq, len(messages), r.messageLabel(messages[0]))
}

func (r *Recording) messageLabel(m recordedMessage) string {
	switch m.kind {
	case transport.Request:
		return fmt.Sprintf("%s (id %s)", m.name(), phrase.Name(m.id))
	case transport.Notification:
		return m.name()
	case transport.Response:
		if m.pair >= 0 {
			return "response to " + r.messages[m.pair].name()
		}
		return fmt.Sprintf("response to nothing (id %s)", phrase.Name(m.id))
	}
	return "not a message"
}

// name returns the method and the target.
func (m recordedMessage) name() string {
	if m.target == "" {
		return phrase.Name(m.method)
	}
	return phrase.Name(m.method) + " " + phrase.QuotedName(m.target)
}

// callName names a call in a report, such as call tools/call "x" (client, id 3).
func (r *Recording) callName(request int32) string {
	m := r.messages[request]
	return fmt.Sprintf("call %s (%s, id %s)", m.name(), r.frames[m.frame].dir.Sender(), phrase.Name(m.id))
}
