package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The test binary is its own child: TRANSPORT_TEST_CHILD says what it does.
func TestMain(m *testing.M) {
	switch os.Getenv("TRANSPORT_TEST_CHILD") {
	case "echo": // until end of file, as a well-behaved server
		io.Copy(os.Stdout, os.Stdin)
		os.Exit(7)
	case "deaf": // ignores end of file; exits 9 when asked to terminate
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		io.WriteString(os.Stdout, "ready\n")
		<-asked
		os.Exit(9)
	case "stubborn": // ignores that too
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		io.WriteString(os.Stdout, "ready\n")
		for {
			<-asked
		}
	}
	os.Exit(m.Run())
}

func child(t *testing.T, what string) Command {
	t.Helper()
	t.Setenv("TRANSPORT_TEST_CHILD", what)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Args: []string{exe}}
}

func TestCommandEchoesAndExits(t *testing.T) {
	c, err := child(t, "echo").Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), frame("hello\r")); err != nil {
		t.Fatal(err)
	}
	if f, err := c.Read(t.Context()); err != nil || string(f.Bytes) != "hello\r" {
		t.Errorf("read %q, %v", f.Bytes, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(); err != nil || s.Code != 7 || s.Signal != nil {
		t.Errorf("status %+v, %v", s, err)
	}
}

// A child that ignores the end of its input is asked to terminate, and killed
// if it ignores that too.
func TestShutdownLadder(t *testing.T) {
	for what, want := range map[string]ExitStatus{
		"deaf":     {Code: 9, Asked: true},
		"stubborn": {Code: -1, Signal: syscall.SIGKILL, Asked: true},
	} {
		c, err := child(t, what).Start()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.patience = [2]time.Duration{1, time.Minute} // the second rung at once, the third late
		if what == "stubborn" {
			c.patience[1] = 1
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err := c.Status(); err != nil || s != want {
			t.Errorf("%s: status %+v, %v; want %+v", what, s, err, want)
		}
		if _, err := c.Read(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("read after close: %v", err)
		}
	}
}

// A write that nobody reads is woken by Close.
func TestCloseWakesWrite(t *testing.T) {
	c, err := child(t, "stubborn").Start()
	if err != nil {
		t.Fatal(err)
	}
	c.patience = [2]time.Duration{1, 1}
	written := make(chan error, 1)
	go func() { written <- c.Write(t.Context(), Frame{Bytes: make([]byte, 1<<20)}) }()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; !errors.Is(err, ErrClosed) {
		t.Errorf("write: %v", err)
	}
}

// A script without #! is run as a shell runs it, and has all three streams.
func TestScriptWithoutInterpreter(t *testing.T) {
	for _, first := range []string{"", "#!/bin/sh\n"} {
		for code, want := range []ExitStatus{{}, {Code: 1}} {
			script := filepath.Join(t.TempDir(), "server")
			text := fmt.Sprintf("%sread line; echo \"$1 $line\"; echo bad >&2; exit %d\n", first, code)
			if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			for _, stderr := range []io.Writer{nil, &said} {
				c, err := Command{Args: []string{script, "two words"}, Stderr: stderr, Patience: time.Minute}.Start()
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Write(t.Context(), frame("and a line")); err != nil {
					t.Error(err)
				}
				if f, err := c.Read(t.Context()); err != nil || string(f.Bytes) != "two words and a line" {
					t.Errorf("read %q, %v", f.Bytes, err)
				}
				if f, err := c.Read(t.Context()); err != io.EOF {
					t.Errorf("behind its end: %q, %v", f.Bytes, err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if s, err := c.Status(); s != want || err != nil {
					t.Errorf("status %+v, %v, want %+v", s, err, want)
				}
			}
			if said.String() != "bad\n" {
				t.Errorf("standard error is %q", said.String())
			}
		}
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	text, binary := dir+"/text", dir+"/binary"
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{text: {"no program", 0o600}, binary: {"#!/no/such/interpreter\n", 0o700}} {
		if err := os.WriteFile(name, []byte(file.text), file.mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command, want string
		code          int
	}{
		{"no-such-command-at-all", "command not found", 127},
		{dir + "/missing", "No such file or directory", 127},
		{binary, "No such file or directory", 127},
		{dir, "Is a directory", 126},
		{text, "Permission denied", 126},
	} {
		_, err := Command{Args: []string{c.command}}.Connect(t.Context())
		var start *StartError
		if !errors.As(err, &start) || err.Error() != c.command+": "+c.want || start.Code != c.code {
			t.Errorf("start %s: %v, want %s and code %d", c.command, err, c.want, c.code)
		}
	}
	files := func() int {
		list, _ := os.ReadDir("/proc/self/fd") // none on other systems
		return len(list)
	}
	before := files()
	for range 5 {
		if _, err := (Command{Args: []string{dir}}).Start(); err == nil {
			t.Error("a folder has started")
		}
	}
	if now := files(); now > before {
		t.Errorf("%d files are open that were not", now-before)
	}
	if err := (&StartError{Command: "x", Cause: errors.New("odd")}).Error(); err != "x: odd" {
		t.Errorf("another cause: %s", err)
	}
	if _, err := (Command{}).Connect(t.Context()); err == nil || err.Error() != "start process: no command" {
		t.Errorf("no command: %v", err)
	}
}

// A process that has ended takes no signal, and one that runs has no status.
func TestSignals(t *testing.T) {
	c, err := child(t, "deaf").Start()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Status(); err == nil {
		t.Errorf("it runs: %+v", s)
	}
	if err := c.process.Signal(syscall.Signal(-1)); err == nil {
		t.Error("there is no such signal")
	}
	if err := c.process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if s, err := c.process.Wait(); err != nil || s.Code != 9 || s.Signal != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if err := c.process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("it has ended: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if s, err := c.Status(); err != nil || s.Asked {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestStreamConnCancel(t *testing.T) {
	r, w := io.Pipe()
	c := NewStreamConn(r, w)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	go c.Write(t.Context(), frame("still there"))
	if f, err := c.Read(t.Context()); err != nil || string(f.Bytes) != "still there" {
		t.Errorf("read %q, %v", f.Bytes, err)
	}
	c.Close()
	if err := c.Write(t.Context(), frame("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
}
