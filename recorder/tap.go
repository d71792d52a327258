package recorder

import (
	"bytes"
	"errors"
	"io"
	"math"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// readSize is how much a tap reads at once: a pipe's usual capacity.
const readSize = 64 << 10

// Tap is the pass-through of one direction, or of standard error: it reads, writes what
// it read to the spool, and passes it on. The readers of the spool find the frames. One
// goroutine uses a tap at a time.
type Tap struct {
	recorder *Recorder
	kind     store.Kind
	dir      transport.Direction
	gaveUp   bool  // the direction is over, though its source is not
	open     bool  // what passed last did not end with a newline
	torn     bool  // the beginning of that line is lost
	lost     bool  // so is what came last
	size     int64 // of that line, if frames have a limit
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
	if t.kind == store.Frame {
		t.recorder.delivered(t.dir, 0, time.Since(start)) // a reader knows up to which frame
	}
	return nil
}

// delivered records that the write of a frame that just returned had blocked.
func (r *Recorder) delivered(dir transport.Direction, upto uint64, blocked time.Duration) {
	if blocked >= BlockedThreshold {
		r.Record(store.Delivered, dir, store.DeliveredInfo{Upto: upto, Blocked: blocked})
	}
}

// stream is the name of what the tap passes on.
func (t *Tap) stream() string {
	if t.kind == store.Stderr {
		return "stderr"
	}
	return t.dir.String()
}

// Observe records bytes that are about to be passed on. It returns false when the
// recording is over and nothing may be passed on.
func (t *Tap) Observe(chunk []byte) bool {
	r := t.recorder
	r.turn.take()
	defer r.turn.give()
	if lines, ok := t.begin(chunk, nil); ok {
		t.written(chunk, lines, r.commit())
	}
	return t.passes()
}

// passes reports whether anything may be passed on. The caller has the turn.
func (t *Tap) passes() bool { return !t.recorder.sealed && !t.recorder.failed && !t.gaveUp }

// begin begins the write of a chunk, which may end a buffer with room for a head, and
// returns how many lines begin in it. ok is false if nothing is to be written.
func (t *Tap) begin(chunk, buffer []byte) (lines uint64, ok bool) {
	r := t.recorder
	if !t.passes() || len(chunk) == 0 {
		return 0, false
	}
	lines = uint64(bytes.Count(chunk, newline))
	if chunk[len(chunk)-1] != '\n' {
		lines++
	}
	if t.open {
		lines--
	}
	at := r.at()
	r.begin(at)
	r.parts = append(r.parts, store.Part{Event: store.Event{At: at, Kind: t.kind, Dir: t.dir, Payload: chunk},
		Chunk: true, Cont: t.lost, Lines: lines, Buffer: buffer})
	return lines, true
}

var newline = []byte{'\n'}

// written takes note of whether a chunk is written, in which so many lines begin.
func (t *Tap) written(chunk []byte, lines uint64, err error) {
	r := t.recorder
	open := chunk[len(chunk)-1] != '\n'
	if err != nil {
		if t.open && !t.lost { // one that had begun, too
			lines++
		}
		t.open, t.torn, t.lost, t.size = open, open, open, 0
		r.lose(store.LostInfo{Frames: lines, Bytes: uint64(len(chunk)), Streams: []string{t.stream()}}, err)
		return
	}
	if t.kind == store.Frame {
		r.sum.Frames += lines
		if t.open {
			lines++
		}
		if open {
			lines--
		}
		t.count(chunk, lines)
	}
	t.open, t.lost = open, false
}

// count counts the bytes of frames in a chunk with so many newlines, and the frames that
// are longer than is recorded of one.
func (t *Tap) count(chunk []byte, newlines uint64) {
	r := t.recorder
	if r.maxFrame == 0 && !t.torn {
		r.sum.Bytes += uint64(len(chunk)) - newlines
		return
	}
	limit := r.maxFrame
	if limit == 0 {
		limit = math.MaxInt64
	}
	for len(chunk) > 0 {
		piece, rest, ended := bytes.Cut(chunk, newline)
		if chunk = rest; !t.torn {
			before := min(t.size, limit)
			t.size += int64(len(piece))
			r.sum.Bytes += uint64(min(t.size, limit) - before)
			if t.size > limit && before < limit {
				r.sum.Cut++
			}
		}
		if ended {
			t.torn, t.size = false, 0
		}
	}
}

// End records that the direction is over, and why. Pass does this itself.
func (t *Tap) End(info store.EOFInfo) store.EOFInfo {
	return t.over(info, false)
}

// giveUp is End for a tap whose source goes on: the tap passes nothing on from then on.
func (t *Tap) giveUp(info store.EOFInfo) { t.over(info, true) }

func (t *Tap) over(info store.EOFInfo, giveUp bool) store.EOFInfo {
	r := t.recorder
	r.turn.take()
	defer r.turn.give()
	if r.sealed || t.gaveUp {
		return info
	}
	if t.gaveUp = giveUp; t.kind != store.Frame {
		return info
	}
	at := r.at()
	r.begin(at)
	r.add(store.Event{At: at, Kind: store.EOF, Dir: t.dir, Payload: store.EncodePayload(info)}, false)
	if err := r.commit(); err != nil {
		r.lose(store.LostInfo{Frames: 1}, err)
	}
	return info
}
