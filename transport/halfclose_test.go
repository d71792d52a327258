package transport

import (
	"context"
	"errors"
	"io"
	"testing"
)

// Each HalfCloser ends its own direction and reads on.
func TestHalfClose(t *testing.T) {
	pipe := NewPipe(1, 1, nil)
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	for name, ends := range map[string][2]Conn{
		"pipe":   {pipe.Client(), pipe.Server()},
		"stream": {NewStreamConn(inRead, outWrite), NewStreamConn(outRead, inWrite)},
	} {
		t.Run(name, func(t *testing.T) { halfClose(t, ends[0], ends[1]) })
	}
}

func halfClose(t *testing.T, near, far Conn) {
	read := func(c Conn, want string, wantErr error) {
		t.Helper()
		if f, err := c.Read(t.Context()); string(f.Bytes) != want || !errors.Is(err, wantErr) {
			t.Errorf("read %q, %v, want %q, %v", f.Bytes, err, want, wantErr)
		}
	}
	done := make(chan error, 1)
	go func() {
		err := near.Write(context.Background(), frame("a"))
		for range 2 {
			err = errors.Join(err, near.(HalfCloser).CloseWrite())
		}
		done <- err
	}()
	read(far, "a", nil)
	read(far, "", io.EOF)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := near.Write(t.Context(), frame("b")); !errors.Is(err, ErrClosed) {
		t.Errorf("a write after CloseWrite: %v", err)
	}
	go func() { done <- far.Write(context.Background(), frame("c")) }()
	read(near, "c", nil)
	if err := errors.Join(<-done, near.Close(), far.Close()); err != nil {
		t.Error(err)
	}
}

// A Write that nobody takes holds a CloseWrite up; Close wakes both.
func TestCloseWakesHalfClose(t *testing.T) {
	in, _ := io.Pipe()
	_, out := io.Pipe()
	c := NewStreamConn(in, out)
	done := make(chan error, 2)
	go func() { done <- c.Write(context.Background(), frame("a")) }()
	go func() { done <- c.CloseWrite() }()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-done; err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}
