package view

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/parallel"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/store"
)

// index is what a fold over a session leaves. It grows in one goroutine, which parses each event
// once for all.
type index struct {
	source *source
	users  int // requests that use an index of a list, under the server's lock
	end    context.CancelFunc
	ended  chan struct{} // closed when nothing grows any more

	mu        sync.Mutex
	err       error // of the log
	done      bool  // no event comes any more
	drawn     *picture.Index
	isHTTP    bool
	delivered int // events
	check     *check.Fold
	findings  []check.Finding // the first of them
	found     int
	now       *state.State
	states    picture.States
	watchers  map[chan struct{}]bool
}

func newIndex(of *source) *index {
	x := &index{
		source: of, ended: make(chan struct{}), drawn: picture.NewIndex(), now: state.New(), watchers: map[chan struct{}]bool{},
	}
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

// tellEvery is after how many events those who wait are woken.
const tellEvery = 8192

// grow folds the session until its end, or until ctx is done: first the events that are there, parsed
// on several cores, and then those that come.
func (x *index) grow(ctx context.Context) {
	err := x.growRecorded(ctx)
	if err == nil {
		inOrder := x.source.inOrder
		err = session.Each(x.source.recorded(ctx, x.length()+1, true), func(e store.Event) error {
			e = x.source.maskNext(e, inOrder)
			var parsed order.Parsed
			if e.Kind == store.Frame {
				parsed = order.Parse(e.AsFrame())
			}
			defer x.tell()
			return x.apply(e, parsed)
		})
	}
	x.mu.Lock()
	if err == nil {
		x.check.Close(0)
	}
	x.err = err
	x.done = true
	x.mu.Unlock()
	x.tell()
}

// growRecorded folds the events that are there.
func (x *index) growRecorded(ctx context.Context) error {
	type made struct {
		alone  bool // masked
		parsed order.Parsed
	}
	events := parallel.Map(x.source.recorded(ctx, 1, false), func(e *store.Event, m *made) {
		x.source.maskAlone(e, &m.alone)
		m.parsed = order.Parsed{}
		if e.Kind == store.Frame && (m.alone || x.source.events != nil) {
			m.parsed = order.Parse(e.AsFrame())
		}
	})
	for e, err := range events {
		if err == nil && !e.Made.alone {
			e.Event = x.source.maskNext(e.Event, x.source.inOrder)
			if e.Kind == store.Frame && x.source.events == nil {
				e.Made.parsed = order.Parse(e.AsFrame())
			}
		}
		if err == nil {
			err = x.apply(e.Event, e.Made.parsed)
		}
		if err != nil {
			return err
		}
		if e.Seq%tellEvery == 0 {
			x.tell()
		}
	}
	x.tell()
	return ctx.Err()
}

// apply takes the next event.
func (x *index) apply(e store.Event, parsed order.Parsed) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.drawn.ApplyParsed(e, parsed.Messages, parsed.Messages != nil); err != nil {
		return err
	}
	x.isHTTP = x.isHTTP || e.Stream > 0
	if e.Kind == store.Delivered {
		x.delivered++
	}
	var err error
	if e.Kind == store.Frame {
		err = x.check.ApplyParsed(e, parsed)
	} else {
		err = x.check.Apply(e)
	}
	if err == nil {
		err = x.now.ApplyParsed(e, parsed.Messages)
	}
	if err != nil {
		return fmt.Errorf("index %s: %w", x.source.session.Name, err)
	}
	x.states.Add(x.now)
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

// tell wakes those who wait for the index to grow.
func (x *index) tell() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for c := range x.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// watch returns a channel that gets a value after the index has grown, and the end of that.
func (x *index) watch() (grown <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.watchers[c] = true
	return c, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.watchers, c)
	}
}

// Rows near the start are made of a fold of their own until the index has come there; elsewhere
// beyond the index, of the events a little before.
const (
	nearStart = 5000
	reach     = 500
)

// rows returns the rows of at most n events from a Seq on, and the calls that run beside them.
func (x *index) rows(ctx context.Context, from, n uint64) (rowsAnswer, error) {
	x.mu.Lock()
	drawn := x.drawn
	if (from+n > drawn.Len()) && !x.done { // what is beyond the index may be there already
		x.mu.Unlock()
		if from+n <= nearStart {
			return x.rowsBefore(ctx, from, n, 1)
		}
		if from > x.length() {
			return x.rowsBefore(ctx, from, n, max(from, reach+1)-reach)
		}
		x.mu.Lock()
	}
	part := drawn.Range(from, int(n))
	first, last := part.Events()
	answer := rowsAnswer{First: from, Calls: drawn.Calls(first, last), Indexed: drawn.Len()}
	x.mu.Unlock()
	wanted := part.Wants()
	for i := 0; i < len(wanted); { // runs of near requests are read at once
		for e, err := range x.source.read(ctx, wanted[i]) {
			if err != nil {
				return answer, err
			}
			if e.Seq == wanted[i] {
				if err := part.Apply(e); err != nil {
					return answer, err
				}
				i++
			}
			if i == len(wanted) || wanted[i] > e.Seq+reach {
				break
			}
		}
	}
	if first <= last {
		for e, err := range x.source.read(ctx, first) {
			if err == nil {
				err = part.Apply(e)
			}
			if err != nil {
				return answer, err
			}
			if e.Seq == last {
				break
			}
		}
	}
	answer.Rows = append([]picture.Row{}, part.Rows()...)
	return answer, nil
}

// rowsBefore makes rows before they are indexed, from a fold that begins at an event.
func (x *index) rowsBefore(ctx context.Context, from, n, begin uint64) (rowsAnswer, error) {
	answer := rowsAnswer{First: from, Rows: []picture.Row{}, Calls: []picture.Call{}, Indexed: x.length()}
	near := picture.NewIndex()
	t := newRows(func(row picture.Row) {
		if row.Seq >= from {
			answer.Rows = append(answer.Rows, row)
		}
	})
	for e, err := range x.source.read(ctx, begin) {
		if err == nil && e.Seq >= from+n {
			break
		}
		if err == nil {
			err = t.Apply(e)
		}
		if err == nil && begin == 1 {
			err = near.Apply(e)
		}
		if err != nil {
			return answer, err
		}
	}
	if begin == 1 {
		answer.Calls = near.Calls(from, min(from+n-1, near.Len()))
	}
	return answer, nil
}

// stateAt returns the state after an event, folded on from a state that is kept.
func (x *index) stateAt(ctx context.Context, seq uint64) (*state.State, error) {
	x.mu.Lock()
	at := x.states.Nearest(seq)
	x.mu.Unlock()
	if at.Seq() >= seq {
		return at, nil
	}
	for e, err := range x.source.read(ctx, at.Seq()+1) {
		if err == nil {
			err = at.Apply(e)
		}
		if err != nil {
			return nil, err
		}
		if e.Seq >= seq {
			break
		}
	}
	return at, nil
}
