package transport

import (
	"bufio"
	"errors"
	"io"
)

// readSize is how much is asked of the operating system at once: a pipe's
// usual capacity on Linux.
const readSize = 64 << 10

// FrameReader cuts a byte stream into frames at newlines. A frame may be as
// large as memory allows; reading one of n bytes needs at most about 2n.
type FrameReader struct {
	r *bufio.Reader
}

// NewFrameReader reads frames from r.
func NewFrameReader(r io.Reader) *FrameReader {
	return &FrameReader{r: bufio.NewReaderSize(r, readSize)}
}

// Read returns the next frame in memory of its own. After the last one it
// returns io.EOF, or the error of the stream; bytes without a newline in front
// of either are a frame marked Unterminated, returned first, without an error.
func (fr *FrameReader) Read() (Frame, error) {
	var pieces [][]byte // what did not fit the buffer, so that a long line is copied once
	size := 0
	for {
		piece, err := fr.r.ReadSlice('\n')
		size += len(piece)
		if errors.Is(err, bufio.ErrBufferFull) {
			pieces = append(pieces, append([]byte(nil), piece...))
			continue
		}
		if err != nil && size == 0 {
			return Frame{}, err
		}
		line := join(pieces, piece, size)
		if err != nil {
			return Frame{Bytes: line, Unterminated: true}, nil
		}
		return Frame{Bytes: line[:size-1]}, nil
	}
}

func join(pieces [][]byte, last []byte, size int) []byte {
	line := make([]byte, 0, size)
	for i, p := range pieces {
		line = append(line, p...)
		pieces[i] = nil
	}
	return append(line, last...)
}

// AppendFrame appends the frame as it stands in a stream: its bytes and, unless
// it is Unterminated, a newline.
func AppendFrame(b []byte, f Frame) []byte {
	b = append(b, f.Bytes...)
	if f.Unterminated {
		return b
	}
	return append(b, '\n')
}
