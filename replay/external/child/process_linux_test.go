//go:build amd64 || arm64

package child

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/mcprec/mcprec/transport/leftover"
	"github.com/mcprec/mcprec/transport/procfs"
)

// TestStartAlone holds that a process which has started has no copy of a pipe, also where the pipe has a high
// number: what is closed then is closed at once.
func TestStartAlone(t *testing.T) {
	above := func(fd, number int) int {
		other, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, uintptr(number))
		if errno != 0 {
			t.Fatal(errno)
		}
		return int(other)
	}
	for range 200 {
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		var others [700]int // in between
		for i := range others {
			others[i] = above(ends[0], 100)
		}
		writer := above(ends[1], 800)
		CloseEnd(&ends[1])
		cmd := exec.Command("cat")
		input, err := cmd.StdinPipe()
		if err == nil {
			err = startAlone(cmd)
		}
		if err != nil {
			t.Fatal(err)
		}
		CloseEnd(&writer)
		isClosed := isReady(ends[0])
		for i := range others {
			CloseEnd(&others[i])
		}
		CloseEnd(&ends[0])
		_ = input.Close()
		if err := cmd.Wait(); err != nil || !isClosed {
			t.Fatalf("the process still has the pipe (%v)", err)
		}
	}
}

// isReady reports whether a read would return.
func isReady(fd int) bool {
	var set syscall.FdSet
	set.Bits[fd/64] |= 1 << (fd % 64)
	count, err := syscall.Select(fd+1, &set, nil, nil, &syscall.Timeval{})
	return err == nil && count == 1
}

// TestKillDetached holds that the end of a process ends what it has started in another session, too. The
// pipe has its end when the last process that writes to it has ended.
func TestKillDetached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "open")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	detached := `setsid sh -c 'exec sleep 1000 >"$0"' "$0" & exec cat`
	run, err := leftover.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer run.End()
	p, _, err := StartServer(Program{Command: []string{"sh", "-c", detached, path}}, Place{Run: run, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(path) // returns when the other end is open
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if _, err := io.ReadAll(open); err != nil {
		t.Fatal(err)
	}
	_ = open.Close()
}

// TestHeldLines holds that a line takes memory of its own in the count of what is held, however short it is.
func TestHeldLines(t *testing.T) {
	var p Pipes
	p.take(bytes.Repeat([]byte("\n"), 1000))
	if least := 1000 * int(unsafe.Sizeof(p.rest)); p.held < least || len(p.lines) != 1000 {
		t.Errorf("%d empty lines count %d bytes, want %d or more", len(p.lines), p.held, least)
	}
}

// TestEndlessOutput holds that a process which writes on and on is given up: in time, if it writes lines, before
// those that nobody has asked for fill the memory, and with the reason in the place of its status if one line would.
func TestEndlessOutput(t *testing.T) {
	for name, want := range map[string]struct {
		command  string
		running  time.Duration
		isHeard  bool
		activity procfs.Activity
		status   string
	}{
		"lines":     {"yes", 20 * time.Millisecond, true, procfs.Busy, ""},
		"unheard":   {"yes " + strings.Repeat("y", 1000), time.Hour, false, procfs.Busy, ""},
		"in a line": {"cat /dev/zero", time.Hour, true, procfs.Ended, "a line of its output is too long: more than 256 MiB, which are not read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, err := leftover.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer run.End()
			p, pipes, err := StartServer(Program{Command: strings.Fields(want.command)}, Place{Run: run, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Kill()
			patience := Patience{Running: want.running}
			for !p.IsGone() && !p.isEndless {
				p.Settle(patience)
				if want.isHeard {
					pipes.Said()
				}
			}
			look, _ := p.Settle(patience)
			pipes.Said()
			if look.Activity != want.activity || p.status != want.status {
				t.Errorf("%v, %q", look, p.status)
			}
			if _, isMoved := p.Settle(patience); isMoved || pipes.Said() != nil {
				t.Error("it is still heard")
			}
		})
	}
}
