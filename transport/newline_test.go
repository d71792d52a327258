package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

// A frame with a newline in it would be two on stdio: no Conn sends any of it, and
// the next frame goes through.
func TestWriteRefusesNewline(t *testing.T) {
	var sent bytes.Buffer
	stream := NewStreamConn(io.NopCloser(&bytes.Buffer{}), writeCloser{&sent})
	pipe := NewPipe(1, 1, nil)
	for name, c := range map[string]Conn{"stream": stream, "pipe": pipe.Client()} {
		for _, text := range []string{"{}\n", "{\n}", "\n"} {
			if err := c.Write(context.Background(), frame(text)); !errors.Is(err, ErrNewline) {
				t.Errorf("%s: write %q: %v, want ErrNewline", name, text, err)
			}
		}
		if err := c.Write(context.Background(), frame("{}")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sent.String() != "{}\n" {
		t.Errorf("the stream has %q", sent.String())
	}
	if s := pipe.State()[0]; s.Offered != 1 {
		t.Errorf("the pipe was offered %d frames", s.Offered)
	}
}
