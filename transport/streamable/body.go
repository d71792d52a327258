package streamable

import (
	"io"

	"github.com/mcprec/mcprec/transport"
)

// readBody reads a body whose length the sender has announced; -1: it has not.
func readBody(body io.Reader, announced int64, what string) ([]byte, error) {
	if announced > transport.MaxMessage {
		return nil, transport.TooLong(what)
	}
	data, err := io.ReadAll(io.LimitReader(body, transport.MaxMessage+1))
	if len(data) > transport.MaxMessage {
		return nil, transport.TooLong(what)
	}
	return data, err
}
