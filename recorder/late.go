package recorder

import (
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
)

// late is a spool that is not open yet when the session begins.
type late struct {
	store.Spool
	err error // why it is not open
}

// Write fails if the spool could not be opened.
func (l *late) Write(parts []store.Part) error {
	if l.err != nil {
		return l.err
	}
	return l.Spool.Write(parts)
}

// Close closes the spool, if there is one.
func (l *late) Close() error {
	if l.err != nil {
		return l.err
	}
	return l.Spool.Close()
}

// open opens the spool. A session that is to begin does not wait long for a disk: what
// is recorded until the spool is open waits behind its opening, as behind a write.
func (r *Recorder) open(f func() (store.Spool, error), atOnce bool) (err error) {
	if atOnce {
		if r.spool, err = f(); err == nil {
			r.attend(r.spool)
		}
		return err
	}
	l, opened := &late{}, make(chan struct{})
	go func() {
		if l.Spool, l.err = f(); l.err == nil {
			r.attend(l.Spool)
		}
		close(opened)
	}()
	t := time.NewTimer(r.bound())
	defer t.Stop()
	select {
	case <-opened:
		r.spool, err = l.Spool, l.err
		r.back = newBacklog(r.spool, r.budget, r.bound(), r.trouble)
		return err
	case <-t.C:
	}
	r.spool = l
	r.back = newBacklog(l, r.budget, r.bound(), r.trouble)
	r.failed = r.strict
	r.back.mu.Lock()
	r.back.fall(batch{}, ErrNoAnswer)
	r.back.mu.Unlock()
	go func() {
		<-opened
		r.back.drain(l.err)
	}()
	return nil
}

// attend has the log and the user told when the disk fails beside the calls of a spool.
func (r *Recorder) attend(s store.Spool) {
	u, ok := s.(store.Unsteady)
	if !ok {
		return
	}
	u.OnDoubt(func(from uint64, cause error) {
		r.doubt.Store(&store.NoteInfo{Text: fmt.Sprintf("%v: the recording is doubtful from event %d on", cause, from), Doubtful: from})
		if r.trouble != nil {
			go r.trouble(cause)
		}
	})
}
