package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// freezable returns a folder on a disk of its own, whose writes wait while it is frozen.
func freezable(t *testing.T) (dir string, freeze, thaw func()) {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	for _, args := range [][]string{{"truncate", "-s", "32M", image}, {"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no disk to freeze: %s: %v\n%s", args[0], err, out)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	control := func(request uintptr) {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, 0); errno != 0 {
			t.Skipf("no disk to freeze: %v", errno)
		}
	}
	return dir, func() { control(0xc0045877) }, func() { control(0xc0045878) }
}

// While the disk of a recorder is stuck, its client's session goes on, and what happened
// is in the log afterwards.
func TestStuckDisk(t *testing.T) {
	dir, freeze, thaw := freezable(t)
	home := filepath.Join(dir, "home")
	stuckFor, pings := 1500*time.Millisecond, 300 // what is shorter is not told
	if storetest.Torture() {
		stuckFor = 10 * time.Second
	}
	c := startClient(t, home, "fakeserver", "echo")
	n := 0
	ping := func() {
		t.Helper()
		n++
		if err := c.ping(n); err != nil {
			t.Fatal(err)
		}
	}
	for range pings {
		ping()
	}
	freeze()
	var thawed atomic.Bool
	patience := time.AfterFunc(30*time.Second, func() { thawed.Store(true); thaw() })
	began := time.Now()
	pace := time.NewTicker(stuckFor / 5000) // a flood would fill the memory, and be counted
	defer pace.Stop()
	for time.Since(began) < stuckFor {
		ping()
		<-pace.C
	}
	if !patience.Stop() || thawed.Load() {
		t.Error("the session waited for the disk")
	} else {
		thaw()
	}
	for range pings {
		ping()
	}
	c.close()
	logs := sessions(t, home)
	if got := checkPings(t, logs[0]); got != n {
		t.Errorf("%d of %d responses are recorded", got, n)
	}
	mcprec(t, "verify", "--store", home)
	checkStuckNote(t, logs[0])
	storetest.Tell(t, "a disk that does not answer for 10 s, under a real file system", 1, "the client's session goes on; all of it is recorded")
}

// checkStuckNote: a note tells of the disk, and nothing was lost.
func checkStuckNote(t *testing.T, log []store.Event) {
	t.Helper()
	notes := ""
	for _, e := range log {
		switch e.Kind {
		case store.Note:
			notes += string(e.Payload)
		case store.Lost:
			t.Errorf("%s", e.Payload)
		}
	}
	if !strings.Contains(notes, "the disk does not answer") {
		t.Errorf("notes: %s", notes)
	}
}
