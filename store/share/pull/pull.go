// Package pull brings sessions of a team's stream into a folder, where every command of mcprec works on them as
// on its own.
//
// # What it promises
//
// A session arrives through a spool of the folder, as if it were recorded there: a live one is live in the
// folder while it is pulled, grows as its events come, and is sealed with its last event. One whose recorder
// has died, or of which no push has told for a while, has crashed. An event is there once, in its place, or not
// yet. What the stream loses in a power cut and gets again is not taken twice.
//
// If the pull ends, or dies, what it has of unfinished sessions is an unbroken beginning; the next pull takes
// such a session anew, and removes the old one when the new one has begun. What was removed from the folder by
// its user does not come back.
//
// # Data layout
//
// The folder is a store of package boltstore. Beside its files stands pull.lock, which one pull holds at a time.
// Where the clock of the machine that recorded a live session is wrong by more than the network can be slow, its
// start is told by this machine's clock, and its label clock says by how much it was moved: else a call would be
// told to wait an hour too long, or not to wait at all.
//
// # What it refuses to do
//
// It brings no more than there is room for: see Options.MaxBytes. It changes nothing in the stream. It brings no session whose beginning the stream has dropped.
package pull

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/stream"
)

// Folder is where sessions go, as boltstore.Store is.
type Folder interface {
	store.Spooler
	Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error]
	Release(ctx context.Context, id store.SessionID) error
	FoldDead(ctx context.Context) error
	Space(ctx context.Context) (store.Space, error)
	Info() store.Info
}

// Stream is where sessions come from, as stream.Stream is.
type Stream interface {
	Entries(ctx context.Context, follow bool) iter.Seq2[stream.Entry, error]
	Read(ctx context.Context, id store.SessionID, from uint64, live func() bool) iter.Seq2[store.Event, error]
	Head(ctx context.Context, id store.SessionID) (store.Head, error)
}

// Options configures a pull.
type Options struct {
	// Wants chooses sessions by what a push has told of them; nil: all.
	Wants func(*stream.Entry) bool
	// Follow goes on after the sessions that are there: live ones are followed, and new ones come.
	Follow bool
	// MaxBytes is about how many bytes the folder may use: events count as long as they are until they are stored
	// compressed. 0: there is no bound.
	MaxBytes int64
	// Said is called when a session begins to arrive, has arrived as far as it goes, or something has failed;
	// nil: nobody is told. Calls do not overlap.
	Said func(Arrival)
}

// Arrival is what became of a session, or with an empty ID a fault of the folder or of the stream's list.
type Arrival struct {
	ID     store.SessionID
	Header store.Header
	Events uint64
	State  store.State // store.Live: it begins to arrive
	Err    error
}

// atOnce is how many sessions that have ended are pulled at once. Live ones have no bound.
const atOnce = 4

// clocksAgree is how much two entries may differ in what they tell of a clock.
const clocksAgree = 5 * time.Second

// retryAfter is when a session is tried again whose pulling has failed.
const retryAfter = 5 * time.Second

// ErrFull: the folder has as many bytes as it may have.
var ErrFull = errors.New("the folder is full")

// pull is a run of Run.
type pull struct {
	folder  Folder
	stream  Stream
	options Options
	slots   chan struct{}
	said    sync.Mutex
	give    context.CancelCauseFunc // ends the run

	space sync.Mutex
	used  int64 // bytes of the folder when it was measured, and of the events since

	mu      sync.Mutex
	entries map[store.SessionID]*stream.Entry // newest
	have    map[store.SessionID]had           // in the folder
	running map[store.SessionID]bool
}

// had is what the folder has of a session.
type had struct {
	events uint64
	sealed bool
	refuse bool      // it does not come back: its user has removed it, or the stream has no beginning of it
	again  time.Time // it is not tried before
}

// Run brings sessions into the folder until ctx ends, or without Options.Follow until it has what is there. One
// pull at a time works on a folder: the error is store.ErrBusy while another does. With Options.Follow it goes on
// past faults of the stream. A folder that is full ends both: the error is ErrFull.
func Run(ctx context.Context, folder Folder, from Stream, options Options) error {
	p := &pull{folder: folder, stream: from, options: options, slots: make(chan struct{}, atOnce),
		entries: map[store.SessionID]*stream.Entry{}, have: map[store.SessionID]had{}, running: map[store.SessionID]bool{}}
	if err := os.MkdirAll(folder.Info().Location, 0o700); err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	lock := flock.New(filepath.Join(folder.Info().Location, "pull.lock"), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("another pull into this folder runs: %w", store.ErrBusy)
	}
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if err := folder.FoldDead(ctx); err != nil { // of a pull that died; the rest of the folder is well
		p.say(Arrival{Err: err})
	}
	p.used = p.measure(ctx)
	for found, err := range folder.Sessions(ctx, store.Query{}) {
		if err != nil {
			p.say(Arrival{Err: err})
			continue
		}
		p.have[found.ID] = had{events: found.Head.Seq, sealed: found.Head.Sealed}
	}
	var arriving sync.WaitGroup
	defer arriving.Wait()
	work, give := context.WithCancelCause(ctx)
	defer give(nil)
	p.give = give
	for {
		var err error
		for e, fault := range from.Entries(work, options.Follow) {
			if err = fault; err == nil {
				p.take(work, &e, &arriving)
			}
		}
		if !options.Follow || errors.Is(err, store.ErrClosed) {
			arriving.Wait()
		}
		switch full := context.Cause(work); {
		case ctx.Err() != nil:
			return nil
		case errors.Is(full, ErrFull):
			return full
		case !options.Follow || errors.Is(err, store.ErrClosed):
			return err
		}
		p.say(Arrival{Err: err})
		_ = pause(work, retryAfter) // then Entries says that it is done
	}
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take notes an entry, and begins to pull its session if that is due.
func (p *pull) take(ctx context.Context, e *stream.Entry, arriving *sync.WaitGroup) {
	id := e.ID()
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.entries[id]
	p.entries[id] = e
	if e.Ahead != 0 && e.IsLive() && p.options.Follow && (before == nil || (before.Ahead-e.Ahead).Abs() > clocksAgree) {
		return // the next entry says whether the clock is wrong, or the entry was slow
	}
	p.start(ctx, e, arriving)
}

// start begins to pull a session, as its newest entry tells, if that is due. The caller holds mu.
func (p *pull) start(ctx context.Context, e *stream.Entry, arriving *sync.WaitGroup) {
	id := e.ID()
	has := p.have[id]
	switch {
	case p.running[id], has.refuse, has.sealed, time.Now().Before(has.again):
		return
	case e.Head.Seq <= has.events && !e.IsLive():
		return
	case p.options.Wants != nil && !p.options.Wants(e):
		return
	}
	p.running[id] = true
	moved := time.Duration(0)
	if e.IsLive() && p.options.Follow {
		moved = -e.Ahead
	}
	arriving.Go(func() {
		if !p.isLive(id) {
			select {
			case p.slots <- struct{}{}:
				defer func() { <-p.slots }()
			case <-ctx.Done():
				return
			}
		}
		arrival := p.bring(ctx, e, moved)
		if ctx.Err() == nil {
			p.say(arrival)
		}
		if errors.Is(arrival.Err, ErrFull) {
			p.give(fmt.Errorf("pull: %w", arrival.Err))
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, id)
		has := had{events: arrival.Events, sealed: arrival.State == store.Ended}
		if arrival.Err != nil {
			has.again = time.Now().Add(retryAfter)
			has.refuse = errors.Is(arrival.Err, store.ErrExists) || errors.Is(arrival.Err, stream.ErrBeginningGone)
		}
		p.have[id] = has
		switch newest := p.entries[id]; {
		case arrival.Err == nil && newest != e: // it came meanwhile, and may be the last
			p.start(ctx, newest, arriving)
		case arrival.Err != nil && p.options.Follow:
			arriving.Go(func() {
				if pause(ctx, retryAfter) == nil {
					p.mu.Lock()
					defer p.mu.Unlock()
					p.start(ctx, p.entries[id], arriving)
				}
			})
		}
	})
}

func (p *pull) say(arrival Arrival) {
	p.said.Lock()
	defer p.said.Unlock()
	if p.options.Said != nil {
		p.options.Said(arrival)
	}
}

// isLive reports whether a push still follows the recorder of a session.
func (p *pull) isLive(id store.SessionID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.entries[id].IsLive()
}

// bring pulls a session into the folder, until it is sealed, or nobody follows its recorder any more. Its start is
// moved by so much.
func (p *pull) bring(ctx context.Context, e *stream.Entry, moved time.Duration) (a Arrival) {
	a = Arrival{ID: e.ID(), Header: e.Header, State: store.Crashed}
	var live func() bool
	if p.options.Follow {
		live = func() bool { return p.isLive(a.ID) }
	}
	var spool store.Spool
	defer func() {
		if spool == nil {
			return
		}
		if err := spool.Close(); err != nil && !errors.Is(a.Err, context.Canceled) {
			a.Err = errors.Join(a.Err, err)
		}
	}()
	for failures := 0; ; failures++ {
		before := a.Events
		a.Err = nil
		for event, err := range p.stream.Read(ctx, a.ID, a.Events+1, live) {
			if err == nil && event.Seq == 1 {
				spool, err = p.begin(ctx, event, moved)
				if err == nil && p.isLive(a.ID) {
					p.say(Arrival{ID: a.ID, Header: e.Header, Events: 1, State: store.Live})
				}
			} else if err == nil {
				if err = p.claim(ctx, event); err == nil {
					err = spool.Write([]store.Part{{Event: event}})
				}
			}
			if err != nil {
				a.Err = err
				break
			}
			a.Events = event.Seq
			if event.Kind == store.Closed {
				a.State = store.Ended
			}
		}
		if a.Events > before {
			failures = 0
		}
		// Only the connection may get better.
		if a.Err == nil || spool == nil || live == nil || ctx.Err() != nil || errors.Is(a.Err, store.ErrCorrupt) || errors.Is(a.Err, store.ErrNotFound) ||
			errors.Is(a.Err, store.ErrNewer) || errors.Is(a.Err, store.ErrClosed) || errors.Is(a.Err, ErrFull) || failures > 5 {
			return a
		}
		_ = pause(ctx, min(100*time.Millisecond<<failures, retryAfter)) // then Read says that ctx is done
	}
}

// begin begins a session in the folder, in the place of what an earlier pull has left of it.
func (p *pull) begin(ctx context.Context, opened store.Event, moved time.Duration) (store.Spool, error) {
	header, err := store.ParseHeader(opened.Payload)
	if err != nil {
		return nil, err
	}
	if moved != 0 {
		header.Start = header.Start.Add(moved)
		header.Labels = maps.Clone(header.Labels)
		if header.Labels == nil {
			header.Labels = map[string]string{}
		}
		header.Labels["clock"] = fmt.Sprintf("%+ds", int(-moved.Round(time.Second).Seconds()))
		opened.Payload = header.Encode()
	}
	if err := p.folder.Release(ctx, header.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if err := p.claim(ctx, opened); err != nil {
		return nil, err
	}
	return p.folder.Spool(ctx, opened)
}

// claim takes the room for an event, or returns ErrFull. The folder is measured when the room seems to be used up:
// what has been stored is compressed, and its user removes sessions.
func (p *pull) claim(ctx context.Context, event store.Event) error {
	if p.options.MaxBytes <= 0 {
		return nil
	}
	const head = 32 // of an event in a spool
	size := int64(len(event.Payload)) + head
	p.space.Lock()
	defer p.space.Unlock()
	p.used += size
	if p.used <= p.options.MaxBytes {
		return nil
	}
	if p.used = p.measure(ctx) + size; p.used > p.options.MaxBytes {
		return fmt.Errorf("%w: with event %d it would have %d MB, and may have %d", ErrFull, event.Seq, p.used/1e6, p.options.MaxBytes/1e6)
	}
	return nil
}

// measure returns how many bytes the folder uses. What cannot be read of it counts whole.
func (p *pull) measure(ctx context.Context) int64 {
	space, _ := p.folder.Space(ctx)
	return space.Files - space.Free
}
