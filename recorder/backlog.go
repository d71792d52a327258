package recorder

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Bound is how long a frame is held by a disk that does not answer. Then it passes,
// and what it was to write waits in memory.
const Bound = 100 * time.Millisecond

const (
	strictBound = 5 * time.Second        // of a recorder that passes nothing on before it is written
	roomTime    = time.Second            // how long a frame waits for room in memory, of a disk that is only slow
	retryEvery  = 100 * time.Millisecond // a disk that fails is tried again
	promptTime  = 10 * time.Millisecond  // a disk that answers so soon is written to in line again
	mergeSize   = 1 << 20                // of what waits, in one write
	sayAfter    = time.Second            // a shorter wait is nobody's concern: a busy machine has them too
	patience    = 15 * time.Second       // at the end, for a disk that does not answer
)

// ErrNoAnswer is the cause when the disk lets a write wait.
var ErrNoAnswer = errors.New("the disk does not answer")

// backlog stands between a recorder and its spool. While the disk answers, a write is
// the spool's, in line. One that lasts longer than the bound is overtaken by the
// watch: whoever waits for it goes on, and what it writes, with all that follows,
// stands in the queue in order until it is on the disk. The same becomes of a write
// that fails. The queue is worked off by one goroutine: by the one whose write was
// late, when that returns.
//
// Of the spool's calls one runs at a time: the recorder's, under its lock and only
// while nothing is behind, or that goroutine's.
type backlog struct {
	spool  store.Spool
	budget *budget
	bound  time.Duration
	tell   func(error) // of the first trouble

	busy   atomic.Uint64 // number of the write in line, odd while it runs
	parts  []store.Part  // that it writes
	rescue func()        // lets go on who waits for it
	taken  chan struct{} // it is in the queue
	jobs   chan []store.Part
	answer chan reply
	worker sync.Once
	watch  watch

	mu      sync.Mutex // of what follows; not held over I/O
	behind  bool
	queue   []batch
	full    bool          // something was refused for want of room
	freed   chan struct{} // closed when some is made
	single  bool          // batches are tried one by one
	idle    chan struct{} // closed when the queue is nobody's work any more
	kick    chan struct{} // something came into an empty queue
	ending  chan struct{} // closed: what fails now is not tried again
	written uint64        // calls that returned
	left    bool          // the queue was given up
	spell   spell
	trouble error // the first

	news atomic.Pointer[string] // of a spell that is over, to be told in the log
}

// reply is what became of a write; whole: it has returned, and what it wrote is its
// giver's again.
type reply struct {
	err   error
	whole bool
}

func newBacklog(s store.Spool, budget *budget, bound time.Duration, tell func(error)) *backlog {
	b := &backlog{spool: s, budget: budget, bound: bound, tell: tell,
		taken: make(chan struct{}, 1), jobs: make(chan []store.Part), answer: make(chan reply, 1),
		kick: make(chan struct{}, 1), ending: make(chan struct{})}
	b.watch.wake, b.watch.stop, b.watch.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	b.watch.asleep.Store(true)
	return b
}

// write writes parts for somebody who cannot leave the goroutine: another does it.
func (b *backlog) write(parts []store.Part) reply {
	if queued, err := b.queued(parts); queued {
		return reply{err, true}
	}
	b.worker.Do(func() { go b.work() })
	b.jobs <- parts
	return <-b.answer
}

func (b *backlog) work() {
	letGo := func() { b.answer <- reply{} }
	for parts := range b.jobs {
		if r := b.inline(parts, letGo); r.whole {
			b.answer <- r
		}
	}
}

// writeHere writes parts in this goroutine. If it is overtaken, rescue has been called,
// and what was this goroutine's is another's.
func (b *backlog) writeHere(parts []store.Part, rescue func()) reply {
	if queued, err := b.queued(parts); queued {
		return reply{err, true}
	}
	return b.inline(parts, rescue)
}

func (b *backlog) inline(parts []store.Part, rescue func()) reply {
	b.parts, b.rescue = parts, rescue
	n := b.busy.Add(1)
	b.watch.look(b)
	err := b.spool.Write(parts)
	if b.busy.CompareAndSwap(n, n+1) {
		b.parts, b.rescue = nil, nil // a session that rests holds nothing of what passed
		return reply{b.settle(parts, err), true}
	}
	<-b.taken
	b.drain(err)
	return reply{}
}

// overtake has whoever waits for write n go on.
func (b *backlog) overtake(n uint64) {
	if !b.busy.CompareAndSwap(n, n+1) {
		return
	}
	size := sizeOf(b.parts)
	b.budget.exceed(size) // it may be written yet: it cannot be lost
	b.mu.Lock()
	b.fall(keep(b.parts, size), ErrNoAnswer)
	b.mu.Unlock()
	rescue := b.rescue
	b.parts, b.rescue = nil, nil
	b.taken <- struct{}{}
	rescue()
}

// settle has what could not be written wait, if there is room.
func (b *backlog) settle(parts []store.Part, err error) error {
	if err == nil {
		return nil
	}
	size := sizeOf(parts)
	if !b.budget.take(size) {
		b.told(err)
		return err
	}
	b.mu.Lock()
	b.fall(keep(parts, size), err)
	b.mu.Unlock()
	go b.drain(err)
	return nil
}

// queued reports whether parts do not go to the disk now: they wait, or there is no
// room for them, which is an error.
func (b *backlog) queued(parts []store.Part) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.behind {
		return false, nil
	}
	size := sizeOf(parts)
	room := b.room(size)
	switch {
	case !b.behind: // meanwhile
		if room {
			b.budget.free(size)
		}
		return false, nil
	case !room:
		b.full = true
		return true, b.spell.fault
	}
	b.full = false
	b.queue = append(b.queue, keep(parts, size))
	b.spell.events += begun(parts)
	select {
	case b.kick <- struct{}{}:
	default:
	}
	return true, nil
}

// room takes room in the budget. A disk that only takes its time makes some, and that
// is waited for, but not again before half is free. b.mu is held, but while it waits.
func (b *backlog) room(size int64) bool {
	if b.full && !b.budget.roomy() {
		return false
	}
	if b.budget.take(size) {
		return true
	}
	if size > b.budget.limit || !errors.Is(b.spell.fault, ErrNoAnswer) {
		return false
	}
	t := time.NewTimer(roomTime)
	defer t.Stop()
	for b.behind {
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed, late := b.freed, false
		b.mu.Unlock()
		select {
		case <-freed:
		case <-t.C:
			late = true
		}
		b.mu.Lock()
		if took := b.budget.take(size); took || late {
			return took
		}
	}
	return false
}

// fall begins a spell in which the disk is behind. b.mu is held.
func (b *backlog) fall(first batch, fault error) {
	b.behind, b.idle = true, make(chan struct{})
	b.queue = append(b.queue, first)
	b.spell = spell{since: time.Now(), fault: fault, events: begun(first.parts)}
	if began := b.spell.since; errors.Is(fault, ErrNoAnswer) && b.bound < sayAfter {
		b.spell.say = time.AfterFunc(sayAfter, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.behind && b.spell.since.Equal(began) {
				b.report(fault)
			}
		})
		return
	}
	b.report(fault)
}

// waits says why, if anything waits.
func (b *backlog) waits() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.behind {
		return ""
	}
	return fmt.Sprintf("%v: events held in memory as the session ends, until here: %d", rootOf(b.spell.fault), b.spell.events)
}

// faults returns the first fault and the newest.
func (b *backlog) faults() (first, newest error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.trouble, b.spell.fault
}

// told tells of a fault that nothing waits for.
func (b *backlog) told(fault error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report(fault)
}

// report tells of the first fault. b.mu is held.
func (b *backlog) report(fault error) {
	if b.trouble != nil {
		return
	}
	if b.trouble = fault; b.tell != nil {
		go b.tell(fault) // what is said may have to wait for its reader
	}
}
