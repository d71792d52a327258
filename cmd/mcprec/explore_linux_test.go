package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// An interrupted explore reports what it has found so far, and the shell says 130. It is
// interrupted when it draws its progress on the terminal: then it has run schedules.
func TestExploreInterrupted(t *testing.T) {
	screen, terminal := newTerminal(t)
	cmd := exec.Command("mcprec", "explore", "--vary", "sending", "-n", "100000000", "../../fixtures/seed.jsonl")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	drawn := make([]byte, 1000)
	n, err := screen.Read(drawn)
	if err != nil || !bytes.Contains(drawn[:n], []byte("explore: ")) {
		t.Errorf("the terminal shows %q, %v", drawn[:n], err)
	}
	rest := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(screen) // ends with an error when nobody has the terminal open
		rest <- b
	}()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	problems := <-rest
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", err)
	}
	if want := regexp.MustCompile(`^PASS sending order too, [1-9][0-9]* of 100000000 orders \(then it was interrupted\)`); !want.Match(out.Bytes()) {
		t.Errorf("it said %s%s", &out, problems)
	}
}

// newTerminal returns a terminal for a process, and what reads from its screen.
func newTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	number := 0
	if err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		number, err = unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	}
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}
