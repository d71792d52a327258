package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// TestFrameOffsets holds that offsets count what passed, however it is recorded.
func TestFrameOffsets(t *testing.T) {
	lost := func(bytes uint64, streams ...string) Event {
		return Event{Kind: Lost, Payload: EncodePayload(LostInfo{Frames: 1, Bytes: bytes, Streams: streams})}
	}
	frame := func(text string) Event {
		return Event{Kind: Frame, Dir: transport.ClientToServer, Payload: []byte(text)}
	}
	cut, open, other, exchange, note := frame("ab"), frame("ab"), frame("abcdef"), frame("ab"), frame("ab")
	cut.Cut, open.Unterminated, other.Dir, exchange.Stream, note.Kind = 4, true, transport.ServerToClient, 3, Note
	for _, c := range []struct {
		name   string
		events []Event
		offset int64
		want   string // seq, bytes before, size
	}{
		{"the first byte", []Event{frame("{}")}, 0, "2 0 3"},
		{"a newline", []Event{frame("{}")}, 2, "2 2 3"},
		{"the second frame", []Event{frame("{}"), other, frame("abc")}, 5, "4 2 4"},
		{"the next byte", []Event{frame("{}")}, 3, "0 0 0"},
		{"what is no line of a pipe", []Event{exchange, note, frame("x")}, 1, "4 1 2"},
		{"behind all: an open line has that", []Event{frame("{}")}, 4, "0 1 0"},
		{"a cut frame counts whole, once", []Event{cut, lost(4, "c2s"), frame("x")}, 7, "4 0 2"},
		{"lost bytes count", []Event{frame("x"), lost(4, "c2s"), frame("x")}, 6, "4 0 2"},
		{"a cut frame, and as many bytes lost behind it", []Event{cut, lost(4, "c2s"), lost(4, "c2s"), frame("x")}, 11, "5 0 2"},
		{"a cut frame, and as many bytes lost of both", []Event{cut, lost(4, "c2s", "s2c"), frame("x")}, 7, "0 -1 0"},
		{"lost bytes of the other", []Event{frame("x"), lost(4, "s2c"), frame("x")}, 2, "4 0 2"},
		{"no bytes lost", []Event{frame("x"), lost(0, "c2s", "s2c"), frame("x")}, 2, "4 0 2"},
		{"nobody knows what is lost", []Event{frame("x"), {Kind: Lost, Payload: []byte("?")}, frame("x")}, 0, "0 -1 0"},
		{"lost bytes behind all frames", []Event{frame("x"), lost(4, "c2s")}, 3, "0 -1 0"},
		{"lost bytes are of no frame", []Event{frame("x"), lost(4, "c2s"), frame("x")}, 3, "0 -1 0"},
		{"lost bytes of several pipes", []Event{lost(4, "c2s", "s2c"), frame("x")}, 4, "0 -1 0"},
		{"a frame without an end", []Event{open, frame("x")}, 2, "3 0 2"},
	} {
		var p FrameOffsets
		for i, e := range c.events {
			e.Seq = uint64(i + 2)
			p.Apply(e)
		}
		seq, before, size := p.At(transport.ClientToServer, c.offset)
		if got := fmt.Sprint(seq, before, size); got != c.want {
			t.Errorf("%s: byte %d is %s, want %s", c.name, c.offset, got, c.want)
		}
		if seq, before, _ := p.At(transport.NoDirection, 0); seq != 0 || before != -1 {
			t.Errorf("%s: frame %d of no direction", c.name, seq)
		}
	}
}

// TestFrameOffsetsForgets holds that a long session costs bounded memory, and what is near is found.
func TestFrameOffsetsForgets(t *testing.T) {
	var p FrameOffsets
	frame := Event{Kind: Frame, Dir: transport.ServerToClient, Payload: make([]byte, 1023)}
	const n = 50_000
	for i := range uint64(n) {
		frame.Seq, frame.At = i+2, time.Duration(i)
		p.Apply(frame)
	}
	if seq, before, _ := p.At(transport.ServerToClient, (n-1000)*1024+7); seq != n-1000+2 || before != 7 {
		t.Errorf("frame %d, %d bytes before", seq, before)
	}
	if seq, before, _ := p.At(transport.ServerToClient, 0); seq != 0 || before >= 0 {
		t.Errorf("frame %d, %d bytes before: it should be forgotten", seq, before)
	}
	if held := cap(p.pipes[pipeS2C].ends); held > 4*offsetReach/1024 {
		t.Errorf("%d frames are held", held)
	}
	if got := p.Size(transport.ServerToClient); got != n*1024 {
		t.Errorf("%d bytes", got)
	}
}
