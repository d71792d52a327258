package push

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/stream"
)

// The functions of this file decide. They do no I/O and read no clock.

// A batch leaves batchAge after its first event was read, or when it is full. What a message costs three
// servers is spread over many events where there are many, and long chunks are shorter in sum.
const (
	batchAge    = 100 * time.Millisecond
	batchEvents = 256
	batchBytes  = 512 << 10 // of payloads; a larger event is a batch of its own
)

// batchSize is what counts of a batch.
type batchSize struct {
	events int
	bytes  int
}

// takes reports whether an event with a payload of so many bytes may join the batch.
func (s batchSize) takes(bytes int) bool {
	return s.events == 0 || !s.full() && s.bytes+bytes <= batchBytes
}

// full reports whether the batch leaves without further events.
func (s batchSize) full() bool { return s.events >= batchEvents || s.bytes >= batchBytes }

// Pauses between two tries double, from firstPause to longestPause.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// pauseAfter returns the pause after so many failures in a row. random is from 0 to 1, and takes up
// to half of the pause away, so that many machines do not come back at once.
func pauseAfter(failures int, random float64) time.Duration {
	pause := longestPause
	if failures < 8 { // 100 ms doubled seven times is more than the longest
		pause = min(firstPause<<max(failures-1, 0), longestPause)
	}
	return pause - time.Duration(random*float64(pause/2))
}

// callTime is how long one call of the stream may take: then its outcome is unknown.
func callTime(bytes int) time.Duration {
	return 30*time.Second + time.Duration(bytes/(256<<10))*time.Second
}

// action is what follows after an error of the stream.
type action string

const (
	actRetry  action = "retry"  // the same call, after a pause
	actReopen action = "reopen" // the connection is of no use any more: a new one, after a pause
	actReread action = "reread" // the stream's log is shorter than it was: append again from its end
	actSplit  action = "split"  // one event at a time
	actCut    action = "cut"    // this event is too large: cut it
	actStop   action = "stop"   // no further try for now
)

// reopenAfter is how many failures in a row make a new connection worth a try.
const reopenAfter = 12

// decide returns the action after an error of a call that would append so many events behind event
// `after`. failures counts this one.
func decide(err error, after uint64, events, failures int) action {
	conflict := (*store.ConflictError)(nil)
	local := (*localError)(nil)
	switch {
	case errors.As(err, &local), errors.Is(err, store.ErrNewer):
		return actStop
	case errors.As(err, &conflict):
		if conflict.Head.Seq < after {
			return actReread
		}
		return actStop
	case errors.Is(err, stream.ErrTooLarge) && events > 1:
		return actSplit
	case errors.Is(err, stream.ErrTooLarge) && events == 1:
		return actCut
	case errors.Is(err, store.ErrClosed), failures > 0 && failures%reopenAfter == 0:
		return actReopen
	}
	return actRetry
}

// cutTo is how much of the payload an event keeps that is too large for the stream.
const cutTo = 256 << 10

// cut returns an event with the beginning of its payload, or false for an event that cannot be cut.
func cut(event store.Event, size int) (store.Event, bool) {
	if event.Kind != store.Frame && event.Kind != store.Stderr || len(event.Payload) <= size {
		return event, false
	}
	event.Cut += uint64(len(event.Payload) - size)
	event.Payload = event.Payload[:size:size]
	return event, true
}

// sameLog reports whether a log of the stream that ends with head is a beginning of our log. ours is the
// head of our log at the same event. acknowledged is the last head that the stream has acknowledged: our
// events may be masked in another way by now, by newer rules.
func sameLog(head, ours, acknowledged store.Head) bool {
	same := func(known store.Head) bool { return known.Seq == head.Seq && known.Chain == head.Chain }
	return same(ours) || same(acknowledged)
}

// due says what a push does next for a session whose recorder has ended.
type due string

const (
	toShip    due = "ship" // it is not complete in the stream
	toHold    due = "hold" // it is complete, but not for long enough
	toLook    due = "look" // it is done if the stream still has it
	isDone    due = "done"
	isRefused due = "refused" // another recording has its id
)

// due returns what is due, and for toHold the time left. events is the number of events here, and elapsed the
// time since the last acknowledgement, see [state.elapsed].
func (s *state) due(events uint64, elapsed, holdBack time.Duration) (due, time.Duration) {
	switch {
	case s.Stopped != "":
		return isRefused, 0
	case !s.Complete || s.Head.Seq < events:
		return toShip, 0
	case s.Done:
		return isDone, 0
	case elapsed < holdBack:
		return toHold, holdBack - elapsed
	}
	return toLook, 0
}

// isAt reports whether head, which the stream shows, is the end that it has acknowledged.
func (s *state) isAt(head store.Head) bool {
	return head.Seq == s.Head.Seq && head.Chain == [32]byte(s.Head.Chain)
}

// sizeText returns a number of bytes for people.
func sizeText(bytes int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(bytes)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}
