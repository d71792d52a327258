package recorder

import (
	"bytes"
	"errors"
	"io"
	"syscall"
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
	open     uint64  // the event whose end has not come, or 0
	skip     bool    // the rest of the line is lost, as its beginning was
	cause    string  // why it is
	whole    uint64  // the newest event whose end was seen
	gaveUp   bool    // the direction is over, though its source is not
	passed   int64   // of the frame whose end has not come
	pieces   []piece // scratch of one chunk
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
	t.sift(chunk, &s)
	if t.observe(&s) {
		t.observed(&s, r.commit())
	}
	return t.passes()
}

// passes reports whether anything may be passed on. The recorder's lock is held.
func (t *Tap) passes() bool { return !t.recorder.over() && !t.gaveUp }

// observeHere is Observe for a pump: it writes in this goroutine. If that write is
// overdue, rescue is called, which has the recorder's lock then, and nothing is this
// goroutine's any more.
func (t *Tap) observeHere(chunk []byte, s *seen, rescue func()) (passes, mine bool) {
	r := t.recorder
	r.mu.Lock()
	t.sift(chunk, s)
	if t.observe(s) {
		mine, err := r.commitHere(rescue)
		if !mine {
			return false, false
		}
		t.observed(s, err)
	}
	return t.release(), true
}

// release lets go of the lock, and reports whether anything may be passed on.
func (t *Tap) release() (passes bool) {
	passes = t.passes()
	t.recorder.mu.Unlock()
	return passes
}

// seen is what a chunk was to the log: what to count when it is written, and what to
// go back to when it is not.
type seen struct {
	count
	before  state
	size    uint64 // of the chunk
	dropped int    // bytes of a line whose beginning was lost
}

// state is where a tap stands.
type state struct{ open, whole uint64 }

// observe adds the parts of the chunk that was sifted, and reports whether there is
// something to write.
func (t *Tap) observe(s *seen) bool {
	r := t.recorder
	if !t.passes() {
		return false
	}
	at := r.at()
	if s.dropped > 0 {
		r.lose(store.LostInfo{Bytes: uint64(s.dropped), Streams: []string{t.stream()}}, errors.New(t.cause))
	}
	if len(t.pieces) == 0 {
		return false
	}
	r.begin(at)
	s.before = state{t.open, t.whole}
	s.count = t.add(at)
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

// count is what a chunk holds of frames, and how much of it goes to the log.
type count struct{ begun, continued, bytes uint64 }

var newline = []byte{'\n'}

// piece is what of a chunk is one frame's or line's.
type piece struct {
	payload []byte
	cut     uint64
	over    uint64 // at its end: how much of the frame is not recorded
	more    bool
}

// sift cuts a chunk into pieces.
func (t *Tap) sift(chunk []byte, s *seen) {
	t.pieces = t.pieces[:0]
	chunk, s.dropped = t.skipLost(chunk)
	s.size = uint64(len(chunk))
	for len(chunk) > 0 {
		text, rest, more := chunk, []byte(nil), true
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			text, rest, more = chunk[:i], chunk[i+1:], false
		}
		chunk = rest
		p := piece{more: more}
		p.payload, p.cut = t.within(text)
		if !more {
			p.over = t.over()
		}
		t.pieces = append(t.pieces, p)
	}
}

// add adds the parts of the pieces. The unfinished end of a frame is the frame's
// first part; of standard error it is an event of its own, marked Unterminated:
// a prompt or a spinner has no end for a long time, and nothing may wait for it.
func (t *Tap) add(at time.Duration) (c count) {
	r := t.recorder
	for i := range t.pieces {
		p := &t.pieces[i]
		seq, more := t.open, p.more
		c.bytes += uint64(len(p.payload))
		cutOff := more && t.kind == store.Stderr
		switch {
		case seq != 0:
			c.continued++
			e := store.Event{Seq: seq, Cut: p.cut, Payload: p.payload}
			r.parts = append(r.parts, store.Part{Event: e, Cont: true, More: more})
		case cutOff && len(p.payload) == 0: // it comes with the rest
			continue
		default:
			c.begun++
			more = more && !cutOff
			seq = r.add(store.Event{At: at, Kind: t.kind, Dir: t.dir, Unterminated: cutOff, Cut: p.cut, Payload: p.payload}, more)
		}
		if t.open = seq; !more {
			t.open, t.whole = 0, seq
			t.tellCut(seq, p.over, at)
		}
	}
	return c
}

// restore puts the tap back after a write that failed. A frame that had begun
// before is cut short in the log; a line whose end has not come is skipped to
// its end, for its beginning is lost.
func (t *Tap) restore(before state) {
	t.skip, t.cause = t.open != 0, t.recorder.gap.Reason
	t.open, t.whole = 0, before.whole
	if before.open != 0 {
		t.recorder.broken = append(t.recorder.broken, before.open)
	}
}

// skipLost drops the rest of a line whose beginning was lost.
func (t *Tap) skipLost(chunk []byte) (rest []byte, dropped int) {
	if !t.skip {
		return chunk, 0
	}
	_, rest, ended := bytes.Cut(chunk, newline)
	t.skip = !ended
	return rest, len(chunk) - len(rest)
}

// End records that the direction is over: an open frame is marked
// Unterminated, and an EOF event says why. Pass does this itself.
func (t *Tap) End(info store.EOFInfo) store.EOFInfo {
	return t.end(info, false)
}

// giveUp is End for a tap whose source goes on: the tap passes nothing on from then on.
func (t *Tap) giveUp(info store.EOFInfo) { t.end(info, true) }

func (t *Tap) end(info store.EOFInfo, giveUp bool) store.EOFInfo {
	r := t.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed || t.gaveUp {
		return info
	}
	t.gaveUp = giveUp
	at := r.at()
	r.begin(at)
	before := state{t.open, t.whole}
	t.rest(at)
	if t.kind == store.Frame {
		r.add(store.Event{At: at, Kind: store.EOF, Dir: t.dir, Payload: store.EncodePayload(info)}, false)
	}
	if err := r.commit(); err != nil {
		r.lose(store.LostInfo{Frames: 1}, err)
		t.restore(before)
	}
	return info
}

// rest ends a frame whose end did not come.
func (t *Tap) rest(at time.Duration) {
	if t.open == 0 {
		return
	}
	e := store.Event{Seq: t.open, Unterminated: true}
	t.recorder.parts = append(t.recorder.parts, store.Part{Event: e, Cont: true})
	t.open = 0
	t.tellCut(e.Seq, t.over(), at)
}
