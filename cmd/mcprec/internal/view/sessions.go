package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// openSessions are the sessions that the page shows: those that the command names, and of a list
// those that were asked for last.
type openSessions struct {
	ctx   context.Context // of the indexing
	end   context.CancelFunc
	named []*index // by the command
	list  List     // nil without one

	mu     sync.Mutex
	listed []*listedSession // the one that was asked for last stands last
	fault  error            // of closing a session of the list
}

// listedSession is a session of the list that is open, or is being opened.
type listedSession struct {
	id     string
	users  int           // requests that wait for it or use it
	opened chan struct{} // closed when index or err is set
	index  *index
	err    error
}

// keptOpen is how many sessions of a list stay open without a request that uses them.
const keptOpen = 4

// errNoSession is the error of a request that names none of the sessions.
var errNoSession = fmt.Errorf("the page has no such session: %w", store.ErrNotFound)

// openNamed begins to index the sessions that the command names. If it fails, all of them are closed.
func openNamed(ctx context.Context, named []*session.Session, list List) (*openSessions, error) {
	x := &openSessions{list: list}
	x.ctx, x.end = context.WithCancel(ctx)
	for n, s := range named {
		opened, err := openIndex(x.ctx, s)
		if err != nil {
			return nil, errors.Join(err, x.close(), closeAll(named[n:]))
		}
		x.named = append(x.named, opened)
	}
	return x, nil
}

// closeAll closes sessions that nobody reads.
func closeAll(sessions []*session.Session) (err error) {
	for _, s := range sessions {
		err = errors.Join(err, s.Close())
	}
	return err
}

// of returns the session that a request names by its number, or in a list by its id. The session
// stays open until release.
func (x *openSessions) of(r *http.Request) (_ *index, release func(), err error) {
	if id := r.URL.Query().Get("id"); id != "" && x.list != nil {
		return x.ofList(r.Context(), id)
	}
	n, err := number(r, "s", 0)
	if err != nil {
		return nil, nil, err
	}
	if n >= uint64(len(x.named)) {
		return nil, nil, errNoSession
	}
	return x.named[n], func() {}, nil
}

// ofList returns a session of the list. The first request for it opens it, the others wait for that.
func (x *openSessions) ofList(ctx context.Context, id string) (_ *index, release func(), err error) {
	wanted, isNew := x.use(id)
	release = func() { x.release(wanted) }
	if isNew {
		wanted.index, wanted.err = x.open(id)
		close(wanted.opened)
	}
	x.closeIdle()
	select {
	case <-wanted.opened:
		err = wanted.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return wanted.index, release, nil
}

// use finds a session of the list for a request. The caller opens a new one.
func (x *openSessions) use(id string) (wanted *listedSession, isNew bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := slices.IndexFunc(x.listed, func(s *listedSession) bool { return s.id == id })
	if n < 0 {
		wanted = &listedSession{id: id, opened: make(chan struct{})}
	} else {
		wanted = x.listed[n]
		x.listed = slices.Delete(x.listed, n, n+1)
	}
	x.listed = append(x.listed, wanted)
	wanted.users++
	return wanted, n < 0
}

// release ends the use of a session by a request. One that could not be opened is forgotten, so that
// the next request tries again.
func (x *openSessions) release(used *listedSession) {
	x.mu.Lock()
	defer x.mu.Unlock()
	used.users--
	select {
	case <-used.opened:
		if used.err != nil {
			x.listed = slices.DeleteFunc(x.listed, func(s *listedSession) bool { return s == used })
		}
	default: // another request opens it
	}
}

func (x *openSessions) open(id string) (*index, error) {
	s, err := x.list.Open(x.ctx, id)
	if err != nil {
		return nil, err
	}
	opened, err := openIndex(x.ctx, s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return opened, nil
}

// closeIdle closes the sessions of the list that nobody uses, but for the last ones.
func (x *openSessions) closeIdle() {
	x.mu.Lock()
	var idle []*listedSession
	left := len(x.listed)
	x.listed = slices.DeleteFunc(x.listed, func(s *listedSession) bool {
		if left <= keptOpen || s.users > 0 {
			return false
		}
		left--
		idle = append(idle, s)
		return true
	})
	x.mu.Unlock()
	err := closeListed(idle)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fault = errors.Join(x.fault, err)
}

// closeListed closes sessions of the list.
func closeListed(sessions []*listedSession) (err error) {
	for _, s := range sessions {
		<-s.opened
		if s.err == nil {
			err = errors.Join(err, s.index.close())
		}
	}
	return err
}

// close ends the indexing and closes the sessions. No request comes any more.
func (x *openSessions) close() error {
	x.end()
	x.mu.Lock()
	listed, err := x.listed, x.fault
	x.listed = nil
	x.mu.Unlock()
	err = errors.Join(err, closeListed(listed))
	for _, index := range x.named {
		err = errors.Join(err, index.close())
	}
	return err
}

// answerList answers with the sessions of the list.
func (x *openSessions) answerList(w http.ResponseWriter, r *http.Request) {
	if x.list == nil {
		refuse(w, http.StatusNotFound, "the page is about one session; mcprec view --dir lists them")
		return
	}
	listed, err := x.list.Sessions(r.Context(), r.URL.Query().Get("filter"))
	if err != nil && len(listed) == 0 {
		refuse(w, statusOf(err), err.Error())
		return
	}
	if listed == nil {
		listed = []Listed{}
	}
	writeJSON(w, http.StatusOK, map[string]any{"sessions": listed, "summary": summaryOf(listed)})
}

// summaryOf says how many sessions there are, and how many of them have trouble.
func summaryOf(listed []Listed) string {
	live, hung, failed := 0, 0, 0
	for _, s := range listed {
		if s.State == store.Live {
			live++
		}
		if s.Hung > 0 {
			hung++
		}
		if s.Errors > 0 {
			failed++
		}
	}
	text := phrase.Plural(len(listed), "session")
	for _, part := range []struct {
		n     int
		words string
	}{{live, "live"}, {hung, "hung"}, {failed, "with errors"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.words)
		}
	}
	return text
}
