package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"sort"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
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

	// calls has the requests without an answer, of one id the latest last. Between the
	// first and the last of one id may be closed ones.
	calls         map[key][]*call
	open          int // calls without subscriptions
	watches       map[*filter.Filter]*watch
	tokens        map[key]*call
	asked         map[uint64][]*call      // by open exchange, with those that were answered
	subscriptions map[string]Subscription // of resources, by uri
	listening     int                     // listen requests that were acknowledged
	tasks         map[key]Task
	statuses      map[string]int // tasks, by status
	streams       map[uint64]Stream
	lanes         map[lane][]uint64 // Seqs of the frames that nothing shows to be taken
	queued        [3]int            // frames in lanes, by direction
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
		calls: map[key][]*call{}, tokens: map[key]*call{}, asked: map[uint64][]*call{}, subscriptions: map[string]Subscription{},
		tasks: map[key]Task{}, statuses: map[string]int{}, streams: map[uint64]Stream{}, lanes: map[lane][]uint64{},
	}
}

// Clone returns a state that goes its own way from here.
func (s *State) Clone() *State {
	c := *s
	c.calls, c.tokens, c.asked = map[key][]*call{}, map[key]*call{}, map[uint64][]*call{}
	c.open, c.listening = 0, 0
	for _, x := range s.openCalls() {
		own := *x
		c.takesUp(&own, x.token != "" && s.tokens[key{x.dir, x.token}] == x)
	}
	c.watches = nil // who asks it watches its own calls
	c.subscriptions, c.tasks = maps.Clone(s.subscriptions), maps.Clone(s.tasks)
	c.statuses, c.streams = maps.Clone(s.statuses), maps.Clone(s.streams)
	c.lanes = make(map[lane][]uint64, len(s.lanes))
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
	s.seq, s.at = e.Seq, e.At
	switch e.Kind {
	case store.Opened:
		_, err = store.ParseHeader(e.Payload)
	case store.Frame:
		messages, _ := e.AsFrame().Messages() // noise has none
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
	dir := way(e.Dir)
	s.frames[dir]++
	x, open := s.streams[e.Stream]
	if open && e.Stream != 0 {
		if e.Dir == transport.ClientToServer {
			x.C2S++
		} else {
			x.S2C++
		}
		s.streams[e.Stream] = x
	}
	if open || e.Stream == 0 { // an HTTP response that is one body is in no lane
		l := lane{dir, e.Stream}
		s.lanes[l] = append(s.lanes[l], e.Seq)
		s.queued[dir]++
	}
	for i := range messages {
		switch m := &messages[i]; m.Kind() {
		case transport.Request:
			s.request(e, m)
		case transport.Response:
			s.response(e, m)
		case transport.Notification:
			switch m.Method {
			case mcp.NotificationProgress:
				s.reports(e, m)
			case mcp.NotificationCancelled:
				s.cancel(e, transport.Member(m.Params, mcp.MemberRequestID))
			case mcp.NotificationInitialized:
				s.taken(e.Dir.Reverse(), 0, s.greeted)
			case mcp.NotificationTaskStatus, mcp.NotificationTasks:
				s.task(e, m.Params)
			default:
				s.notified(e, m)
			}
		}
	}
}

// Peer is what an end has said of itself.
type Peer struct {
	Name         string          `json:"name,omitempty"`
	Version      string          `json:"version,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`

	info string // raw, to see a change without reading it
}

// says takes in an end's name and capabilities; nil says nothing.
func (p *Peer) says(info, capabilities json.RawMessage) {
	if info != nil && string(info) != p.info {
		p.info = string(info)
		p.Name, p.Version = text(transport.Member(info, "name")), text(transport.Member(info, "version"))
	}
	if capabilities != nil && !bytes.Equal(capabilities, p.Capabilities) {
		p.Capabilities = bytes.Clone(capabilities)
	}
}

// states takes in what a client's request says of the client.
func (s *State) states(x *call, m *transport.Message) {
	if x.dir != transport.ClientToServer {
		return
	}
	client := &s.peers[transport.ClientToServer]
	if x.method == mcp.MethodInitialize {
		client.says(transport.Member(m.Params, "clientInfo"), transport.Member(m.Params, "capabilities"))
		return
	}
	if x.method == mcp.MethodSetLogLevel {
		s.logLevel = text(transport.Member(m.Params, "level"))
	}
	if !bytes.Contains(m.Params, []byte(mcp.MetaProtocolVersion)) { // most have none, and looking is cheap
		return
	}
	meta := transport.Member(m.Params, mcp.MemberMeta)
	x.version = text(transport.Member(meta, mcp.MetaProtocolVersion))
	client.says(transport.Member(meta, mcp.MetaClientInfo), transport.Member(meta, mcp.MetaClientCapabilities))
}

// settles takes in what a server's result says of the server and of the revision: one
// is settled by the answer to initialize, from 2026-07-28 on by any result.
func (s *State) settles(e store.Event, x *call, result json.RawMessage) {
	if x.dir != transport.ClientToServer {
		return
	}
	server := &s.peers[transport.ServerToClient]
	switch {
	case x.method == mcp.MethodInitialize:
		s.greeted = e.Seq
		s.revision = text(transport.Member(result, mcp.MemberProtocolVersion))
		server.says(transport.Member(result, mcp.MemberServerInfo), transport.Member(result, "capabilities"))
		return
	case x.method == mcp.MethodDiscover:
		server.says(transport.Member(result, mcp.MemberServerInfo), transport.Member(result, "capabilities"))
	}
	if x.version != "" && x.version >= mcp.Revision2026_07_28 {
		s.revision = x.version
		server.says(transport.Member(result, mcp.MemberMeta, mcp.MetaServerInfo), nil)
	}
}

// has reports whether an end has a capability, named by its members with dots between
// them: tools.listChanged.
func (p *Peer) has(path string) bool {
	switch string(transport.Member(p.Capabilities, strings.Split(path, ".")...)) {
	case "", "false", "null":
		return false
	}
	return true
}

// capabilities names what an end can do, in its own order and up to 20; the members of a
// capability stand behind it.
func (p *Peer) capabilities() (names []string) {
	dec := json.NewDecoder(bytes.NewReader(p.Capabilities))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return names
		}
		if len(names) == 20 {
			return append(names, "…")
		}
		name := clip(fmt.Sprint(key))
		var b bytes.Buffer
		if json.Compact(&b, value) == nil && b.String() != "{}" && b.String() != "true" {
			name += " " + clip(b.String())
		}
		names = append(names, name)
	}
	return names
}

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
		if ok && strings.HasPrefix(strings.Join(info.Header["Content-Type"], ""), mcp.MediaEventStream) {
			x.Status = info.Status
			s.streams[e.Stream] = x
		} else {
			delete(s.streams, e.Stream)
		}
		s.taken(transport.ClientToServer, e.Stream, e.Seq)
		if info.Status >= 300 {
			s.each(e.Stream, s.closes) // the status was the answer
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		delete(s.streams, e.Stream)
		s.taken(transport.ClientToServer, e.Stream, e.Seq)
		s.taken(transport.ServerToClient, e.Stream, e.Seq)
		// A call may still be answered on another exchange, but a client of 2026-07-28 that
		// hangs up cancels it.
		s.each(e.Stream, func(x *call) {
			if info.What == store.HTTPAbort && x.version >= mcp.Revision2026_07_28 || x.method == mcp.MethodListen {
				s.closes(x)
				return
			}
			x.cut = e.Seq
		})
		delete(s.asked, e.Stream)
	}
}

// each calls f for the open calls of an exchange.
func (s *State) each(stream uint64, f func(*call)) {
	for _, x := range s.asked[stream] {
		if !x.closed {
			f(x)
		}
	}
}

// lane is one direction of one HTTP exchange; of the whole session on stdio.
type lane struct {
	dir    transport.Direction
	stream uint64
}

// taken notes that the frames of a lane up to a Seq are in their receiver's hands.
func (s *State) taken(dir transport.Direction, stream, upto uint64) {
	l := lane{way(dir), stream}
	q := s.lanes[l]
	if len(q) == 0 || q[0] > upto {
		return
	}
	n := sort.Search(len(q), func(i int) bool { return q[i] > upto })
	s.queued[l.dir] -= n
	if n == len(q) {
		delete(s.lanes, l)
		return
	}
	s.lanes[l] = q[n:]
}

// Subscription is what a server is asked to tell: of a resource, or by a listen request.
type Subscription struct {
	URI      string          `json:"uri,omitempty"`
	Listen   json.RawMessage `json:"listen,omitempty"` // the id of the listen request
	Filter   json.RawMessage `json:"filter,omitempty"` // what that asks for
	Since    uint64          `json:"since"`            // the event that made it, the listen request's own
	Pending  bool            `json:"pending,omitempty"`
	Notified uint64          `json:"notified"` // notifications so far
}

// notified counts a notification of a subscription.
func (s *State) notified(e store.Event, m *transport.Message) {
	if e.Dir != transport.ServerToClient {
		return
	}
	if bytes.Contains(m.Params, []byte(mcp.MetaSubscriptionID)) {
		id := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID)
		x := s.find(transport.ClientToServer, id, e.Stream)
		if x == nil || x.method != mcp.MethodListen {
			return
		}
		s.taken(x.dir, x.stream, x.seq)
		if !strings.HasSuffix(m.Method, "/acknowledged") {
			x.notified++
			return
		}
		if x.acknowledged == 0 {
			s.listening++
		}
		x.acknowledged = e.Seq
		if x.version != "" {
			s.revision = x.version
		}
		return
	}
	if m.Method == mcp.NotificationResourceUpdated {
		uri := text(transport.Member(m.Params, "uri"))
		if sub, ok := s.subscriptions[uri]; ok {
			sub.Notified++
			s.subscriptions[uri] = sub
		}
	}
}

// Task is a task and what was last said of it.
type Task struct {
	ID      string              `json:"id"`
	Dir     transport.Direction `json:"-"` // the way its status is told
	By      string              `json:"by"`
	Status  string              `json:"status"`
	Message string              `json:"message,omitempty"`
	Since   uint64              `json:"since"` // the event that first named it
	Told    uint64              `json:"told"`  // the event that last told its status
}

// tasksOf takes in the tasks that a result tells of.
func (s *State) tasksOf(e store.Event, x *call, result json.RawMessage) {
	if !bytes.Contains(result, []byte(mcp.MemberTaskID)) { // most tell of none, and looking is cheap
		return
	}
	switch x.method {
	case mcp.MethodGetTask, mcp.MethodCancelTask:
		s.task(e, result)
		return
	case mcp.MethodListTasks:
		var list []json.RawMessage
		if json.Unmarshal(transport.Member(result, "tasks"), &list) == nil {
			for _, task := range list {
				s.task(e, task)
			}
		}
		return
	}
	if task := transport.Member(result, "task"); task != nil {
		s.task(e, task)
	} else if text(transport.Member(result, mcp.MemberResultType)) == "task" {
		s.task(e, result)
	}
}

// task takes in what is said of one task.
func (s *State) task(e store.Event, raw json.RawMessage) {
	id, status := text(transport.Member(raw, mcp.MemberTaskID)), text(transport.Member(raw, "status"))
	if id == "" || status == "" {
		return
	}
	k := key{e.Dir, id}
	t, ok := s.tasks[k]
	if !ok {
		t = Task{ID: id, Dir: e.Dir, By: e.Dir.Sender(), Since: e.Seq}
	}
	if s.statuses[t.Status]--; s.statuses[t.Status] <= 0 {
		delete(s.statuses, t.Status)
	}
	s.statuses[status]++
	t.Status, t.Message, t.Told = status, text(transport.Member(raw, "statusMessage")), e.Seq
	s.tasks[k] = t
}
