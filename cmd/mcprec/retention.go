package main

import (
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
)

// retention says which sessions are to go. A limit that was not given is nil.
type retention struct {
	labels    labels
	olderThan *time.Duration // since they ended
	keep      *int           // the newest
	maxSize   *int64         // of all
}

// pruned is a session that is to go.
type pruned struct {
	store.Session
	stored int64
	why    string
}

// pick returns the sessions that go by any of the limits, oldest first. Of those it is
// given, newest first, only those with the labels count. Live ones stay, and one whose
// start is unknown has no age. Size is what all of them take, of which each has its
// stored share.
func (r retention) pick(sessions []store.Session, now time.Time, size int64, stored map[store.SessionID]int64) []pruned {
	sessions = slices.DeleteFunc(slices.Clone(sessions), func(s store.Session) bool { return !r.labels.of(s.Header) })
	if len(r.labels.list()) > 0 {
		size = 0
		for _, s := range sessions {
			size += stored[s.ID]
		}
	}
	var gone, rest []pruned
	for i, s := range sessions {
		p := pruned{Session: s, stored: stored[s.ID]}
		switch {
		case s.State == store.Live:
			continue
		case r.olderThan != nil && !s.Start.IsZero() && now.Sub(s.Start.Add(s.Head.At)) > *r.olderThan:
			p.why = "age"
		case r.keep != nil && i >= *r.keep:
			p.why = "number"
		default:
			rest = append(rest, p)
			continue
		}
		size -= p.stored
		gone = append(gone, p)
	}
	for i := len(rest) - 1; i >= 0 && r.maxSize != nil && size > *r.maxSize; i-- {
		rest[i].why = "size"
		size -= rest[i].stored
		gone = append(gone, rest[i])
	}
	slices.SortStableFunc(gone, func(a, b pruned) int { return a.Start.Compare(b.Start) })
	return gone
}
