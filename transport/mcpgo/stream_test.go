package mcpgo

import (
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/mcprec/mcprec/transport"
)

// TestRead: the bytes are the frames and their newlines, whatever the buffer.
func TestRead(t *testing.T) {
	pipe := transport.NewPipe(transport.Unbounded, 0, nil)
	for _, f := range []transport.Frame{{Bytes: []byte("one\r")}, {}, {Bytes: []byte("last"), Unterminated: true}} {
		if err := pipe.Client().Write(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	pipe.Client().Close()
	got, err := io.ReadAll(iotest.OneByteReader(newStream(pipe.Server())))
	if want := "one\r\n\nlast"; err != nil || string(got) != want {
		t.Errorf("read %q, %v, want %q", got, err, want)
	}
}

// TestReadAhead: a Read does not go on to the next frame.
func TestReadAhead(t *testing.T) {
	pipe := transport.NewPipe(transport.Unbounded, 0, nil)
	for range 2 {
		pipe.Client().Write(t.Context(), transport.Frame{Bytes: []byte("x")})
	}
	if n, err := newStream(pipe.Server()).Read(make([]byte, 100)); n != 2 || err != nil {
		t.Errorf("%d bytes, %v, want 2", n, err)
	}
}

func TestWrite(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  []string
		err   error
	}{
		{"a\n", []string{"a"}, nil},
		{"a\n\nb\n", []string{"a", "", "b"}, nil},
		{"a\nb", []string{"a"}, errNotLines},
	} {
		pipe := transport.NewPipe(transport.Unbounded, 0, nil)
		if _, err := newStream(pipe.Client()).Write([]byte(test.bytes)); !errors.Is(err, test.err) {
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

// TestClosed: a close at this end is the end of the stream to the reader.
func TestClosed(t *testing.T) {
	s := newStream(transport.NewPipe(0, 0, nil).Server())
	s.Close()
	if _, err := s.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read: %v, want EOF", err)
	}
	if _, err := s.Write([]byte("x\n")); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("write: %v, want %v", err, transport.ErrClosed)
	}
}
