package standin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// served plays a recording over a pipe and returns what the client read, and
// how Serve ended. The client does what it is told and then ends its side.
func served(t *testing.T, recorded string, client func(write func(string), read func() string)) (time.Duration, error) {
	t.Helper()
	conn, far := newWire()
	begin := time.Now()
	done := make(chan error, 1)
	p := NewPlayer(recordPlaybook(recorded), match.Rules{})
	go func() { done <- Serve(t.Context(), far, p, ServeOptions{}) }()
	client(
		func(s string) {
			if err := conn.Write(t.Context(), transport.Frame{Bytes: []byte(s)}); err != nil {
				t.Error(err)
			}
		},
		func() string {
			f, err := conn.Read(t.Context())
			if err != nil {
				return err.Error()
			}
			return string(f.Bytes)
		},
	)
	conn.end()
	return time.Since(begin), <-done
}

// wire is one end of a rendezvous connection whose sides can be ended one by one.
type wire struct {
	in, out chan transport.Frame
}

func newWire() (client, server *wire) {
	c2s, s2c := make(chan transport.Frame), make(chan transport.Frame)
	return &wire{in: s2c, out: c2s}, &wire{in: c2s, out: s2c}
}

func (w *wire) Read(ctx context.Context) (transport.Frame, error) {
	select {
	case f, more := <-w.in:
		if !more {
			return f, io.EOF
		}
		return f, nil
	case <-ctx.Done():
		return transport.Frame{}, ctx.Err()
	}
}

func (w *wire) Write(ctx context.Context, f transport.Frame) error {
	select {
	case w.out <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *wire) Close() error { return nil }
func (w *wire) end()         { close(w.out) }

func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		took, err := served(t, twoCalls, func(write func(string), read func() string) {
			write(`{"id":1,"method":"initialize"}`)
			got = append(got, read())
			write(`{"method":"notifications/initialized"}`)
			write(`{"id":"x","method":"tools/call","params":{"name":"a"}}`)
			got = append(got, read())
		})
		if err != nil || took != 0 {
			t.Errorf("%v, after %v", err, took)
		}
		if want := `{"id":1,"result":{}} {"id":"x","result":"a"}`; strings.Join(got, " ") != want {
			t.Errorf("got %v", got)
		}
	})
}

// TestServeRelents makes calls one by one that were recorded at once.
func TestServeRelents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		took, err := served(t, atOnce, func(write func(string), read func() string) {
			write(`{"id":1,"method":"tools/call","params":{"name":"a"}}`)
			got = append(got, read(), read())
			write(`{"id":2,"method":"tools/call","params":{"name":"b"}}`)
			got = append(got, read())
		})
		if err != nil || took != defaultPatience {
			t.Errorf("%v, after %v", err, took)
		}
		if want := `{"id":1,"result":"a"} {"id":2,"result":"b"}`; strings.Join(got[1:], " ") != want {
			t.Errorf("got %v", got)
		}
	})
}

// TestServeWriterFirst holds that a client may write everything, through a
// transport that holds nothing, before it reads anything; and read everything
// after it has ended its side.
func TestServeWriterFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, far := newWire()
		done := make(chan error, 1)
		go func() {
			done <- Serve(t.Context(), far, NewPlayer(recordPlaybook(atOnce), match.Rules{}), ServeOptions{})
		}()
		for _, s := range []string{`{"id":1,"method":"ping"}`, `{"id":2,"method":"ping"}`, `{"id":3,"method":"tools/call","params":{"name":"a"}}`} {
			if err := conn.Write(t.Context(), transport.Frame{Bytes: []byte(s)}); err != nil {
				t.Fatal(err)
			}
		}
		conn.end()
		n := 0
		for range 4 {
			if _, err := conn.Read(t.Context()); err == nil {
				n++
			}
		}
		if err := <-done; err != nil || n != 4 {
			t.Errorf("%d messages, %v", n, err)
		}
	})
}

func TestServeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, far := newWire()
		done := make(chan error, 1)
		go func() { done <- Serve(ctx, far, NewPlayer(nil, match.Rules{}), ServeOptions{}) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
	broken := errors.New("broken")
	for name, conn := range map[string]faulty{"read": {readErr: broken}, "write": {writeErr: broken}} {
		err := Serve(t.Context(), &conn, NewPlayer(recordPlaybook("< hello"), match.Rules{}), ServeOptions{})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServeNotRead cancels while a client does not read, through pipes whose
// writes heed no context.
func TestServeNotRead(t *testing.T) {
	in, _ := io.Pipe()
	far, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, transport.NewStreamConn(in, out), NewPlayer(recordPlaybook("< hello"), match.Rules{}), ServeOptions{})
	}()
	if _, err := far.Read(make([]byte, 1)); err != nil { // the rest of the write waits
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestServeClientGone ends the client's side first and breaks the other then.
func TestServeClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &faulty{readErr: io.EOF, writeErr: errors.New("broken"), hold: make(chan bool)}
		done := make(chan error, 1)
		go func() {
			done <- Serve(t.Context(), conn, NewPlayer(recordPlaybook("< hello"), match.Rules{}), ServeOptions{})
		}()
		synctest.Wait()
		close(conn.hold)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// faulty fails to read, to write, or blocks.
type faulty struct {
	readErr, writeErr error
	hold              chan bool // Write waits for it, unless nil
}

func (f *faulty) Read(ctx context.Context) (transport.Frame, error) {
	if f.readErr == nil {
		<-ctx.Done()
	}
	return transport.Frame{}, f.readErr
}

func (f *faulty) Write(ctx context.Context, _ transport.Frame) error {
	if f.hold != nil {
		<-f.hold
	}
	if f.writeErr == nil {
		<-ctx.Done()
	}
	return f.writeErr
}

func (f *faulty) Close() error { return nil }
