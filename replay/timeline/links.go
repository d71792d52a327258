package timeline

import (
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Role is how a message belongs to a call.
type Role uint8

const (
	Unlinked     Role = iota // the message belongs to no call
	Asks                     // the request
	Answers                  // the response
	AnswersAgain             // a response after the response
	Reports                  // progress
	Cancels                  // a cancellation of the open call
	CancelsPast              // a cancellation after the response
)

// Link says which call a message belongs to.
type Link struct {
	Call *Call // nil if the message belongs to no call
	Role Role
	Late bool // a response after the call was answered or cancelled, or progress after it was answered
}

// Linker links the messages of a session to their calls, for projections that need no texts.
// It fills in Dir, Method, Request, At and Stream of a new Call, and later Response, Cancelled
// and Late. [NewLinker] makes it.
type Linker struct {
	index Index[mcp.Key, *Call]
	asked int // requests so far
}

// rememberedCalls is how many calls a Linker remembers after their end, to link late
// progress, a late cancellation or a second answer.
const rememberedCalls = 64

// NewLinker returns a linker that remembers the open calls and the latest 64 past ones.
func NewLinker() Linker { return newLinker(rememberedCalls) }

func newLinker(remember int) Linker { return Linker{index: NewIndex[mcp.Key, *Call](remember)} }

// Message links the next message of the session. The event is the frame that holds it.
func (l *Linker) Message(event store.Event, message *transport.Message) (link Link) {
	switch message.Kind() {
	case transport.Request:
		link = Link{Call: l.request(event, message), Role: Asks}
	case transport.Response:
		link = l.response(event, message)
	case transport.Notification:
		link = l.notification(event, message)
	}
	if link.Late {
		link.Call.Late = true
	}
	return link
}

func (l *Linker) request(event store.Event, message *transport.Message) *Call {
	call := &Call{
		Dir: event.Dir, Method: message.Method, Request: event.Seq, At: event.At, Stream: event.Stream, number: l.asked,
		id: mcp.KeyOf(message.ID), token: mcp.KeyOf(message.ProgressToken()),
	}
	l.asked++
	l.index.Ask(event.Dir, event.Stream, call.id, call.token, call)
	return call
}

func (l *Linker) response(event store.Event, message *transport.Message) Link {
	dir := event.Dir.Reverse()
	id := mcp.KeyOf(message.ID)
	if call, ok := l.index.Answer(dir, event.Stream, id); ok {
		call.Response = event.Seq
		return Link{Call: call, Role: Answers, Late: 0 < call.Cancelled && call.Cancelled < event.Seq}
	}
	if call, ok := l.index.Past(dir, event.Stream, id); ok {
		return Link{Call: call, Role: AnswersAgain, Late: true}
	}
	return Link{}
}

func (l *Linker) notification(event store.Event, message *transport.Message) Link {
	switch message.Method {
	case mcp.NotificationProgress:
		token := message.ProgressToken()
		if len(token) == 0 {
			return Link{}
		}
		if call, ok := l.index.Progress(event.Dir.Reverse(), event.Stream, mcp.KeyOf(token)); ok {
			return Link{Call: call, Role: Reports, Late: 0 < call.Response && call.Response < event.Seq}
		}
	case mcp.NotificationCancelled:
		id := CancelledID(*message)
		if id == nil {
			return Link{}
		}
		if call, ok := l.index.Cancel(event.Dir, mcp.KeyOf(id)); ok {
			call.Cancelled = event.Seq
			return Link{Call: call, Role: Cancels}
		}
		if call, ok := l.index.Past(event.Dir, 0, mcp.KeyOf(id)); ok {
			return Link{Call: call, Role: CancelsPast}
		}
	}
	return Link{}
}

// Follow applies an HTTP event. If that is a failure status, Follow returns the status and the
// calls that it answers, in the order of their requests.
func (l *Linker) Follow(event store.Event) (refused []*Call, status int) {
	if event.Kind != store.HTTP {
		return nil, 0
	}
	refused, status = l.index.Follow(event)
	slices.SortFunc(refused, func(a, b *Call) int { return a.number - b.number })
	for _, call := range refused {
		call.Response = event.Seq
	}
	return refused, status
}
