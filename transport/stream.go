package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
)

// Stdio is the transport of a process over its own standard input and output.
// It can be connected once.
type Stdio struct {
	// In and Out default to os.Stdin and os.Stdout.
	In  io.ReadCloser
	Out io.WriteCloser
}

// Connect returns the process's own stdin and stdout as a Conn.
func (t Stdio) Connect(context.Context) (Conn, error) {
	in, out := t.In, t.Out
	if in == nil {
		in = os.Stdin
	}
	if out == nil {
		out = os.Stdout
	}
	return NewStreamConn(in, out), nil
}

// StreamConn is a Conn over two byte streams, one frame a line.
type StreamConn struct {
	in     io.ReadCloser
	out    io.WriteCloser
	once   sync.Once // starts the reading goroutine
	frames chan Frame
	err    error // of the reader; valid once frames is closed
	closed chan struct{}
	stop   func() error
	halved chan struct{} // closed by the first CloseWrite, which keeps the right to write
	finish func() error  // closes out
	write  chan []byte   // holds the write buffer; taking it is the right to write
}

// isGone reports whether a write failed because the far end, or this one, was
// closed.
func isGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

// NewStreamConn reads frames from in and writes frames to out.
func NewStreamConn(in io.ReadCloser, out io.WriteCloser) *StreamConn {
	c := &StreamConn{in: in, out: out, frames: make(chan Frame), closed: make(chan struct{}), halved: make(chan struct{}), write: make(chan []byte, 1)}
	c.write <- nil
	c.finish = sync.OnceValue(c.out.Close)
	c.stop = sync.OnceValue(func() error {
		close(c.closed)
		errOut := c.finish()
		errIn := c.in.Close()
		if errOut != nil {
			return errOut
		}
		return errIn
	})
	return c
}

// Read implements Conn. A goroutine reads ahead by one frame. Close does not wait for
// it: a read of a terminal or of an inherited pipe cannot be interrupted portably, so
// the goroutine ends with the stream or the process.
func (c *StreamConn) Read(ctx context.Context) (Frame, error) {
	if c.isClosed() {
		return Frame{}, ErrClosed
	}
	c.once.Do(func() { go c.readAll() })
	select {
	case f, ok := <-c.frames:
		if ok {
			return f, nil
		}
		if c.isClosed() { // then the reader's error is our own doing
			return Frame{}, ErrClosed
		}
		return Frame{}, c.err
	case <-c.closed:
		return Frame{}, ErrClosed
	case <-ctx.Done():
		return Frame{}, ctx.Err()
	}
}

func (c *StreamConn) readAll() {
	defer close(c.frames)
	r := NewFrameReader(c.in)
	for {
		f, err := r.Read()
		if err != nil {
			c.err = err
			return
		}
		select {
		case c.frames <- f:
			runtime.Gosched() // to the receiver: a blocking read would keep this processor
		case <-c.closed:
			c.err = ErrClosed
			return
		}
	}
}

// Write implements Conn. The context counts until the operating system has the frame,
// because half a frame must never be left behind. Close wakes a Write; a write to a
// blocking descriptor then goes on in its own goroutine until the reader takes the
// frame or goes away.
func (c *StreamConn) Write(ctx context.Context, frame Frame) error {
	if err := frame.Sendable(); err != nil {
		return err
	}
	if c.isClosed() {
		return ErrClosed
	}
	var buf []byte
	select {
	case <-c.closed:
		return ErrClosed
	case <-c.halved:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case buf = <-c.write:
	}
	written := make(chan error, 1)
	go func() {
		buf = AppendFrame(buf[:0], frame)
		_, err := c.out.Write(buf)
		if cap(buf) > 1<<20 {
			buf = nil
		}
		c.write <- buf
		written <- err
	}()
	select {
	case err := <-written:
		if isGone(err) {
			return fmt.Errorf("%w: %v", ErrClosed, err)
		}
		return err
	case <-c.closed:
		return ErrClosed
	}
}

func (c *StreamConn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// CloseWrite implements [HalfCloser]. It waits for a Write that has begun, because half
// a frame must never be left behind; Close wakes CloseWrite.
func (c *StreamConn) CloseWrite() error {
	select {
	case <-c.closed:
	case <-c.halved:
	case <-c.write:
		close(c.halved)
	}
	return c.finish()
}

// Close implements Conn: it closes both streams.
func (c *StreamConn) Close() error { return c.stop() }

// readSize is the size of a read: a pipe's usual capacity on Linux.
const readSize = 64 << 10

// MaxMessage is how many bytes a message of a live peer may have, and all of an HTTP body. A peer that sends more,
// or says that it will, is given up: the message would be held in memory whole. A recorder passes on and keeps longer ones.
const MaxMessage = 256 << 20

// ErrTooLong: a line, a message or a body has more than [MaxMessage] bytes.
var ErrTooLong = errors.New("too long")

// TooLong returns the error of something that is [ErrTooLong].
func TooLong(what string) error {
	return fmt.Errorf("%s is %w: more than %d MiB, which are not read", what, ErrTooLong, MaxMessage>>20)
}

// FrameReader cuts a byte stream into frames at newlines. A frame has at most [MaxMessage]
// bytes; reading one of n bytes needs at most about 2n.
type FrameReader struct {
	r     *bufio.Reader
	count int // of the frames that were read
}

// NewFrameReader reads frames from r.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, readSize)}
}

// Read returns the next frame in memory of its own. After the last frame Read returns
// io.EOF, or the error of the stream. Bytes without a newline in front of the end are
// a frame marked Unterminated. The error of a longer frame than may be is [ErrTooLong], and
// nothing can be read behind it.
func (fr *FrameReader) Read() (Frame, error) {
	var pieces [][]byte // of a line that is longer than the buffer, to copy the line once
	size := 0
	for {
		piece, err := fr.r.ReadSlice('\n')
		if size += len(piece); size > MaxMessage+1 { // with its newline
			return Frame{}, TooLong(fmt.Sprintf("line %d", fr.count+1))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			pieces = append(pieces, append([]byte(nil), piece...))
			continue
		}
		if err != nil && size == 0 {
			return Frame{}, err
		}
		fr.count++
		line := make([]byte, 0, size)
		for i, p := range pieces {
			line = append(line, p...)
			pieces[i] = nil
		}
		line = append(line, piece...)
		if err != nil {
			return Frame{Bytes: line, Unterminated: true}, nil
		}
		return Frame{Bytes: line[:size-1]}, nil
	}
}

// AppendFrame appends the frame as in a stream: the bytes and, unless the frame is
// Unterminated, a newline.
func AppendFrame(data []byte, frame Frame) []byte {
	data = append(data, frame.Bytes...)
	if frame.Unterminated {
		return data
	}
	return append(data, '\n')
}

// errNotLines is the cause when a ByteStream refuses a write.
var errNotLines = errors.New("not whole lines")

// ByteStream is a Conn as the bytes of stdio, each frame and a newline: for SDKs
// that take an io.Reader and an io.Writer: the inverse of [StreamConn].
//
// A ByteStream hides the bytes of a pipe: each Write passes on whole frames, one after
// the other, so the bytes of two writers never mix as they may in a pipe, and a peer that
// writes a frame in pieces is refused. Reading ahead of a frame is not seen, either.
type ByteStream struct {
	conn Conn
	rest []byte // of the frame read last
}

// NewByteStream returns conn as bytes.
func NewByteStream(conn Conn) *ByteStream {
	Hide(conn, "ByteStream passes on whole messages, one after the other: bytes of two writers that mix in a pipe are not tried")
	return &ByteStream{conn: conn}
}

// Hide tells a Conn which faults a helper around the Conn hides. A Conn with a report has a
// method Hides, and reports them.
func Hide(conn Conn, what string) {
	if c, ok := conn.(interface{ Hides(what string) }); ok {
		c.Hides(what)
	}
}

// Read returns bytes of one frame, never of the next, so a reader that buffers has
// only the current frame. A close of this end is an end of the stream too, as for a
// file that another goroutine closes. One caller at a time.
func (s *ByteStream) Read(data []byte) (int, error) {
	if len(s.rest) == 0 {
		f, err := s.conn.Read(context.Background())
		switch {
		case errors.Is(err, ErrClosed):
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
		s.rest = AppendFrame(nil, f)
	}
	n := copy(data, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Write sends a frame for each line, and refuses parts of a line. Safe for concurrent
// use.
func (s *ByteStream) Write(data []byte) (int, error) {
	for written := 0; written < len(data); {
		n := bytes.IndexByte(data[written:], '\n')
		if n < 0 {
			return written, fmt.Errorf("write of %d B: %w", len(data), errNotLines)
		}
		if err := s.conn.Write(context.Background(), Frame{Bytes: bytes.Clone(data[written : written+n])}); err != nil {
			return written, err
		}
		written += n + 1
	}
	return len(data), nil
}

// Close closes the Conn.
func (s *ByteStream) Close() error { return s.conn.Close() }
