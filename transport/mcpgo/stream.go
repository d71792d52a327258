package mcpgo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mcprec/mcprec/transport"
)

// errNotLines is the cause when a Write is refused.
var errNotLines = errors.New("not whole lines")

// stream is a Conn as the bytes of stdio: frames with a newline behind each.
type stream struct {
	conn transport.Conn
	rest []byte // of the frame that was read last; its one reader's
	signatures
}

func newStream(conn transport.Conn) *stream {
	return &stream{conn: conn, signatures: signatures{calls: map[string]context.Context{}}}
}

// Read returns bytes of one frame, never of the next: a reader that buffers, as
// both of the SDK's do, has no frame more than it handles.
func (s *stream) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		f, err := s.conn.Read(context.Background())
		switch {
		case errors.Is(err, transport.ErrClosed):
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
		s.rest = transport.AppendFrame(nil, f)
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Write sends a frame for each line. The SDK writes one whole line at a time.
func (s *stream) Write(b []byte) (int, error) {
	for written := 0; written < len(b); {
		n := bytes.IndexByte(b[written:], '\n')
		if n < 0 {
			return written, fmt.Errorf("write %d bytes: %w", len(b), errNotLines)
		}
		f := transport.Frame{Bytes: bytes.Clone(b[written : written+n])}
		if err := s.conn.Write(s.of(f), f); err != nil {
			return written, err
		}
		written += n + 1
	}
	return len(b), nil
}

// Close closes the Conn.
func (s *stream) Close() error { return s.conn.Close() }
