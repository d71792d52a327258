package timeline

import (
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Exit is the end of the process that runs a server on pipes. It is not the end of what the server
// says: the last lines may still lie in the pipe, and where the process was a launcher, such as npx or a
// shell, another process has its output and goes on.
type Exit struct {
	Seq    uint64 // 0: no process has ended
	At     time.Duration
	Info   store.ExitInfo
	Before Moment // the event before

	open    time.Duration // when the server's output was last seen open
	over    bool          // it has ended
	left    bool          // the client has closed its output
	blocked time.Duration // how long the client did not take it since
	waits   bool          // the client does not take it now
}

// Outlives is how long behind the end of its process the output of a server is open that another
// process holds. What the process itself has written is read sooner, and a recorder gives up a silent
// output sooner.
const Outlives = 2 * time.Second

// Outlived reports whether another process had the server's output and went on: the end of the
// process ended nothing. now is the present of a live session, or 0.
func (x *Exit) Outlived(now time.Duration) bool {
	open := x.open
	if !x.over && !x.waits {
		open = max(open, now)
	}
	return x.Seq != 0 && open-x.At-x.blocked >= Outlives
}

// IsFinal reports whether the end of the process was the end of what the server says. now is the present of
// a live session, in which others may have the output of the process as long as it is open, or 0.
func (x *Exit) IsFinal(now time.Duration) bool {
	return x.Seq != 0 && (x.over || x.waits || now == 0) && !x.Outlived(0)
}

// take notes an event; before is the one before it. isJSON is false for a frame that is no message.
func (x *Exit) take(step *Step, before Moment, isJSON bool) {
	switch e := step.Event; {
	case e.Kind == store.Exited:
		if info, err := store.DecodePayload[store.ExitInfo](e); err == nil {
			*x = Exit{Seq: e.Seq, At: e.At, Info: info, Before: before, over: x.over, left: x.left, waits: x.waits}
		}
	case e.Kind == store.EOF:
		if info, err := store.DecodePayload[store.EOFInfo](e); err == nil {
			x.onEOF(step, info.By)
		}
	case e.Dir != transport.ServerToClient || e.Stream != 0:
	case e.Kind == store.Frame && isJSON:
		x.open = e.At
	case e.Kind == store.Stalled:
		if info, err := store.DecodePayload[store.StalledInfo](e); err == nil {
			x.waits = info.Blocked && !info.Over
		}
	case e.Kind == store.Delivered:
		x.waits = false
		if info, err := store.DecodePayload[store.DeliveredInfo](e); err == nil && x.Seq != 0 {
			x.blocked += info.Blocked
		}
	}
}

// onEOF notes the end of a direction. A recorder gives up an output that others hold, if none of them can read
// what the client sends, or when the client has left: only that tells that there was another server.
func (x *Exit) onEOF(step *Step, by string) {
	switch {
	case step.Dir == transport.ClientToServer:
		x.left = x.left || by == "sender"
	case by == "receiver":
	default:
		x.over = true
		if by == "sender" || x.left {
			x.open = step.At
		}
	}
}
