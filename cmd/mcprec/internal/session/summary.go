package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/store"
)

// Summaries returns a summary of each session of a listing. A missing summary is made from the
// session's events, and kept if the session has ended and the store may be changed. An error names
// the sessions without one.
func (db *Store) Summaries(ctx context.Context, sessions []store.Session) (map[store.SessionID]summary.Summary, error) {
	kept, err := db.Store.Summaries(ctx, sessions)
	faults := []error{err}
	found := make(map[store.SessionID]summary.Summary, len(sessions))
	var made []store.Summary
	keep := func() {
		// What cannot be kept, as in a store that is read-only, is made again.
		_ = db.Store.KeepSummaries(ctx, made)
		made = made[:0]
	}
	for _, s := range sessions {
		x, err := summary.Decode(kept[s.ID])
		if err == nil {
			found[s.ID] = x
			continue
		}
		mayKeep := !db.asIs && s.State != store.Live && !errors.Is(err, store.ErrNewer) // a newer mcprec uses the store, too
		if x, err = summarize(ctx, db, s); err != nil {
			faults = append(faults, err)
			continue
		}
		found[s.ID] = x
		if mayKeep {
			made = append(made, store.Summary{ID: s.ID, Head: s.Head, Data: x.Encode()})
		}
		if len(made) == 1000 {
			keep()
		}
	}
	keep()
	return found, errors.Join(faults...)
}

// summarize makes the summary of a session from its events.
func summarize(ctx context.Context, db *Store, s store.Session) (summary.Summary, error) {
	fold := summary.NewFold()
	for e, err := range db.Read(ctx, s.ID, 1, store.ReadOptions{}) {
		if err == nil {
			err = fold.Apply(e)
		}
		if err != nil {
			return summary.Summary{}, fmt.Errorf("summary of session %s: %w", s.ID, err)
		}
	}
	now := time.Duration(0)
	if s.State == store.Live {
		now = s.Lasts(db.now())
	}
	return fold.Close(now), nil
}

// The work on a summary at the end of a recording. A reader makes what is left out.
const (
	summaryEvents = 20_000
	summaryBudget = 100 * time.Millisecond
)

// KeepSummary makes and keeps the summary of a session that has just ended, if it is not large.
func (db *Store) KeepSummary(ctx context.Context, id store.SessionID) {
	ctx, stop := context.WithTimeout(ctx, summaryBudget)
	defer stop()
	head, err := db.Head(ctx, id)
	if err != nil || !head.Sealed || head.Seq > summaryEvents {
		return
	}
	x, err := summarize(ctx, db, store.Session{Header: store.Header{ID: id}, Head: head, State: store.Ended})
	if err == nil {
		_ = db.Store.KeepSummaries(ctx, []store.Summary{{ID: id, Head: head, Data: x.Encode()}})
	}
}

// Fitting returns the sessions with an event that the filter selects. The summary answers
// for most of them if the filter names a tool; the others are read.
func (db *Store) Fitting(ctx context.Context, sessions []store.Session, fits *filter.Filter) (list []store.Session, err error) {
	calls, whole := fits.OfToolCalls()
	var found map[store.SessionID]summary.Summary
	if calls != nil {
		found, err = db.Summaries(ctx, sessions)
	}
	for _, s := range sessions {
		if calls != nil {
			x, isRead := found[s.ID]
			if !isRead {
				continue // the error says why
			}
			has, known := x.HasCall(calls)
			if known && has && whole {
				list = append(list, s)
			}
			if known && (whole || !has) {
				continue
			}
		}
		selected, fault := db.Session(s).Has(ctx, fits)
		err = errors.Join(err, fault)
		if selected {
			list = append(list, s)
		}
	}
	return list, err
}
