//go:build unix

package recorder

import (
	"io"
	"os"
	"testing"
)

// All that is in a held pipe when the server has exited has been read before the pipe is
// taken for drained.
func TestServerOutputDrains(t *testing.T) {
	pipe, server := pipeFor(t)
	exitRead, exitWrite := pipeFor(t)
	f := newEnding()
	o := newServerOutput(pipe, exitRead, &f.s2c)
	write := func(text string) {
		if _, err := io.WriteString(server, text); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string, drained bool) {
		t.Helper()
		b := make([]byte, 3)
		if n, err := o.Read(b); err != nil || string(b[:n]) != want {
			t.Errorf("read %q, %v; want %q", b[:n], err, want)
		}
		if got := f.s2c.drained.Load(); got != drained {
			t.Errorf("after %q: drained %t", want, got)
		}
	}
	write("one")
	read("one", false)
	write("twothree")
	read("two", false)
	exitWrite.Close()
	read("thr", false)
	read("ee", false)
	go func() { // once it is drained, others go on
		<-f.changed
		io.WriteString(server, "etc")
	}()
	read("etc", true)
}

// A pipe that is never empty is drained when more has come than a pipe holds.
func TestServerOutputDrainsFlood(t *testing.T) {
	pipe, server := pipeFor(t)
	exitRead, exitWrite := pipeFor(t)
	f := newEnding()
	o := newServerOutput(pipe, exitRead, &f.s2c)
	exitWrite.Close()
	o.exited = true
	chunk := make([]byte, 32<<10)
	for sent := 0; sent <= pipeSize; sent += len(chunk) {
		if f.s2c.drained.Load() {
			t.Fatalf("drained after %d bytes", sent)
		}
		if _, err := server.Write(chunk); err != nil { // before each read there is something
			t.Fatal(err)
		}
		if _, err := io.ReadFull(o, make([]byte, len(chunk))); err != nil {
			t.Fatal(err)
		}
	}
	if !f.s2c.drained.Load() {
		t.Errorf("not drained after %d bytes", o.read)
	}
}

func TestUnread(t *testing.T) {
	r, w := pipeFor(t)
	if unread(w) {
		t.Error("unread while there is a reader")
	}
	r.Close()
	if !unread(w) {
		t.Error("not unread when the reader is gone")
	}
	w.Close()
	if !unread(w) {
		t.Error("not unread when it is closed")
	}
}

func pipeFor(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}
