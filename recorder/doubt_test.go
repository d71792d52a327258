package recorder

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/recorder/outage"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// unsteady is a store whose disk can fail beside the calls of its spool.
type unsteady struct {
	*memstore.Store
	tell func(from uint64, cause error)
}

type unsteadySpool struct {
	store.Spool
	of *unsteady
}

func (u *unsteady) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	s, err := u.Store.Spool(ctx, opened)
	return unsteadySpool{s, u}, err
}

func (s unsteadySpool) OnDoubt(f func(from uint64, cause error)) { s.of.tell = f }

// TestDoubt holds that a disk that fails between two frames is told: in the log and its
// listing, and to the user. A strict session ends.
func TestDoubt(t *testing.T) {
	for _, strict := range []bool{false, true} {
		u, told := &unsteady{Store: memstore.New()}, make(chan error, 9)
		options := []Option{Trouble(func(err error) { told <- err })}
		if strict {
			options = append(options, Strict())
		}
		r, err := New(t.Context(), u, store.Header{}, options...)
		if err != nil {
			t.Fatal(err)
		}
		tap := r.Tap(transport.ClientToServer)
		observe(t, tap, "one\ntwo\n")
		fault := fmt.Errorf("%w: %w", store.ErrNotKept, syscall.EIO)
		u.tell(3, fault)
		if err := <-told; err != fault {
			t.Errorf("told %v", err)
		}
		if on := tap.Observe([]byte("three\n")); on == strict {
			t.Errorf("strict %t: goes on: %t", strict, on)
		}
		sum := r.Close()
		if sum.Lost != 0 || sum.Err != nil || sum.Frames != 3 {
			t.Errorf("%+v", sum)
		}
		notes := []string{}
		for e, err := range u.Read(t.Context(), sum.ID, 1, store.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == store.Note {
				notes = append(notes, string(e.Payload))
			}
		}
		want := `{"text":"the disk did not keep what it took: input/output error: the recording is doubtful from event 3 on","doubtful":3}`
		if len(notes) != 1 || notes[0] != want {
			t.Errorf("the log says %q", notes)
		}
		for s := range u.Sessions(t.Context(), store.Query{}) {
			if s.Doubtful != 3 {
				t.Errorf("listed %+v", s)
			}
		}
	}
}

// TestFullWithAnOpenFrame holds that the end is told where a frame that began in memory
// lost its rest for want of room: nothing in the log is there to end.
func TestFullWithAnOpenFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &storetest.Disk{From: 2}
		r := begin(t, d, Holding(outage.NewBudget(1000)))
		tap := r.Tap(transport.ClientToServer)
		observe(t, tap, "frame\nbeg")
		observe(t, tap, "un\nwaits"+strings.Repeat(".", 400)+"\nit be")
		observe(t, tap, "gins and no room is left"+strings.Repeat(".", 1000))
		r.Record(store.Exited, transport.NoDirection, store.ExitInfo{Code: 3})
		r.Close()
		expect(t, &d.Log, `
2 frame c2s frame
3 frame c2s unterminated beg
4 lost  {"frames":4,"bytes":1438,"reason":"no space left","streams":["c2s"]}
5 exit  {"code":3}
6 closed  {"frames":2,"lost":4}
`)
	})
}
