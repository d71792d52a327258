package recorder

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// mishaps holds what a spool told of beside its calls, until the next write.
type mishaps struct {
	some atomic.Bool
	once sync.Once // the user is told
	mu   sync.Mutex
	all  []store.Mishap
	note string // to be told in the log; of the recorder's lock
}

// attend listens to a spool.
func (r *Recorder) attend(s store.Spool) {
	u, ok := s.(store.Unsteady)
	if !ok {
		return
	}
	m := &r.mishaps
	u.OnMishap(func(x store.Mishap) {
		m.mu.Lock()
		m.all = append(m.all, x)
		m.mu.Unlock()
		m.some.Store(true)
		if x.Fault != nil && r.trouble != nil && (!r.strict || x.Doubtful || x.Filled > 0) {
			m.once.Do(func() { go r.trouble(x.Fault) })
		}
	})
}

// mishap takes note of what a spool told of. The lock is held.
func (r *Recorder) mishap() {
	m := &r.mishaps
	m.some.Store(false)
	m.mu.Lock()
	all := m.all
	m.all = nil
	m.mu.Unlock()
	for _, x := range all {
		lost := x.Filled + x.Gap.Frames + x.Gap.Bytes
		switch {
		case x.Doubtful: // whether it stays so is said by Close
			r.failed = r.failed || r.strict
		case x.Fault != nil && lost == 0:
			m.note = fmt.Sprintf("%v: the recording goes on in a new file, which has all of it", x.Fault)
		case x.Fault != nil:
			m.note = fmt.Sprintf("%v: the recording goes on in a new file, which lacks events: %d", x.Fault, x.Filled)
		}
		if x.Filled > 0 { // lost events stand in their places
			r.sum.Lost += x.Filled
			r.sum.Frames -= min(r.sum.Frames, x.Filled)
			r.failed = r.failed || r.strict
		}
		if lost > 0 && x.Fault != nil {
			r.close(x.Fault)
		}
		if x.Gap.Frames+x.Gap.Bytes > 0 {
			cause := x.Fault
			if cause == nil {
				cause = store.ErrNotKept
			}
			r.lose(x.Gap, cause)
		}
	}
}

// addMishap adds what is to be told of mishaps.
func (r *Recorder) addMishap(at time.Duration) {
	if r.mishaps.some.Load() {
		r.mishap()
	}
	if r.mishaps.note != "" {
		r.addNote(at, r.mishaps.note)
	}
}
