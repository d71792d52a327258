package boltstore

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// forgetful is a disk on which the nth fsync of a file fails. What was written since the
// one before may then be gone: the kernel gives it up.
type forgetful struct {
	osDisk
	drop func(b []byte) // what becomes of it; nil: it can still be read

	mu     sync.Mutex
	at     int  // the sync that fails, counted down
	all    bool // and every one after it
	failed int
	synced chan struct{} // told of every sync
}

func newForgetful(at int, drop func([]byte)) *forgetful {
	return &forgetful{at: at, drop: drop, synced: make(chan struct{}, 1)}
}

type forgetfulFile struct {
	writer
	d    *forgetful
	path *os.File // the same file, to write over it
	good int64    // what was synced
}

func (d *forgetful) create(name string) (writer, error) {
	w, err := d.osDisk.create(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	return &forgetfulFile{writer: w, d: d, path: f}, err
}

func (f *forgetfulFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	defer func() {
		select {
		case f.d.synced <- struct{}{}:
		default:
		}
	}()
	info, err := f.path.Stat()
	if err != nil {
		return err
	}
	if f.d.at--; f.d.at == 0 || f.d.at < 0 && f.d.all {
		f.d.failed++
		return errors.Join(f.forget(info.Size()), &os.PathError{Op: "sync", Path: "spool", Err: syscall.EIO})
	}
	f.good = info.Size()
	return f.writer.Sync()
}

// forget drops what was not synced.
func (f *forgetfulFile) forget(size int64) error {
	if f.d.drop == nil || size <= f.good {
		return nil
	}
	b := make([]byte, size-f.good)
	if _, err := f.path.ReadAt(b, f.good); err != nil {
		return err
	}
	f.d.drop(b)
	_, err := f.path.WriteAt(b, f.good)
	return err
}

func (f *forgetfulFile) Close() error { return errors.Join(f.path.Close(), f.writer.Close()) }

func dropAll(b []byte) { clear(b) }

// dropMiddle loses the second third, as pages of a file go.
func dropMiddle(b []byte) { clear(b[len(b)/3 : 2*len(b)/3]) }

// renewed is a session whose disk fails to sync it.
type renewed struct {
	*testing.T
	s    *Store
	d    *forgetful
	p    store.Spool
	mu   sync.Mutex
	said []store.Mishap
	told chan struct{}
}

func newRenewed(t *testing.T, sync time.Duration, d *forgetful) *renewed {
	s, err := Open(memDir(t), Options{Sync: sync, FoldBudget: time.Hour, CloseBudget: time.Hour, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s.machine.disk = d
	x := &renewed{T: t, s: s, d: d, told: make(chan struct{}, 8)}
	if x.p, err = s.Spool(t.Context(), opening(1)); err != nil {
		t.Fatal(err)
	}
	x.p.(store.Unsteady).OnMishap(func(m store.Mishap) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.said = append(x.said, m)
		x.told <- struct{}{}
	})
	return x
}

// renewed waits for the new spool, if there is to be one.
func (x *renewed) renewed() {
	x.d.mu.Lock()
	failed := x.d.failed
	x.d.mu.Unlock()
	if failed == 0 {
		return
	}
	x.await(x.told)
}

// await waits for something that comes at once, or never.
func (x *renewed) await(what chan struct{}) {
	x.Helper()
	select {
	case <-what:
	case <-time.After(patience):
		x.Fatal("the disk is not told, or no new spool took over")
	}
}

// filled returns how many events it was said that nothing is left of.
func (x *renewed) filled() (n uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.said {
		n += m.Filled
	}
	return n
}

// write writes events. With slow it waits for a sync after each, and folds now and then.
func (x *renewed) write(events []store.Event, slow bool) {
	x.Helper()
	for i, e := range events {
		if err := x.p.Write(asParts([]store.Event{e})); err != nil {
			x.Fatal(err)
		}
		if slow && x.s.opts.Sync > 0 {
			x.await(x.d.synced)
		}
		if slow && i%5 == 4 {
			_, _ = x.s.fold(x.Context(), testID(1), x.p.(*spool).key, pace{})
		}
	}
}

// holds checks that the log is whole: each event or, for as many as it was said, a lost
// event in its place.
func (x *renewed) holds(s *Store, want []store.Event, lost uint64) {
	x.Helper()
	got, err := readAll(s, testID(1))
	if err != nil || len(got) != len(want) {
		x.Fatalf("%d events of %d, %v", len(got), len(want), err)
	}
	found := uint64(0)
	for i, e := range got {
		switch {
		case e.Equal(want[i]):
		case e.Kind == store.Lost && e.Seq == want[i].Seq:
			found++
		default:
			x.Fatalf("event %d is %+v", i+1, e)
		}
	}
	if found != lost {
		x.Fatalf("%d lost events, %d were told", found, lost)
	}
}

// TestFailedSync fails each fsync of a spool in turn, once, and drops what was not synced:
// a new spool takes over, and what memory holds of the old one is in it, also if the
// recorder is killed then.
func TestFailedSync(t *testing.T) {
	tried := 0
	for name, sync := range map[string]time.Duration{"always": SyncAlways, "none": SyncNone, "timer": time.Millisecond} {
		for dropName, drop := range map[string]func([]byte){"kept": nil, "dropped": dropAll, "middle": dropMiddle} {
			for at, more := 1, true; more; at++ {
				whole := t.Run(fmt.Sprintf("%s %s %d", name, dropName, at), func(t *testing.T) {
					more = false
					x, log := newRenewed(t, sync, newForgetful(at, drop)), testLog(1, 12, 300, true)
					x.write(log[1:11], true)
					x.renewed()
					x.holds(died(t, x.s), log[:11], 0)
					x.write(log[11:], false)
					if err := x.p.Close(); err != nil {
						t.Fatal(err)
					}
					x.holds(x.s, log, 0)
					mustVerify(t, x.s)
					if more = x.d.failed > 0; more {
						tried++
					}
				})
				if !whole {
					return
				}
			}
		}
	}
	storetest.Tell(t, "each fsync of a spool fails once; the kernel drops, or not", tried, "a new spool takes over: all is there, after kill -9 too")
}

// TestFailedSyncLoses is the same without memory: what is gone is told, and its place is
// taken by lost events; what is not is there.
func TestFailedSyncLoses(t *testing.T) {
	tried, gone := 0, uint64(0)
	for dropName, drop := range map[string]func([]byte){"dropped": dropAll, "middle": dropMiddle} {
		for at, more := 1, true; more; at++ {
			t.Run(fmt.Sprint(dropName, at), func(t *testing.T) {
				more = false
				x, log := newRenewed(t, time.Millisecond, newForgetful(at, drop)), testLog(1, 60, 300, true)
				x.s.held.Add(maxHeldAll)
				for n := 1; n < 51; n += 10 {
					x.write(log[n:n+10], false)
					x.await(x.d.synced)
				}
				x.write(log[51:], false)
				if err := x.p.Close(); err != nil {
					t.Fatal(err)
				}
				x.holds(x.s, log, x.filled())
				mustVerify(t, x.s)
				if more = x.d.failed > 0; more {
					tried, gone = tried+1, gone+x.filled()
				}
			})
		}
	}
	if gone == 0 {
		t.Error("nothing was lost")
	}
	storetest.Tell(t, "the same, and nothing of it is in memory", tried, "lost events stand for what is gone, and it is told")
}

// TestFollowRenewed holds that who follows a session goes on in its new spool, also if it
// is folded and gone before the next look.
func TestFollowRenewed(t *testing.T) {
	for _, late := range []bool{false, true} {
		x, log := newRenewed(t, time.Millisecond, newForgetful(3, dropAll)), testLog(1, 12, 300, true)
		x.write(log[1:6], true)
		var got []store.Event
		for e, err := range x.s.Read(t.Context(), testID(1), 1, store.ReadOptions{Follow: true}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, e); len(got) != 3 {
				continue
			}
			x.write(log[6:9], true)
			x.renewed()
			x.write(log[9:], false)
			if late {
				continue
			}
			if err := x.p.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := sameLog(got, log); err != nil {
			t.Fatal(err)
		}
		if late {
			_ = x.p.Close()
		}
	}
}

// TestRenewRests holds that a disk that never keeps anything is not written to for ever,
// and that the end says so, unless the database has kept it.
func TestRenewRests(t *testing.T) {
	for size, open := range map[int]bool{300: false, closeFold / 5: true} { // too much to fold at the end
		d := newForgetful(1, nil)
		d.all = true
		x, log := newRenewed(t, time.Millisecond, d), testLog(1, 8, size, true)
		x.write(log[1:4], false)
		x.await(x.told)
		x.write(log[4:], false)
		switch err := x.p.Close(); {
		case open && (!errors.Is(err, syscall.EIO) || !errors.Is(err, store.ErrNotKept)), !open && err != nil:
			t.Errorf("%t: close: %v", open, err)
		case d.failed > 10:
			t.Errorf("%d syncs were tried", d.failed)
		case !x.said[0].Doubtful:
			t.Errorf("it was said: %+v", x.said)
		}
		x.holds(x.s, log, 0)
	}
}
