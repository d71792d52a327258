package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Fate is what a flush has done with a session.
type Fate string

// The fates of the sessions that dead recorders left.
const (
	Sent  Fate = "sent"  // the shared store has acknowledged all of it; the spool is held back for Left
	Held  Fate = "held"  // it was complete before; the spool is held back for Left
	Freed Fate = "freed" // the shared store still has it, and the spool is gone
	Waits Fate = "waits" // it could not be sent, or not all of it; a later flush goes on
	Kept  Fate = "kept"  // it stays until somebody looks at it: Err says why
)

// Flushed is the result of a flush for one session.
type Flushed struct {
	ID    store.SessionID
	Bytes int64 // that it takes here
	Fate  Fate
	Sent  uint64        // events that the shared store did not have before
	Left  time.Duration // of the hold-back
	Err   error         // of Waits and Kept, and of Freed if a damaged spool was kept
}

// flushTries is how many failures in a row a flush takes for one session.
const flushTries = 3

// Flush ships what dead recorders left, and frees what may go. It calls report for each session,
// and leaves out those of live recorders. One flush at a time works on an outbox: the error is
// ErrBusy while another does. Without a connection it reports what waits, and returns the error.
func (o *Outbox) Flush(ctx context.Context, report func(Flushed)) error {
	if err := o.enter(); err != nil {
		return fmt.Errorf("flush outbox: %w", err)
	}
	defer o.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.ctx, cancel)()
	ran, err := o.local.Alone(ctx, func(ctx context.Context) error { return o.flush(ctx, report) })
	if err == nil && !ran {
		err = store.ErrBusy
	}
	if err != nil {
		return fmt.Errorf("flush outbox: %w", err)
	}
	return nil
}

func (o *Outbox) flush(ctx context.Context, report func(Flushed)) error {
	list, fault := o.local.Waiting(ctx)
	var unlinked error // there is no connection
	for _, info := range list {
		if ctx.Err() != nil {
			break
		}
		if info.Live || o.ships(info.ID) {
			continue
		}
		result := Flushed{ID: info.ID, Bytes: info.Bytes}
		unlinked = o.flushOne(ctx, &result, unlinked)
		report(result)
	}
	o.measure(ctx)
	return errors.Join(fault, unlinked, ctx.Err())
}

// ships reports whether this process ships a session.
func (o *Outbox) ships(id store.SessionID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	x := o.sessions[id]
	return x != nil && x.shipping.Load()
}

// flushOne does what is to be done with a session. unlinked is the error of the connection, before
// and after.
func (o *Outbox) flushOne(ctx context.Context, result *Flushed, unlinked error) error {
	data, err := o.local.ShippedState(result.ID)
	if err != nil {
		result.Fate = Waits
		result.Err = err
		return unlinked
	}
	known := parseState(data)
	at := o.clock()
	elapsed, ok := known.elapsed(at)
	if !ok && known.Complete { // the clock was set back
		known.acknowledge(known.Head.head(), known.Bytes, at)
		if err := o.local.KeepShippedState(result.ID, known.encode()); err != nil {
			o.note(err)
		}
	}
	what, left := known.judge(elapsed, o.options.HoldBack)
	result.Left = left
	switch {
	case what == toKeep && known.Stopped != "":
		result.Fate = Kept
		result.Err = errors.New(known.Stopped)
		return unlinked
	case what == toKeep:
		result.Fate = Kept
		result.Err = fmt.Errorf("session %s: %d of its events are cut in %s, and whole only here", result.ID, len(known.Cut), o.options.Target)
		return unlinked
	case what == toHold:
		result.Fate = Held
		return unlinked
	case unlinked == nil:
		call, cancel := context.WithTimeout(ctx, callTime(0))
		defer cancel()
		var shared Shared
		if shared, _, unlinked = o.link.get(call); unlinked == nil {
			o.flushInto(ctx, call, shared, result, known, what)
			return nil
		}
		unlinked = fmt.Errorf("connect to %s: %w", o.options.Target, unlinked)
		o.note(unlinked)
	}
	result.Fate = Waits
	result.Err = unlinked
	return unlinked
}

// flushInto frees the spool of a session, or ships the session. call is for short calls.
func (o *Outbox) flushInto(ctx, call context.Context, shared Shared, result *Flushed, known state, what verdict) {
	if what == toLook {
		head, err := shared.Head(call, result.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			result.Fate = Waits
			result.Err = err
			return
		}
		if err == nil && known.mayGo(head) {
			o.free(ctx, result)
			return
		}
	}
	s := &shipment{outbox: o, id: result.ID, tries: flushTries, random: rand.Float64}
	err := s.run(ctx)
	if s.head.Seq > s.began {
		result.Sent = s.head.Seq - s.began
	}
	stopped := (*StoppedError)(nil)
	local := (*localError)(nil)
	switch {
	case err == nil:
		result.Fate = Sent
		result.Left = o.options.HoldBack
		o.mu.Lock()
		x := o.sessions[result.ID]
		o.mu.Unlock()
		if x != nil { // its shipment had stopped
			o.forget(x)
		}
	case errors.Is(err, store.ErrExists) && known.Complete: // somebody has deleted it, who had all of it
		o.free(ctx, result)
	case errors.As(err, &local) && errors.Is(local, store.ErrNotFound): // its recorder died before the first event
		o.free(ctx, result)
	case errors.As(err, &stopped) && !errors.Is(err, store.ErrLive):
		result.Fate = Kept
		result.Err = err
	default:
		result.Fate = Waits
		result.Err = err
	}
}

// free removes a session from the outbox.
func (o *Outbox) free(ctx context.Context, result *Flushed) {
	result.Fate = Freed
	result.Err = o.local.Release(ctx, result.ID)
	if result.Err == nil || errors.Is(result.Err, store.ErrCorrupt) {
		return
	}
	result.Fate = Waits
	if errors.Is(result.Err, store.ErrNotFound) { // a prune was quicker
		result.Fate = Freed
		result.Err = nil
	}
}

// Left is what an outbox still has of a session.
type Left struct {
	ID       store.SessionID
	Bytes    int64  // that it takes here
	Live     bool   // its recorder sends it
	Complete bool   // the shared store has acknowledged all of it, and it is held back
	Stopped  string // why nobody sends it any more; "": somebody will
}

// Look lists what is left in the outbox, and sends nothing. The error names what cannot be read; the
// rest is listed.
func (o *Outbox) Look(ctx context.Context) (list []Left, err error) {
	waiting, err := o.local.Waiting(ctx)
	faults := []error{err}
	for _, info := range waiting {
		data, err := o.local.ShippedState(info.ID)
		faults = append(faults, err)
		known := parseState(data)
		list = append(list, Left{ID: info.ID, Bytes: info.Bytes, Live: info.Live, Complete: known.Complete, Stopped: known.Stopped})
	}
	return list, errors.Join(faults...)
}
