package boltstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// attempt is a session that is recorded while the disk fails.
type attempt struct {
	t     *testing.T
	s     *Store
	d     *faulty
	acked []store.Event // whose Write said that they are there
	tried []store.Event // all that were tried
	began bool
	said  string
}

// try records a session as a recorder does, which goes on after an error, and
// then lists, reads and folds.
func try(t *testing.T, sync time.Duration, d *faulty, dir string) *attempt {
	s, err := Open(dir, Options{Sync: sync, FoldBudget: time.Hour, CloseBudget: time.Hour, Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s.disk = broken(d)
	a := &attempt{t: t, s: s, d: d}
	a.said = fmt.Sprintf("%v at call %d (and all after it: %t, sync %v)", d.err, d.at, d.all, sync)
	p, err := s.Spool(t.Context(), opening(1))
	if err == nil {
		a.began, a.acked = true, []store.Event{opening(1)}
		a.write(p)
	}
	a.look()
	_ = s.FoldDead(t.Context())
	a.look()
	_ = s.Close()
	return a
}

func (a *attempt) write(p store.Spool) {
	for i := range 14 {
		e := frameEvent(uint64(len(a.acked)+1), 300+i*10) // what is tried again is another
		e.At = time.Duration(i) * time.Millisecond
		if i == 13 {
			e.Kind, e.Dir, e.Payload = store.Closed, 0, []byte("{}")
		}
		a.tried = append(a.tried, e)
		if p.Write(asParts([]store.Event{e})) == nil {
			a.acked = append(a.acked, e)
		}
		if i%5 == 4 {
			_, _ = a.s.fold(a.t.Context(), testID(1), p.(*spool).key, foldLimit{})
			a.look()
		}
	}
	_ = p.Close()
}

// look reads the session: without an error it is what was acknowledged.
func (a *attempt) look() {
	a.t.Helper()
	for range a.s.Sessions(a.t.Context(), store.Query{}) {
	}
	got, err := readAll(a.s, testID(1))
	if err == nil {
		a.same(got, false)
	} else if err := sameLog(got, a.acked[:min(len(got), len(a.acked))]); err != nil {
		a.t.Fatalf("%s: wrong before its error: %v", a.said, err)
	}
}

// same holds a log against what was acknowledged. At the end a last event may
// be there whose Write failed, when it could be neither synced nor cut off.
func (a *attempt) same(got []store.Event, ended bool) {
	a.t.Helper()
	want := a.acked
	if len(got) == len(want)+1 && ended && a.d.all && slices.ContainsFunc(a.tried, got[len(want)].Equal) {
		got = got[:len(want)]
	}
	if err := sameLog(got, want); err != nil {
		a.t.Fatalf("%s: failed %s: %v", a.said, strings.Join(a.d.met, " "), err)
	}
}

// after looks at what is left, when the disk is well again.
func (a *attempt) after() {
	a.t.Helper()
	a.d.mend()
	s := testStore(a.t, a.s.dir)
	defer func() { _ = s.Close() }()
	for range 2 {
		got, err := readAll(s, testID(1))
		if a.began && err != nil {
			a.t.Fatalf("%s: failed %s: %v", a.said, strings.Join(a.d.met, " "), err)
		}
		if a.began {
			a.same(got, true)
		}
		if err := s.FoldDead(a.t.Context()); err != nil {
			a.t.Fatalf("%s: failed %s: fold: %v", a.said, strings.Join(a.d.met, " "), err)
		}
	}
	mustVerify(a.t, s)
	if err := startSpool(a.t, s, testLog(2, 3, 10, true)).Close(); err != nil {
		a.t.Fatalf("%s: a new session: %v", a.said, err)
	}
	if left := a.left(s); len(left) > 0 {
		a.t.Fatalf("%s: failed %s: left %s", a.said, strings.Join(a.d.met, " "), left)
	}
}

// left returns the spools that should not be there any more. A lock file that
// could not be removed is nobody's and does no harm.
func (a *attempt) left(s *Store) (names []string) {
	for _, name := range []string{s.spoolPath(testID(1)), s.spoolPath(testID(2))} {
		if exists(a.t, name) {
			names = append(names, name)
		}
	}
	return names
}

// TestEachCallFails lets every call of a session fail, one after the other, and
// every call from that on.
func TestEachCallFails(t *testing.T) {
	step := 13
	if night {
		step = 1
	}
	kinds := map[string]int{}
	for _, errno := range []error{syscall.EIO, syscall.ENOSPC, syscall.EROFS, syscall.EDQUOT} {
		for _, all := range []bool{false, true} {
			for _, sync := range []time.Duration{SyncAlways, SyncNone} {
				for at, met := 1, true; met; at += step {
					d := &faulty{at: at, all: all, err: errno}
					a := try(t, sync, d, memDir(t))
					a.after()
					if met = len(d.met) > 0; met {
						kinds[d.met[0]]++
					}
				}
			}
		}
	}
	calls := []string{}
	for kind := range kinds {
		calls = append(calls, kind)
	}
	slices.Sort(calls)
	for _, kind := range calls {
		storetest.Tell(t, "EIO, ENOSPC, EROFS, EDQUOT: "+kind, kinds[kind], "what was acknowledged is there, nothing else; the store goes on")
	}
	if night && len(calls) < 11 {
		t.Errorf("only these failed: %s", calls)
	}
}

// TestNoLocks holds that a file system without locks is named as the cause, and
// nothing is written without a lock.
func TestNoLocks(t *testing.T) {
	for _, errno := range []error{syscall.ENOLCK, syscall.ENOTSUP, syscall.EOPNOTSUPP} {
		d := &faulty{at: 1, all: true, only: "lock", err: errno}
		s := testStore(t, memDir(t))
		s.disk = broken(d)
		_, err := s.Spool(t.Context(), opening(1))
		if !errors.Is(err, errno) || !strings.Contains(err.Error(), "local disk") {
			t.Errorf("%v: %v", errno, err)
		}
		if exists(t, s.spoolPath(testID(1))) {
			t.Errorf("%v: a spool without a lock", errno)
		}
	}
	storetest.Tell(t, "a file system without locks", 3, "refused, with what to do; the session goes on unrecorded and says so")
}
