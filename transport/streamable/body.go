package streamable

import (
	"errors"
	"fmt"
	"io"
)

// MaxMessage is how many bytes a message from the network may have, and all of a body. A peer that sends more,
// or says that it will, is given up: it would be held in memory whole.
const MaxMessage = 256 << 20

// errTooLong: a body or message is longer than MaxMessage.
var errTooLong = errors.New("too long")

// tooLong returns the error of a body or message that is errTooLong.
func tooLong(what string) error {
	return fmt.Errorf("%s is %w: more than %d MiB, which are not read", what, errTooLong, MaxMessage>>20)
}

// readBody reads a body whose length the sender has announced; -1: it has not.
func readBody(body io.Reader, announced int64, what string) ([]byte, error) {
	if announced > MaxMessage {
		return nil, tooLong(what)
	}
	data, err := io.ReadAll(io.LimitReader(body, MaxMessage+1))
	if len(data) > MaxMessage {
		return nil, tooLong(what)
	}
	return data, err
}
