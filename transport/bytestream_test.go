package transport

import (
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

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
