package metrics

import (
	"sync"
	"time"

	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Recorder is the recorder of a session. Its methods return at once.
type Recorder interface {
	Lost() uint64
	Waiting() int
}

// Collector keeps the sessions of a process. Its methods may be called at any time.
type Collector struct {
	recorder string
	label    string
	stuck    time.Duration // what lasts as long is stuck
	now      func() time.Time

	mu     sync.Mutex // guards the fields below, and is held for no reading or writing
	live   map[*Session]bool
	sums   counts        // of the sessions that have ended, and the number of all
	outbox func() Outbox // nil without a shared store
}

// counts are what sessions add up to.
type counts struct {
	begun  uint64
	events uint64
	lost   uint64
	frames Pair[uint64]
	bytes  Pair[uint64]
}

// NewCollector returns a Collector without sessions. recorder is the name and version of the
// program, label the user's; what has been open for as long as stuck is stuck. now is the clock of
// the sessions; nil: the system's.
func NewCollector(recorder, label string, stuck time.Duration, now func() time.Time) *Collector {
	if now == nil {
		now = time.Now
	}
	return &Collector{recorder: recorder, label: label, stuck: stuck, now: now, live: map[*Session]bool{}}
}

// Ship has the Collector tell of an outbox.
func (c *Collector) Ship(outbox func() Outbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outbox = outbox
}

// Session begins a session.
func (c *Collector) Session(recorder Recorder) *Session {
	s := &Session{collector: c, recorder: recorder}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[s] = true
	c.sums.begun++
	return s
}

// Snapshot returns how the sessions stand now.
func (c *Collector) Snapshot() Snapshot {
	c.mu.Lock()
	all := c.sums
	live := make([]*Session, 0, len(c.live))
	for s := range c.live {
		live = append(live, s)
	}
	outbox := c.outbox
	c.mu.Unlock()
	shot := Snapshot{Recorder: c.recorder, Label: c.label, Live: len(live), Begun: all.begun, Held: outage.Shared.Held()}
	for _, s := range live {
		shot.Waiting += s.recorder.Waiting()
		s.mu.Lock()
		s.addTo(&all)
		s.addOpen(&shot, c.now())
		s.mu.Unlock()
	}
	shot.Events = all.events
	shot.Frames = all.frames
	shot.Bytes = all.bytes
	shot.Lost = all.lost
	if outbox != nil {
		waits := outbox()
		shot.Outbox = &waits
	}
	return shot
}

// Session follows one session.
type Session struct {
	collector *Collector
	recorder  Recorder

	mu       sync.Mutex // guards the fields below
	header   store.Header
	counts   counts
	requests timeline.Index[mcp.Key, *openCall]
	waits    why.Fold
}

// openCall is a request without an answer.
type openCall struct {
	dir     transport.Direction
	at      time.Duration
	refused bool // an HTTP status is the answer
}

// Apply takes the next recorded event.
func (s *Session) Apply(event store.Event) {
	var messages []transport.Message
	var fault error
	if event.Kind == store.Frame {
		messages, fault = event.AsFrame().Messages()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.waits.ApplyParsed(event, messages, fault == nil) // its only fault is the header's
	s.counts.events++
	switch event.Kind {
	case store.Opened:
		s.header, _ = store.ParseHeader(event.Payload) // a store takes no other
	case store.HTTP:
		refused, _ := s.requests.Follow(event)
		for _, call := range refused {
			call.refused = true
		}
	case store.Frame:
		*s.counts.frames.Of(event.Dir)++
		*s.counts.bytes.Of(event.Dir) += uint64(len(event.Payload))
		for i := range messages {
			s.message(event, &messages[i])
		}
	}
}

// message keeps the open calls.
func (s *Session) message(event store.Event, message *transport.Message) {
	id := mcp.KeyOf(message.ID)
	switch message.Kind() {
	case transport.Request:
		if message.Method != mcp.MethodListen { // a subscription stays open
			s.requests.Ask(event.Dir, event.Stream, id, "", &openCall{dir: event.Dir, at: event.At})
		}
	case transport.Response:
		s.requests.Answer(event.Dir.Reverse(), event.Stream, id)
	case transport.Notification:
		if message.Method == mcp.NotificationCancelled {
			s.requests.Drop(event.Dir, mcp.KeyOf(timeline.CancelledID(*message)), func(*openCall) bool { return true })
		}
	}
}

// addTo adds what the session has counted. s.mu is held.
func (s *Session) addTo(all *counts) {
	all.events += s.counts.events
	all.lost += s.recorder.Lost()
	all.frames.C2S += s.counts.frames.C2S
	all.frames.S2C += s.counts.frames.S2C
	all.bytes.C2S += s.counts.bytes.C2S
	all.bytes.S2C += s.counts.bytes.S2C
}

// addOpen adds the open calls. s.mu is held.
func (s *Session) addOpen(shot *Snapshot, wall time.Time) {
	if s.header.Start.IsZero() { // nothing is read yet
		return
	}
	now := wall.Sub(s.header.Start)
	for call := range s.requests.Unanswered() {
		if call.refused {
			continue
		}
		*shot.Open.Of(call.dir)++
		shot.Longest = max(shot.Longest, now-call.at)
	}
	if s.waits.Report(why.Live{Now: max(now, 1)}, s.collector.stuck).Stuck() {
		shot.Stuck++
	}
}

// End ends the session; nothing is applied behind it.
func (s *Session) End() {
	c := s.collector
	c.mu.Lock()
	defer c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.live[s] {
		delete(c.live, s)
		s.addTo(&c.sums)
	}
}
