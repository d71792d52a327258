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
	at     int // the sync that fails, counted down
	before int // how many succeeded before it
	failed int
	synced chan struct{} // told of every sync
}

type forgetfulFile struct {
	fileWriter
	d    *forgetful
	path *os.File // the same file, to write over it
	good int64    // what was synced
}

func (d *forgetful) create(name string) (fileWriter, error) {
	w, err := d.osDisk.create(name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	return &forgetfulFile{fileWriter: w, d: d, path: f}, err
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
	if f.d.at--; f.d.at == 0 {
		f.d.failed++
		return errors.Join(f.forget(info.Size()), &os.PathError{Op: "sync", Path: "spool", Err: syscall.EIO})
	}
	if f.good = info.Size(); f.d.at > 0 {
		f.d.before++
	}
	return f.fileWriter.Sync()
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

func (f *forgetfulFile) Close() error { return errors.Join(f.path.Close(), f.fileWriter.Close()) }

func dropAll(b []byte) { clear(b) }

// dropMiddle loses the second third, as pages of a file go.
func dropMiddle(b []byte) { clear(b[len(b)/3 : 2*len(b)/3]) }

// doubt is what a spool said of its disk.
type doubt struct {
	from  uint64
	cause error
}

// TestFailedSync fails each fsync of a spool in turn, once, and drops what was not synced,
// or does not. The session goes on in its file, it is told from which event on it is
// doubtful, and whatever is read or said then is true.
func TestFailedSync(t *testing.T) {
	tried := 0
	for name, sync := range map[string]time.Duration{"always": SyncAlways, "none": SyncNone, "timer": time.Millisecond} {
		for dropName, drop := range map[string]func([]byte){"kept": nil, "dropped": dropAll, "middle": dropMiddle} {
			for at, more := 1, true; more; at++ {
				t.Run(fmt.Sprintf("%s %s %d", name, dropName, at), func(t *testing.T) {
					more = failSync(t, sync, &forgetful{at: at, drop: drop, synced: make(chan struct{}, 1)})
				})
				if tried++; t.Failed() {
					return
				}
			}
		}
	}
	storetest.Tell(t, "each fsync of a spool fails once; the kernel drops, or not", tried, "it is told from which event on the recording is doubtful; before that all is there")
}

// failSync records a session on a disk, and reports whether a sync failed.
func failSync(t *testing.T, sync time.Duration, d *forgetful) bool {
	s, err := Open(memDir(t), Options{Sync: sync, FoldBudget: time.Hour, CloseBudget: time.Hour, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s.disk.fileSystem = d
	p, err := s.Spool(t.Context(), opening(1))
	if err != nil {
		t.Fatal(err)
	}
	var said []doubt
	p.(store.Unsteady).OnDoubt(func(from uint64, cause error) { said = append(said, doubt{from, cause}) })
	log := testLog(1, 14, 300, true)
	for i, e := range log[1:] {
		if err := p.Write(asParts([]store.Event{e})); err != nil {
			t.Fatal(err)
		}
		if sync > 0 {
			<-d.synced
		}
		if i%5 == 4 {
			_, _ = s.fold(t.Context(), testID(1), p.(*spool).key, foldLimit{})
		}
	}
	err = p.Close()
	if d.failed == 0 {
		if err != nil || len(said) > 0 {
			t.Fatalf("nothing failed: %v, told %v", err, said)
		}
		said = []doubt{{from: uint64(len(log)) + 1}}
	} else if len(said) != 1 || said[0].from == 0 || !errors.Is(said[0].cause, store.ErrNotKept) || !errors.Is(said[0].cause, syscall.EIO) {
		t.Fatalf("told %+v", said)
	}
	if at := uint64(d.before + 1); d.failed > 0 && sync == SyncAlways && said[0].from != at {
		t.Fatalf("sync %d fails, and it was told that events from %d on are doubtful", at, said[0].from)
	}
	s = testStore(t, s.dir)
	mustFoldDead := func() {
		if err := s.FoldDead(t.Context()); err != nil && (d.failed == 0 || !errors.Is(err, store.ErrCorrupt)) {
			t.Fatal(err)
		}
	}
	mustFoldDead()
	got, readErr := readAll(s, testID(1))
	if readErr != nil && (said[0].from > 1 || !errors.Is(readErr, store.ErrNotFound) && !errors.Is(readErr, store.ErrCorrupt) || !exists(t, s.spoolFile(testID(1), ".damaged"))) {
		t.Fatal(readErr) // without its first event a spool is no log, and kept aside
	}
	whole := trueUpTo(t, got, log)
	if whole < said[0].from-1 {
		t.Fatalf("%d events are there, and it was told that %d are safe", whole, said[0].from-1)
	}
	if err == nil && whole != uint64(len(log)) {
		t.Fatalf("Close says that all is durable, and %d events of %d are there", whole, len(log))
	}
	if d.drop == nil && err != nil {
		t.Fatalf("the database has all, and Close says %v", err)
	}
	if err := s.Repair(t.Context(), false, func(store.Repaired) {}); err != nil {
		t.Fatal(err)
	}
	if got, err = readAll(s, testID(1)); err == nil {
		trueUpTo(t, got, log)
	}
	mustVerify(t, s)
	return d.failed > 0
}

// trueUpTo holds that each event is as it was written, or one that says that it is lost,
// and returns how many there are before the first of those.
func trueUpTo(t *testing.T, got, log []store.Event) (n uint64) {
	t.Helper()
	for i, e := range got {
		switch {
		case i < len(log) && e.Equal(log[i]) && n == uint64(i):
			n++
		case i == 0 && e.Kind == store.Opened: // made by repair, of the id
		case i >= len(log) || !e.Equal(log[i]) && e.Kind != store.Lost:
			t.Fatalf("event %d is %+v", i+1, e)
		}
	}
	return n
}

// TestToldLate holds that what failed before anybody listened is told, once.
func TestToldLate(t *testing.T) {
	s, err := Open(memDir(t), Options{Sync: SyncAlways})
	if err != nil {
		t.Fatal(err)
	}
	s.disk.fileSystem = &forgetful{at: 1, synced: make(chan struct{}, 1)}
	p, err := s.Spool(t.Context(), opening(1))
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	p.(store.Unsteady).OnDoubt(func(from uint64, _ error) { told += int(from) })
	if err := errors.Join(p.Write(asParts([]store.Event{frameEvent(2, 10)})), p.Close()); err != nil || told != 1 {
		t.Errorf("told %d, %v", told, err)
	}
}

// TestDoubtListed holds that the listing of a session keeps what its log says.
func TestDoubtListed(t *testing.T) {
	s := testStore(t, t.TempDir())
	log := testLog(1, 5, 100, true)
	log[2] = store.Event{Seq: 3, At: log[2].At, Kind: store.Note, Payload: store.EncodePayload(store.NoteInfo{Text: "the disk", Doubtful: 2})}
	p := startSpool(t, s, log[:4])
	if got := one(t, s, testID(1)); got.Doubtful != 2 {
		t.Errorf("live: %+v", got)
	}
	if err := errors.Join(p.Write(asParts(log[4:])), p.Close()); err != nil {
		t.Fatal(err)
	}
	mustFoldDead(t, s)
	if got := one(t, s, testID(1)); got.Doubtful != 2 || exists(t, s.spoolPath(testID(1))) {
		t.Errorf("folded: %+v", got)
	}
}
