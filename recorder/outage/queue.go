package outage

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

const (
	roomTime    = time.Second            // how long a write waits for room in memory, if the disk is only slow
	retryEvery  = 100 * time.Millisecond // between two tries of a disk that fails
	promptTime  = 10 * time.Millisecond  // an outage is over when a write takes less
	mergeSize   = 1 << 20                // bytes of waiting parts in one write
	reportAfter = time.Second            // a shorter outage is not reported: a busy machine has such outages, too
)

// queue holds the parts that wait for the disk during an outage. Its first batch is being
// written.
type queue struct {
	inner  store.Spool
	budget *Budget
	bound  time.Duration
	report func(error) // may be nil

	mu      sync.Mutex // guards the fields below; not held over I/O
	behind  bool       // an outage goes on
	outage  outage     // the current outage, or the last
	batches []batch
	full    bool          // a write was refused for want of room
	freed   chan struct{} // closed when some is made
	single  bool          // try one batch at a time
	idle    chan struct{} // closed when the work on the queue ends
	more    chan struct{} // a batch came into an empty queue
	ending  chan struct{} // closed: no further retries
	written uint64        // calls that returned
	givenUp bool
	trouble error // the first fault

	recovered atomic.Pointer[store.NoteInfo] // tells the log that an outage is over
}

// outage is a time in which the disk takes no writes.
type outage struct {
	since    time.Time
	fault    error       // the newest
	events   int         // how many have waited
	reporter *time.Timer // reports a lasting outage
}

// begin begins an outage with the batch whose write is overdue, or failed. q.mu is held.
func (q *queue) begin(first batch, fault error) {
	q.behind = true
	q.idle = make(chan struct{})
	q.batches = append(q.batches, first)
	began := time.Now()
	q.outage = outage{since: began, fault: fault, events: eventsIn(first.parts)}
	if !errors.Is(fault, ErrNoAnswer) || q.bound >= reportAfter {
		q.tell(fault)
		return
	}
	q.outage.reporter = time.AfterFunc(reportAfter, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.behind && q.outage.since.Equal(began) {
			q.tell(fault)
		}
	})
}

// tell reports the first fault. q.mu is held.
func (q *queue) tell(fault error) {
	if q.trouble != nil {
		return
	}
	q.trouble = fault
	if q.report != nil {
		go q.report(fault) // a report may have to wait for its reader
	}
}

// eventsIn returns how many events begin in the parts, and how many lines in chunks.
func eventsIn(parts []store.Part) (n int) {
	for i := range parts {
		switch p := &parts[i]; {
		case p.Chunk:
			n += int(p.Lines)
		case !p.Cont:
			n++
		}
	}
	return n
}

// events returns how many events wait.
func (q *queue) events() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.batches {
		n += eventsIn(q.batches[i].parts)
	}
	return n
}

// push queues parts during an outage; waits is false if there is no outage. push fails if there
// is no room.
func (q *queue) push(parts []store.Part) (waits bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.behind {
		return false, nil
	}
	size := sizeOf(parts)
	room := q.room(size)
	switch {
	case !q.behind: // the outage ended while this waited for room
		if room {
			q.budget.free(size)
		}
		return false, nil
	case !room:
		q.full = true
		return true, q.outage.fault
	}
	q.full = false
	q.batches = append(q.batches, newBatch(parts, size))
	q.outage.events += eventsIn(parts)
	select {
	case q.more <- struct{}{}:
	default:
	}
	return true, nil
}

// room takes room in the budget. If the disk is only slow, room waits for space, but after a
// refusal not before half of the budget is free. q.mu is held, except while room waits.
func (q *queue) room(size int64) bool {
	if q.full && !q.budget.halfFree() {
		return false
	}
	if q.budget.take(size) {
		return true
	}
	if size > q.budget.limit || !errors.Is(q.outage.fault, ErrNoAnswer) {
		return false
	}
	t := time.NewTimer(roomTime)
	defer t.Stop()
	for q.behind {
		if q.freed == nil {
			q.freed = make(chan struct{})
		}
		freed, late := q.freed, false
		q.mu.Unlock()
		select {
		case <-freed:
		case <-t.C:
			late = true
		}
		q.mu.Lock()
		if took := q.budget.take(size); took || late {
			return took
		}
	}
	return false
}

// drain writes the queue; err is the result of the first batch's first write.
func (q *queue) drain(err error) {
	var parts []store.Part
	for n, took := 1, q.bound; q.tried(n, err, took); {
		n, parts = q.next(parts[:0])
		start := time.Now()
		err = q.inner.Write(parts)
		took = time.Since(start)
	}
}

// next returns the parts of the first n batches, for one write.
func (q *queue) next(parts []store.Part) (n int, _ []store.Part) {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := int64(0)
	for _, b := range q.batches {
		// A store may have reserved disk space for the end of the log: keep the end in a
		// write of its own.
		ends := slices.ContainsFunc(b.parts, func(p store.Part) bool { return p.Kind == store.Exited || p.Kind == store.Closed })
		if n > 0 && (q.single || size+b.size > mergeSize || ends) {
			break
		}
		parts = append(parts, b.parts...)
		size += b.size
		n++
	}
	return n, parts
}

// tried notes the result of a write of the first n batches, waits where waiting may help, and
// reports whether there is a batch to write. If not, the work on the queue ends: the queue is
// empty, or the session ends and the disk does not take the rest.
func (q *queue) tried(n int, err error, took time.Duration) (goesOn bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.written++; q.givenUp {
		return false
	}
	q.single = err != nil
	if q.single {
		q.outage.fault = err
	} else {
		q.drop(n)
	}
	if err == nil && len(q.batches) > 0 || err != nil && n > 1 {
		return true
	}
	ending := false
	select {
	case <-q.ending:
		ending = true
	default:
	}
	if ending || err == nil && (took < promptTime || q.budget.limit == 0) { // with a limit of 0 no further batch would come
		q.leave()
		return false
	}
	q.mu.Unlock()
	if err == nil {
		select {
		case <-q.more:
		case <-q.ending:
		}
	} else {
		t := time.NewTimer(retryEvery)
		select {
		case <-t.C:
		case <-q.ending:
		}
		t.Stop()
	}
	q.mu.Lock()
	if len(q.batches) == 0 {
		q.leave()
		return false
	}
	return true
}

// drop removes the first n batches. q.mu is held.
func (q *queue) drop(n int) {
	for i := range q.batches[:n] {
		q.budget.free(q.batches[i].size)
		q.batches[i] = batch{}
	}
	if q.batches = q.batches[n:]; len(q.batches) == 0 {
		q.batches = nil
	}
	if q.freed != nil {
		close(q.freed)
		q.freed = nil
	}
}

// leave ends the work on the queue. If the outage is over, and was long enough to be reported,
// the log gets a note. q.mu is held.
func (q *queue) leave() {
	close(q.idle)
	if q.behind = len(q.batches) > 0; q.behind {
		return
	}
	if q.outage.reporter != nil && q.outage.reporter.Stop() {
		return
	}
	q.recovered.Store(&store.NoteInfo{Text: fmt.Sprintf("%v: what passed was held in memory for %v; all of it is written (events, until here: %d)",
		store.RootCause(q.outage.fault), time.Since(q.outage.since).Round(time.Millisecond), q.outage.events)})
}

// end ends the retries, waits for the work on the queue to end, as long as writes return, and
// returns the parts that could not be written, and why. stuck: a write did not return.
func (q *queue) end() (left []store.Part, fault error, stuck bool) {
	close(q.ending)
	q.mu.Lock()
	defer q.mu.Unlock()
	idle := q.idle
	for before := q.written; idle != nil && !stuck; before = q.written {
		q.mu.Unlock()
		t := time.NewTimer(patience)
		select {
		case <-idle:
			idle = nil
		case <-t.C:
		}
		t.Stop()
		q.mu.Lock()
		stuck = idle != nil && q.written == before
	}
	for _, b := range q.batches {
		left = append(left, b.parts...)
	}
	if len(q.batches) > 0 {
		fault = q.outage.fault
	}
	q.givenUp = true
	q.drop(len(q.batches))
	return left, fault, stuck
}
