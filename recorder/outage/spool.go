package outage

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Bound is how long a write may hold the caller. Then the caller goes on, and the parts wait in
// memory.
const Bound = 100 * time.Millisecond

// patience is how long the end of a session waits for a disk without a sign of life.
const patience = 15 * time.Second

// ErrNoAnswer is the cause when the disk lets a write wait.
var ErrNoAnswer = errors.New("the disk does not answer")

// Options configure a Spool.
type Options struct {
	Bound  time.Duration // how long a write may take
	Budget *Budget       // of the memory for waiting parts
	// Report, if not nil, is called in a goroutine of its own when the disk does not take a
	// write for the first time, and when the disk has lost data.
	Report func(error)
}

// Spool is a [store.Spool] around another. Like any spool, a Spool is not safe for concurrent
// use, except for Doubt, Recovered, Told, Late and Queued.
//
// One call of the inner spool runs at a time: while the queue is empty, of a write; otherwise, of
// the goroutine that writes the queue.
type Spool struct {
	direct bool // the inner spool never waits for a disk: calls are passed on
	queue  queue

	watch   *handover
	parts   []store.Part  // of the watched write
	overdue func()        // called when the watched write is overdue
	queued  chan struct{} // the overdue write is in the queue
	jobs    chan []store.Part
	results chan result
	worker  sync.Once

	drained bool
	stuck   bool // at the end a write does not return

	late  atomic.Bool // a write, or the opening, was overdue
	doubt atomic.Pointer[store.NoteInfo]
}

// result is the outcome of a write by the worker.
type result struct {
	err  error
	late bool // the write goes on; the parts are in the queue
}

// Direct returns a Spool around a spool that never waits for a disk. Writes that fail are not
// tried again.
func Direct(inner store.Spool, report func(error)) *Spool {
	s := &Spool{direct: true, queue: queue{inner: inner, report: report}}
	s.observeDoubt(inner)
	return s
}

// Unavailable is a spool that refuses every call, because of Cause.
type Unavailable struct{ Cause error }

// Queued returns how many events wait in memory for the disk.
func (s *Spool) Queued() int { return s.queue.events() }

// Write returns the cause.
func (u Unavailable) Write([]store.Part) error { return u.Cause }

// Close returns the cause.
func (u Unavailable) Close() error { return u.Cause }

// Open returns a Spool around the result of open, or open's error. If open takes longer than the
// bound, Open returns early: parts wait in memory until open returns, or, if open fails, until
// the end.
func Open(open func() (store.Spool, error), o Options) (*Spool, error) {
	s := &Spool{queue: queue{budget: o.Budget, bound: o.Bound, report: o.Report, more: make(chan struct{}, 1), ending: make(chan struct{})},
		queued: make(chan struct{}, 1), jobs: make(chan []store.Part), results: make(chan result, 1)}
	s.watch = newHandover(o.Bound, s.abandon)
	var inner store.Spool
	var err error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if inner, err = open(); err == nil {
			s.observeDoubt(inner)
		}
	}()
	t := time.NewTimer(o.Bound)
	defer t.Stop()
	select {
	case <-opened:
		s.queue.inner = inner
		return s, err
	case <-t.C:
	}
	s.late.Store(true)
	s.queue.mu.Lock()
	s.queue.begin(batch{}, ErrNoAnswer)
	s.queue.mu.Unlock()
	go func() {
		<-opened
		s.queue.inner = inner
		if err != nil {
			s.queue.inner = Unavailable{err}
		}
		s.queue.drain(err)
	}()
	return s, nil
}

// observeDoubt notes when the disk fails beside the calls of the inner spool.
func (s *Spool) observeDoubt(inner store.Spool) {
	u, ok := inner.(store.Unsteady)
	if !ok {
		return
	}
	u.OnDoubt(func(from uint64, cause error) {
		s.doubt.Store(&store.NoteInfo{Text: fmt.Sprintf("%v: the recording is doubtful from event %d on", cause, from), Doubtful: from})
		if s.queue.report != nil {
			go s.queue.report(cause)
		}
	})
}

// Doubt returns the note for the log that the disk has lost data, or nil.
func (s *Spool) Doubt() *store.NoteInfo { return s.doubt.Load() }

// Recovered returns the note for the log that an outage is over, or nil.
func (s *Spool) Recovered() *store.NoteInfo { return s.queue.recovered.Load() }

// Told drops a note of Doubt or Recovered, because the log has it.
func (s *Spool) Told(note *store.NoteInfo) {
	if note != nil && !s.doubt.CompareAndSwap(note, nil) {
		s.queue.recovered.CompareAndSwap(note, nil)
	}
}

// Late reports whether a write, or the opening, has ever taken longer than the bound.
func (s *Spool) Late() bool { return s.late.Load() }

// Write writes parts. Write returns nil when the parts are written or wait in memory, and an error
// when there is no room for them.
func (s *Spool) Write(parts []store.Part) error {
	if s.direct {
		return s.queue.inner.Write(parts)
	}
	if waits, err := s.queue.push(parts); waits {
		return err
	}
	s.worker.Do(func() {
		overdue := func() { s.results <- result{late: true} }
		go func() {
			for parts := range s.jobs {
				if mine, err := s.writeWatched(parts, overdue); mine {
					s.results <- result{err: err}
				}
			}
		}()
	})
	c := copies.Get().(*writeCopy)
	s.jobs <- c.of(parts)
	r := <-s.results
	if !r.late { // a late write may still read the copy
		c.release()
	}
	return r.err
}

// WriteInline is Write in the caller's goroutine. If the write is overdue, another goroutine
// calls overdue, to go on in the caller's place, and WriteInline returns false once the write
// has returned: from then on the other goroutine owns the parts, the payloads and the caller's
// locks. overdue must not wait for the caller's goroutine.
func (s *Spool) WriteInline(parts []store.Part, overdue func()) (mine bool, err error) {
	if s.direct {
		return true, s.queue.inner.Write(parts)
	}
	if waits, err := s.queue.push(parts); waits {
		return true, err
	}
	return s.writeWatched(parts, overdue)
}

func (s *Spool) writeWatched(parts []store.Part, overdue func()) (mine bool, err error) {
	s.parts = parts
	s.overdue = overdue
	n := s.watch.begin()
	err = s.queue.inner.Write(parts)
	if !s.watch.end(n) {
		<-s.queued
		s.queue.drain(err)
		return false, nil
	}
	s.parts = nil
	s.overdue = nil // an idle session keeps no payloads alive
	if err == nil {
		return true, nil
	}
	size := sizeOf(parts)
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	if !s.queue.budget.take(size) {
		s.queue.tell(err)
		return true, err
	}
	s.queue.begin(newBatch(parts, size), err)
	go s.queue.drain(err)
	return true, nil
}

// abandon queues the parts of the overdue write, and has another goroutine go on.
func (s *Spool) abandon() {
	s.late.Store(true)
	size := sizeOf(s.parts)
	s.queue.budget.held.Add(size) // beyond the limit, too: the write still goes on
	s.queue.mu.Lock()
	s.queue.begin(newBatch(s.parts, size), ErrNoAnswer)
	s.queue.mu.Unlock()
	overdue := s.overdue
	s.parts = nil
	s.overdue = nil
	s.queued <- struct{}{}
	overdue()
}

// Waiting says how many events wait in memory and why, or "".
func (s *Spool) Waiting() string {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.behind {
		return ""
	}
	return fmt.Sprintf("%v: events held in memory as the session ends, until here: %d", store.RootCause(q.outage.fault), q.outage.events)
}

// Trouble returns the first fault of the disk, or nil.
func (s *Spool) Trouble() error {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.trouble
}

// Drain waits for the parts in memory to be written, as long as the disk takes some, and
// returns the remaining parts, and why they remain. Only Finish and Close may follow.
func (s *Spool) Drain() (left []store.Part, fault error) {
	if s.direct || s.drained {
		return nil, nil
	}
	s.drained = true
	left, fault, s.stuck = s.queue.end()
	s.watch.close()
	close(s.jobs)
	return left, fault
}

// Finish writes the last parts of the log, if there are any, and closes the inner spool, both
// if the disk answers within 15 s: otherwise both calls are left behind. Finish follows Drain.
func (s *Spool) Finish(last []store.Part) (written bool, err error) {
	if s.stuck {
		return false, fmt.Errorf("close: %w", ErrNoAnswer)
	}
	wrote := make(chan error, 1)
	closed := make(chan error, 1)
	go func() {
		err := error(nil)
		if len(last) > 0 {
			err = s.queue.inner.Write(last)
		}
		wrote <- err
		closed <- s.queue.inner.Close()
	}()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case err = <-wrote:
	case <-t.C:
		return false, fmt.Errorf("close: %w", ErrNoAnswer)
	}
	written = err == nil
	select {
	case closeErr := <-closed:
		return written, cmp.Or(err, closeErr)
	case <-t.C:
		return written, cmp.Or(err, fmt.Errorf("close: %w", ErrNoAnswer))
	}
}

// Close implements [store.Spool]. Parts that the disk does not take at the end are lost.
func (s *Spool) Close() error {
	_, fault := s.Drain()
	_, err := s.Finish(nil)
	return cmp.Or(fault, err)
}
