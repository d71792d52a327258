package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// readers is the number of summaries that are read at the same time.
const readers = 16

// idSlack is how far the start of a session may be from the time in its version 7 id. A recorder
// makes both at once.
const idSlack = time.Second

// entry is a session in the listing of a day.
type entry struct {
	id         store.SessionID
	hasSession bool
	hasSummary bool
}

// Sessions yields the sessions of the query. A session without a readable summary is read whole. With a
// limit, only as many summaries are read as are needed.
func (s *Store) Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		ctx, end, err := s.begin(ctx, true)
		if err != nil {
			yield(store.Session{}, fmt.Errorf("list sessions: %w", err))
			return
		}
		defer end()
		left := query.Limit
		if left <= 0 {
			left = math.MaxInt
		}
		for day, err := range s.days(ctx, query) {
			if err != nil {
				yield(store.Session{}, fmt.Errorf("list sessions: %w", err))
				return
			}
			found, faults, err := s.day(ctx, day, query, left)
			if err != nil {
				yield(store.Session{}, fmt.Errorf("list sessions of %s: %w", day, err))
				return
			}
			for _, fault := range faults {
				if !yield(store.Session{}, fmt.Errorf("list sessions of %s: %w", day, fault)) {
					return
				}
			}
			for _, session := range found {
				if cause := context.Cause(ctx); cause != nil {
					yield(store.Session{}, fmt.Errorf("list sessions: %w", cause))
					return
				}
				if !yield(session, nil) {
					return
				}
			}
			left -= len(found)
			if left <= 0 {
				return
			}
		}
	}
}

// days yields the days that may have sessions of the query, in its order: those of the version 7 ids
// with the prefix, and those that the marks of other ids name.
func (s *Store) days(ctx context.Context, query store.Query) iter.Seq2[string, error] {
	if query.Prefix == "" {
		return s.bucket.days(ctx, span{}, query.Newest)
	}
	return func(yield func(string, error) bool) {
		var days []string
		for key, err := range s.bucket.list(ctx, marks+query.Prefix, true) {
			id, isMark := strings.CutSuffix(strings.TrimPrefix(key, marks), summarySuffix)
			var found mark
			if err == nil && isMark {
				found, err = s.bucket.mark(ctx, store.SessionID(id))
			}
			if err != nil {
				yield("", err)
				return
			}
			if found.Day != "" && !found.Deleted {
				days = append(days, found.Day)
			}
		}
		if within := spanOf(query.Prefix); within != (span{}) {
			for day, err := range s.bucket.days(ctx, within, false) {
				if err != nil {
					yield("", err)
					return
				}
				days = append(days, day)
			}
		}
		slices.Sort(days)
		days = slices.Compact(days)
		if query.Newest {
			slices.Reverse(days)
		}
		for _, day := range days {
			if !yield(day, nil) {
				return
			}
		}
	}
}

// days yields the days of a span that have objects, by the years, their months and their days. A
// span of one day costs no request.
func (b *bucket) days(ctx context.Context, within span, newest bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if within.first != "" && within.first == within.last {
			yield(within.first, nil)
			return
		}
		b.walk(ctx, "", within, newest, yield)
	}
}

// walk yields the days below a part of a day such as "2026" or "2026/11", and reports whether to go on.
func (b *bucket) walk(ctx context.Context, part string, within span, newest bool, yield func(string, error) bool) bool {
	if len(part) == len(dayFormat) {
		return yield(part, nil)
	}
	prefix := root
	if part != "" {
		prefix += part + "/"
	}
	var parts []string
	for name, err := range b.list(ctx, prefix, false) {
		if err != nil {
			yield("", err)
			return false
		}
		below := strings.TrimSuffix(strings.TrimPrefix(name, root), "/")
		if _, err := time.Parse(dayFormat[:min(len(below), len(dayFormat))], below); err == nil && within.holds(below) {
			parts = append(parts, below)
		}
	}
	slices.Sort(parts)
	if newest {
		slices.Reverse(parts)
	}
	for _, below := range parts {
		if !b.walk(ctx, below, within, newest, yield) {
			return false
		}
	}
	return true
}

// entries lists a day.
func (b *bucket) entries(ctx context.Context, day, prefix string) (found []entry, err error) {
	for key, err := range b.list(ctx, root+day+"/"+prefix, true) {
		if err != nil {
			return nil, err
		}
		_, id, isSession, ok := parseKey(key)
		if !ok {
			continue
		}
		if len(found) == 0 || found[len(found)-1].id != id {
			found = append(found, entry{id: id})
		}
		last := &found[len(found)-1]
		last.hasSession = last.hasSession || isSession
		last.hasSummary = last.hasSummary || !isSession
	}
	return found, nil
}

// day returns the first sessions of a day, in the order of the query, and the faults of single ones.
func (s *Store) day(ctx context.Context, day string, query store.Query, limit int) (found []store.Session, faults []error, err error) {
	listed, err := s.bucket.entries(ctx, day, query.Prefix)
	if err != nil {
		return nil, nil, err
	}
	rest := inOrder(listed, day, query.Newest)
	for len(rest) > 0 && len(found) < limit {
		n := enough(rest, day, limit-len(found))
		sessions, some, err := s.load(ctx, day, rest[:n])
		if err != nil {
			return nil, nil, err
		}
		found = append(found, sessions...)
		faults = append(faults, some...)
		rest = rest[n:]
	}
	return store.Query{Newest: query.Newest, Limit: limit}.Order(found), faults, nil
}

// inOrder sorts the entries of a day by the times in their ids, those without one of this day first.
func inOrder(entries []entry, day string, newest bool) []entry {
	slices.SortStableFunc(entries, func(a, b entry) int {
		first, isFirst := timeOn(day, a.id)
		second, isSecond := timeOn(day, b.id)
		if !isFirst || !isSecond {
			return cmp.Compare(number(isFirst), number(isSecond))
		}
		if newest {
			return second.Compare(first)
		}
		return first.Compare(second)
	})
	return entries
}

// timeOn returns the time in a version 7 id of a day.
func timeOn(day string, id store.SessionID) (made time.Time, ok bool) {
	made, ok = idTime(id)
	return made, ok && dayOf(made) == day
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// enough returns how many entries in order must be read to know the first `limit` sessions: all without
// a time, and those whose start may be before that of another one.
func enough(entries []entry, day string, limit int) int {
	timed := slices.IndexFunc(entries, func(x entry) bool { _, ok := timeOn(day, x.id); return ok })
	if timed < 0 || limit >= len(entries)-timed {
		return len(entries)
	}
	last, _ := timeOn(day, entries[timed+limit-1].id)
	n := timed + limit
	for n < len(entries) {
		made, _ := timeOn(day, entries[n].id)
		if made.Sub(last).Abs() > 2*idSlack {
			break
		}
		n++
	}
	return n
}

// load reads sessions for a listing. The error concerns the whole bucket, and each fault a session.
func (s *Store) load(ctx context.Context, day string, entries []entry) (found []store.Session, faults []error, err error) {
	loaded := make([]*store.Session, len(entries))
	failed := make([]error, len(entries))
	next := atomic.Int64{}
	var group sync.WaitGroup
	for range min(readers, len(entries)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				loaded[i], failed[i] = s.loadOne(ctx, day, entries[i])
			}
		})
	}
	group.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, nil, cause
	}
	for i := range entries {
		switch {
		case failed[i] != nil && !errors.Is(failed[i], store.ErrCorrupt) && !errors.Is(failed[i], store.ErrNewer):
			return nil, nil, failed[i]
		case failed[i] != nil:
			faults = append(faults, failed[i])
		case loaded[i] != nil:
			found = append(found, *loaded[i])
		}
	}
	return found, faults, nil
}

// loadOne reads a session for a listing: its summary, or all its events. It returns nil for a session
// that was deleted meanwhile.
func (s *Store) loadOne(ctx context.Context, day string, x entry) (*store.Session, error) {
	at := place{id: x.id, day: day}
	if x.hasSummary {
		var err error
		at, err = s.look(ctx, x.id, day)
		if err != nil {
			return nil, err
		}
		if at.session != nil && x.hasSession {
			return at.session, nil
		}
	}
	if !x.hasSummary || at.etag == "" {
		// Without a summary it may be the rest of an interrupted Delete.
		found, err := s.bucket.mark(ctx, x.id)
		if err != nil || found.Deleted {
			return nil, err
		}
	}
	session, err := s.count(ctx, at)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &session, err
}

// KeepSummaries writes the summary objects again, of sessions with exactly these heads.
func (s *Store) KeepSummaries(ctx context.Context, list []store.Summary) error {
	ctx, end, err := s.begin(ctx, false)
	if err != nil {
		return fmt.Errorf("keep summaries: %w", err)
	}
	defer end()
	for _, x := range list {
		if err := s.keepSummary(ctx, x); err != nil {
			return fmt.Errorf("keep summary of session %s: %w", x.ID, err)
		}
	}
	return nil
}

func (s *Store) keepSummary(ctx context.Context, x store.Summary) error {
	at, err := s.find(ctx, x.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && (at.session == nil || at.session.Head != x.Head) {
		return nil
	}
	if err != nil {
		return err
	}
	// The session may be deleted at this moment: then its summary must not come back.
	err = s.bucket.put(ctx, summaryKey(at.day, at.id), encodeRecord(*at.session, x.Data), summaryType, condition(at.etag))
	if errors.Is(err, errTaken) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		s.recent.keep(store.Summary{ID: at.id, Head: x.Head, Data: slices.Clone(x.Data)})
	}
	return err
}

// Summaries returns the summary bytes of sessions of a listing, mostly without a request: this store's
// listing has read them.
func (s *Store) Summaries(ctx context.Context, sessions []store.Session) (map[store.SessionID][]byte, error) {
	ctx, end, err := s.begin(ctx, false)
	if err != nil {
		return nil, fmt.Errorf("read summaries: %w", err)
	}
	defer end()
	found := make(map[store.SessionID][]byte, len(sessions))
	for _, x := range sessions {
		data, ok := s.recent.get(x.ID, x.Head)
		if !ok {
			at, err := s.find(ctx, x.ID)
			if errors.Is(err, store.ErrNotFound) || err == nil && (at.session == nil || at.session.Head != x.Head) {
				continue
			}
			if err != nil {
				return found, fmt.Errorf("read summary of session %s: %w", x.ID, err)
			}
			data = at.data
		}
		if len(data) > 0 {
			found[x.ID] = slices.Clone(data)
		}
	}
	return found, nil
}

// Verify reports sessions without a readable summary, and summaries without a session. It does not read
// the sessions.
func (s *Store) Verify(ctx context.Context, report func(error)) error {
	ctx, end, err := s.begin(ctx, false)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	defer end()
	for day, err := range s.bucket.days(ctx, span{}, false) {
		var listed []entry
		if err == nil {
			listed, err = s.bucket.entries(ctx, day, "")
		}
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		for _, x := range listed {
			if !x.hasSession {
				report(fmt.Errorf("session %s: %s is gone, and only its summary is left: %w; restore an earlier version of the object, "+
					"or delete the session", x.id, s.bucket.url(sessionKey(day, x.id)), store.ErrCorrupt))
				continue
			}
			at, err := s.look(ctx, x.id, day)
			if err != nil {
				return fmt.Errorf("verify: %w", err)
			}
			if at.fault != nil {
				report(fmt.Errorf("%w: mcprec store archive writes it again", at.fault))
			}
		}
	}
	return nil
}
