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
	// Lost is the event behind the request that says that messages of the other end are missing:
	// the answer may be one of them. 0: none is missing.
	Lost uint64 `json:"lost,omitempty"`

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
}

// Task is a task and its latest status.
type Task struct {
	ID      string              `json:"id"`
	Dir     transport.Direction `json:"-"` // of the messages with its status
	By      string              `json:"by"`
	Status  string              `json:"status"`
	Message string              `json:"message,omitempty"`
	Since   uint64              `json:"since"` // the first event with the task
	Told    uint64              `json:"told"`  // the last event with the status
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
	Delivered uint64 `json:"delivered,omitempty"` // the last delivered event of the direction
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
	v := View{
		Seq: s.seq, At: s.at.String(), Revision: s.revision,
		Client: s.peers[transport.ClientToServer], Server: s.peers[transport.ServerToClient], LogLevel: s.logLevel,
		Calls: []Call{}, Subscriptions: slices.AppendSeq([]Subscription{}, maps.Values(s.subscriptions)),
		Tasks: slices.AppendSeq([]Task{}, maps.Values(s.tasks)), Queues: []Queue{},
		Streams: slices.AppendSeq([]Stream{}, maps.Values(s.streams)),
		Ended:   Ended{s.ended[transport.ClientToServer], s.ended[transport.ServerToClient], s.exit, s.sealed},
		Frames:  Frames{s.frames[transport.ClientToServer], s.frames[transport.ServerToClient]}, Failures: s.failures, Lost: s.lost,
	}
	if now > s.at {
		v.Now = now.String()
	}
	for _, c := range s.calls.all() {
		if c.Method == mcp.MethodListen {
			v.Subscriptions = append(v.Subscriptions, Subscription{
				Listen: raw(c.ID), Filter: raw(c.filter), Since: c.Request, Pending: c.acknowledged == 0, Notified: c.notified,
			})
			continue
		}
		waited := max(now, s.at) - c.At
		lost := s.gaps[c.Dir.Reverse()]
		if lost < c.Request {
			lost = 0
		}
		progress, total, message := c.shownProgress(s.mask)
		v.Calls = append(v.Calls, Call{
			Request: c.Request, Dir: c.Dir.String(), ID: raw(c.ID), Method: c.Method, Target: c.Target, Stream: c.Stream,
			Waited: waited.String(), Token: raw(c.Token), Reports: c.reports, Progress: raw(progress),
			Total: raw(total), Message: message, Cancelled: c.cancelled, Cut: c.cut, Lost: lost, waited: waited,
		})
	}
	for l, seqs := range s.queues.lanes {
		blocked := s.blocked[l.dir]
		queue := Queue{Dir: l.dir.String(), Stream: l.stream, Frames: seqs.size, First: seqs.first(), Last: seqs.last(), Delivered: blocked.seq}
		if blocked.blocked > 0 {
			queue.Blocked = blocked.blocked.String()
		}
		v.Queues = append(v.Queues, queue)
	}
	slices.SortFunc(v.Calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Request, b.Request), strings.Compare(string(a.ID), string(b.ID)), strings.Compare(a.Target, b.Target))
	})
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

// raw returns JSON as it was written, nil for "".
func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// Fact is a line about the state of a session.
type Fact struct {
	Topic string `json:"topic"` // calls, tasks, …
	Key   string `json:"key"`   // the same while the fact lasts; unique in its Topic
	Text  string `json:"text"`
	Since string `json:"since,omitempty"` // how long it has lasted; Diff ignores it
}

// Topics returns the topics of facts in the order of [View.Facts].
func Topics() []string { return slices.Clone(topics) }

// topics lists the topics of facts in order.
var topics = []string{
	"revision", "client", "server", "log level", "call", "subscription", "task", "queue", "stream", "frames", "failures", "lost", "ended",
}

// String returns the fact as a line.
func (f Fact) String() string {
	return fmt.Sprintf("%-13s %s%s", f.Topic, f.Text, f.Since)
}

// Facts lists the facts of a view by topic.
func (v View) Facts() []Fact {
	facts := []Fact{
		{Topic: "revision", Text: clip(cmp.Or(v.Revision, "(none)"))},
		{Topic: "client", Text: v.Client.String()},
		{Topic: "server", Text: v.Server.String()},
	}
	add := func(topic, key, format string, args ...any) {
		facts = append(facts, Fact{Topic: topic, Key: key, Text: fmt.Sprintf(format, args...)})
	}
	if v.LogLevel != "" {
		add("log level", "", "%s", clip(v.LogLevel))
	}
	same := 0 // earlier calls of the same frame: the calls of a batch may share an id
	for i, c := range v.Calls {
		same++
		if i == 0 || v.Calls[i-1].Request != c.Request {
			same = 0
		}
		facts = append(facts, Fact{"call", fmt.Sprintf("%d %s %d", c.Request, c.ID, same), c.String(), ", open for " + phrase.Brief(c.waited).String()})
	}
	for _, s := range v.Subscriptions {
		add("subscription", fmt.Sprintf("%s %s %d", s.URI, s.Listen, s.Since), "%v", s)
	}
	for _, t := range v.Tasks {
		add("task", t.By+" "+t.ID, "%v", t)
	}
	for _, q := range v.Queues {
		if v.Ended.Sealed && len(v.Calls) == 0 {
			break // nobody waited for these frames
		}
		add("queue", fmt.Sprintf("%s %d", q.Dir, q.Stream), "%v", q)
	}
	for _, s := range v.Streams {
		add("stream", strconv.FormatUint(s.Number, 10), "%v", s)
	}
	for _, l := range v.Lines {
		add("line", l.Pipe, "%s, %d B without an end, since %s, for %s", l.Pipe, l.Bytes, l.Since, l.Open)
	}
	add("frames", "", "%d c2s, %d s2c", v.Frames.C2S, v.Frames.S2C)
	if v.Failures > 0 {
		add("failures", "", "%d", v.Failures)
	}
	if v.Lost > 0 {
		add("lost", "", "%s", phrase.Plural(v.Lost, "event"))
	}
	if v.Ended != (Ended{}) {
		add("ended", "", "%v", v.Ended)
	}
	return facts
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
	const most = 20 // capabilities, in the peer's own order, each with its members
	dec := json.NewDecoder(bytes.NewReader(p.Capabilities))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return s
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
	if len(names) > 0 {
		s += ", can " + strings.Join(names, ", ")
	}
	return s
}

// String describes a call without the waiting time.
func (c Call) String() string {
	s := clip(c.Method)
	if c.Target != "" {
		s += " " + strconv.Quote(shorten(c.Target))
	}
	s += fmt.Sprintf(" id %s, %s, asked as #%d", clip(string(c.ID)), c.Dir, c.Request)
	if c.Reports > 0 {
		s += fmt.Sprintf(", progress %s", clip(string(c.Progress)))
		if c.Total != nil {
			s += " of " + clip(string(c.Total))
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
		what = fmt.Sprintf("listen id %s %s", clip(string(s.Listen)), clip(string(s.Filter)))
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
	s := fmt.Sprintf("%s to the %s, #%d", phrase.Plural(q.Frames, "frame"), dir.Receiver(), q.First)
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
	return fmt.Sprintf("%s since #%d, frames: %d c2s, %d s2c", text, s.Since, s.C2S, s.S2C)
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

// Change is a difference between two points of a session.
type Change struct {
	Topic  string `json:"topic"`
	Before string `json:"before,omitempty"` // "": it did not hold
	After  string `json:"after,omitempty"`  // "": it no longer holds
}

// Diff lists the different facts by topic: first changed facts, then new facts.
func Diff(before, after View) []Change {
	type name struct{ topic, key string }
	now := map[name]Fact{}
	later := after.Facts()
	for _, f := range later {
		now[name{f.Topic, f.Key}] = f
	}
	changes := []Change{}
	was := map[name]bool{}
	for _, f := range before.Facts() {
		n := name{f.Topic, f.Key}
		was[n] = true
		if g := now[n]; g.Text != f.Text {
			changes = append(changes, Change{f.Topic, f.Text, g.Text})
		}
	}
	for _, f := range later {
		if !was[name{f.Topic, f.Key}] {
			changes = append(changes, Change{Topic: f.Topic, After: f.Text})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Compare(slices.Index(topics, a.Topic), slices.Index(topics, b.Topic))
	})
	return changes
}
