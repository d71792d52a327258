package state

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// View is a State as a reader gets it: lists in the order in which things began. Its
// JSON form is stable.
type View struct {
	Seq           uint64         `json:"seq"`
	At            string         `json:"at"` // a Go duration
	Revision      string         `json:"revision"`
	Client        Peer           `json:"client"`
	Server        Peer           `json:"server"`
	LogLevel      string         `json:"log_level,omitempty"`
	Calls         []Call         `json:"calls"`
	Subscriptions []Subscription `json:"subscriptions"`
	Tasks         []Task         `json:"tasks"`
	Queues        []Queue        `json:"queues"`
	Streams       []Stream       `json:"streams"`
	Ended         Ended          `json:"ended"`
	Frames        Frames         `json:"frames"`
	Failures      uint64         `json:"failures"` // answers that are errors, of the protocol or of a tool
	Lost          uint64         `json:"lost"`     // events that could not be recorded
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
	Cancelled uint64          `json:"cancelled,omitempty"` // the event that did
	Cut       uint64          `json:"cut,omitempty"`       // the event that ended its HTTP exchange

	waited time.Duration
}

// Queue has the frames of a direction that nothing shows its receiver to have taken.
type Queue struct {
	Dir       string `json:"dir"`
	Stream    uint64 `json:"stream,omitempty"`
	Frames    int    `json:"frames"`
	First     uint64 `json:"first"`
	Last      uint64 `json:"last"`
	Delivered uint64 `json:"delivered,omitempty"` // the last delivered event of the direction
	Blocked   string `json:"blocked,omitempty"`   // how long the write of that had blocked
}

// Ended says what is over.
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

// View returns the state as lists.
func (s *State) View() View {
	v := View{
		Seq: s.seq, At: s.at.String(), Revision: s.revision,
		Client: s.peers[transport.ClientToServer], Server: s.peers[transport.ServerToClient], LogLevel: s.logLevel,
		Calls: []Call{}, Subscriptions: slices.Collect(maps.Values(s.subscriptions)), Tasks: slices.Collect(maps.Values(s.tasks)),
		Queues: []Queue{}, Streams: slices.Collect(maps.Values(s.streams)),
		Ended:  Ended{s.ended[transport.ClientToServer], s.ended[transport.ServerToClient], s.exit, s.sealed},
		Frames: Frames{s.frames[transport.ClientToServer], s.frames[transport.ServerToClient]}, Failures: s.failures, Lost: s.lost,
	}
	for _, list := range s.calls {
		for _, x := range list {
			switch {
			case x.closed:
			case x.method == methodListen:
				v.Subscriptions = append(v.Subscriptions, x.subscription())
			default:
				v.Calls = append(v.Calls, x.view(s.at))
			}
		}
	}
	for l, q := range s.lanes {
		v.Queues = append(v.Queues, q.view(l, s.blocked[l.dir]))
	}
	v.sort()
	return v
}

// sort puts everything into the order in which it began.
func (v *View) sort() {
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
	if v.Subscriptions == nil {
		v.Subscriptions = []Subscription{}
	}
	if v.Tasks == nil {
		v.Tasks = []Task{}
	}
	if v.Streams == nil {
		v.Streams = []Stream{}
	}
}

func (x *call) view(now time.Duration) Call {
	return Call{
		Request: x.seq, Dir: x.dir.String(), ID: raw(x.raw), Method: x.method, Target: x.target, Stream: x.stream,
		Waited: (now - x.at).String(), Token: raw(x.rawToken), Reports: x.reports, Progress: raw(x.progress), Total: raw(x.total),
		Message: x.message, Cancelled: x.cancelled, Cut: x.cut, waited: now - x.at,
	}
}

func (x *call) subscription() Subscription {
	return Subscription{
		Listen: raw(x.raw), Filter: raw(x.filter), Since: x.seq, Pending: x.acknowledged == 0, Notified: x.notified,
	}
}

func (q queue) view(l lane, b stall) Queue {
	v := Queue{Dir: l.dir.String(), Stream: l.stream, Frames: len(q), First: q[0], Last: q[len(q)-1], Delivered: b.seq}
	if b.blocked > 0 {
		v.Blocked = b.blocked.String()
	}
	return v
}

// raw is JSON as it was written; none is left out.
func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}
