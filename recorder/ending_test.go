package recorder

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/store/storetest"

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
		for _, memory := range []int64{0, 24 << 20} {
			t.Run(fmt.Sprint(tt.name, memory), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &storetest.Disk{From: tt.from, All: true}
					sum := exitAfterTwo(t, begin(t, d, Holding(outage.NewBudget(memory))))
					if sum.Lost != tt.lost || sum.Err == nil || store.RootCause(sum.Err).Error() != "no space left" {
						t.Errorf("summary %+v", sum)
					}
				})
			})
		}
	}
}

// So it is when the disk does not answer any more.
func TestEndWithoutAnswer(t *testing.T) {
	for _, memory := range []int64{0, 24 << 20} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &storetest.Disk{From: 3, All: true, Stuck: make(chan struct{})}
				r := begin(t, &mute{d, 5}, Holding(outage.NewBudget(memory)))
				start := time.Now()
				sum := exitAfterTwo(t, r)
				if took := time.Since(start); took > 30*time.Second {
					t.Errorf("close took %v", took)
				}
				if sum.Lost != 1 || sum.Err == nil {
					t.Errorf("summary %+v", sum)
				}
				close(d.Stuck)
				synctest.Wait()
			})
		})
	}
}

// mute is a disk that does not answer from a write on.
type mute struct {
	*storetest.Disk
	from int
}

func (m *mute) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	_, err := m.Disk.Spool(ctx, opened)
	return m, err
}

func (m *mute) Write(parts []store.Part) error {
	if m.Writes+1 >= m.from {
		<-m.Stuck
		return errors.New("too late")
	}
	return m.Disk.Write(parts)
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

// When the disk stays full to the end, the end is told, and what it takes the place of.
func TestFullToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &storetest.Disk{From: 6}
		r := begin(t, d)
		tap := r.Tap(transport.ClientToServer)
		for i := range 10 {
			observe(t, tap, fmt.Sprintf("frame %d\nbeg", i))
			observe(t, tap, "un\n")
		}
		r.Record(store.Exited, transport.NoDirection, store.ExitInfo{Code: 3})
		sum := r.Close()
		expect(t, &d.Log, `
2 frame c2s frame 0
3 frame c2s begun
4 frame c2s frame 1
5 frame c2s begun
6 frame c2s frame 2
7 frame c2s unterminated beg
8 lost  {"frames":15,"bytes":101,"reason":"no space left","streams":["c2s"]}
9 exit  {"code":3}
10 closed  {"frames":6,"lost":15}
`)
		if sum.Frames != 6 || sum.Lost != 15 || sum.Err == nil {
			t.Errorf("summary %+v", sum)
		}
	})
	storetest.Tell(t, "a disk that stays full", 1, "what is lost is counted; the end is told")
}

// begin starts a recording in a store.
func begin(t *testing.T, s store.Spooler, options ...Option) *Recorder {
	t.Helper()
	r, err := New(t.Context(), s, store.Header{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
