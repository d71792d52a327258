package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// View is a State as lists, each in the order in which the elements began. The JSON form is
// stable.
type View struct {
	Seq           uint64         `json:"seq"`
	At            string         `json:"at"`            // a Go duration
	Now           string         `json:"now,omitempty"` // of a live session: when it was asked
	Revision      string         `json:"revision"`
	Client        Peer           `json:"client"`
	Server        Peer           `json:"server"`
	LogLevel      string         `json:"log_level,omitempty"`
	Calls         []Call         `json:"calls"`
	Subscriptions []Subscription `json:"subscriptions"`
	Tasks         []Task         `json:"tasks"`
	Queues        []Queue        `json:"queues"`
	Streams       []Stream       `json:"streams"`
	Lines         []Line         `json:"lines,omitempty"` // of a live session
	Ended         Ended          `json:"ended"`
	Frames        Frames         `json:"frames"`
	Failures      uint64         `json:"failures"` // error responses, and tool results that are errors
	Lost          uint64         `json:"lost"`     // events that could not be recorded
}

// Peer is an end, as it introduced itself.
type Peer struct {
	Name         string          `json:"name,omitempty"`
	Version      string          `json:"version,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`

	info string // raw, so that an unchanged one is not parsed again
	can  string // the capabilities in words
}

// update keeps an end's name and capabilities; nil keeps the old ones.
func (p *Peer) update(info, capabilities json.RawMessage) {
	if info != nil && string(info) != p.info {
		p.info = string(info)
		p.Name = transport.MemberText(info, "name")
		p.Version = transport.MemberText(info, "version")
	}
	if capabilities != nil && !bytes.Equal(capabilities, p.Capabilities) {
		p.Capabilities = bytes.Clone(capabilities)
		p.can = inWords(capabilities)
	}
}

// Line is a line of a pipe without an end so far.
type Line struct {
	Pipe  string `json:"pipe"` // c2s, s2c or stderr
	Bytes int64  `json:"bytes"`
	Since string `json:"since"` // its first byte; a Go duration since the start
	Open  string `json:"open"`  // a Go duration, to now
}

// Call is a request without an answer.
type Call struct {
	Request   uint64          `json:"request"` // its event
	Dir       string          `json:"dir"`
	ID        json.RawMessage `json:"id"`
	Method    string          `json:"method"`
	Target    string          `json:"target,omitempty"`
	Stream    uint64          `json:"stream,omitempty"`
	Waited    string          `json:"waited"` // a Go duration
	Token     json.RawMessage `json:"token,omitempty"`
	Reports   uint64          `json:"reports,omitempty"` // progress notifications
	Progress  json.RawMessage `json:"progress,omitempty"`
	Total     json.RawMessage `json:"total,omitempty"`
	Message   string          `json:"message,omitempty"`
	Cancelled uint64          `json:"cancelled,omitempty"` // the event
	Cut       uint64          `json:"cut,omitempty"`       // the event at the end of its HTTP exchange
	// Lost is the first event behind the request that says that messages of the other end are missing:
	// the answer may be one of them. 0: none is missing.
	Lost uint64 `json:"lost,omitempty"`

	number int           // of the call in its session
	asked  time.Duration // when
	waited time.Duration
}

// Subscription is a subscription to a resource, or of a listen request.
type Subscription struct {
	URI      string          `json:"uri,omitempty"`
	Listen   json.RawMessage `json:"listen,omitempty"` // the id of the listen request
	Filter   json.RawMessage `json:"filter,omitempty"` // of the listen request
	Since    uint64          `json:"since"`            // the first event, the listen request's own
	Pending  bool            `json:"pending,omitempty"`
	Notified uint64          `json:"notified"` // notifications so far

	number int // of the listen request in its session
}

// Task is a task and its latest status.
type Task struct {
	ID      string              `json:"id"`
	Dir     transport.Direction `json:"-"` // of the messages with its status
	By      string              `json:"by"`
	Status  string              `json:"status"`
	Message string              `json:"message,omitempty"`
	Since   uint64              `json:"since"`    // the first event with the task
	Told    uint64              `json:"reported"` // the last event with the status
}

// Stream is an HTTP exchange before the response, or with an open stream of events as the
// response. A response with a single body ends the exchange: not every recorder writes an
// event at the end of a body.
type Stream struct {
	Number uint64 `json:"stream"`
	Method string `json:"method,omitempty"`
	Path   string `json:"path,omitempty"`
	Status int    `json:"status,omitempty"` // of the response; 0: none has begun
	Since  uint64 `json:"since"`
	C2S    uint64 `json:"c2s"` // frames
	S2C    uint64 `json:"s2c"`
}

// Queue holds the frames of a direction not yet shown to be taken.
type Queue struct {
	Dir       string `json:"dir"`
	Stream    uint64 `json:"stream,omitempty"`
	Frames    int    `json:"frames"`
	First     uint64 `json:"first"`
	Last      uint64 `json:"last"`
	Delivered uint64 `json:"delivered,omitempty"` // the last delivered event of the queue
	Blocked   string `json:"blocked,omitempty"`   // how long the write had blocked
}

// Ended says which parts of the session are over.
type Ended struct {
	C2S    string `json:"c2s,omitempty"` // who ended the direction: sender, receiver or recorder
	S2C    string `json:"s2c,omitempty"`
	Exit   string `json:"exit,omitempty"` // of the server's process
	Sealed bool   `json:"sealed,omitempty"`
}

// Frames counts frames.
type Frames struct {
	C2S uint64 `json:"c2s"`
	S2C uint64 `json:"s2c"`
}

// View returns the state as lists. For a session that goes on, now is the present time since
// its start, and what is open has waited until then; 0, or a time before the last event, is that
// of the last event.
func (s *State) View(now time.Duration) View {
	v := s.viewWithoutLists()
	v.Calls = []Call{}
	v.Subscriptions = slices.AppendSeq([]Subscription{}, maps.Values(s.subscriptions))
	v.Tasks = slices.AppendSeq([]Task{}, maps.Values(s.tasks))
	v.Queues = []Queue{}
	v.Streams = slices.AppendSeq([]Stream{}, maps.Values(s.streams))
	if now > s.at {
		v.Now = now.String()
	}
	for _, c := range s.calls.all() {
		if c.Method == mcp.MethodListen {
			v.Subscriptions = append(v.Subscriptions, c.subscription())
		} else {
			v.Calls = append(v.Calls, s.viewOfCall(c, now))
		}
	}
	for l := range s.queues.lanes {
		v.Queues = append(v.Queues, s.viewOfQueue(l))
	}
	slices.SortFunc(v.Subscriptions, func(a, b Subscription) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.URI, b.URI), strings.Compare(string(a.Listen), string(b.Listen)))
	})
	slices.SortFunc(v.Tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), strings.Compare(a.ID, b.ID), strings.Compare(a.By, b.By))
	})
	slices.SortFunc(v.Queues, func(a, b Queue) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), strings.Compare(a.Dir, b.Dir))
	})
	slices.SortFunc(v.Streams, func(a, b Stream) int { return cmp.Compare(a.Number, b.Number) })
	return v
}

// viewWithoutLists returns the state but for its lists.
func (s *State) viewWithoutLists() View {
	return View{
		Seq: s.seq, At: s.at.String(), Revision: s.revision,
		Client: s.peers[transport.ClientToServer], Server: s.peers[transport.ServerToClient], LogLevel: s.logLevel,
		Ended:  Ended{s.ended[transport.ClientToServer], s.ended[transport.ServerToClient], s.exit, s.sealed},
		Frames: Frames{s.frames[transport.ClientToServer], s.frames[transport.ServerToClient]}, Failures: s.failures, Lost: s.lost,
	}
}

// viewOfCall returns an open call as it stands. See View for now.
func (s *State) viewOfCall(c *call, now time.Duration) Call {
	waited := max(now, s.at) - c.At
	progress, total, message := c.shownProgress(s.mask)
	return Call{
		Request: c.Request, Dir: c.Dir.String(), ID: raw(c.ID), Method: c.Method, Target: c.Target, Stream: c.Stream,
		Waited: waited.String(), Token: raw(c.Token), Reports: c.reports, Progress: raw(progress),
		Total: raw(total), Message: message, Cancelled: c.cancelled, Cut: c.cut, Lost: s.gaps.behind(c),
		number: c.Number(), asked: c.At, waited: waited,
	}
}

// subscription returns a listen request as the subscription that it is.
func (c *call) subscription() Subscription {
	return Subscription{
		Listen: raw(c.ID), Filter: c.filter, Since: c.Request, Pending: c.acknowledged == 0, Notified: c.notified, number: c.Number(),
	}
}

// viewOfQueue returns the queue of a lane that has one.
func (s *State) viewOfQueue(l lane) Queue {
	seqs := s.queues.lanes[l]
	blocked := s.blocked[l]
	queue := Queue{Dir: l.dir.String(), Stream: l.stream, Frames: seqs.size, First: seqs.first(), Last: seqs.last(), Delivered: blocked.seq}
	if blocked.blocked > 0 {
		queue.Blocked = blocked.blocked.String()
	}
	return queue
}

// raw returns JSON as it was written, nil for "".
func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// String names a peer and the peer's capabilities.
func (p Peer) String() string {
	s := strings.TrimSpace(clip(p.Name) + " " + clip(p.Version))
	switch {
	case s == "" && p.info == "" && p.Capabilities == nil:
		return "(not known)"
	case s == "":
		s = "(no name)"
	}
	if p.can != "" {
		s += ", can " + p.can
	}
	return s
}

// inWords names at most 20 capabilities, in the peer's own order, each with its members.
func inWords(capabilities json.RawMessage) string {
	const most = 20
	dec := json.NewDecoder(bytes.NewReader(capabilities))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	var names []string
	for dec.More() && len(names) <= most {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break
		}
		name := clip(fmt.Sprint(key))
		var b bytes.Buffer
		if json.Compact(&b, value) == nil && b.String() != "{}" && b.String() != "true" {
			name += " " + clip(b.String())
		}
		names = append(names, name)
	}
	if len(names) > most {
		names[most] = "…"
	}
	return strings.Join(names, ", ")
}

// String describes a call without the waiting time.
func (c Call) String() string {
	s := clip(c.Method)
	if c.Target != "" {
		s += " " + strconv.Quote(shorten(c.Target))
	}
	s += fmt.Sprintf(" id %s, %s, asked as #%d", clipJSON(c.ID), c.Dir, c.Request)
	if c.Reports > 0 {
		s += fmt.Sprintf(", progress %s", clipJSON(c.Progress))
		if c.Total != nil {
			s += " of " + clipJSON(c.Total)
		}
		if c.Message != "" {
			s += " " + strconv.Quote(shorten(c.Message))
		}
	}
	if c.Cancelled != 0 {
		s += fmt.Sprintf(", cancelled as #%d", c.Cancelled)
	}
	if c.Cut != 0 {
		s += fmt.Sprintf(", its exchange ended as #%d", c.Cut)
	}
	if c.Lost != 0 {
		dir, _ := transport.ParseDirection(c.Dir) // of a view
		s += fmt.Sprintf(", perhaps answered: the log lacks a message of the %s behind it (#%d)", dir.Receiver(), c.Lost)
	}
	return s
}

// String describes a subscription.
func (s Subscription) String() string {
	what := "resource " + strconv.Quote(shorten(s.URI))
	if s.Listen != nil {
		what = fmt.Sprintf("listen id %s %s", clipJSON(s.Listen), clipJSON(s.Filter))
	}
	what += fmt.Sprintf(" since #%d", s.Since)
	if s.Pending {
		return what + ", not acknowledged"
	}
	return what + ", " + phrase.Plural(s.Notified, "notification")
}

// String describes a task.
func (t Task) String() string {
	s := fmt.Sprintf("%s of the %s: %s (#%d)", clip(t.ID), t.By, clip(t.Status), t.Told)
	if t.Message != "" {
		s += " " + strconv.Quote(shorten(t.Message))
	}
	return s
}

// String describes a queue.
func (q Queue) String() string {
	dir, _ := transport.ParseDirection(q.Dir) // of a view
	s := fmt.Sprintf("%s to the %s, #%d", phrase.Plural(q.Frames, "message"), dir.Receiver(), q.First)
	if q.Stream != 0 {
		s = fmt.Sprintf("[%d] %s", q.Stream, s)
	}
	if q.Frames > 1 {
		s += fmt.Sprintf(" to #%d", q.Last)
	}
	s += ", which it may not have read yet"
	if q.Blocked != "" {
		s += fmt.Sprintf("; a write had blocked for %s (#%d)", q.Blocked, q.Delivered)
	}
	return s
}

// String describes an exchange.
func (s Stream) String() string {
	text := strings.TrimSpace(fmt.Sprintf("[%d] %s %s", s.Number, clip(s.Method), clip(s.Path)))
	if s.Status != 0 {
		text += fmt.Sprintf(" %d", s.Status)
	}
	return fmt.Sprintf("%s since #%d, messages: %d c2s, %d s2c", text, s.Since, s.C2S, s.S2C)
}

// String names the parts that are over.
func (e Ended) String() string {
	var parts []string
	if e.C2S != "" {
		parts = append(parts, timeline.EndOf(transport.ClientToServer, e.C2S))
	}
	if e.S2C != "" {
		parts = append(parts, timeline.EndOf(transport.ServerToClient, e.S2C))
	}
	if e.Exit != "" {
		parts = append(parts, "the server ended: exit "+clip(e.Exit))
	}
	if e.Sealed {
		parts = append(parts, "the recording is whole")
	}
	return strings.Join(parts, ", ")
}

// textLimit is the length of a peer's text in a fact.
const textLimit = 60

func clip(s string) string    { return phrase.Clip(s, textLimit) }
func shorten(s string) string { return phrase.Shorten(s, textLimit) }

// clipJSON clips without a copy of the whole.
func clipJSON(raw json.RawMessage) string { return clip(string(raw[:min(len(raw), textLimit+1)])) }
