package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

const c2s, s2c = transport.ClientToServer, transport.ServerToClient

// codecParts has a part of every shape.
func codecParts() []Part {
	parts := []Part{
		{Event: Event{Seq: 1, Kind: Opened, Payload: []byte(`{"mcprec":1}`)}},
		{Event: Event{Seq: 2, At: time.Millisecond, Kind: Frame, Dir: c2s, Payload: []byte("{ }\r")}},
		{Event: Event{Seq: 3, At: 1<<63 - 1, Kind: Frame, Dir: s2c, Stream: 1 << 40, Payload: []byte("\x00\xff")}, More: true},
		{Event: Event{Seq: 3, Dir: s2c, Stream: 1 << 40, Payload: []byte("more")}, Cont: true, More: true},
		{Event: Event{Seq: 3, Dir: s2c, Stream: 1 << 40, Unterminated: true}, Cont: true},
		{Event: Event{Seq: 1<<64 - 1, Kind: "unheard of", Payload: []byte("x")}},
		{Event: Event{Seq: 4, Kind: "", Payload: []byte{0}}},
	}
	for i, k := range kinds[1:] {
		parts = append(parts, Part{Event: Event{Seq: uint64(i + 10), At: time.Duration(i), Kind: k, Payload: []byte(k)}})
	}
	return parts
}

func samePart(a, b Part) bool {
	return a.Equal(b.Event) && a.Cont == b.Cont && a.More == b.More && a.Chunk == b.Chunk
}

func TestChunkCodec(t *testing.T) {
	for n := range pipes {
		for at, cont := range map[time.Duration]bool{0: false, 1<<63 - 1: true} {
			p := Part{Event: Event{At: at, Payload: []byte("{}\n{")}, Chunk: true, Cont: cont}
			p.Kind, p.Dir = ofPipe(n)
			form := AppendPart(nil, p)
			if got, err := DecodePart(form); err != nil || !samePart(got, p) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, p)
			}
			if room := len(form) - len(p.Payload) + 8; room > ChunkRoom {
				t.Errorf("a head of %d bytes has no room", room)
			}
		}
	}
}

func TestPartCodec(t *testing.T) {
	for _, p := range codecParts() {
		got, err := DecodePart(AppendPart([]byte{}, p))
		if err != nil || !samePart(got, p) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, p)
		}
	}
}

func TestRedactedPart(t *testing.T) {
	for _, p := range []Part{
		{Event: Event{Seq: 1<<64 - 1, At: 1<<63 - 1, Kind: Frame, Dir: c2s, Stream: 1<<64 - 1, Redacted: 1<<64 - 1, Cut: 1<<64 - 1, Payload: []byte("x")}},
		{Event: Event{Seq: 3, Redacted: 2, Cut: 9, Payload: []byte("more")}, Cont: true, More: true},
		{Event: Event{Seq: 127, At: 128, Kind: Frame, Stream: 129, Redacted: 1 << 14, Cut: 1<<14 - 1}},
	} {
		got, err := DecodePart(AppendPart(nil, p))
		if err != nil || !samePart(got, p) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, p)
		}
	}
	var a Assembler
	for _, p := range []Part{{Event: Event{Seq: 1, Redacted: 2, Cut: 1}, More: true}, {Event: Event{Seq: 1, Redacted: 1, Cut: 6}, Cont: true}} {
		if err := a.Add(p, 0); err != nil {
			t.Fatal(err)
		}
	}
	if e, ok := a.Next(); !ok || e.Redacted != 3 || e.Cut != 7 {
		t.Errorf("assembled %+v", e)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"nothing":          {nil, ErrCorrupt},
		"no kind":          {[]byte{0}, ErrCorrupt},
		"no seq":           {[]byte{0, 2}, ErrCorrupt},
		"no time":          {[]byte{0, 2, 1}, ErrCorrupt},
		"no stream":        {[]byte{flagStream, 2, 1, 0}, ErrCorrupt},
		"unknown index":    {[]byte{0, 200, 1, 0}, ErrCorrupt},
		"next index":       {[]byte{0, byte(len(kinds)), 1, 0}, ErrCorrupt},
		"chunk before all": {append([]byte{flagsChunk}, binary.AppendUvarint(nil, 1<<63)...), ErrCorrupt},
		"name past end":    {[]byte{0, 0, 9, 'x', 1, 0}, ErrCorrupt},
		"negative time":    {append([]byte{0, 2, 1}, binary.AppendUvarint(nil, 1<<63)...), ErrCorrupt},
		"endless number":   {append([]byte{0, 2}, bytes.Repeat([]byte{0xff}, 11)...), ErrCorrupt},
		"no such pipe":     {[]byte{flagsChunk | 3<<chunkPipe, 1}, ErrNewer},
		"a chunk to come":  {[]byte{flagsChunk | 1<<5, 1}, ErrNewer},
		"chunk, no time":   {[]byte{flagsChunk, 0x80}, ErrCorrupt},
		"no cut":           {[]byte{flagCut, 2, 1, 0}, ErrCorrupt},
		"no redacted":      {[]byte{flagRedacted, 2, 1, 0}, ErrCorrupt},
		"continued no seq": {[]byte{flagCont}, ErrCorrupt},
	} {
		if _, err := DecodePart(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestGoldenParts reads a file of codec version 1: a version byte, then parts,
// each with its length in front. It is read for ever.
func TestGoldenParts(t *testing.T) {
	const path = "testdata/parts.v1"
	if *update {
		b := []byte{CodecVersion}
		for _, p := range codecParts() {
			form := AppendPart(nil, p)
			b = append(binary.AppendUvarint(b, uint64(len(form))), form...)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b[0] != 1 {
		t.Fatalf("version %d", b[0])
	}
	b = b[1:]
	for _, want := range codecParts() {
		n, w := binary.Uvarint(b)
		got, err := DecodePart(b[w : w+int(n)])
		if err != nil || !samePart(got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
		b = b[w+int(n):]
	}
}

func FuzzPartCodec(f *testing.F) {
	for _, p := range codecParts() {
		f.Add(AppendPart(nil, p))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePart(b)
		if err != nil {
			return
		}
		again, err := DecodePart(AppendPart(nil, p))
		if err != nil || !samePart(p, again) {
			t.Errorf("%+v\nbecame %+v, %v", p, again, err)
		}
	})
}

func TestChain(t *testing.T) {
	e := Event{Seq: 2, At: 3, Kind: Frame, Dir: c2s, Payload: []byte("x")}
	chain := NextChain([32]byte{}, e)
	for name, change := range map[string]func(*Event){
		"seq": func(e *Event) { e.Seq++ }, "at": func(e *Event) { e.At++ }, "kind": func(e *Event) { e.Kind = Stderr },
		"dir": func(e *Event) { e.Dir = s2c }, "stream": func(e *Event) { e.Stream = 1 },
		"end": func(e *Event) { e.Unterminated = true }, "payload": func(e *Event) { e.Payload = []byte("y") },
	} {
		other := e
		change(&other)
		if NextChain([32]byte{}, other) == chain {
			t.Errorf("%s is not in the chain", name)
		}
	}
	if NextChain(chain, e) == chain {
		t.Error("the chain does not go on")
	}
}

func BenchmarkAppendPart(b *testing.B) {
	p := Part{Event: Event{Seq: 1000, At: time.Second, Kind: Frame, Dir: c2s, Payload: make([]byte, 200)}}
	buf := make([]byte, 0, 300)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendPart(buf[:0], p)
	}
}

// TestNamedKinds holds that a kind without an index is written by its name, which a reader keeps that
// does not know the kind.
func TestNamedKinds(t *testing.T) {
	for _, kind := range []Kind{Stalled, Signal} {
		b := AppendPart(nil, Part{Event: Event{Seq: 2, At: 1, Kind: kind}})
		if b[1] != 0 || !bytes.Contains(b, []byte(kind)) {
			t.Errorf("%s is written as %q", kind, b)
		}
	}
}
