// Package retention decides which sessions leave the store, and keeps a store within its budget.
//
// [Limits.Choose] is the choice: pure, and the same for mcprec store prune and for the budget. It
// never names a session that is being recorded, nor one that is kept. A session is kept if it has
// the label keep, or if its id is in the folder keep, see [Keep].
//
// A [Budget] is how much a store may hold, and for how long. Recorders enforce it beside and behind
// their sessions, see [Budget.Enforce]; one of them does it, and the others go on. Deleting a
// session leaves free pages in the database of its month, which the next sessions of that month
// fill; so the package deletes before the files have reached the budget, and has a database written
// anew only if the files outgrow the budget all the same, as when a new month begins. Meanwhile
// that database is there twice.
//
// # Files, beside those of boltstore
//
//	budget.json  the limits of the last recorder, and what went last; see Memory
//	keep/<id>    an empty file for a session that is kept
package retention

import (
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
)

// KeepLabel is the label that keeps a session.
const KeepLabel = "keep"

// Session is a session of the store, as the choice sees it.
type Session struct {
	store.Session
	Stored int64 // bytes on the disk
	Kept   bool
}

// Limits say which sessions go. A limit that is nil says nothing.
type Limits struct {
	OlderThan   *time.Duration // since a session ended
	Number      *int           // of the newest sessions, which stay
	MaxSize     *int64         // bytes of all sessions but the kept ones
	SpareNewest bool           // MaxSize leaves the session that started last and has ended
}

// Removal is a session to remove, and why.
type Removal struct {
	Session
	Limit string // age, number or size
}

// Choose returns the sessions beyond any of the limits, oldest first. It is given all sessions,
// newest first, and the bytes that the store takes. A live or kept session stays, and one whose
// start is unknown has no age. A live session counts for the size and for the number, a kept one
// for the number alone.
func (l Limits) Choose(sessions []Session, now time.Time, size int64) []Removal {
	var gone, rest []Removal
	spared := !l.SpareNewest
	for i, s := range sessions {
		r := Removal{Session: s}
		switch {
		case s.Kept:
			size -= s.Stored
			continue
		case s.State == store.Live:
			continue
		case l.OlderThan != nil && !s.Start.IsZero() && now.Sub(endOf(s)) > *l.OlderThan:
			r.Limit = "age"
		case l.Number != nil && i >= *l.Number:
			r.Limit = "number"
		case !spared:
			spared = true
			continue
		default:
			rest = append(rest, r)
			continue
		}
		size -= r.Stored
		gone = append(gone, r)
	}
	for i := len(rest) - 1; i >= 0 && l.MaxSize != nil && size > *l.MaxSize; i-- {
		rest[i].Limit = "size"
		size -= rest[i].Stored
		gone = append(gone, rest[i])
	}
	slices.SortStableFunc(gone, func(a, b Removal) int { return a.Start.Compare(b.Start) })
	return gone
}

func endOf(s Session) time.Time { return s.Start.Add(s.Head.At) }

// isLabelled reports whether a session has the label that keeps it, with or without a value.
func isLabelled(header store.Header) bool {
	_, named := header.Labels[KeepLabel]
	return named || header.Label == KeepLabel
}
