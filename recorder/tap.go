package recorder

import (
	"bytes"
	"errors"
	"io"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/recorder/redact"
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
	cause    string // why it is
	whole    uint64 // the newest event whose end was seen
	secrets  *redact.Stream
	passed   int64 // of the frame whose end has not come
}

// Pass copies src to dst until either ends, recording every read before it is
// written on, and returns how it ended: By "sender" when src ended, "receiver"
// when dst refused. It closes neither. Its memory does not depend on the length
// of a line.
func (t *Tap) Pass(dst io.Writer, src io.Reader) store.EOFInfo {
	return t.pass(dst, src, new(flow))
}

// again reports whether to try once more, after a while: somebody who shares the
// open file, a terminal for instance, has made it non-blocking.
func again(err error) bool {
	if !errors.Is(err, syscall.EAGAIN) {
		return false
	}
	time.Sleep(time.Millisecond)
	return true
}

func (t *Tap) forward(dst io.Writer, chunk []byte) error {
	start := time.Now()
	for {
		n, err := dst.Write(chunk)
		if chunk = chunk[n:]; !again(err) {
			if err != nil {
				return err
			}
			break
		}
	}
	t.delivered(time.Since(start))
	return nil
}

// delivered records that the write that just returned had blocked.
func (t *Tap) delivered(blocked time.Duration) {
	if blocked >= BlockedThreshold && t.kind == store.Frame {
		t.recorder.Record(store.Delivered, t.dir, store.DeliveredInfo{Upto: t.whole, Blocked: blocked})
	}
}

// stream is the name of what the tap passes on.
func (t *Tap) stream() string {
	if t.kind == store.Stderr {
		return "stderr"
	}
	return t.dir.String()
}

// Observe records bytes that are about to be passed on: the frames that they
// hold, begin, continue or end. It returns false when the recording is over and
// nothing may be passed on.
func (t *Tap) Observe(chunk []byte) bool {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	var s seen
	if t.observe(chunk, &s) {
		t.observed(&s, r.commit())
	}
	return !r.over()
}

// observeHere is Observe for a pump: it writes in this goroutine. If that write is
// overdue, rescue is called, which has the recorder's lock then, and nothing is this
// goroutine's any more.
func (t *Tap) observeHere(chunk []byte, s *seen, rescue func()) (passes, mine bool) {
	r := t.recorder
	r.mu.Lock()
	if t.observe(chunk, s) {
		mine, err := r.commitHere(rescue)
		if !mine {
			return false, false
		}
		t.observed(s, err)
	}
	passes = !r.over()
	r.mu.Unlock()
	return passes, true
}

// seen is what a chunk was to the log: what to count when it is written, and what to
// go back to when it is not.
type seen struct {
	count
	before Tap
	size   uint64 // of the chunk, with what of earlier ones was held
}

// observe adds the parts of a chunk, and reports whether there is something to write.
func (t *Tap) observe(chunk []byte, s *seen) bool {
	r := t.recorder
	if r.over() {
		return false
	}
	at := r.at()
	if chunk = t.skipLost(chunk); len(chunk) == 0 {
		return false
	}
	r.begin(at)
	s.before, s.size = *t, uint64(len(chunk)+t.held())
	s.count = t.cut(chunk, at)
	return true
}

// observed takes note of whether the parts are written.
func (t *Tap) observed(s *seen, err error) {
	r := t.recorder
	if err != nil {
		r.lose(store.LostInfo{Frames: s.begun + s.continued, Bytes: s.size, Streams: []string{t.stream()}}, err)
		t.restore(s.before)
		return
	}
	if t.kind == store.Frame {
		r.sum.Frames += s.begun
		r.sum.Bytes += s.bytes
	}
}

// held returns how many bytes were passed on that are not in the log yet, because what
// comes next says whether a secret is in them.
func (t *Tap) held() int {
	if t.secrets == nil {
		return 0
	}
	return t.secrets.Held()
}

// count is what a chunk holds of frames, and how much of it goes to the log.
type count struct{ begun, continued, bytes uint64 }

var newline = []byte{'\n'}

// cut adds the parts of a chunk. The unfinished end of a frame is the frame's
// first part; of standard error it is an event of its own, marked Unterminated:
// a prompt or a spinner has no end for a long time, and nothing may wait for it.
func (t *Tap) cut(chunk []byte, at time.Duration) (c count) {
	r := t.recorder
	for len(chunk) > 0 {
		piece, rest, more := chunk, []byte(nil), true
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			piece, rest, more = chunk[:i], chunk[i+1:], false
		}
		chunk = rest
		seq := t.open
		e := store.Event{Seq: seq, At: at, Kind: t.kind, Dir: t.dir}
		piece, e.Cut = t.within(piece)
		e.Payload, e.Redacted = next(t.secrets, piece, more)
		c.bytes += uint64(len(e.Payload))
		cutOff := more && t.kind == store.Stderr
		switch {
		case seq != 0:
			c.continued++
			e = store.Event{Seq: seq, Redacted: e.Redacted, Cut: e.Cut, Payload: e.Payload}
			r.parts = append(r.parts, store.Part{Event: e, Cont: true, More: more})
		case cutOff && len(e.Payload) == 0: // it comes with the rest
			continue
		default:
			c.begun++
			more, e.Unterminated = more && !cutOff, cutOff
			seq = r.add(e, more)
		}
		if t.open = seq; !more {
			t.open, t.whole = 0, seq
			t.tellCut(seq, at)
		}
	}
	return c
}

// restore puts the tap back after a write that failed. A frame that had begun
// before is cut short in the log; a line whose end has not come is skipped to
// its end, for its beginning is lost.
func (t *Tap) restore(before Tap) {
	t.skip, t.cause = t.open != 0, t.recorder.gap.Reason
	t.open, t.whole = 0, before.whole
	if t.secrets != nil {
		t.secrets.Reset()
	}
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
	dropped := store.LostInfo{Bytes: uint64(len(chunk) - len(rest)), Streams: []string{t.stream()}}
	r.lose(dropped, errors.New(t.cause))
	return rest
}

// End records that the direction is over: an open frame is marked
// Unterminated, and an EOF event says why. Pass does this itself.
func (t *Tap) End(info store.EOFInfo) store.EOFInfo {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return info
	}
	at := r.at()
	r.begin(at)
	before, held := *t, t.held()
	t.rest(at)
	if t.kind == store.Frame {
		r.add(store.Event{At: at, Kind: store.EOF, Dir: t.dir, Payload: store.EncodePayload(info)}, false)
	}
	if err := r.commit(); err != nil {
		r.lose(store.LostInfo{Frames: 1, Bytes: uint64(held)}, err)
		t.restore(before)
	}
	return info
}

// rest adds what is left of a frame or line whose end did not come.
func (t *Tap) rest(at time.Duration) {
	if t.open == 0 && t.held() == 0 {
		return
	}
	e := store.Event{Seq: t.open, At: at, Kind: t.kind, Dir: t.dir, Unterminated: true}
	e.Payload, e.Redacted = next(t.secrets, nil, false)
	if t.open != 0 {
		e = store.Event{Seq: t.open, Unterminated: true, Redacted: e.Redacted, Payload: e.Payload}
		t.recorder.parts = append(t.recorder.parts, store.Part{Event: e, Cont: true})
	} else {
		t.recorder.add(e, false)
	}
	if t.open = 0; t.kind == store.Frame {
		t.recorder.sum.Bytes += uint64(len(e.Payload))
	}
	t.tellCut(e.Seq, at)
}
