package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
)

const (
	entryEach      = 5 * time.Second // the most often that an entry is written while events come
	refreshAtOnce  = 16              // entries that are written at the same time
	refreshesLease = 3.5             // refreshes in the time of a lease
)

// claim is the right to write a session. One goroutine appends and releases; the store's refresher
// writes the entry beside it.
type claim struct {
	s     *Store
	id    store.SessionID
	token string

	// Of the goroutine that appends.
	end      place // of the log
	known    bool  // end is where the log ends
	released bool

	before  entry         // the session's entry when it was claimed
	writing chan struct{} // holds a value while the entry is being written

	mu    sync.Mutex
	entry entry     // the next form; its seq is that of the form in the stream
	dirty bool      // events were appended since
	wrote time.Time // when it was written, by this machine's clock
	lost  bool      // another has the session
	done  bool      // the entry is settled, and never written again
}

// Append adds events after Seq `after`.
func (c *claim) Append(ctx context.Context, after uint64, events []store.Event) (store.Head, error) {
	_, err := c.s.begin(c.id)
	if err == nil {
		defer c.s.calls.Done()
		if c.released {
			err = errors.New("the claim was released")
		}
	}
	if err != nil {
		return store.Head{}, fmt.Errorf("append to session %s: %w", c.id, err)
	}
	for tries := 1; ; tries++ {
		err := c.appendOnce(ctx, after, events)
		var conflict *store.ConflictError
		switch {
		case err == nil || errors.As(err, &conflict):
			return c.end.session.Head, err
		case !errors.Is(err, errMoved) || tries == maxTries:
			return c.end.session.Head, fmt.Errorf("append to session %s: %w", c.id, err)
		}
	}
}

func (c *claim) appendOnce(ctx context.Context, after uint64, events []store.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.look(ctx); err != nil {
		return err
	}
	fresh, err := c.s.fresh(ctx, c.end, after, events)
	if err != nil || len(fresh) == 0 {
		return err
	}
	if fresh[0].Seq == 1 {
		if err := c.s.meta.markIrregular(ctx, fresh[0]); err != nil {
			return err
		}
	}
	c.known = false
	end, err := c.s.logs.append(ctx, c.end, fresh, c.token)
	switch {
	case errors.Is(err, errMoved):
		return c.moved(ctx)
	case errors.Is(err, errUnknown):
		return err
	case err != nil: // nothing was stored
		c.known = true
		return err
	}
	c.end = end
	c.known = true
	return c.appended(ctx, fresh[0])
}

// look finds the end of the log if it is not known, and says whether another has the session.
func (c *claim) look(ctx context.Context) error {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	if lost {
		return fmt.Errorf("another recorder has claimed it: %w", store.ErrLive)
	}
	if c.known {
		return nil
	}
	end, err := c.s.logs.last(ctx, c.id)
	if err != nil {
		return err
	}
	c.end = end
	c.known = true
	return nil
}

// moved returns errMoved if the session is still this claim's after another message came, and
// store.ErrLive otherwise.
func (c *claim) moved(ctx context.Context) error {
	e, err := c.s.meta.entry(ctx, c.id)
	if err != nil {
		return err
	}
	switch {
	case e.writer == c.token:
		return errMoved
	case c.rolledBack(e):
		if err := c.write(ctx); err != nil {
			return err
		}
		return errMoved
	}
	c.mu.Lock()
	c.lost = true
	c.mu.Unlock()
	return c.look(ctx)
}

// rolledBack reports whether the session's entry is the one from before the claim again: the servers
// have lost what they had acknowledged, in a power cut, and the session is nobody else's. The claim's
// entry can be written again, in that place only.
func (c *claim) rolledBack(now entry) bool {
	return now.seq == c.before.seq && now.writer == c.before.writer
}

// appended tells the entry of new events. The first and the last event of a session are written at
// once; if that fails the refresher, or Release, does it.
func (c *claim) appended(ctx context.Context, first store.Event) error {
	c.mu.Lock()
	c.entry.session = withCounts(c.entry.session, c.end.session)
	c.dirty = true
	if first.Seq == 1 {
		c.entry.takeOpening(first)
	}
	if c.end.session.Head.Sealed {
		c.entry.settled = true
		c.entry.held = false
	}
	urgent := first.Seq == 1 || c.entry.settled
	c.mu.Unlock()
	if urgent {
		_ = c.write(ctx)
	}
	return nil
}

// write writes the entry. store.ErrLive if another has the session.
func (c *claim) write(ctx context.Context) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.writing }()
	for range maxTries {
		c.mu.Lock()
		e := c.entry
		finished := c.done || c.lost
		c.dirty = false
		c.mu.Unlock()
		if finished {
			return nil
		}
		began := time.Now()
		e.clock = began
		seq, err := c.s.meta.put(ctx, e)
		c.mu.Lock()
		if err == nil {
			c.entry.seq = seq
			c.wrote = began
			c.done = e.settled
		} else {
			c.dirty = true
		}
		c.mu.Unlock()
		if !errors.Is(err, errMoved) {
			return err
		}
		// An earlier write may have come late.
		now, err := c.s.meta.entry(ctx, c.id)
		if err != nil {
			return err
		}
		c.mu.Lock()
		own := now.writer == c.token || c.rolledBack(now)
		if own {
			c.entry.seq = now.seq
		} else {
			c.lost = true
		}
		c.mu.Unlock()
		if !own {
			return store.ErrLive
		}
	}
	return errMoved
}

// Release ends the claim. A second call does nothing.
func (c *claim) Release(ctx context.Context) error {
	if c.released {
		return nil
	}
	_, err := c.s.begin(c.id)
	if err == nil {
		defer c.s.calls.Done()
		err = c.release(ctx)
	}
	if err != nil {
		return fmt.Errorf("release session %s: %w", c.id, err)
	}
	c.released = true
	c.s.claims.remove(c)
	return nil
}

func (c *claim) release(ctx context.Context) error {
	inDoubt := !c.known
	err := c.look(ctx)
	if err == nil && inDoubt { // an append may still be on its way
		c.known = false
		c.end, err = c.s.logs.fence(ctx, c.end, c.token)
		c.known = err == nil
	}
	if errors.Is(err, store.ErrLive) {
		c.released = true
		c.s.claims.remove(c)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.entry.session = withCounts(c.entry.session, c.end.session)
	c.entry.settled = true
	c.entry.held = false
	e := c.entry
	c.mu.Unlock()
	if err := findOpening(ctx, c.s.logs, &e, c.end); err != nil {
		return err
	}
	c.mu.Lock()
	c.entry.opened = e.opened
	c.entry.session.Header = e.session.Header
	c.mu.Unlock()
	return c.write(ctx)
}

// claims are the claims of a store. One goroutine writes their entries in time.
type claims struct {
	mu    sync.Mutex
	held  map[*claim]struct{}
	end   context.CancelFunc
	ended chan struct{}
}

func (l *claims) add(c *claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[c] = struct{}{}
}

func (l *claims) remove(c *claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, c)
}

func (l *claims) start(s *Store) {
	ctx, cancel := context.WithCancel(context.Background())
	l.held = map[*claim]struct{}{}
	l.end = cancel
	l.ended = make(chan struct{})
	refresh := time.Duration(float64(s.options.lease()) / refreshesLease)
	go func() {
		defer close(l.ended)
		tick := time.NewTicker(refresh / 10)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.refresh(ctx, refresh)
			}
		}
	}()
}

func (l *claims) stop() {
	l.end()
	<-l.ended
}

// refresh writes the entries that are due, a few at a time.
func (l *claims) refresh(ctx context.Context, each time.Duration) {
	l.mu.Lock()
	var due []*claim
	for c := range l.held {
		if c.due(time.Now(), each) {
			due = append(due, c)
		}
	}
	l.mu.Unlock()
	inParallel(due, refreshAtOnce, func(c *claim) {
		ctx, cancel := context.WithTimeout(ctx, each)
		defer cancel()
		_ = c.write(ctx) // it is tried again at the next tick
	})
}

func (c *claim) due(now time.Time, each time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := now.Sub(c.wrote)
	return !c.done && !c.lost && (age >= each || c.dirty && age >= min(each/2, entryEach))
}

// inParallel calls `call` for each element, with a few calls at a time, and waits for all.
func inParallel[T any](list []T, atOnce int, call func(T)) {
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, element := range list {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			call(element)
		})
	}
	group.Wait()
}
