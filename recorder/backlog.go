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
// the spool's, in line. When one lasts longer than the bound, its turn is handed over:
// another goroutine goes on, and what it writes, with all that follows, stands in the
// queue in order until it is on the disk. The same becomes of a write that fails. The
// queue is worked off by one goroutine: by the one whose write was late, when that
// returns.
//
// One call of the spool runs at a time. While nothing waits in the queue it is made with the
// recorder's turn; otherwise the goroutine that works off the queue makes it.
type backlog struct {
	spool  store.Spool
	budget *budget
	bound  time.Duration
	tell   func(error) // of the first trouble

	inLine *handover
	parts  []store.Part  // of the write in line
	goOn   func()        // has the turn when that is overdue
	queued chan struct{} // what was overdue is in the queue
	jobs   chan []store.Part
	answer chan reply
	worker sync.Once

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

// reply is what became of a write. Of one that is late the turn is another's, and what it
// wrote is never its giver's again.
type reply struct {
	err  error
	late bool
}

func newBacklog(s store.Spool, budget *budget, bound time.Duration, tell func(error)) *backlog {
	b := &backlog{spool: s, budget: budget, bound: bound, tell: tell,
		queued: make(chan struct{}, 1), jobs: make(chan []store.Part), answer: make(chan reply, 1),
		kick: make(chan struct{}, 1), ending: make(chan struct{})}
	b.inLine = newHandover(bound, b.overdue)
	return b
}

// write writes parts for somebody who cannot leave the goroutine: another does it, which
// is left behind when it is late.
func (b *backlog) write(parts []store.Part) reply {
	if waits, err := b.waits(parts); waits {
		return reply{err: err}
	}
	b.worker.Do(func() { go b.work() })
	b.jobs <- parts
	return <-b.answer
}

func (b *backlog) work() {
	late := func() { b.answer <- reply{late: true} }
	for parts := range b.jobs {
		if r := b.inlineWrite(parts, late); !r.late {
			b.answer <- r
		}
	}
}

// writeHere writes parts in this goroutine. If that is late, goOn was called by another,
// which has the turn then.
func (b *backlog) writeHere(parts []store.Part, goOn func()) reply {
	if waits, err := b.waits(parts); waits {
		return reply{err: err}
	}
	return b.inlineWrite(parts, goOn)
}

func (b *backlog) inlineWrite(parts []store.Part, goOn func()) reply {
	b.parts, b.goOn = parts, goOn
	n := b.inLine.begin()
	err := b.spool.Write(parts)
	if b.inLine.end(n) {
		b.parts, b.goOn = nil, nil // a session that rests holds nothing of what passed
		return reply{err: b.settle(parts, err)}
	}
	<-b.queued
	b.drain(err)
	return reply{late: true}
}

// overdue puts what is written in line into the queue, and has another go on.
func (b *backlog) overdue() {
	size := sizeOf(b.parts)
	b.budget.exceed(size) // it may be written yet: it cannot be lost
	b.mu.Lock()
	b.fall(keep(b.parts, size), ErrNoAnswer)
	b.mu.Unlock()
	goOn := b.goOn
	b.parts, b.goOn = nil, nil
	b.queued <- struct{}{}
	goOn()
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

// waits reports whether parts do not go to the disk now: they wait, or there is no
// room for them, which is an error.
func (b *backlog) waits(parts []store.Part) (bool, error) {
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

// waiting says why, if anything waits.
func (b *backlog) waiting() string {
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
