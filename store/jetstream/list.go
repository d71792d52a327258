package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	api "github.com/nats-io/nats.go/jetstream"

	"github.com/mcprec/mcprec/store"
)

const (
	looksAtOnce = 32   // sessions that are asked about at the same time
	manyFetches = 5000 // from so many entries on, reading all of them costs less
)

// lister makes one listing.
type lister struct {
	s     *Store
	query store.Query
	now   time.Time // of the leader, when the listing began
	here  time.Time // of this machine, then
	last  uint64    // newest sequence of the entries then
}

// listed is a session of a listing, or what is wrong with it.
type listed struct {
	entry entry
	text  []byte // of the header, which is read late
	err   error
	none  bool // there is no such session
}

// run yields the sessions of the query.
func (l *lister) run(ctx context.Context, yield func(store.Session, error) bool) (err error) {
	l.query.Prefix = strings.ToLower(l.query.Prefix)
	l.now, l.last, err = l.s.meta.now(ctx)
	if err != nil {
		return err
	}
	l.here = time.Now()
	found, err := l.find(ctx)
	if err != nil {
		return err
	}
	if l.query.Limit > 0 && len(found) > l.query.Limit {
		found = found[:l.query.Limit]
	}
	for i := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !yield(found[i].entry.session, found[i].err) {
			return errStopped
		}
	}
	return nil
}

// find returns the sessions in order, at least as many as the query wants.
func (l *lister) find(ctx context.Context) ([]listed, error) {
	if l.query.Prefix == "" && l.query.Limit == 0 {
		return l.all(ctx)
	}
	if id, err := store.ParseSessionID(l.query.Prefix); err == nil {
		return l.fetch(ctx, []store.SessionID{id})
	}
	names, err := l.s.meta.names(ctx, "*")
	if err != nil {
		return nil, err
	}
	irregular, err := l.s.meta.names(ctx, "*."+irregularMark)
	if err != nil {
		return nil, err
	}
	other := func(id store.SessionID) bool { return !strings.HasPrefix(string(id), l.query.Prefix) }
	names = slices.DeleteFunc(names, other)
	irregular = slices.DeleteFunc(irregular, other)
	wanted := l.query.Limit
	if wanted == 0 {
		wanted = len(names)
	}
	switch {
	case wanted+len(irregular) > manyFetches:
		return l.all(ctx)
	case wanted == len(names):
		return l.fetch(ctx, names)
	}
	return l.first(ctx, names, irregular)
}

// first returns the first sessions of the query's order, at least query.Limit of them, and reads few
// others: the ids of regular sessions tell about when they began.
func (l *lister) first(ctx context.Context, names, irregular []store.SessionID) ([]listed, error) {
	slices.Sort(irregular)
	names = slices.DeleteFunc(names, func(id store.SessionID) bool {
		_, found := slices.BinarySearch(irregular, id)
		_, regular := idTime(id)
		return found || !regular // without a mark it has not begun, or was deleted
	})
	slices.Sort(names)
	if l.query.Newest {
		slices.Reverse(names)
	}
	found, err := l.fetch(ctx, irregular)
	for size := l.query.Limit + l.query.Limit/4 + 16; err == nil && len(names) > 0; size = 64 {
		if len(found) >= l.query.Limit && l.surelyBefore(&found[l.query.Limit-1], names[0]) {
			break
		}
		step := names[:min(size, len(names))]
		names = names[len(step):]
		var more []listed
		more, err = l.fetch(ctx, step)
		found = append(found, more...)
		slices.SortFunc(found, l.order)
	}
	return found, err
}

// surelyBefore reports whether a session stands before any regular session with the id or a later
// one of the query's order.
func (l *lister) surelyBefore(x *listed, id store.SessionID) bool {
	began, _ := idTime(id)
	if l.query.Newest {
		return x.entry.session.Start.After(began.Add(startSpan))
	}
	return x.entry.session.Start.Before(began.Add(-startSpan))
}

// order compares two sessions of the listing.
func (l *lister) order(a, b listed) int {
	order := cmp.Or(a.entry.session.Start.Compare(b.entry.session.Start), cmp.Compare(a.entry.session.ID, b.entry.session.ID))
	if l.query.Newest {
		return -order
	}
	return order
}

// all reads every entry.
func (l *lister) all(ctx context.Context) ([]listed, error) {
	var found []listed
	places := map[store.SessionID]int{}
	err := l.s.meta.scan(ctx, l.s.meta.prefix+"*", l.last, func(msg *nats.Msg, seq uint64) {
		id := l.s.meta.sessionOf(msg.Header.Get(api.SubjectHeader))
		if !strings.HasPrefix(string(id), l.query.Prefix) {
			return
		}
		if at, ok := places[id]; ok {
			found[at] = listedOf(id, msg)
			return
		}
		places[id] = len(found)
		found = append(found, listedOf(id, msg))
	})
	if err != nil {
		return nil, err
	}
	return l.complete(ctx, found), nil
}

// fetch reads the entries of some sessions.
func (l *lister) fetch(ctx context.Context, ids []store.SessionID) ([]listed, error) {
	subjects := make([]string, len(ids))
	for i, id := range ids {
		subjects[i] = l.s.meta.prefix + string(id)
	}
	found := make([]listed, 0, len(ids))
	err := l.s.meta.newest(ctx, subjects, l.last, func(msg *nats.Msg) {
		found = append(found, listedOf(l.s.meta.sessionOf(msg.Header.Get(api.SubjectHeader)), msg))
	})
	if err != nil {
		return nil, err
	}
	return l.complete(ctx, found), nil
}

// listedOf reads the message of an entry.
func listedOf(id store.SessionID, msg *nats.Msg) (x listed) {
	x.entry, x.text, x.err = decodeEntry(id, msg.Data)
	x.entry.session.ID = id
	if x.err == nil && x.entry.held {
		x.entry.time, x.err = time.Parse(time.RFC3339Nano, msg.Header.Get(api.TimeStampHeaer))
	}
	return x
}

// complete finds out what the entries do not tell, leaves out what is no session, and orders the rest.
func (l *lister) complete(ctx context.Context, found []listed) []listed {
	var unsettled []*listed
	for i := range found {
		x := &found[i]
		e := &x.entry
		switch {
		case x.err != nil:
		case e.deleted, e.settled && e.session.Head.Seq == 0:
			x.none = true
		case e.settled && e.opened:
			x.err = e.takeHeader(x.text)
			x.text = nil
			e.session.State = e.session.Head.State(false)
		default:
			unsettled = append(unsettled, x)
		}
	}
	inParallel(unsettled, looksAtOnce, func(x *listed) {
		if err := l.look(ctx, x); err != nil {
			x.err = fmt.Errorf("session %s: %w", x.entry.session.ID, err)
		}
	})
	found = slices.DeleteFunc(found, func(x listed) bool { return x.none })
	slices.SortFunc(found, l.order)
	return found
}

// look asks for the end of the log of a session whose entry does not tell it.
func (l *lister) look(ctx context.Context, x *listed) error {
	e := &x.entry
	if err := e.takeHeader(x.text); err != nil {
		return err
	}
	end, err := l.s.logs.last(ctx, e.session.ID)
	switch {
	case err != nil:
		return err
	case end.session.Head.Seq == 0:
		x.none = true
		return nil
	}
	e.session = withCounts(e.session, end.session)
	e.session.State = e.session.Head.State(e.liveAt(l.now))
	if e.session.State == store.Live {
		e.session.Skew = e.skew(l.now, l.here)
	}
	return findOpening(ctx, l.s.logs, e, end)
}

// A session is regular if its id is of version 7 and tells its start, within startSpan. The first
// sessions of an order are found by their ids alone, because only a regular session has no mark
// beside its entry. Recorders make regular sessions; imported ones may be irregular.
const (
	startSpan     = 10 * time.Second
	irregularMark = "irregular"
)

// isRegular reports whether a session that began at start is regular.
func isRegular(id store.SessionID, start time.Time) bool {
	began, ok := idTime(id)
	return ok && start.Sub(began).Abs() <= startSpan
}

// idTime returns the time in an id of version 7.
func idTime(id store.SessionID) (time.Time, bool) {
	if len(id) < 15 || id[14] != '7' {
		return time.Time{}, false
	}
	milliseconds, err := strconv.ParseInt(string(id[:8]+id[9:13]), 16, 64)
	return time.UnixMilli(milliseconds), err == nil
}

// markIrregular puts the mark beside the entry of an irregular session. It is there before the first
// event.
func (m *meta) markIrregular(ctx context.Context, opening store.Event) error {
	header, err := store.ParseHeader(opening.Payload)
	if err != nil {
		return err
	}
	id, err := store.ParseSessionID(string(header.ID))
	if err != nil || isRegular(id, header.Start) {
		return err
	}
	return m.retry(ctx, func(ctx context.Context) error {
		_, err := m.js.Publish(ctx, m.prefix+string(id)+"."+irregularMark, nil, api.WithRetryAttempts(0))
		return err
	})
}

var errBehind = errors.New("a server of the stream of entries stays behind its leader")
