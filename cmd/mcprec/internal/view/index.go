package view

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// index is what a fold over a session leaves, so that any part of it can be shown at once. It grows in
// one goroutine, which parses each event once.
type index struct {
	source *source
	end    context.CancelFunc // of the goroutine
	ended  chan struct{}      // closed at the end of the goroutine
	growth growth

	mu        sync.Mutex
	err       error         // of the log
	isRead    bool          // the events that were there at the start are indexed
	done      bool          // no event comes any more
	waiting   chan struct{} // of the request that waits: see waitFor
	drawn     *picture.Index
	isHTTP    bool           // an event belongs to an HTTP exchange
	folds     int            // events of HTTP, and of the recording
	delivered int            // events that tell of a delivery
	first     uint64         // the first event with a message; 0: none
	exited    uint64         // the event of the end of the server's process; 0: none
	exit      store.ExitInfo // how it ended
	model     *timeline.Model
	check     *check.Fold
	findings  []check.Finding // the first maxFindings
	found     int             // how many findings there are
	latest    *state.State
	states    picture.States
}

func newIndex(of *source) *index {
	x := &index{source: of, ended: make(chan struct{}), drawn: picture.NewIndex(), model: timeline.NewModel(timeline.Remembered), latest: state.New()}
	x.check = check.New(check.Gate{}, func(f check.Finding) {
		x.found++
		if len(x.findings) < maxFindings {
			x.findings = append(x.findings, f)
		}
		if len(f.Events) > 0 {
			x.drawn.Mark(f.Events[0])
		}
	})
	return x
}

// openIndex takes over a session and begins to index it.
func openIndex(ctx context.Context, s *session.Session) (*index, error) {
	opened, err := openSource(ctx, s)
	if err != nil {
		return nil, err
	}
	x := newIndex(opened)
	ctx, x.end = context.WithCancel(ctx)
	go func() {
		defer close(x.ended)
		x.grow(ctx)
	}()
	return x, nil
}

// close ends the indexing, waits for its end and closes the session.
func (x *index) close() error {
	x.end()
	<-x.ended
	return x.source.session.Close()
}

// tellEvery is after how many recorded events the growth is told.
const tellEvery = 8192

// grow folds the session until its end, or until ctx is done: first the events that are there, parsed
// on several cores, and then those that come.
func (x *index) grow(ctx context.Context) {
	err := x.growRecorded(ctx)
	x.mu.Lock()
	x.isRead = true
	x.mu.Unlock()
	if err == nil {
		inOrder := x.source.inOrder
		err = session.Each(x.source.recorded(ctx, x.length()+1, true), func(e store.Event) error {
			e = x.source.maskNext(e, inOrder)
			var parsed session.Parsed
			parsed.Parse(&e)
			defer x.growth.tell()
			return x.apply(e, &parsed)
		})
	}
	x.mu.Lock()
	if err == nil {
		x.check.Close(0)
	}
	x.err = err
	x.done = true
	x.mu.Unlock()
	x.growth.tell()
}

// growRecorded folds the events that are there.
func (x *index) growRecorded(ctx context.Context) error {
	type made struct {
		alone  bool // it is masked: see maskAlone
		parsed session.Parsed
	}
	events := session.MapEvents(x.source.recorded(ctx, 1, false), func(e *store.Event, m *made) {
		x.source.maskAlone(e, &m.alone)
		if m.alone || x.source.events != nil {
			m.parsed.Parse(e)
		}
	})
	for e, err := range events {
		if err == nil && !e.Made.alone {
			e.Event = x.source.maskNext(e.Event, x.source.inOrder)
			if x.source.events == nil {
				e.Made.parsed.Parse(&e.Event)
			}
		}
		if err == nil {
			err = x.apply(e.Event, &e.Made.parsed)
		}
		if err != nil {
			return err
		}
		if e.Seq%tellEvery == 0 {
			x.growth.tell()
		}
	}
	x.growth.tell()
	return ctx.Err()
}

// apply takes the next event.
func (x *index) apply(e store.Event, parsed *session.Parsed) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	step := x.model.TakeParsed(e, parsed.Messages, parsed.IsJSON) // under the lock: the readers share its calls
	if err := x.drawn.Take(step); err != nil {
		return err
	}
	x.isHTTP = x.isHTTP || e.Stream > 0
	if e.Kind != store.Frame {
		x.folds++
	}
	switch {
	case e.Kind == store.Delivered:
		x.delivered++
	case e.Kind == store.Exited:
		x.exit, _ = store.DecodePayload[store.ExitInfo](e) // what cannot be read is no failure
		x.exited = e.Seq
	case e.Kind == store.Frame && x.first == 0 && len(step.Messages) > 0:
		x.first = e.Seq
	}
	err := x.check.Take(step)
	if err == nil {
		err = x.latest.Take(step)
	}
	if err != nil {
		return fmt.Errorf("index %s: %w", x.source.session.Name, err)
	}
	x.states.Add(picture.Point{Model: x.model, State: x.latest})
	x.source.hasIndexed(e.Seq)
	return nil
}

// length returns how many events are indexed.
func (x *index) length() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drawn.Len()
}

// progress returns how many events are indexed, and whether no more will come.
func (x *index) progress() (indexed uint64, done bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.drawn.Len(), x.done
}

// now returns the present time since the start of a session that goes on; 0 of any other.
func (x *index) now() time.Duration {
	_, done := x.progress()
	if done && x.source.events == nil {
		return 0
	}
	return x.source.session.Now()
}
