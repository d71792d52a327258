package recorder

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// StallThreshold is how long a receiver must have read nothing, while bytes wait for it, to leave
// a Stalled event.
const StallThreshold = 500 * time.Millisecond

// stallWatch sees whether the receivers of a session read what is passed on to them, and notes
// in the log when one stops. It looks at the counters of the taps and asks the system what their
// pipes hold; the taps only wake it. It sleeps while nothing moves and nothing waits.
type stallWatch struct {
	log    *log
	flows  []*flow
	asleep atomic.Bool
	wakes  chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

const (
	lookEvery    = StallThreshold / 5
	restingLooks = 10 // as many without a byte send the watch to sleep
)

// flow is one direction under a stallWatch.
type flow struct {
	dir   transport.Direction
	state *passState
	queue pipeQueue
	last  look
	since time.Time // since when the receiver has read nothing; zero: nothing waits for it
	stuck time.Time // since when a write has blocked; zero: none does

	stalled bool // the log says that the receiver does not read
	blocked bool // and that a write blocks

	isStderr bool // the queue is that of the server's pipe, from which the recorder reads
}

// look is what a flow looked like at a time.
type look struct {
	read, passed int64
	queued       queued
}

// queued is what the pipe to a receiver holds.
type queued struct {
	// bytes that the receiver has not read; in other units if they are not exact.
	bytes int64
	exact bool
}

// waits reports whether bytes wait for the receiver.
func (l look) waits() bool { return l.read > l.passed || l.queued.bytes > 0 }

// movedSince reports whether the receiver may have read since an earlier look. A queue that is
// not exact counts the memory that bytes take, so it grows at least by what was passed on
// meanwhile if nothing was read; while a write is under way that is not known.
func (l look) movedSince(before look) bool {
	passed := l.passed - before.passed
	switch {
	case l.queued.exact && before.queued.exact:
		return passed != l.queued.bytes-before.queued.bytes
	case l.read != l.passed || before.read != before.passed:
		return passed != 0 || l.queued.bytes < before.queued.bytes
	}
	return l.queued.bytes < before.queued.bytes+passed
}

// info returns the payload of a Stalled event.
func (l look) info(now, since time.Time) *store.StalledInfo {
	info := &store.StalledInfo{Read: l.read, Passed: l.passed, Unread: l.queued.bytes, For: now.Sub(since).Round(time.Millisecond), Blocked: l.read > l.passed}
	if info.Unread > 0 && !l.queued.exact {
		info.Unread = -1
	}
	return info
}

// next takes the next look and returns what the log must say, or nil.
func (f *flow) next(now time.Time, look look) *store.StalledInfo {
	before := f.last
	f.last = look
	if f.isStderr {
		return f.nextStderr(now, before, look)
	}
	if f.since.IsZero() || !look.waits() || look.movedSince(before) {
		var info *store.StalledInfo
		if f.stalled && !f.blocked { // else a Delivered event says it
			info = look.info(now, f.since)
			info.Blocked = false
			info.Over = true
		}
		f.since = time.Time{}
		f.stuck = time.Time{}
		f.stalled = false
		f.blocked = false
		if look.waits() {
			f.since = now
		}
		if look.read > look.passed {
			f.stuck = now
		}
		return info
	}
	switch {
	case look.read == look.passed:
		f.stuck = time.Time{}
	case f.stuck.IsZero():
		f.stuck = now
	}
	stuck := !f.stuck.IsZero() && now.Sub(f.stuck) >= StallThreshold && !f.blocked
	if !stuck && (f.stalled || now.Sub(f.since) < StallThreshold) {
		return nil
	}
	info := look.info(now, f.since)
	f.stalled = true
	f.blocked = info.Blocked
	return info
}

// fullStderr is how many bytes a full pipe of standard error holds at least: half of its room, because a
// write may not fit in the rest of a page.
const fullStderr = 32 << 10

// nextStderr is next of standard error. That nobody reads it stops the server only when the server's own
// pipe is full too; before that it is nothing to note.
func (f *flow) nextStderr(now time.Time, before, look look) *store.StalledInfo {
	stands := look.read > look.passed && look.read == before.read && look.passed == before.passed
	if !stands || look.queued.bytes < fullStderr || look.queued.bytes != before.queued.bytes {
		var info *store.StalledInfo
		if f.stalled {
			info = &store.StalledInfo{Read: look.read, Passed: look.passed, For: now.Sub(f.since).Round(time.Millisecond), Over: true}
		}
		f.since = time.Time{}
		f.stalled = false
		return info
	}
	if f.since.IsZero() {
		f.since = now
	}
	if f.stalled || now.Sub(f.since) < StallThreshold {
		return nil
	}
	f.stalled = true
	return look.info(now, f.since)
}

// Watched returns the directions in which a recorder sees whether the receiver reads, from the
// pipes to the server and to the client.
func Watched(toServer, toClient *os.File) (names []string) {
	for _, to := range []struct {
		dir  transport.Direction
		file *os.File
	}{{transport.ClientToServer, toServer}, {transport.ServerToClient, toClient}} {
		if newPipeQueue(to.file).known {
			names = append(names, to.dir.String())
		}
	}
	return names
}

// watchStalls watches the pipes of a session until the watch is closed.
func watchStalls(l *log, end *ending, toServer, toClient, serverErrors *os.File) *stallWatch {
	w := &stallWatch{log: l, wakes: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		flows: []*flow{
			{dir: transport.ClientToServer, state: &end.c2s, queue: newPipeQueue(toServer)},
			{dir: transport.ServerToClient, state: &end.s2c, queue: newPipeQueue(toClient)},
			{isStderr: true, state: &end.stderr, queue: newPipeQueue(serverErrors)}}}
	w.asleep.Store(true)
	end.c2s.watch = w
	end.s2c.watch = w
	end.stderr.watch = w
	go w.run()
	return w
}

// wake is called before bytes are passed on. w may be nil.
func (w *stallWatch) wake() {
	if w != nil && w.asleep.Load() && w.asleep.CompareAndSwap(true, false) {
		w.wakes <- struct{}{}
	}
}

func (w *stallWatch) close() {
	close(w.stop)
	<-w.done
}

func (w *stallWatch) run() {
	defer close(w.done)
	for {
		select {
		case <-w.wakes:
		case <-w.stop:
			return
		}
		if !w.lookOn() {
			return
		}
	}
}

// lookOn looks until nothing moves and nothing waits, or returns false after close.
func (w *stallWatch) lookOn() bool {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for seen, resting := w.bytes(), 0; ; {
		select {
		case <-tick.C:
		case <-w.stop:
			return false
		}
		waits := false
		for _, f := range w.flows {
			read := f.state.read.Load()
			l := look{read, min(f.state.passed.Load(), read), f.queue.held()}
			if f.state.read.Load() != read { // the queue may have more than was counted
				waits = true
				continue
			}
			if info := f.next(w.log.clock.now(), l); info != nil {
				w.log.record(store.Stalled, f.dir, info)
			}
			waits = waits || l.waits()
		}
		if bytes := w.bytes(); bytes != seen || waits {
			seen, resting = bytes, 0
			continue
		}
		if resting++; resting < restingLooks {
			continue
		}
		w.asleep.Store(true)
		if w.bytes() == seen || !w.asleep.CompareAndSwap(true, false) { // else a tap saw no sleep to end
			return true
		}
	}
}

// bytes counts what the taps have read.
func (w *stallWatch) bytes() (n int64) {
	for _, f := range w.flows {
		n += f.state.read.Load()
	}
	return n
}
