package explore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/mcprec/mcprec/transport"
)

// byteServer answers each request on a goroutine of its own, and writes an answer as write does.
// The stdio server of trpc-mcp-go v0.0.20 is made so: see docs/bugs/trpc-frames-share-a-line.
func byteServer(r *Run, write func(w io.Writer, answer []byte) error) {
	rw := r.ServerBytes()
	r.Go(func(context.Context) {
		for lines := bufio.NewScanner(rw); lines.Scan(); {
			messages, err := transport.Frame{Bytes: bytes.Clone(lines.Bytes())}.Messages()
			if err != nil || messages[0].Kind() != transport.Request {
				continue
			}
			go func() { _ = write(rw, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, messages[0].ID)) }()
		}
	})
}

// inTwoWrites writes a frame and its newline, one after the other.
func inTwoWrites(w io.Writer, answer []byte) error {
	_, err := w.Write(answer)
	_, err2 := w.Write([]byte("\n"))
	return errors.Join(err, err2)
}

func byteCalls(write func(r *Run) func(w io.Writer, answer []byte) error) func(*Run) {
	return func(r *Run) {
		byteServer(r, write(r))
		client := newPeer(r.Client())
		r.Go(client.read)
		for _, name := range []string{"a", "b", "c"} {
			r.Op(name, func(ctx context.Context) error { return client.tool(ctx, name) })
		}
	}
}

// Two frames that are written in two writes each, without a lock, come to share a line: the
// report says which, and where they were written.
func TestFramesShareALine(t *testing.T) {
	setup := byteCalls(func(*Run) func(io.Writer, []byte) error { return inTwoWrites })
	r := Search(t, Plan{Setup: setup})
	for _, want := range []string{
		"writes of several goroutines share it, without a lock between them: response to tools/call ",
		"explore.inTwoWrites bytes_test.go:", ", then response to tools/call ", "reach server ends response to tools/call ",
		"s2c one line of [response to tools/call ",
	} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if strings.Contains(r.Text(), "#1#1") {
		t.Error("a response has two numbers")
	}
	if r.Verdict != Illegal || r.Category != "E4" || r.Shrunk.Held != verifications {
		t.Error(r.Text())
	}
	if again := Search(t, Plan{Setup: setup, Token: r.Token}); again.Verdict != Illegal || again.Explanation != r.Explanation {
		t.Error(again.Text())
	}
	if lawless := Search(t, Plan{Setup: setup, Lawless: true}); lawless.Verdict != Hang || lawless.Category != AnswerLost {
		t.Error(lawless.Text())
	}
}

// With one write for a frame, or a lock over both, every frame has a line.
func TestWholeLines(t *testing.T) {
	if !inOwnProcess(t) {
		return
	}
	for name, write := range map[string]func(r *Run) func(io.Writer, []byte) error{
		"one write": func(*Run) func(io.Writer, []byte) error {
			return func(w io.Writer, answer []byte) error {
				_, err := w.Write(append(answer, '\n'))
				return err
			}
		},
		"a lock": func(*Run) func(io.Writer, []byte) error {
			var mu sync.Mutex
			return func(w io.Writer, answer []byte) error {
				mu.Lock()
				defer mu.Unlock()
				return inTwoWrites(w, answer)
			}
		},
		"several lines in a write": func(*Run) func(io.Writer, []byte) error {
			return func(w io.Writer, answer []byte) error {
				_, err := w.Write(fmt.Appendf(nil, "\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n%s\r\n\n", answer))
				return err
			}
		},
	} {
		if r := Search(t, Plan{Setup: byteCalls(write), Schedules: 60}); r.Verdict != Pass {
			t.Errorf("%s: %s", name, r.Text())
		}
	}
}

// The stream has the order of the released steps: a client that writes bytes, too.
func TestByteOrder(t *testing.T) {
	got := ""
	r := Search(t, Plan{Strategy: Random, Schedules: 100, Setup: func(r *Run) {
		got = ""
		w := r.ClientBytes()
		for _, name := range []string{"a", "b"} {
			r.Op(name, func(context.Context) error {
				for i := range 3 {
					if _, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"%s%d"}`+"\n", name, i); err != nil {
						return err
					}
				}
				return nil
			})
		}
		r.Op("read", func(ctx context.Context) error {
			for range 6 {
				f, err := r.Server().Read(ctx)
				if err != nil {
					return err
				}
				messages, err := f.Messages()
				if err != nil {
					return err
				}
				got += messages[0].Method
			}
			return nil
		})
	}, Check: func(r *Run) error {
		want := ""
		for _, s := range r.course.steps {
			if _, what, ok := strings.Cut(s.What, "client writes "); ok {
				want += what[:2]
			}
		}
		if want == "" || got != want {
			return fmt.Errorf("read %s, written %s", got, want)
		}
		return nil
	}})
	if r.Verdict != Pass || r.Coverage.Classes < 10 {
		t.Error(r.Text())
	}
}

// A write of an end that is closed fails, also one that waits.
func TestBytesClose(t *testing.T) {
	Explore(t, Plan{Setup: func(r *Run) {
		rw := r.ClientBytes()
		r.Op("write", func(context.Context) error {
			for range 3 {
				if _, err := io.WriteString(rw, "{"); err != nil && !errors.Is(err, transport.ErrClosed) {
					return err
				}
			}
			return nil
		})
		r.Op("read", func(context.Context) error {
			if _, err := rw.Read(make([]byte, 8)); err != io.EOF {
				return fmt.Errorf("read of a closed end: %w", err)
			}
			return nil
		})
		r.Op("close", func(context.Context) error { return rw.Close() })
		r.Op("late write", func(context.Context) error {
			if _, err := io.WriteString(rw, "{}\n"); !errors.Is(err, transport.ErrClosed) {
				return fmt.Errorf("write to a closed end: %w", err)
			}
			return nil
		}).After("write", "read", "close")
	}})
}

// A server that takes each Read for a message passes by luck, and fails where its bytes come one by one.
func TestReadInPieces(t *testing.T) {
	for _, isInPieces := range []bool{false, true} {
		r := Search(t, Plan{Schedules: 20, Setup: func(r *Run) {
			rw := r.ServerBytes()
			reads := io.Reader(rw)
			if isInPieces {
				reads = iotest.OneByteReader(rw)
			}
			r.Go(func(context.Context) {
				page := make([]byte, 4096)
				for {
					n, err := reads.Read(page)
					if err != nil {
						return
					}
					messages, err := transport.Frame{Bytes: bytes.TrimSpace(page[:n])}.Messages()
					if err == nil && messages[0].Kind() == transport.Request {
						answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", messages[0].ID)
						go func() { _, _ = rw.Write(answer) }()
					}
				}
			})
			client := newPeer(r.Client())
			r.Go(client.read)
			r.Op("a", func(ctx context.Context) error { return client.tool(ctx, "a") })
		}})
		if hangs := r.Verdict == Hang; hangs != isInPieces {
			t.Errorf("in pieces: %t\n%s", isInPieces, r.Text())
		}
	}
}
