package recorder

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
)

// unsteady is a store whose spool tells of mishaps.
type unsteady struct {
	*memstore.Store
	tell func(store.Mishap)
}

type unsteadySpool struct {
	store.Spool
	of *unsteady
}

func (u *unsteady) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	s, err := u.Store.Spool(ctx, opened)
	return unsteadySpool{s, u}, err
}

func (s unsteadySpool) OnMishap(f func(store.Mishap)) { s.of.tell = f }

type mishapCase struct {
	name     string
	mishap   store.Mishap
	note     string
	missing  store.LostInfo
	lost     uint64
	err      bool
	stops    bool // a strict session
	told     bool
	recorded uint64
}

// TestMishap holds that what befalls a spool is told: in the log, to the user once, and in
// the summary when something is gone.
func TestMishap(t *testing.T) {
	fault := fmt.Errorf("%w: %w", store.ErrNotKept, syscall.EIO)
	for _, c := range []mishapCase{
		{name: "a new spool has all", mishap: store.Mishap{Fault: fault}, note: "which has all of it", told: true, recorded: 3},
		{name: "events are gone", mishap: store.Mishap{Fault: fault, Filled: 2}, note: "lacks events: 2", lost: 2, err: true, stops: true, told: true, recorded: 1},
		{name: "the rest of one is", mishap: store.Mishap{Fault: fault, Gap: store.LostInfo{Frames: 1, Bytes: 9}}, note: "lacks events: 0",
			missing: store.LostInfo{Frames: 1, Bytes: 9}, lost: 1, err: true, stops: true, told: true, recorded: 3},
		{name: "what comes of it later", mishap: store.Mishap{Gap: store.LostInfo{Bytes: 9}}, missing: store.LostInfo{Bytes: 9}, stops: true, recorded: 3},
		{name: "nothing helps", mishap: store.Mishap{Fault: fault, Doubtful: true}, stops: true, told: true, recorded: 3},
	} {
		for _, strict := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, strict), func(t *testing.T) { c.try(t, strict) })
		}
	}
}

// try has a mishap come between two frames.
func (c mishapCase) try(t *testing.T, strict bool) {
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
	tap.Observe([]byte("one\ntwo\n"))
	u.tell(c.mishap)
	on := tap.Observe([]byte("three\n"))
	on = on && tap.Observe(nil)
	if c.told && (!strict || c.mishap.Doubtful || c.mishap.Filled > 0) {
		<-told
	}
	if on == (strict && c.stops) {
		t.Errorf("goes on: %t", on)
	}
	sum := r.Close()
	if sum.Lost != c.lost || (sum.Err != nil) != c.err || sum.Frames != c.recorded {
		t.Errorf("%+v", sum)
	}
	note, missing := notesOf(t, u, sum.ID)
	if !strings.Contains(note, c.note) || missing.Frames != c.missing.Frames || missing.Bytes != c.missing.Bytes {
		t.Errorf("the log says %q and %+v", note, missing)
	}
}

// notesOf returns what a log says in notes, and of gaps.
func notesOf(t *testing.T, s store.Store, id store.SessionID) (notes string, missing store.LostInfo) {
	t.Helper()
	for e, err := range s.Read(t.Context(), id, 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case store.Note:
			notes += string(e.Payload)
		case store.Lost:
			info, _ := store.DecodePayload[store.LostInfo](e)
			missing.Frames += info.Frames
			missing.Bytes += info.Bytes
		}
	}
	return notes, missing
}

// TestFullWithAnOpenFrame holds that the end is told where a frame that began in memory
// lost its rest for want of room: nothing in the log is there to end.
func TestFullWithAnOpenFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{from: 2}
		r := d.begin(t, holding(newBudget(1000)), Redact(nil))
		tap := r.Tap(transport.ClientToServer)
		observe(t, tap, "frame\nbeg")
		observe(t, tap, "un\nwaits"+strings.Repeat(".", 400)+"\nit be")
		observe(t, tap, "gins and no room is left"+strings.Repeat(".", 1000))
		r.Record(store.Exited, transport.NoDirection, store.ExitInfo{Code: 3})
		r.Close()
		expect(t, &d.spool, `
2 frame c2s frame
3 frame c2s unterminated beg
4 lost  {"frames":4,"bytes":1436,"reason":"no space left","streams":["c2s","s2c","stderr"]}
5 exit  {"code":3}
6 closed  {"frames":2,"lost":4}
`)
	})
}
