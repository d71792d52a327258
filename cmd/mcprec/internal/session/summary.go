package session

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// summaries remembers those of sessions that have ended, for a program that is asked again.
type summaries struct {
	mu    sync.Mutex
	known map[store.SessionID]knownSummary
}

type knownSummary struct {
	head    store.Head // of the session when the summary was made
	summary summary.Summary
}

// Summaries returns a summary of each session of a listing, made from its events. An error names
// the sessions without one, but not those that have been removed since.
func (db *Store) Summaries(ctx context.Context, sessions []store.Session) (map[store.SessionID]summary.Summary, error) {
	made := make([]summary.Summary, len(sessions))
	faults := make([]error, len(sessions))
	inParallel(len(sessions), func(i int) { made[i], faults[i] = db.summary(ctx, sessions[i]) })
	found := make(map[store.SessionID]summary.Summary, len(sessions))
	for i, s := range sessions {
		if faults[i] == nil {
			found[s.ID] = made[i]
		}
	}
	return found, joinFaults(faults)
}

// summary makes or recalls the summary of a session.
func (db *Store) summary(ctx context.Context, s store.Session) (summary.Summary, error) {
	db.summaries.mu.Lock()
	x, ok := db.summaries.known[s.ID]
	db.summaries.mu.Unlock()
	if ok && x.head == s.Head {
		return x.summary, nil
	}
	fold := summary.NewFold()
	if err := timeline.Project(timeline.Steps(db.Read(ctx, s.ID, 1, store.ReadOptions{})), fold); err != nil {
		return summary.Summary{}, fmt.Errorf("summary of session %s: %w", s.ID, err)
	}
	if s.State == store.Live {
		return fold.Close(s.Lasts(db.now())), nil
	}
	x = knownSummary{s.Head, fold.Close(0)}
	db.summaries.mu.Lock()
	defer db.summaries.mu.Unlock()
	if db.summaries.known == nil {
		db.summaries.known = map[store.SessionID]knownSummary{}
	}
	db.summaries.known[s.ID] = x
	return x.summary, nil
}

// Fitting returns the sessions with an event that the filter selects, in their order. If the filter names a
// tool, Fitting asks the summary of each session first, because it takes longer to mask and judge events
// than to summarize them; it reads only the sessions of which the summary does not tell. The error names the
// sessions that cannot be read, but not those that have been removed since.
func (db *Store) Fitting(ctx context.Context, sessions []store.Session, fits *filter.Filter) (list []store.Session, err error) {
	calls, whole := fits.OfToolCalls()
	var found map[store.SessionID]summary.Summary
	if calls != nil {
		found, err = db.Summaries(ctx, sessions)
	}
	selected := make([]bool, len(sessions))
	faults := make([]error, len(sessions))
	inParallel(len(sessions), func(i int) {
		if calls != nil {
			x, isRead := found[sessions[i].ID]
			has, known := x.HasCall(calls)
			if !isRead || known && (whole || !has) { // err says why it is not read
				selected[i] = isRead && has
				return
			}
		}
		selected[i], faults[i] = db.Session(sessions[i]).Has(ctx, fits)
	})
	for i, s := range sessions {
		if selected[i] {
			list = append(list, s)
		}
	}
	return list, errors.Join(err, joinFaults(faults))
}

// joinFaults joins the errors of sessions, but for those of sessions that are gone.
func joinFaults(faults []error) error { return errors.Join(slices.DeleteFunc(faults, IsGone)...) }

// inParallel calls f with each number below n, as many at once as there are processors.
func inParallel(n int, f func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}
