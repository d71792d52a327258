package boltstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// smallDisk returns a folder on a disk of its own.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no disk to fill: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill leaves no room on a disk.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	_ = f.Close()
}

// TestFullInTheMiddle fills the disk in the middle of a session. A short end mostly fits
// into what is left of the file's last block; one for which there is no room leaves an
// unbroken beginning, which is listed as cut off.
func TestFullInTheMiddle(t *testing.T) {
	for _, fits := range []bool{true, false} {
		s := testStore(t, smallDisk(t, "size=1m"))
		events := testLog(1, 30, 1000, false)
		p := startSpool(t, s, events)
		fill(t, s.dir)
		sizes := []int{1500, 1500, 1500}
		if !fits {
			sizes = append(sizes, 1000, 500, 100, 50, 1, 1)
		}
		seq, failed := uint64(31), 0
		for failed < len(sizes) {
			e := frameEvent(seq, sizes[failed])
			if err := p.Write(asParts([]store.Event{e})); err != nil {
				failed++
				continue
			}
			seq++
			events = append(events, e)
		}
		lost := store.EncodePayload(store.LostInfo{Frames: 3, Bytes: 4500, Reason: "no space left on device"})
		end := []store.Event{
			{Kind: store.Lost, Payload: lost},
			{Kind: store.Exited, Payload: []byte(`{"code":0}`)},
			{Kind: store.Closed, Payload: []byte(`{"frames":29,"lost":3}`)},
		}
		for i := range end {
			end[i].Seq, end[i].At = seq+uint64(i), events[len(events)-1].At
		}
		if err := p.Write(asParts(end)); (err == nil) != fits {
			t.Fatalf("there is room for the end: %t, and writing it says %v", fits, err)
		}
		if fits {
			events = append(events, end...)
		}
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		mustRead(t, s, testID(1), events)
		if got := one(t, s, testID(1)); fits && (got.State != store.Ended || got.Lost != 3 || got.Exit != "0") || !fits && got.State != store.Crashed {
			t.Errorf("listed %+v", got)
		}
		mustFoldDead(t, s) // it does not fit, and is worth no error
		mustRead(t, s, testID(1), events)
		if err := os.Remove(filepath.Join(s.dir, "other")); err != nil {
			t.Fatal(err)
		}
		mustFoldDead(t, s)
		mustRead(t, s, testID(1), events)
		if exists(t, s.spoolPath(testID(1))) {
			t.Error("a spool is left")
		}
		mustVerify(t, s)
		_ = s.Close() // with a file open the disk would be busy
	}
	storetest.Tell(t, "a disk that is full in the middle of a session", 2, "what was written is there; without an end it is listed as cut off")
}

// TestTinyDisks records on disks of every size at which something does not fit,
// gives them room then, and looks at what is there.
func TestTinyDisks(t *testing.T) {
	step := 128 << 10
	if night {
		step = 4 << 10
	}
	tried := 0
	for size := 24 << 10; size < 1400<<10; size += step {
		dir := smallDisk(t, fmt.Sprintf("size=%d", size))
		a := try(t, SyncAlways, &faulty{}, dir)
		if err := syscall.Mount("none", dir, "", syscall.MS_REMOUNT, "size=8m"); err != nil {
			t.Fatalf("no larger disk: %v", err)
		}
		a.after()
		tried++
	}
	storetest.Tell(t, "a disk too small, of each size", tried, "what was acknowledged is there; the rest folds when there is room")
}

// TestReadOnlyDisk holds that folding where nothing can be written is worth no
// error, and reading goes on.
func TestReadOnlyDisk(t *testing.T) {
	s := testStore(t, smallDisk(t, "size=4m"))
	events := testLog(1, 5, 100, true)
	p := startSpool(t, s, events)
	spool, err := os.ReadFile(s.spoolPath(testID(1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), os.WriteFile(s.spoolPath(testID(2)), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), testID(1)); err != nil {
		t.Fatal(err)
	}
	_ = os.RemoveAll(s.storeDir())
	if err := os.WriteFile(s.spoolPath(testID(1)), spool, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // with a file open for writing the disk would be busy
		t.Fatal(err)
	}
	if err := syscall.Mount("none", s.dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "other"), nil, 0o600); !errors.Is(err, syscall.EROFS) {
		t.Fatalf("the disk is not read-only: %v", err)
	}
	s = testStore(t, s.dir)
	defer func() { _ = s.Close() }()
	mustFoldDead(t, s)
	mustRead(t, s, testID(1), events)
	if got := one(t, s, testID(1)); got.State != store.Ended {
		t.Errorf("listed %+v", got)
	}
	storetest.Tell(t, "a read-only store", 1, "it is listed and read; nothing is folded, and that is no error")
}
