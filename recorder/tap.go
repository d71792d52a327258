package recorder

import (
	"bytes"
	"io"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// readSize is how much a tap reads at once: a pipe's usual capacity.
const readSize = 64 << 10

// Tap is the pass-through of one direction, or of standard error. One goroutine
// uses it at a time.
type Tap struct {
	recorder *Recorder
	kind     store.Kind
	dir      transport.Direction
	open     uint64 // the event whose end has not come, or 0
	skip     bool   // the rest of the line is lost, as its beginning was
	whole    uint64 // the newest event whose end was seen
}

// Pass copies src to dst until either ends, recording every read before it is
// written on, and returns how it ended: By "sender" when src ended, "receiver"
// when dst refused. It closes neither. Its memory does not depend on the length
// of a line.
func (t *Tap) Pass(dst io.Writer, src io.Reader) store.EOFInfo {
	buf := make([]byte, readSize)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if werr := t.forward(dst, buf[:n]); werr != nil {
				return t.end(store.EOFInfo{By: "receiver", Error: werr.Error()})
			}
		}
		if err == io.EOF {
			return t.end(store.EOFInfo{By: "sender"})
		}
		if err != nil {
			return t.end(store.EOFInfo{By: "sender", Error: err.Error()})
		}
	}
}

func (t *Tap) forward(dst io.Writer, chunk []byte) error {
	seen, ok := t.Observe(chunk)
	if !ok {
		return store.ErrClosed
	}
	if _, err := dst.Write(chunk); err != nil {
		return err
	}
	t.delivered(seen)
	return nil
}

// delivered records that the write that just returned had blocked.
func (t *Tap) delivered(since time.Duration) {
	r := t.recorder
	if blocked := time.Since(r.start) - since; blocked >= BlockedThreshold && t.kind == store.Frame {
		r.Record(store.Delivered, t.dir, store.DeliveredInfo{Upto: t.whole, Blocked: blocked})
	}
}

// Observe records bytes that are about to be passed on: the frames that they
// hold, begin, continue or end. It returns the time that they were stamped
// with, and false when the recording is over and nothing may be passed on.
func (t *Tap) Observe(chunk []byte) (time.Duration, bool) {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.at()
	if r.sealed {
		return at, false
	}
	chunk = t.skipLost(chunk)
	if len(chunk) == 0 {
		return at, true
	}
	r.begin(at)
	before := *t
	c := t.cut(chunk, at)
	if !r.commit(store.LostInfo{Frames: c.begun + c.continued, Bytes: uint64(len(chunk))}) {
		t.restore(before)
		return at, true
	}
	if t.kind == store.Frame {
		r.sum.Frames += c.begun
		r.sum.Bytes += uint64(len(chunk)) - c.ended
	}
	return at, true
}

// count is what a chunk holds of frames.
type count struct{ begun, continued, ended uint64 }

var newline = []byte{'\n'}

// cut adds the parts of a chunk.
func (t *Tap) cut(chunk []byte, at time.Duration) (c count) {
	r := t.recorder
	for len(chunk) > 0 {
		piece, rest, more := chunk, []byte(nil), true
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			piece, rest, more = chunk[:i], chunk[i+1:], false
		}
		chunk = rest
		seq := t.open
		if seq != 0 {
			c.continued++
			r.parts = append(r.parts, store.Part{Event: store.Event{Seq: seq, Payload: piece}, Cont: true, More: more})
		} else {
			c.begun++
			seq = r.add(store.Event{At: at, Kind: t.kind, Dir: t.dir, Payload: piece}, more)
		}
		if t.open = seq; !more {
			t.open, t.whole = 0, seq
			c.ended++
		}
	}
	return c
}

// restore puts the tap back after a write that failed. A frame that had begun
// before is cut short in the log; a line whose end has not come is skipped to
// its end, for its beginning is lost.
func (t *Tap) restore(before Tap) {
	t.skip = t.open != 0
	t.open, t.whole = 0, before.whole
	if before.open != 0 {
		t.recorder.broken = append(t.recorder.broken, before.open)
	}
}

// skipLost drops, and counts, the rest of a line whose beginning was lost.
func (t *Tap) skipLost(chunk []byte) []byte {
	if !t.skip {
		return chunk
	}
	r := t.recorder
	_, rest, ended := bytes.Cut(chunk, newline)
	t.skip = !ended
	r.gap.Bytes += uint64(len(chunk) - len(rest))
	return rest
}

// end records that the direction is over: an open frame is marked
// Unterminated, and an EOF event says why.
func (t *Tap) end(info store.EOFInfo) store.EOFInfo {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return info
	}
	at := r.at()
	r.begin(at)
	if t.open != 0 {
		r.parts = append(r.parts, store.Part{Event: store.Event{Seq: t.open, Unterminated: true}, Cont: true})
	}
	if t.kind == store.Frame {
		r.add(store.Event{At: at, Kind: store.EOF, Dir: t.dir, Payload: store.EncodePayload(info)}, false)
	}
	before := *t
	t.open = 0
	if !r.commit(store.LostInfo{Frames: 1}) {
		t.restore(before)
	}
	return info
}
