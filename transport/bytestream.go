package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// errNotLines is the cause when a ByteStream refuses a write.
var errNotLines = errors.New("not whole lines")

// ByteStream is a Conn as the bytes of stdio, each frame and a newline: for SDKs
// that take an io.Reader and an io.Writer. It is the inverse of [StreamConn].
//
// It hides that a pipe has bytes: each Write passes on whole frames, one after the other,
// so that the bytes of two writers never mix as they may in a pipe, and a peer that writes
// a frame in pieces is refused. Nothing that is read ahead of a frame is seen, either.
type ByteStream struct {
	conn Conn
	rest []byte // of the frame that was read last; its one reader's
}

// NewByteStream returns conn as bytes.
func NewByteStream(conn Conn) *ByteStream {
	Hide(conn, "ByteStream passes on whole frames, one after the other: bytes of two writers that mix in a pipe are not tried")
	return &ByteStream{conn: conn}
}

// Hide tells a Conn what a helper around it keeps out of sight. A Conn that makes a report
// has a method Hides, and says it there.
func Hide(conn Conn, what string) {
	if c, ok := conn.(interface{ Hides(what string) }); ok {
		c.Hides(what)
	}
}

// Read returns bytes of one frame, never of the next: a reader that buffers has
// no frame but the one it is at. A close of this end is an end of the stream too,
// as it is to who reads a file that another goroutine closes. One caller at a time.
func (s *ByteStream) Read(b []byte) (int, error) {
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
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Write sends a frame for each line. It refuses what is not whole lines. Safe for
// concurrent use.
func (s *ByteStream) Write(b []byte) (int, error) {
	for written := 0; written < len(b); {
		n := bytes.IndexByte(b[written:], '\n')
		if n < 0 {
			return written, fmt.Errorf("write of %d B: %w", len(b), errNotLines)
		}
		if err := s.conn.Write(context.Background(), Frame{Bytes: bytes.Clone(b[written : written+n])}); err != nil {
			return written, err
		}
		written += n + 1
	}
	return len(b), nil
}

// Close closes the Conn.
func (s *ByteStream) Close() error { return s.conn.Close() }
