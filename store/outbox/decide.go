package outbox

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
)

// The functions of this file decide. They do no I/O and read no clock.

// A batch leaves when its first event has waited for batchAge, or when it is full. What a message costs
// three servers is spread over many events where there are many, and long chunks are shorter in sum.
const (
	batchAge    = 100 * time.Millisecond
	batchEvents = 256
	batchBytes  = 512 << 10 // of payloads; a larger event is a batch of its own
)

// leastWait is how long a batch waits for more events although its first is old already, so that a session
// that is behind fills its batches.
const leastWait = batchAge / 2

// batchWait returns how long a batch waits for more events. age is the time since its first event was recorded.
func batchWait(age time.Duration) time.Duration { return min(max(batchAge-age, leastWait), batchAge) }

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
// to half of the pause away, so that many recorders do not come back at once.
func pauseAfter(failures int, random float64) time.Duration {
	pause := longestPause
	if failures < 8 { // 100 ms doubled seven times is more than the longest
		pause = min(firstPause<<max(failures-1, 0), longestPause)
	}
	return pause - time.Duration(random*float64(pause/2))
}

// callTime is how long one call of the shared store may take: then its outcome is unknown.
func callTime(bytes int) time.Duration {
	return 30*time.Second + time.Duration(bytes/(256<<10))*time.Second
}

// action is what follows after an error of the shared store.
type action string

const (
	actRetry  action = "retry"  // the same call, after a pause
	actReopen action = "reopen" // the connection is of no use any more: a new one, after a pause
	actReread action = "reread" // the shared log is shorter than it was: append again from its end
	actSplit  action = "split"  // one event at a time
	actCut    action = "cut"    // this event is too large: cut it
	actStop   action = "stop"   // no further try in this process
)

// reopenAfter is how many failures in a row make a new connection worth a try.
const reopenAfter = 12

// decide returns the action after an error of a call that would append so many events behind event
// `after`. failures counts this one. regain says that this process had a claim before, which its
// broken connection may still hold.
func decide(err error, after uint64, events, failures int, regain bool) action {
	conflict := (*store.ConflictError)(nil)
	local := (*localError)(nil)
	switch {
	case errors.As(err, &local):
		return actStop
	case errors.As(err, &conflict):
		if conflict.Head.Seq < after {
			return actReread
		}
		return actStop
	case errors.Is(err, store.ErrLive) && regain:
		return actRetry
	case errors.Is(err, store.ErrLive), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrNewer):
		return actStop
	case errors.Is(err, store.ErrTooLarge) && events > 1:
		return actSplit
	case errors.Is(err, store.ErrTooLarge) && events == 1:
		return actCut
	case errors.Is(err, store.ErrClosed), failures > 0 && failures%reopenAfter == 0:
		return actReopen
	}
	return actRetry
}

// lasting reports whether the reason to stop holds for every later process, too.
func lasting(err error) bool {
	conflict := (*store.ConflictError)(nil)
	return errors.As(err, &conflict) || errors.Is(err, store.ErrExists)
}

// cutTo is how much of the payload an event keeps that is too large for the shared store.
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

// sameLog reports whether a shared log that ends with head is a beginning of our log. ours is the
// head of our log at the same event. acknowledged is the last head that the shared store has
// acknowledged: our events may be masked in another way by now, by newer rules.
func sameLog(head, ours, acknowledged store.Head) bool {
	same := func(known store.Head) bool { return known.Seq == head.Seq && known.Chain == head.Chain }
	return same(ours) || same(acknowledged)
}

// roomPart is the part of a limit, an eighth, that must be free before an outbox that was full takes
// events again, to keep one gap from becoming many.
const roomPart = 8

// room reports whether so many bytes may wait below the limit; full says that the last ones might
// not.
func room(waiting, limit int64, full bool) bool {
	if full {
		return waiting <= limit-limit/roomPart
	}
	return waiting <= limit
}

// verdict is what a flush does with a session.
type verdict string

const (
	toShip verdict = "ship" // it is not complete in the shared store
	toHold verdict = "hold" // it is complete, but not for long enough
	toLook verdict = "look" // it may go if the shared store still has it
	toKeep verdict = "keep" // it stays until somebody looks at it
)

// judge returns what to do with the session of a dead recorder, and for toHold the time left.
// elapsed is the time since the last acknowledgement, see [state.elapsed].
func (s *state) judge(elapsed, holdBack time.Duration) (verdict, time.Duration) {
	switch {
	case s.Stopped != "":
		return toKeep, 0
	case !s.Complete:
		return toShip, 0
	case len(s.Cut) > 0:
		return toKeep, 0
	case elapsed < holdBack:
		return toHold, holdBack - elapsed
	}
	return toLook, 0
}

// mayGo reports whether head, which the shared store shows, is the end that it has acknowledged of a
// complete session.
func (s *state) mayGo(head store.Head) bool {
	return s.Complete && head.Seq == uint64(s.Head.Seq) && head.Chain == [32]byte(s.Head.Chain)
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
