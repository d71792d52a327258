package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// The test binary is its own child: TRANSPORT_TEST_CHILD says what it does.
func TestMain(m *testing.M) {
	switch os.Getenv("TRANSPORT_TEST_CHILD") {
	case "echo": // until end of file, as a well-behaved server
		io.Copy(os.Stdout, os.Stdin)
		os.Exit(7)
	case "deaf": // ignores end of file; ends by SIGTERM
		io.WriteString(os.Stdout, "ready\n")
		select {}
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

// A child that ignores the end of its input is asked to terminate.
func TestShutdownLadder(t *testing.T) {
	cmd := child(t, "deaf")
	cmd.Patience = 1 // a nanosecond: the next rung at once
	c, err := cmd.Start()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := c.Status()
	if err != nil || s.Signal != syscall.SIGTERM && s.Signal != syscall.SIGKILL {
		t.Errorf("status %+v, %v", s, err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	for command, want := range map[string]string{
		"no-such-command-at-all": "no-such-command-at-all: command not found",
		dir + "/missing":         dir + "/missing: No such file or directory",
		dir:                      dir + ": Permission denied",
	} {
		_, err := Command{Args: []string{command}}.Connect(t.Context())
		var start *StartError
		if !errors.As(err, &start) || err.Error() != want {
			t.Errorf("start %s: %v, want %s", command, err, want)
			continue
		}
		if wantCode := 127; start.Code != wantCode && !strings.HasSuffix(want, "denied") {
			t.Errorf("start %s: code %d", command, start.Code)
		}
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
