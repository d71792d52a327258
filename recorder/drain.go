package recorder

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
)

// spell is a time in which the disk did not take what was written.
type spell struct {
	since  time.Time
	fault  error
	events int         // that waited
	say    *time.Timer // tells of it, when it lasts
}

// text says what happened, when it is over.
func (s spell) text() string {
	return fmt.Sprintf("%v: what passed was held in memory for %v; all of it is written (events, until here: %d)", rootOf(s.fault), time.Since(s.since).Round(time.Millisecond), s.events)
}

// begun returns how many events begin in the parts, of chunks how many lines they end.
func begun(parts []store.Part) (n int) {
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

// drain works the queue off, whose first batch has been tried with that result.
func (b *backlog) drain(err error) {
	var parts []store.Part
	for n, took := 1, b.bound; b.tried(n, err, took); {
		n, parts = b.next(parts[:0])
		start := time.Now()
		err = b.spool.Write(parts)
		took = time.Since(start)
	}
}

// next returns the parts of the first n batches, for one write.
func (b *backlog) next(parts []store.Part) (n int, _ []store.Part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := int64(0)
	for _, x := range b.queue {
		if n > 0 && (b.single || size+x.size > mergeSize || ends(x.parts)) {
			break
		}
		parts = append(parts, x.parts...)
		size += x.size
		n++
	}
	return n, parts
}

// ends reports whether parts tell of the end. A store may have set room aside for that,
// which it is not to give to what stands in front.
func ends(parts []store.Part) bool {
	return slices.ContainsFunc(parts, func(p store.Part) bool { return p.Kind == store.Exited || p.Kind == store.Closed })
}

// tried takes note of what became of the first n batches, waits where that may help,
// and reports whether there is something to write. If not, the queue is nobody's work
// any more: it is empty, or this is the end and what is left cannot be written.
func (b *backlog) tried(n int, err error, took time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written++; b.left {
		return false
	}
	if b.single = err != nil; !b.single {
		b.drop(n)
	} else {
		b.spell.fault = err
	}
	switch {
	case err == nil && len(b.queue) > 0 || err != nil && n > 1:
		return true
	case err == nil && (took < promptTime || b.budget.limit == 0) || b.ended(): // with 0 nothing would come to wait
		b.leave()
		return false
	}
	b.mu.Unlock()
	b.wait(err)
	b.mu.Lock()
	if len(b.queue) == 0 {
		b.leave()
		return false
	}
	return true
}

// drop removes the first n batches, which are written. b.mu is held.
func (b *backlog) drop(n int) {
	for i := range b.queue[:n] {
		b.budget.free(b.queue[i].size)
		b.queue[i] = batch{}
	}
	if b.queue = b.queue[n:]; len(b.queue) == 0 {
		b.queue = nil
	}
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// leave ends the work on the queue. b.mu is held.
func (b *backlog) leave() {
	close(b.idle)
	if b.behind = len(b.queue) > 0; b.behind {
		return
	}
	if b.spell.say == nil || !b.spell.say.Stop() {
		text := b.spell.text()
		b.news.Store(&text)
	}
}

func (b *backlog) ended() bool {
	select {
	case <-b.ending:
		return true
	default:
		return false
	}
}

// wait waits until it may be worth to try again.
func (b *backlog) wait(err error) {
	if err == nil {
		select {
		case <-b.kick:
		case <-b.ending:
		}
		return
	}
	t := time.NewTimer(retryEvery)
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.ending:
	}
}

// finish ends the work on the queue and returns the batches that could not be written. It is
// patient for as long as the disk takes something now and then. If the disk takes
// nothing, the spool is not to be used any more.
func (b *backlog) finish() (left []batch, usable bool) {
	close(b.ending)
	b.mu.Lock()
	idle := b.idle
	b.mu.Unlock()
	if idle != nil {
		usable = b.await(idle)
	}
	usable = usable || idle == nil
	b.inLine.close()
	close(b.jobs)
	b.mu.Lock()
	defer b.mu.Unlock()
	left, b.left = slices.Clone(b.queue), true
	b.drop(len(left))
	return left, usable
}

// await waits for a channel to be closed, as long as writes return meanwhile.
func (b *backlog) await(done <-chan struct{}) bool {
	t := time.NewTicker(patience)
	defer t.Stop()
	for before := b.returned(); ; {
		select {
		case <-done:
			return true
		case <-t.C:
		}
		now := b.returned()
		if now == before {
			return false
		}
		before = now
	}
}

// returned returns how many writes of what waits have returned.
func (b *backlog) returned() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written
}
