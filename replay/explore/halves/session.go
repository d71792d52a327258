package halves

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Run is the run in which a half plays.
type Run struct {
	Gate *gate.Gate
	// Go starts a goroutine of the run.
	Go func(func(context.Context))
	// Expect adds an operation that the half begins and finishes. The rest of a half is
	// reported only where no call stands.
	Expect func(name string, rest bool) Operation
	// Fail ends the run with an error.
	Fail func(error)
	// Live reports whether the sender of a direction is a peer under test.
	Live func(transport.Direction) bool
	// Loose is level SendingOrder: the half sends in any order that the specification allows.
	Loose bool
}

// Operation is a call of a half, or the rest of it, as an operation of the run.
type Operation struct {
	Name   string
	Begin  func()
	Finish func(error) // the first call counts
}

// Session is a recorded session, shared by the runs of a search.
type Session struct {
	events []store.Event
	frames map[string][]transport.Message // the messages of the recorded frames
	keys   sync.Map                       // method and raw params → match.Key
	calls  func() []recordedCall          // lists the session's requests
	web    func() *webSession
	rules  match.Rules // with a key that is computed once
	plain  match.Rules // as they were given
}

// NewSession returns the session of these events. Messages are compared by the rules.
func NewSession(events []store.Event, rules match.Rules) *Session {
	s := &Session{
		events: events,
		frames: make(map[string][]transport.Message, len(events)),
		calls:  sync.OnceValue(func() []recordedCall { return recordedCalls(events) }),
		web:    sync.OnceValue(func() *webSession { return newWebSession(events) }),
	}
	for _, e := range events {
		if e.Kind == store.Frame {
			s.frames[string(e.Payload)] = timeline.MessagesOf(e.AsFrame())
		}
	}
	s.plain, s.rules = rules, rules
	s.rules.Parse = s.messages
	if s.rules.Match == nil {
		s.rules.Match = s.match
	}
	return s
}

// messages is timeline.MessagesOf. Recorded frames are parsed once a search, without a lock: a
// goroutine of a run must not wait for one of another run.
func (s *Session) messages(frame transport.Frame) []transport.Message {
	if list, ok := s.frames[string(frame.Bytes)]; ok {
		return list
	}
	return timeline.MessagesOf(frame)
}

// match is the key by the rules, computed once for the same bytes: schedules ask for the same
// things again and again.
func (s *Session) match(message transport.Message) (match.Key, error) {
	raw := message.Method + "\x00" + string(message.Params)
	if key, ok := s.keys.Load(raw); ok {
		return key.(match.Key), nil
	}
	key, err := s.plain.Key(message)
	if err == nil {
		s.keys.Store(raw, key)
	}
	return key, err
}

// recordedCall is a request of a recorded half, which is an operation of the run.
type recordedCall struct {
	name      string // tools/call "search"#1
	dir       transport.Direction
	seq       uint64 // of the request's frame
	request   int    // number of the frame in its direction, from 1
	response  int    // number of the frame in the other direction; 0: no response
	id        mcp.Key
	refused   bool // by an HTTP status, in place of a response
	cancelled bool // the caller gave up, and a response need not come
	listen    bool // the response only ends a stream
}

// recordedCalls lists the requests of both ends in recorded order. A half plays frames as its transport reads
// them: what only the Model reads, as two messages in a line, is no request of it, and no answer that it awaits.
func recordedCalls(events []store.Event) []recordedCall {
	numbers := [3]map[uint64]int{transport.ClientToServer: {}, transport.ServerToClient: {}} // of each direction's frames, by Seq
	misframed := map[uint64]bool{}                                                           // by Seq
	var pairs timeline.Calls
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		step := model.Take(e)
		_ = pairs.Take(step) // it never fails
		if e.Kind == store.Frame {
			numbers[e.Dir][e.Seq] = len(numbers[e.Dir]) + 1
			misframed[e.Seq] = step.Misframed != nil
		}
	}
	seen := map[string]int{}
	var calls []recordedCall
	for _, c := range pairs.All() {
		response := numbers[c.Dir.Reverse()][c.Response]
		isRefused := c.Response > 0 && response == 0 // by a status, which may even come before the request's frame
		if misframed[c.Response] {
			response = 0
		}
		if misframed[c.Request] {
			continue
		}
		name := gate.Clip(c.Method)
		if c.Target != "" {
			name += fmt.Sprintf(" %q", gate.Shorten(c.Target))
		}
		if c.Dir == transport.ServerToClient {
			name = "server: " + name
		}
		seen[name]++
		calls = append(calls, recordedCall{
			name: fmt.Sprintf("%s#%d", name, seen[name]), dir: c.Dir, seq: c.Request,
			request: numbers[c.Dir][c.Request], response: response,
			id: mcp.KeyOf([]byte(c.ID)), refused: isRefused, cancelled: c.Cancelled > 0, listen: c.Method == mcp.MethodListen,
		})
	}
	return calls
}

// pause waits to be woken; false when the run is over.
func pause(ctx context.Context, woken <-chan struct{}) bool {
	select {
	case <-woken:
		return true
	case <-ctx.Done():
		return false
	}
}

func wake(sleeper chan<- struct{}) {
	select {
	case sleeper <- struct{}{}:
	default:
	}
}

// Skipped counts the waits that the recorded halves of a search gave up, by half, and keeps what live clients asked
// for that was not recorded.
type Skipped struct {
	runs       int
	halves     []string // by their first wait
	times      map[string]int
	waits      map[string][]string
	unrecorded []string
}

// Count adds a run, by its halves.
func (s *Skipped) Count(played []*Recorded) {
	s.runs++
	for _, h := range played {
		if !h.mu.TryLock() { // of an abandoned run
			continue
		}
		list := h.without()
		if h.unrecorded != nil {
			for _, remark := range h.unrecorded() {
				if !slices.Contains(s.unrecorded, remark) {
					s.unrecorded = append(s.unrecorded, remark)
				}
			}
		}
		h.mu.Unlock()
		if len(list) == 0 {
			continue
		}
		if s.times == nil {
			s.times = map[string]int{}
			s.waits = map[string][]string{}
		}
		if s.times[h.Name] == 0 {
			s.halves = append(s.halves, h.Name)
		}
		s.times[h.Name]++
		for _, wait := range list {
			if !slices.Contains(s.waits[h.Name], wait) {
				s.waits[h.Name] = append(s.waits[h.Name], wait)
			}
		}
	}
}

// Notes names the waits: a search is blind to the orders around a wait that is given up, and to what was not recorded.
func (s *Skipped) Notes() []string {
	const shown = 3
	notes := slices.Clone(s.unrecorded)
	for _, half := range s.halves {
		waits := s.waits[half]
		text := strings.Join(waits[:min(len(waits), shown)], ", ")
		if more := len(waits) - shown; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, fmt.Sprintf("the %s had to go on without %s in %d of %s; orders around it were not tried",
			half, text, s.times[half], phrase.Plural(s.runs, "order")))
	}
	return notes
}
