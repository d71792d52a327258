package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/standin"
)

// backgroundWriter writes on a goroutine of its own, so that its callers never wait for the
// reader of w, which may be a pipe that nobody drains. Lines that do not fit into the queue
// are counted, and the count is written in their place.
type backgroundWriter struct {
	w       io.Writer
	written atomic.Int64 // bytes that w has taken
	news    chan struct{}
	done    chan struct{} // closed when all is written

	mu     sync.Mutex // never held across a write to w
	queue  []byte
	missed int // lines that did not fit
	closed bool
}

const (
	maxQueued   = 1 << 18 // bytes of a backgroundWriter
	writtenOnce = 4096    // bytes of one write; a pipe takes them as a whole
	// drainGrace is how long Close waits for a reader that takes nothing.
	drainGrace = 250 * time.Millisecond
)

var errUndrained = errors.New("nobody reads standard error")

func newBackgroundWriter(w io.Writer) *backgroundWriter {
	b := &backgroundWriter{w: w, news: make(chan struct{}, 1), done: make(chan struct{})}
	go b.run()
	return b
}

func (b *backgroundWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue)+len(p) > maxQueued {
		b.missed++
		return len(p), nil
	}
	b.countMissed()
	b.queue = append(b.queue, p...)
	b.notify()
	return len(p), nil
}

// countMissed queues the count of the lines that did not fit. The lock is held.
func (b *backgroundWriter) countMissed() {
	if b.missed > 0 {
		b.queue = fmt.Appendf(b.queue, "mcprec: %s not said: nobody read standard error\n", phrase.Plural(b.missed, "line"))
		b.missed = 0
	}
}

func (b *backgroundWriter) notify() {
	select {
	case b.news <- struct{}{}:
	default:
	}
}

// run writes until the writer is closed and all is written, or w takes no more.
func (b *backgroundWriter) run() {
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
				return // nobody can be told
			}
			b.written.Add(int64(len(piece)))
		}
	}
}

// Close writes the rest. It gives up if the reader takes nothing for drainGrace; the goroutine
// then waits until the process ends.
func (b *backgroundWriter) Close() error {
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

// notices prints what is to be said of one session that is served: each text once, and no more
// than maxNotices.
type notices struct {
	w      io.Writer
	masker session.Masker

	mu       sync.Mutex
	printed  map[string]bool
	left     int // how many more are printed
	withheld int
}

// maxNotices is how many lines are printed while a session is served, and again at its end: a
// client may go on for ever to ask for what was not recorded.
const maxNotices = 20

func newNotices(w io.Writer, d session.Masker) *notices {
	return &notices{w: w, masker: d, printed: map[string]bool{}, left: maxNotices}
}

func (n *notices) print(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.printed[text]: // a client that tries again gets an answer that says so again
	case n.left > 0:
		n.printed[text] = true
		n.left--
		fmt.Fprintf(terminal.NewWriter(n.w), "mcprec: %s\n", terminal.Plain(n.masker.Text(text)))
	default:
		if n.withheld++; n.withheld == 1 {
			fmt.Fprintf(n.w, "mcprec: more lines of this session are counted, and not shown\n")
		}
	}
}

// end prints how many lines were withheld, and the verdicts that were not printed while the
// session was served.
func (n *notices) end(player *standin.Player, verdicts []match.StepVerdict) {
	n.printWithheld()
	n.left = maxNotices
	found := map[string]bool{}
	for _, v := range player.Findings() {
		found[v.String()] = true
	}
	for _, v := range verdicts {
		if !found[v.String()] {
			n.print(v.String())
		}
	}
	n.printWithheld()
}

func (n *notices) printWithheld() {
	if n.withheld > 0 {
		fmt.Fprintf(n.w, "mcprec: %s more of this session not shown\n", phrase.Plural(n.withheld, "line"))
	}
	n.withheld = 0
}
