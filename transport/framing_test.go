package transport

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(t *testing.T, r io.Reader) (frames []Frame) {
	t.Helper()
	fr := NewFrameReader(r)
	for {
		f, err := fr.Read()
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, f)
	}
}

func joined(frames []Frame) (b []byte) {
	for _, f := range frames {
		b = AppendFrame(b, f)
	}
	return b
}

func TestFrames(t *testing.T) {
	for input, want := range map[string][]Frame{
		"":           nil,
		"a\n":        {{Bytes: []byte("a")}},
		"a":          {{Bytes: []byte("a"), Unterminated: true}},
		"\n\n":       {{Bytes: []byte{}}, {Bytes: []byte{}}},
		" a\r\n\xff": {{Bytes: []byte(" a\r")}, {Bytes: []byte{0xff}, Unterminated: true}},
	} {
		got := readAll(t, strings.NewReader(input))
		if len(got) != len(want) {
			t.Errorf("%q: %d frames, want %d", input, len(got), len(want))
			continue
		}
		for i := range got {
			if !bytes.Equal(got[i].Bytes, want[i].Bytes) || got[i].Unterminated != want[i].Unterminated {
				t.Errorf("%q: frame %d is %+v, want %+v", input, i, got[i], want[i])
			}
		}
	}
}

func TestBrokenStreamKeepsItsTail(t *testing.T) {
	fr := NewFrameReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	fr.Read()
	if f, err := fr.Read(); err != nil || string(f.Bytes) != "b" || !f.Unterminated {
		t.Errorf("tail: %+v, %v", f, err)
	}
	if _, err := fr.Read(); err != io.ErrUnexpectedEOF {
		t.Errorf("end: %v", err)
	}
}

// A line of 100 MB is read whole, in memory of a small multiple of its size.
func TestLongLine(t *testing.T) {
	const size = 100 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	frames := readAll(t, io.MultiReader(io.LimitReader(zeros{}, size), strings.NewReader("\nx\n")))
	runtime.ReadMemStats(&after)
	if len(frames) != 2 || len(frames[0].Bytes) != size || string(frames[1].Bytes) != "x" {
		t.Fatalf("%d frames, the first of %d bytes", len(frames), len(frames[0].Bytes))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 3*size {
		t.Errorf("%d bytes allocated for a line of %d", used, size)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// FuzzFraming: under any chunking the frames of a stream are the stream, and
// no frame holds a newline.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("a\nb"), uint64(1))
	f.Add([]byte("\r\n\n \xff\n{}"), uint64(2))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		frames := readAll(t, &choppy{b: b, rng: rand.New(rand.NewPCG(seed, 0))})
		if got := joined(frames); !bytes.Equal(got, b) {
			t.Fatalf("frames of %q join to %q", b, got)
		}
		for i, f := range frames {
			if bytes.IndexByte(f.Bytes, '\n') >= 0 || f.Unterminated && i < len(frames)-1 {
				t.Fatalf("frame %d of %q: %+v", i, b, f)
			}
		}
	})
}

// choppy gives out a few bytes at a time.
type choppy struct {
	b   []byte
	rng *rand.Rand
}

func (c *choppy) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(len(c.b), 1+c.rng.IntN(7))])
	c.b = c.b[n:]
	return n, nil
}
