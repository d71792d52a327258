package recorder

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// What cannot be written at the end either is counted as lost, the exit too, and the
// cause is told.
func TestEndThatCannotBeWritten(t *testing.T) {
	for _, tt := range []struct {
		name string
		from int // that write and all behind it fail
		lost uint64
	}{
		{"nothing but the opening", 1, 3},
		{"the frames", 3, 1},
		{"all but the end", 4, 0},
	} {
		for _, memory := range []int64{0, waitingMemory} {
			t.Run(fmt.Sprint(tt.name, memory), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &disk{from: tt.from, all: true}
					sum := exitAfterTwo(t, d.begin(t, holding(newBudget(memory))))
					if sum.Lost != tt.lost || sum.Err == nil || rootOf(sum.Err).Error() != "no space left" {
						t.Errorf("summary %+v", sum)
					}
				})
			})
		}
	}
}

// So it is when the disk does not answer any more.
func TestEndWithoutAnswer(t *testing.T) {
	for _, memory := range []int64{0, waitingMemory} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{from: 3, all: true, stuck: make(chan struct{})}
				r := d.begin(t, holding(newBudget(memory)))
				last := &mute{d, 5}
				r.spool, r.back.spool = last, last
				start := time.Now()
				sum := exitAfterTwo(t, r)
				if took := time.Since(start); took > 2*patience {
					t.Errorf("close took %v", took)
				}
				if sum.Lost != 1 || sum.Err == nil {
					t.Errorf("summary %+v", sum)
				}
				close(d.stuck)
				synctest.Wait()
			})
		})
	}
}

// mute is a disk that does not answer from a write on.
type mute struct {
	*disk
	from int
}

func (m *mute) Write(parts []store.Part) error {
	if m.writes+1 >= m.from {
		<-m.stuck
		return errors.New("too late")
	}
	return m.disk.Write(parts)
}

// exitAfterTwo records two frames and an exit, and closes.
func exitAfterTwo(t *testing.T, r *Recorder) Summary {
	t.Helper()
	tap := r.Tap(transport.ClientToServer)
	observe(t, tap, "one\n")
	observe(t, tap, "two\n")
	r.Record(store.Exited, transport.NoDirection, store.ExitInfo{Code: 3})
	return r.Close()
}
