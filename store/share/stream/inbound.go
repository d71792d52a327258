package stream

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
)

const (
	// mostInbound is how many bytes a message of the server may say that it has. Our own have at most maxMessage, and an
	// answer with one is a third longer.
	mostInbound = 16 << 20
	// mostLine is how many bytes a line of the protocol may have: INFO names every server of a cluster.
	mostLine = 1 << 20
)

// errTooMuch: the server says, or sends, more than is believed.
var errTooMuch = errors.New("this is no server of a team's sessions")

// limitedConn is a connection whose server cannot announce any length: the library of NATS makes room for a message
// before it comes. Behind TLS, which the library begins itself, the server is the one that its certificate
// names, and it is believed.
type limitedConn struct {
	net.Conn
	refuse func(error) // is told why the connection is ended
	isTLS  atomic.Bool
	lines  inbound // of the goroutine that reads
}

// Write implements net.Conn. Commands of NATS are text, and the first byte of TLS is none.
func (c *limitedConn) Write(data []byte) (int, error) {
	const handshake = 22 // the type of a TLS record
	if len(data) > 0 && data[0] == handshake {
		c.isTLS.Store(true)
	}
	return c.Conn.Write(data)
}

// Read implements net.Conn. It fails in place of the bytes that would announce too much.
func (c *limitedConn) Read(page []byte) (int, error) {
	count, err := c.Conn.Read(page)
	if c.isTLS.Load() {
		return count, err
	}
	if fault := c.lines.take(page[:count]); fault != nil {
		c.refuse(fault)
		_ = c.Close()
		return 0, fault
	}
	return count, err
}

// inbound follows what a server sends, by lines: MSG and HMSG have the length of their message at their end, and
// the message and an end of line follow.
type inbound struct {
	line []byte // without the end that has not come
	skip uint64 // bytes of a message that are still to come
	isIn bool   // behind a message, up to the end of its line
}

// take takes the next bytes, and returns an error if they announce too much.
func (i *inbound) take(data []byte) error {
	for len(data) > 0 {
		if i.skip > 0 {
			count := min(i.skip, uint64(len(data)))
			i.skip -= count
			data = data[count:]
			continue
		}
		piece, rest, isWhole := bytes.Cut(data, []byte("\n"))
		data = rest
		if i.isIn {
			i.isIn = !isWhole
			continue
		}
		i.line = append(i.line, piece...)
		if len(i.line) > mostLine {
			return fmt.Errorf("the NATS server sends a line of more than %d MiB: %w", mostLine>>20, errTooMuch)
		}
		if !isWhole {
			return nil
		}
		words := bytes.Fields(i.line)
		if len(words) > 1 && (bytes.EqualFold(words[0], []byte("MSG")) || bytes.EqualFold(words[0], []byte("HMSG"))) {
			size, err := strconv.ParseUint(string(words[len(words)-1]), 10, 64)
			if err != nil || size > mostInbound {
				return fmt.Errorf("the NATS server announces a message of %.20s bytes, and more than %d MiB are not read: %w", words[len(words)-1], mostInbound>>20, errTooMuch)
			}
			i.skip = size
			i.isIn = true
		}
		i.line = i.line[:0]
	}
	return nil
}
