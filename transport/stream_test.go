package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

func readAll(t *testing.T, r io.Reader) (frames []Frame) {
	t.Helper()
	fr := NewFrameReader(r)
	for {
		f, err := fr.Read()
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
}

func joined(frames []Frame) (b []byte) {
	for _, f := range frames {
		b = AppendFrame(b, f)
	}
	return b
}

func TestFrames(t *testing.T) {
	for input, want := range map[string][]Frame{
		"":           nil,
		"a\n":        {{Bytes: []byte("a")}},
		"a":          {{Bytes: []byte("a"), Unterminated: true}},
		"\n\n":       {{Bytes: []byte{}}, {Bytes: []byte{}}},
		" a\r\n\xff": {{Bytes: []byte(" a\r")}, {Bytes: []byte{0xff}, Unterminated: true}},
	} {
		got := readAll(t, strings.NewReader(input))
		if len(got) != len(want) {
			t.Errorf("%q: %d frames, want %d", input, len(got), len(want))
			continue
		}
		for i := range got {
			if !bytes.Equal(got[i].Bytes, want[i].Bytes) || got[i].Unterminated != want[i].Unterminated {
				t.Errorf("%q: frame %d is %+v, want %+v", input, i, got[i], want[i])
			}
		}
	}
}

func TestBrokenStreamKeepsItsTail(t *testing.T) {
	fr := NewFrameReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	fr.Read()
	if f, err := fr.Read(); err != nil || string(f.Bytes) != "b" || !f.Unterminated {
		t.Errorf("tail: %+v, %v", f, err)
	}
	if _, err := fr.Read(); err != io.ErrUnexpectedEOF {
		t.Errorf("end: %v", err)
	}
}

// A line of 100 MB is read whole, in memory of a small multiple of its size.
func TestLongLine(t *testing.T) {
	const size = 100 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	frames := readAll(t, io.MultiReader(io.LimitReader(zeros{}, size), strings.NewReader("\nx\n")))
	runtime.ReadMemStats(&after)
	if len(frames) != 2 || len(frames[0].Bytes) != size || string(frames[1].Bytes) != "x" {
		t.Fatalf("%d frames, the first of %d bytes", len(frames), len(frames[0].Bytes))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 3*size {
		t.Errorf("%d bytes allocated for a line of %d", used, size)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// FuzzFraming: under any chunking the frames of a stream are the stream, and
// no frame holds a newline.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("a\nb"), uint64(1))
	f.Add([]byte("\r\n\n \xff\n{}"), uint64(2))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		frames := readAll(t, &choppy{b: b, rng: rand.New(rand.NewPCG(seed, 0))})
		if got := joined(frames); !bytes.Equal(got, b) {
			t.Fatalf("frames of %q join to %q", b, got)
		}
		for i, f := range frames {
			if bytes.IndexByte(f.Bytes, '\n') >= 0 || f.Unterminated && i < len(frames)-1 {
				t.Fatalf("frame %d of %q: %+v", i, b, f)
			}
		}
	})
}

// choppy gives out a few bytes at a time.
type choppy struct {
	b   []byte
	rng *rand.Rand
}

func (c *choppy) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(len(c.b), 1+c.rng.IntN(7))])
	c.b = c.b[n:]
	return n, nil
}

// TestByteStreamRead: the bytes are the frames and their newlines, whatever the buffer.
func TestByteStreamRead(t *testing.T) {
	pipe := NewPipe(Unbounded, 0, nil)
	for _, f := range []Frame{{Bytes: []byte("one\r")}, {}, {Bytes: []byte("last"), Unterminated: true}} {
		if err := pipe.Client().Write(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	pipe.Client().Close()
	got, err := io.ReadAll(iotest.OneByteReader(NewByteStream(pipe.Server())))
	if want := "one\r\n\nlast"; err != nil || string(got) != want {
		t.Errorf("read %q, %v, want %q", got, err, want)
	}
}

// TestByteStreamReadAhead: a Read does not go on to the next frame.
func TestByteStreamReadAhead(t *testing.T) {
	pipe := NewPipe(Unbounded, 0, nil)
	for range 2 {
		pipe.Client().Write(t.Context(), Frame{Bytes: []byte("x")})
	}
	if n, err := NewByteStream(pipe.Server()).Read(make([]byte, 100)); n != 2 || err != nil {
		t.Errorf("%d bytes, %v, want 2", n, err)
	}
}

func TestByteStreamWrite(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  []string
		err   error
	}{
		{"a\n", []string{"a"}, nil},
		{"a\n\nb\n", []string{"a", "", "b"}, nil},
		{"a\nb", []string{"a"}, errNotLines},
	} {
		pipe := NewPipe(Unbounded, 0, nil)
		if _, err := NewByteStream(pipe.Client()).Write([]byte(test.bytes)); !errors.Is(err, test.err) {
			t.Errorf("write %q: %v, want %v", test.bytes, err, test.err)
		}
		pipe.Client().Close()
		for _, want := range test.want {
			if f, err := pipe.Server().Read(t.Context()); err != nil || string(f.Bytes) != want {
				t.Errorf("write %q: frame %q, %v, want %q", test.bytes, f.Bytes, err, want)
			}
		}
	}
}

// TestByteStreamClosed: a close at this end is the end of the stream to the reader.
func TestByteStreamClosed(t *testing.T) {
	s := NewByteStream(NewPipe(0, 0, nil).Server())
	s.Close()
	if _, err := s.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read: %v, want EOF", err)
	}
	if _, err := s.Write([]byte("x\n")); !errors.Is(err, ErrClosed) {
		t.Errorf("write: %v, want %v", err, ErrClosed)
	}
}

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

type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

// A frame with a newline in it would be two on stdio: no Conn sends any of it, and
// the next frame goes through.
func TestWriteRefusesNewline(t *testing.T) {
	var sent bytes.Buffer
	stream := NewStreamConn(io.NopCloser(&bytes.Buffer{}), writeCloser{&sent})
	pipe := NewPipe(1, 1, nil)
	for name, c := range map[string]Conn{"stream": stream, "pipe": pipe.Client()} {
		for _, text := range []string{"{}\n", "{\n}", "\n"} {
			if err := c.Write(context.Background(), frame(text)); !errors.Is(err, ErrNewline) {
				t.Errorf("%s: write %q: %v, want ErrNewline", name, text, err)
			}
		}
		if err := c.Write(context.Background(), frame("{}")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sent.String() != "{}\n" {
		t.Errorf("the stream has %q", sent.String())
	}
	if s := pipe.State()[0]; s.Offered != 1 {
		t.Errorf("the pipe was offered %d frames", s.Offered)
	}
}

var errInner = errors.New("the inner one failed")

// brokenConn is a Conn whose every method fails.
type brokenConn struct{}

func (brokenConn) Read(context.Context) (Frame, error) { return Frame{}, errInner }

func (brokenConn) Write(context.Context, Frame) error { return errInner }

func (brokenConn) Close() error { return errInner }

// brokenPipe is a byte stream whose every method fails.
type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error) { return 0, errInner }

func (brokenPipe) Write([]byte) (int, error) { return 0, errInner }

func (brokenPipe) Close() error { return errInner }

// closable is a byte stream of which only Close fails.
type closable struct{ io.ReadWriter }

func (closable) Close() error { return errInner }

// Whatever stands around a Conn or a byte stream passes its errors on.
func TestErrorsArePassedOn(t *testing.T) {
	ctx := t.Context()
	frame := Frame{Bytes: []byte("{}")}
	for name, call := range map[string]func() error{
		"ByteStream.Read":            func() error { _, err := NewByteStream(brokenConn{}).Read(make([]byte, 9)); return err },
		"ByteStream.Write":           func() error { _, err := NewByteStream(brokenConn{}).Write([]byte("{}\n")); return err },
		"ByteStream.Close":           func() error { return NewByteStream(brokenConn{}).Close() },
		"FrameReader.Read":           func() error { _, err := NewFrameReader(brokenPipe{}).Read(); return err },
		"StreamConn.Read":            func() error { _, err := NewStreamConn(brokenPipe{}, brokenPipe{}).Read(ctx); return err },
		"StreamConn.Write":           func() error { return NewStreamConn(brokenPipe{}, brokenPipe{}).Write(ctx, frame) },
		"StreamConn.CloseWrite":      func() error { return NewStreamConn(brokenPipe{}, brokenPipe{}).CloseWrite() },
		"StreamConn.Close, its end":  func() error { return NewStreamConn(io.NopCloser(nil), closable{}).Close() },
		"StreamConn.Close, the head": func() error { return NewStreamConn(closable{}, discarded{io.Discard}).Close() },
	} {
		if err := call(); !errors.Is(err, errInner) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type discarded struct{ io.Writer }

func (discarded) Close() error { return nil }

// hiding is a Conn with a report.
type hiding struct {
	Conn
	says *string
}

func (h hiding) Hides(what string) { *h.says = what }

func TestByteStreamSaysWhatItHides(t *testing.T) {
	said := ""
	NewByteStream(hiding{NewPipe(0, 0, nil).Client(), &said})
	if !strings.Contains(said, "ByteStream") {
		t.Errorf("said %q", said)
	}
}

// TestIsGone: each way in which a system says that the reader of a stream is not there.
func TestIsGone(t *testing.T) {
	for _, err := range []error{syscall.EPIPE, os.ErrClosed, io.ErrClosedPipe} {
		if !isGone(fmt.Errorf("write: %w", err)) {
			t.Errorf("%v: not gone", err)
		}
	}
	if isGone(errors.ErrUnsupported) {
		t.Error("any error is taken for a reader that is gone")
	}
}

// TestTooLong holds that a line which is too long for memory ends the reading with an error that says which line it
// is, and that the frames in front of it are read.
func TestTooLong(t *testing.T) {
	page := bytes.Repeat([]byte("x"), 1<<20)
	pages := 0
	endless := func(data []byte) (int, error) {
		if pages++; pages > 2*MaxMessage>>16 {
			return 0, io.EOF
		}
		return copy(data, page), nil
	}
	conn := NewStreamConn(io.NopCloser(io.MultiReader(strings.NewReader("a\nb\n"), readerFunc(endless))), nopWriteCloser{io.Discard})
	defer conn.Close()
	for _, want := range []string{"a", "b"} {
		if f, err := conn.Read(t.Context()); err != nil || string(f.Bytes) != want {
			t.Fatalf("%q, %v", f.Bytes, err)
		}
	}
	f, err := conn.Read(t.Context())
	if !errors.Is(err, ErrTooLong) || err.Error() != "line 3 is too long: more than 256 MiB, which are not read" {
		t.Errorf("%d bytes, %v", len(f.Bytes), err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(data []byte) (int, error) { return f(data) }

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
