package state

import (
	"bytes"
	"maps"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// State is the state of a session after some of its events. [New] makes it.
type State struct {
	seq      uint64
	at       time.Duration
	frames   [3]uint64 // by direction
	failures uint64    // error responses, and tool results that are errors
	lost     uint64    // events not stored
	gaps     gaps
	revision string
	peers    [3]Peer // by the direction of sending
	logLevel string
	greeted  uint64        // Seq of the response to initialize
	mask     timeline.Mask // of the progress, which View shows

	calls         callTable
	queues        queues
	subscriptions map[string]Subscription // of resources, by URI
	tasks         map[taskKey]Task
	statuses      map[string]int // tasks, by status
	streams       map[uint64]Stream
	blocked       map[lane]stall
	ended         [3]string // who ended each direction
	exit          string
	sealed        bool

	isFollowed bool // changed is wanted: see Follower
	changed    []part
}

// stall is the last blocked write of a lane.
type stall struct {
	seq     uint64
	blocked time.Duration
}

// New returns the state before a session's first event.
func New() *State {
	return &State{
		calls:  callTable{pending: map[*timeline.Call]*call{}},
		queues: queues{lanes: map[lane]seqList{}}, subscriptions: map[string]Subscription{},
		tasks: map[taskKey]Task{}, statuses: map[string]int{}, streams: map[uint64]Stream{}, blocked: map[lane]stall{},
	}
}

// Clone returns an independent copy of the state, without watches and followers. copies are the calls of the model
// that the copy goes on with: see [timeline.Model.Clone].
func (s *State) Clone(copies map[*timeline.Call]*timeline.Call) *State {
	c := *s
	c.isFollowed, c.changed = false, nil
	c.gaps = s.gaps.clone()
	c.calls = callTable{pending: map[*timeline.Call]*call{}}
	for _, open := range s.calls.all() {
		copied := *open
		copied.Call = copies[open.Call]
		c.calls.add(&copied)
	}
	c.queues.lanes = make(map[lane]seqList, len(s.queues.lanes))
	for l, list := range s.queues.lanes {
		c.queues.lanes[l] = list.clone()
	}
	c.subscriptions = maps.Clone(s.subscriptions)
	c.tasks = maps.Clone(s.tasks)
	c.statuses = maps.Clone(s.statuses)
	c.streams = maps.Clone(s.streams)
	c.blocked = maps.Clone(s.blocked)
	return &c
}

// Open returns how much is open: calls, subscriptions, tasks, streams, queues and blocked writes. A
// clone costs as much.
func (s *State) Open() int {
	return s.calls.open + s.calls.listening + len(s.subscriptions) + len(s.tasks) + len(s.streams) + len(s.queues.lanes) + len(s.blocked)
}

// Seq returns the last event, 0 before the first.
func (s *State) Seq() uint64 { return s.seq }

// At returns the time of the last event.
func (s *State) At() time.Duration { return s.at }

// Take takes the next step. Except in the header, an unreadable payload is skipped: other
// commands show it.
func (s *State) Take(step timeline.Step) (err error) {
	event := step.Event
	s.seq = event.Seq
	s.mask = step.Mask()
	s.at = event.At
	dir := index(event.Dir)
	switch event.Kind {
	case store.Opened:
		_, err = store.ParseHeader(event.Payload)
	case store.Frame:
		s.onFrame(step)
	case store.HTTP:
		if step.HTTP != nil {
			s.onHTTP(step, step.HTTP)
		}
	case store.Delivered:
		if info, err := store.DecodePayload[store.DeliveredInfo](event); err == nil {
			l := lane{dir, event.Stream}
			s.blocked[l] = stall{event.Seq, info.Blocked}
			touch(s, l)
			s.take(event.Dir, event.Stream, info.Upto)
		}
	case store.EOF:
		if info, err := store.DecodePayload[store.EOFInfo](event); err == nil {
			s.ended[dir] = info.By
		}
	case store.Exited:
		if info, err := store.DecodePayload[store.ExitInfo](event); err == nil {
			s.exit = info.String()
		}
	case store.Lost:
		if info, err := store.DecodePayload[store.LostInfo](event); err == nil {
			s.lost += info.Frames
			for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
				if info.LacksFrames(dir) {
					s.gaps[dir] = append(s.gaps[dir], event.Seq)
				}
			}
		}
	case store.Closed:
		s.sealed = true
	}
	s.onRefusal(step)
	return err
}

// onFrame queues a frame and applies its messages. Noise has none.
func (s *State) onFrame(step timeline.Step) {
	event := step.Event
	s.frames[index(event.Dir)]++
	stream, open := s.streams[event.Stream]
	if open && event.Stream != 0 {
		if event.Dir == transport.ClientToServer {
			stream.C2S++
		} else {
			stream.S2C++
		}
		s.streams[event.Stream] = stream
		touch(s, streamNumber(event.Stream))
	}
	if open || event.Stream == 0 { // an HTTP response with a single body is in no queue
		l := lane{index(event.Dir), event.Stream}
		s.queues.lanes[l] = s.queues.lanes[l].add(event.Seq)
		s.queues.counts[l.dir]++
		touch(s, l)
	}
	for i := range step.Messages {
		switch m := &step.Messages[i]; m.Kind {
		case transport.Request:
			s.onRequest(m)
		case transport.Response:
			s.onResponse(step, m)
		case transport.Notification:
			s.onNotification(step, m)
		}
	}
	for _, task := range step.Told {
		s.setTask(task)
	}
}

// onRequest opens a call, and keeps a client's facts about the client.
func (s *State) onRequest(m *timeline.Message) {
	c := &call{Call: m.Call}
	if c.Method == mcp.MethodListen {
		c.filter = bytes.Clone(transport.Member(m.Shown().Params, "notifications"))
	}
	if c.Dir == transport.ClientToServer {
		if c.Method == mcp.MethodSetLogLevel {
			s.logLevel = transport.MemberText(m.Params, "level")
		}
		switch {
		case c.Method == mcp.MethodInitialize:
			shown := m.Shown()
			s.peers[c.Dir].update(transport.Member(shown.Params, "clientInfo"), transport.Member(shown.Params, "capabilities"))
		case bytes.Contains(m.Params, []byte(mcp.MetaProtocolVersion)): // most have none, and looking is cheap
			meta := transport.Member(m.Params, mcp.MemberMeta) // it is the protocol's, and has no secrets
			c.revision = transport.MemberText(meta, mcp.MetaProtocolVersion)
			s.peers[c.Dir].update(transport.Member(meta, mcp.MetaClientInfo), transport.Member(meta, mcp.MetaClientCapabilities))
		}
	}
	s.open(c)
}

// onResponse closes a call, and keeps the effects of the result.
func (s *State) onResponse(step timeline.Step, m *timeline.Message) {
	if m.Error != nil || string(transport.Member(m.Result, mcp.MemberIsError)) == "true" {
		s.failures++
	}
	c := s.calls.pending[m.Call]
	if c == nil {
		return
	}
	s.close(c)
	s.take(c.Dir, c.Stream, c.Request)
	if m.Error != nil {
		return
	}
	if c.Dir == transport.ClientToServer {
		if c.Method == mcp.MethodInitialize || c.Method == mcp.MethodDiscover {
			shown := m.Shown()
			s.peers[transport.ServerToClient].update(transport.Member(shown.Result, mcp.MemberServerInfo), transport.Member(shown.Result, "capabilities"))
		}
		switch { // the revision: from 2026-07-28 any result settles it
		case c.Method == mcp.MethodInitialize:
			s.greeted = step.Seq
			s.revision = transport.MemberText(m.Result, mcp.MemberProtocolVersion)
		case mcp.Stateless.Has(c.revision):
			s.revision = c.revision
			s.peers[transport.ServerToClient].update(transport.Member(m.Result, mcp.MemberMeta, mcp.MetaServerInfo), nil)
		}
	}
	switch c.Method {
	case mcp.MethodSubscribe:
		if _, ok := s.subscriptions[c.Target]; !ok {
			s.subscriptions[c.Target] = Subscription{URI: c.Target, Since: step.Seq}
			touch(s, resource(c.Target))
		}
	case mcp.MethodUnsubscribe:
		delete(s.subscriptions, c.Target)
		touch(s, resource(c.Target))
	}
}

// setTask keeps what a message tells of a task. The Model forgets a task that is over.
func (s *State) setTask(told *timeline.Task) {
	key := taskKey{told.Dir, told.ID}
	task, known := s.tasks[key]
	if !known {
		task = Task{ID: s.mask.Text(told.ID), Dir: told.Dir, By: told.Dir.Sender(), Since: told.Made.Seq}
	} else if s.statuses[task.Status]--; s.statuses[task.Status] == 0 {
		delete(s.statuses, task.Status)
	}
	task.Status = s.mask.Text(told.Status)
	s.statuses[task.Status]++
	task.Message = told.Message
	task.Told = told.Told.Seq
	s.tasks[key] = task
	touch(s, key)
}

// onNotification keeps the effects of a notification.
func (s *State) onNotification(step timeline.Step, m *timeline.Message) {
	e := step.Event
	switch m.Method {
	case mcp.NotificationProgress:
		if c := s.calls.pending[m.Call]; c != nil {
			c.reports++
			c.progress = string(transport.Member(m.Params, "progress"))
			c.total = string(transport.Member(m.Params, "total"))
			c.message = string(transport.Member(m.Params, "message"))
			touch(s, c)
			s.take(c.Dir, c.Stream, c.Request)
		}
	case mcp.NotificationCancelled:
		switch c := s.calls.pending[m.Call]; {
		case c == nil:
		case c.Method == mcp.MethodListen: // it ends the subscription
			s.close(c)
		default:
			c.cancelled = e.Seq
			touch(s, c)
		}
	case mcp.NotificationInitialized:
		s.take(e.Dir.Reverse(), 0, s.greeted)
	case mcp.NotificationTaskStatus, mcp.NotificationTasks: // the step tells of the tasks
	default:
		if e.Dir == transport.ServerToClient {
			s.onSubscriptionNotification(step, m)
		}
	}
}

// onSubscriptionNotification counts a notification of a subscription, and keeps an
// acknowledgement.
func (s *State) onSubscriptionNotification(step timeline.Step, m *timeline.Message) {
	if !bytes.Contains(m.Params, []byte(mcp.MetaSubscriptionID)) {
		if m.Method != mcp.NotificationResourceUpdated || len(s.subscriptions) == 0 {
			return
		}
		uri := m.ShownTarget()
		if sub, ok := s.subscriptions[uri]; ok {
			sub.Notified++
			s.subscriptions[uri] = sub
			touch(s, resource(uri))
		}
		return
	}
	c := s.calls.pending[m.Subscription]
	if c == nil {
		return
	}
	s.take(c.Dir, c.Stream, c.Request)
	touch(s, c)
	if !strings.HasSuffix(m.Method, "/acknowledged") {
		c.notified++
		return
	}
	if c.acknowledged == 0 {
		s.calls.listening++
	}
	c.acknowledged = step.Seq
	if c.revision != "" {
		s.revision = c.revision
	}
}

// onRefusal takes what an HTTP status refuses.
func (s *State) onRefusal(step timeline.Step) {
	for _, refused := range step.Refused {
		if c := s.calls.pending[refused]; c != nil {
			s.close(c)
		}
	}
	for _, undone := range step.Undone {
		if c := s.calls.pending[undone]; c != nil {
			c.cancelled = undone.Cancelled
			touch(s, c)
		} else {
			s.open(&call{Call: undone, cancelled: undone.Cancelled})
		}
	}
}

// onHTTP follows an exchange.
func (s *State) onHTTP(step timeline.Step, info *store.HTTPInfo) {
	event := step.Event
	touch(s, streamNumber(event.Stream))
	switch info.What {
	case store.HTTPRequest:
		s.streams[event.Stream] = Stream{Number: event.Stream, Method: info.Method, Path: info.Path, Since: event.Seq}
	case store.HTTPResponse:
		stream, ok := s.streams[event.Stream]
		if ok && strings.HasPrefix(strings.Join(info.Header["Content-Type"], ""), mcp.MediaEventStream) {
			stream.Status = info.Status
			s.streams[event.Stream] = stream
		} else {
			delete(s.streams, event.Stream)
		}
		s.take(transport.ClientToServer, event.Stream, event.Seq)
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		delete(s.streams, event.Stream)
		s.take(transport.ClientToServer, event.Stream, event.Seq)
		s.take(transport.ServerToClient, event.Stream, event.Seq)
		delete(s.blocked, lane{transport.ClientToServer, event.Stream})
		delete(s.blocked, lane{transport.ServerToClient, event.Stream})
		for _, left := range step.Left {
			c := s.calls.pending[left]
			// A call may still be answered on another exchange, but a client of 2026-07-28 that
			// hangs up cancels it.
			switch {
			case c == nil:
			case info.What == store.HTTPAbort && mcp.Stateless.Has(c.revision) || c.Method == mcp.MethodListen:
				s.close(c)
			default:
				c.cut = event.Seq
				touch(s, c)
			}
		}
	}
}
