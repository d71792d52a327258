package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

func TestEach(t *testing.T) {
	in := io.NopCloser(strings.NewReader("a\r\n\nb"))
	conn := transport.NewStreamConn(in, discard{})
	var got []string
	err := conn.Each(t.Context(), func(f transport.Frame) { got = append(got, string(f.Bytes)) })
	if want := []string{"a\r", "", "b"}; err != io.EOF || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, %v", got, err)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// TestEachEnds holds that nothing is handled once Each has returned, though its
// reader goes on.
func TestEachEnds(t *testing.T) {
	for _, why := range []string{"context", "close"} {
		in, far := io.Pipe()
		conn := transport.NewStreamConn(io.NopCloser(in), discard{})
		ctx, cancel := context.WithCancel(t.Context())
		handled, done := make(chan bool), make(chan error)
		go func() { done <- conn.Each(ctx, func(transport.Frame) { handled <- true }) }()
		io.WriteString(far, "a\n")
		<-handled
		want := context.Canceled
		if why == "close" {
			conn.Close()
			want = transport.ErrClosed
		}
		cancel()
		if err := <-done; !errors.Is(err, want) {
			t.Errorf("%s: %v", why, err)
		}
		io.WriteString(far, "b\n") // would wait for ever in handle
		far.Close()
	}
}

// TestWriteNow holds that a frame is written where there is room, and never waits
// where there is none.
func TestWriteNow(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conn := transport.NewStreamConn(io.NopCloser(strings.NewReader("")), w)
	small := transport.Frame{Bytes: bytes.Repeat([]byte("x"), 999)}
	for name, f := range map[string]transport.Frame{
		"large":   {Bytes: bytes.Repeat([]byte("x"), 5000)},
		"newline": {Bytes: []byte("x\ny")},
	} {
		if conn.WriteNow(f) {
			t.Errorf("%s: written", name)
		}
	}
	n := 0
	for conn.WriteNow(small) {
		n++
	}
	if runtime.GOOS == "linux" && n < 4 {
		t.Errorf("%d frames of %d bytes fit a pipe", n, len(small.Bytes))
	}
	conn.Close()
	if conn.WriteNow(small) {
		t.Error("written after Close")
	}
	if got, err := io.ReadAll(r); err != nil || len(got) != 1000*n {
		t.Errorf("%d bytes of %d frames, %v", len(got), n, err)
	}
	if transport.NewStreamConn(io.NopCloser(r), discard{}).WriteNow(small) {
		t.Error("written to what may block")
	}
}
