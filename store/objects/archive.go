package objects

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
)

// archivers is the number of sessions that are copied at the same time. Each holds a part of its object.
const archivers = 4

// Step is what Archive does with a session.
type Step string

// The steps of an archive.
const (
	Leave  Step = "leave"  // it is live, crashed or too young, or there is nothing to do
	Copy   Step = "copy"   // it is not in the archive
	Remove Step = "remove" // it is in the archive, and the original is to go
)

// Rule says which sessions an archive takes.
type Rule struct {
	Before time.Time // only sessions that ended before
	Delete bool      // the originals are deleted when the copies are verified
}

// Choose returns the step for a session of a listing; isCopied: the archive has it, with its summary.
func (r Rule) Choose(session store.Session, isCopied bool) Step {
	switch {
	case !session.Head.Sealed, session.State == store.Live, !session.Start.Add(session.Head.At).Before(r.Before):
		return Leave
	case !isCopied:
		return Copy
	case r.Delete:
		return Remove
	}
	return Leave
}

// ArchiveOptions configures Archive.
type ArchiveOptions struct {
	Rule
	DryRun bool // it chooses and reports, and changes nothing
	// Mask returns the function that masks the events of a session, from its header; nil: the copies
	// are exact.
	Mask func(store.Header) (func(store.Event) store.Event, error)
	// Summary returns a fold of a session's masked events and the summary bytes that it has made in the
	// end; nil: the copies have no summary bytes, and a reader makes them.
	Summary func() (apply func(store.Event) error, encode func() []byte)
	// Report is called for each session that is copied, removed or at fault, one call at a time.
	Report func(Archived)
}

// Archived is what became of a session.
type Archived struct {
	Session store.Session // of the original
	Step    Step
	Deleted bool  // the original is gone
	Err     error // nil: done
}

// Archive copies sealed sessions from a store into a bucket. It reads each copy to its end before the
// original goes. It may be interrupted and repeated, and several may run at once: each run finishes what
// others began, by reading the copies that are there. A faulty session is reported, and the others go
// on; an error of the bucket ends the archive, and is returned.
//
// mcprec store archive --to s3://BUCKET/PREFIX --older-than 1d --delete calls it so:
//
//	to, err := objects.Open(ctx, options) // of the URL
//	err = objects.Archive(ctx, from, to, objects.ArchiveOptions{
//		Rule:    objects.Rule{Before: time.Now().Add(-olderThan), Delete: remove},
//		DryRun:  dryRun,
//		Mask:    func(h store.Header) (func(store.Event) store.Event, error) { return masker.Of(h).Session().Event, nil },
//		Summary: func() (func(store.Event) error, func() []byte) {
//			fold := summary.NewFold()
//			return fold.Apply, func() []byte { x := fold.Close(0); return x.Encode() }
//		},
//		Report:  func(a objects.Archived) { … },
//	})
func Archive(ctx context.Context, from store.Store, to *Store, options ArchiveOptions) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a := &archive{from: from, to: to, options: options, days: map[string]map[store.SessionID]bool{}}
	chosen, err := a.choose(ctx)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	var group sync.WaitGroup
	seats := make(chan struct{}, archivers)
	for _, x := range chosen {
		if options.DryRun {
			a.report(x)
			continue
		}
		seats <- struct{}{}
		group.Go(func() {
			defer func() { <-seats }()
			if ctx.Err() != nil {
				return
			}
			x.Deleted, x.Err = a.session(ctx, x.Session, x.Step)
			if isOfBucket(x.Err) {
				stop(x.Err)
				return
			}
			a.report(x)
		})
	}
	group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("archive: %w", cause)
	}
	return nil
}

// archive is a running Archive.
type archive struct {
	from    store.Store
	to      *Store
	options ArchiveOptions
	days    map[string]map[store.SessionID]bool // the sessions of a day in the bucket

	mu sync.Mutex // of Report
}

func (a *archive) report(x Archived) {
	if a.options.Report != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.options.Report(x)
	}
}

// choose lists the store and returns what is to be done.
func (a *archive) choose(ctx context.Context) (chosen []Archived, err error) {
	for session, err := range a.from.Sessions(ctx, store.Query{}) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			a.report(Archived{Step: Leave, Err: err})
			continue
		}
		step := a.options.Choose(session, false)
		if step != Leave {
			isCopied, err := a.isCopied(ctx, session)
			if err != nil {
				return nil, err
			}
			step = a.options.Choose(session, isCopied)
		}
		if step != Leave {
			chosen = append(chosen, Archived{Session: session, Step: step})
		}
	}
	return chosen, nil
}

// isCopied reports whether the bucket has a session and its summary. It lists each day once.
func (a *archive) isCopied(ctx context.Context, session store.Session) (bool, error) {
	day := dayOf(session.Start)
	held, ok := a.days[day]
	if !ok {
		listed, err := a.to.bucket.entries(ctx, day, "")
		if err != nil {
			return false, err
		}
		held = map[store.SessionID]bool{}
		for _, x := range listed {
			held[x.id] = x.hasSession && x.hasSummary
		}
		a.days[day] = held
	}
	id, err := store.ParseSessionID(string(session.ID))
	return err == nil && held[id], nil
}

// originError is a fault of one session in the store that is copied from.
type originError struct{ error }

func (e originError) Unwrap() error { return e.error }

// isOfBucket reports whether an error concerns the whole bucket, so that no session can be copied.
func isOfBucket(err error) bool {
	conflict := (*store.ConflictError)(nil)
	origin := originError{}
	switch {
	case err == nil, errors.As(err, &origin), errors.As(err, &conflict):
		return false
	}
	return !errors.Is(err, store.ErrExists) && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) &&
		!errors.Is(err, store.ErrNotFound)
}

// session does the step for one session, and reports whether the original is gone.
func (a *archive) session(ctx context.Context, session store.Session, step Step) (deleted bool, err error) {
	if step == Copy {
		err := a.copy(ctx, session)
		origin := originError{}
		if err != nil && !(errors.As(err, &origin) && errors.Is(err, store.ErrNotFound)) { // see below
			return false, err
		}
	}
	if err := a.verify(ctx, session); err != nil {
		return false, err
	}
	if !a.options.Delete {
		return false, nil
	}
	err = a.from.Delete(ctx, session.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // another archive may have copied and deleted it
		return false, originError{err}
	}
	return true, nil
}

// copy puts the session. If an earlier run has put the events and not the summary, perhaps masked with
// another key, copy only writes the summary; and it puts events that are gone again.
func (a *archive) copy(ctx context.Context, session store.Session) error {
	at, err := a.to.find(ctx, session.ID)
	if err == nil {
		_, err = a.to.bucket.size(ctx, sessionKey(at.day, at.id))
		if err == nil && at.session == nil {
			return a.to.RestoreSummary(ctx, session.ID)
		}
	}
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var apply func(store.Event) error
	var encode func() []byte
	if a.options.Summary != nil {
		apply, encode = a.options.Summary()
	}
	_, err = a.to.Put(ctx, session.ID, a.masked(ctx, session, apply), encode)
	conflict := (*store.ConflictError)(nil)
	if errors.As(err, &conflict) { // a copy with another mask came meanwhile; verify tells if it is another session
		return a.to.RestoreSummary(ctx, session.ID)
	}
	return err
}

// masked yields the masked events of a session.
func (a *archive) masked(ctx context.Context, session store.Session, apply func(store.Event) error) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		mask := func(event store.Event) store.Event { return event }
		if a.options.Mask != nil {
			var err error
			mask, err = a.options.Mask(session.Header)
			if err != nil {
				yield(store.Event{}, originError{err})
				return
			}
		}
		for event, err := range a.from.Read(ctx, session.ID, 1, store.ReadOptions{}) {
			if err == nil {
				event = mask(event)
			}
			if err == nil && apply != nil {
				err = apply(event)
			}
			if err != nil {
				err = originError{err}
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// verify reads the copy to its end. Masking keeps the number of events and their times.
func (a *archive) verify(ctx context.Context, original store.Session) error {
	at, err := a.to.find(ctx, original.ID)
	if err != nil {
		return fmt.Errorf("verify the copy of session %s: %w", original.ID, err)
	}
	held, err := a.to.count(ctx, at)
	if err != nil {
		return fmt.Errorf("verify the copy of session %s: %w", original.ID, err)
	}
	if held.Head.Seq != original.Head.Seq || held.Head.At != original.Head.At || !held.Start.Equal(original.Start) {
		return &store.ConflictError{ID: original.ID, Head: held.Head}
	}
	return nil
}
