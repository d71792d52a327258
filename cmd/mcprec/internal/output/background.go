package output

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Background writes on its own goroutine: callers never wait for the reader of w, which may be
// an undrained pipe. Lines beyond the queue are counted, and the count is written in the place
// of the lines.
type Background struct {
	w       io.Writer
	written atomic.Int64 // bytes written to w
	news    chan struct{}
	done    chan struct{} // closed after the last write

	mu     sync.Mutex // never held across a write to w
	queue  []byte
	missed int // lines beyond the queue
	closed bool
}

const (
	maxQueued   = 1 << 18 // bytes of the queue of a Background
	writtenOnce = 4096    // bytes of one write, which is atomic on a pipe
	// drainGrace is how long Close waits for an idle reader.
	drainGrace = 250 * time.Millisecond
)

var errUndrained = errors.New("nobody reads standard error")

// NewBackground returns a writer. Its goroutine runs until Close.
func NewBackground(w io.Writer) *Background {
	b := &Background{w: w, news: make(chan struct{}, 1), done: make(chan struct{})}
	go b.run()
	return b
}

// Write queues data, or counts a missed line.
func (b *Background) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue)+len(data) > maxQueued {
		b.missed++
		return len(data), nil
	}
	b.countMissed()
	b.queue = append(b.queue, data...)
	b.notify()
	return len(data), nil
}

// countMissed queues the count of the missed lines. The caller holds the lock.
func (b *Background) countMissed() {
	if b.missed > 0 {
		b.queue = fmt.Appendf(b.queue, "mcprec: %s not said: nobody read standard error\n", phrase.Plural(b.missed, "line"))
		b.missed = 0
	}
}

func (b *Background) notify() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// run writes until the writer is closed and the queue is empty, or until w fails.
func (b *Background) run() {
	defer close(b.done)
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.countMissed()
		}
		piece := b.queue[:min(len(b.queue), writtenOnce)]
		b.queue = b.queue[len(piece):]
		over := b.closed && len(piece) == 0
		b.mu.Unlock()
		switch {
		case over:
			return
		case len(piece) == 0:
			<-b.news
		default:
			if _, err := b.w.Write(piece); err != nil {
				return // there is no other way to report the error
			}
			b.written.Add(int64(len(piece)))
		}
	}
}

// Close writes the rest. After drainGrace without progress Close gives up; the goroutine
// then waits until the process ends.
func (b *Background) Close() error {
	b.mu.Lock()
	b.closed = true
	b.notify()
	b.mu.Unlock()
	for {
		before := b.written.Load()
		select {
		case <-b.done:
			return nil
		case <-time.After(drainGrace):
			if b.written.Load() == before {
				return errUndrained
			}
		}
	}
}
