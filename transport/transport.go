package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// ErrClosed is returned by Read and Write of a Conn that was closed at this
// end, and by Write when the far end was closed.
var ErrClosed = errors.New("connection closed")

// ErrNewline is returned by Write for a frame with a newline, which is not sent: on
// stdio it would be several frames (basic transports, stdio: "MUST NOT contain
// embedded newlines").
var ErrNewline = errors.New("a message must not contain a newline: the transport ends each with its own")

// Sendable returns ErrNewline for a frame that a Conn of newline-delimited frames
// cannot send.
func (f Frame) Sendable() error {
	if bytes.IndexByte(f.Bytes, '\n') >= 0 {
		return ErrNewline
	}
	return nil
}

// Frame is one delimited message's exact bytes.
type Frame struct {
	// Bytes is the frame as seen, without the line's newline.
	Bytes []byte
	// Stream numbers the HTTP exchange or event stream; 0 on stdio and in memory.
	Stream uint64
	// Unterminated marks a last line that no newline ended.
	Unterminated bool
}

// Conn is an open frame stream to one peer.
//
// One goroutine may Read while others Write. Read and Write return the
// context's error when it ends first. A frame whose Write ended with the
// context's error was not delivered; after another error the peer may have it,
// over a byte stream also in part.
type Conn interface {
	// Read returns the next frame from the peer, or io.EOF after the last one.
	// One caller at a time.
	Read(ctx context.Context) (Frame, error)
	// Write hands one frame to the peer and returns when the transport has
	// taken it. Safe for concurrent use; frames are never interleaved. A frame with
	// a newline in it is refused with ErrNewline.
	Write(ctx context.Context, frame Frame) error
	// Close ends both directions. It wakes every blocked Read and Write and may
	// be called at any time, more than once.
	Close() error
}

// HalfCloser is a Conn that can end its own direction alone, as a client does
// that closes a server's standard input.
type HalfCloser interface {
	// CloseWrite ends what this end sends: the peer reads what was taken and then
	// io.EOF, and this end reads on. Writes return ErrClosed from then on. It may
	// be called at any time, more than once.
	CloseWrite() error
}

// Transport opens a Conn.
type Transport interface {
	// Connect opens the connection. Each call opens a new one, or fails.
	Connect(ctx context.Context) (Conn, error)
}

// Direction says which way a frame went. It is absolute, never relative to an
// observer: «sent» and «received» would change sides with who looks.
type Direction uint8

const (
	// NoDirection is the zero value: the event belongs to no direction.
	NoDirection Direction = iota
	// ClientToServer is written c2s.
	ClientToServer
	// ServerToClient is written s2c.
	ServerToClient
)

// String returns "c2s", "s2c", or "" for NoDirection.
func (d Direction) String() string {
	switch d {
	case ClientToServer:
		return "c2s"
	case ServerToClient:
		return "s2c"
	case NoDirection:
		return ""
	}
	return fmt.Sprintf("direction(%d)", uint8(d))
}

// ParseDirection is the inverse of String for the three defined directions.
func ParseDirection(s string) (Direction, error) {
	switch s {
	case "c2s":
		return ClientToServer, nil
	case "s2c":
		return ServerToClient, nil
	case "":
		return NoDirection, nil
	}
	return NoDirection, fmt.Errorf("direction %q: want c2s or s2c", s)
}

// Reverse returns the other direction; NoDirection is its own reverse.
func (d Direction) Reverse() Direction {
	switch d {
	case ClientToServer:
		return ServerToClient
	case ServerToClient:
		return ClientToServer
	}
	return d
}

// Sender returns the MCP role that writes in this direction: "client" or "server".
func (d Direction) Sender() string {
	switch d {
	case ClientToServer:
		return "client"
	case ServerToClient:
		return "server"
	}
	return ""
}

// Receiver returns the MCP role that reads in this direction.
func (d Direction) Receiver() string { return d.Reverse().Sender() }
