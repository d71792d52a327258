package state

import (
	"maps"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// State is how a session stands after the events that were applied. The zero value is
// not ready; [New] makes it.
type State struct {
	seq      uint64
	at       time.Duration
	frames   [3]uint64 // by direction
	failures uint64    // error responses, and tool results that are errors
	lost     uint64    // events that could not be stored
	revision string
	peers    [3]Peer // by the direction that a peer sends in
	logLevel string
	greeted  uint64 // Seq of the response to initialize

	calls         calls
	open          int // calls without subscriptions
	watches       map[*filter.Filter]*watch
	tokens        map[key]*call
	asked         map[uint64][]*call      // by open exchange, with those that were answered
	subscriptions map[string]Subscription // of resources, by uri
	listening     int                     // listen requests that were acknowledged
	tasks         map[key]Task
	statuses      map[string]int // tasks, by status
	streams       map[uint64]Stream
	lanes         map[lane]queue
	queued        [3]int // frames in lanes, by direction
	blocked       [3]stall
	ended         [3]string
	exit          string
	sealed        bool
}

// key is a raw id, token or task id in its direction.
type key struct {
	dir transport.Direction
	id  string
}

// stall is the last write of a direction that blocked.
type stall struct {
	seq     uint64
	blocked time.Duration
}

// New returns the state before a session's first event.
func New() *State {
	return &State{
		calls: calls{}, tokens: map[key]*call{}, asked: map[uint64][]*call{}, subscriptions: map[string]Subscription{},
		tasks: map[key]Task{}, statuses: map[string]int{}, streams: map[uint64]Stream{}, lanes: map[lane]queue{},
	}
}

// Clone returns a state that goes its own way from here.
func (s *State) Clone() *State {
	c := *s
	c.calls, c.tokens, c.asked, c.open, c.listening = calls{}, map[key]*call{}, map[uint64][]*call{}, 0, 0
	for _, x := range s.openCalls() {
		own := *x
		c.takesUp(&own, x.token != "" && s.tokens[key{x.dir, x.token}] == x)
	}
	c.watches = nil // who asks it watches its own calls
	c.subscriptions, c.tasks = maps.Clone(s.subscriptions), maps.Clone(s.tasks)
	c.statuses, c.streams = maps.Clone(s.statuses), maps.Clone(s.streams)
	c.lanes = make(map[lane]queue, len(s.lanes))
	for l, q := range s.lanes {
		c.lanes[l] = q[:len(q):len(q)] // what either adds from here on is its own
		s.lanes[l] = q[:len(q):len(q)]
	}
	return &c
}

// Seq returns the event that was applied last, 0 before the first.
func (s *State) Seq() uint64 { return s.seq }

// At returns the time of that event.
func (s *State) At() time.Duration { return s.at }

// Apply takes the next event.
func (s *State) Apply(e store.Event) (err error) {
	switch s.seq, s.at = e.Seq, e.At; e.Kind {
	case store.Opened:
		_, err = store.ParseHeader(e.Payload)
	case store.Frame:
		messages, err := e.AsFrame().Messages()
		if err != nil {
			messages = nil
		}
		s.ApplyParsed(e, messages)
	case store.HTTP:
		// What cannot be read here is shown by other commands; it changes nothing.
		if info, err := store.DecodePayload[store.HTTPInfo](e); err == nil {
			s.http(e, info)
		}
	case store.Delivered:
		if info, err := store.DecodePayload[store.DeliveredInfo](e); err == nil {
			s.blocked[way(e.Dir)] = stall{e.Seq, info.Blocked}
			s.taken(e.Dir, e.Stream, info.Upto)
		}
	case store.EOF:
		if info, err := store.DecodePayload[store.EOFInfo](e); err == nil {
			s.ended[way(e.Dir)] = info.By
		}
	case store.Exited:
		if info, err := store.DecodePayload[store.ExitInfo](e); err == nil {
			s.exit = info.String()
		}
	case store.Lost:
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			s.lost += info.Frames
		}
	case store.Closed:
		s.sealed = true
	}
	return err
}

// way is a direction as an index, whatever a damaged event says.
func way(dir transport.Direction) transport.Direction { return dir & 3 % 3 }

// ApplyParsed is Apply of a frame whose messages were read already. Noise has none.
func (s *State) ApplyParsed(e store.Event, messages []transport.Message) {
	s.seq, s.at = e.Seq, e.At
	s.frames[way(e.Dir)]++
	s.queues(e)
	if e.Stream != 0 {
		s.counts(e)
	}
	for i := range messages {
		switch m := &messages[i]; m.Kind() {
		case transport.Request:
			s.request(e, m)
		case transport.Response:
			s.response(e, m)
		case transport.Notification:
			s.notification(e, m)
		}
	}
}
