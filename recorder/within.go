package recorder

import (
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
)

// MaxFrame has the recorder record at most so many bytes of a frame; 0: all. What is
// longer passes whole. In the log it is cut, its event says by how much, and a "lost"
// event stands behind it.
func MaxFrame(bytes int64) Option {
	return func(r *Recorder) { r.maxFrame = bytes }
}

// within returns what of the next stretch of a frame is recorded, and how many bytes of
// it are not.
func (t *Tap) within(piece []byte) ([]byte, uint64) {
	limit := t.recorder.maxFrame
	if limit <= 0 || t.kind != store.Frame {
		return piece, 0
	}
	room := min(int64(len(piece)), max(0, limit-t.passed))
	t.passed += int64(len(piece))
	return piece[:room], uint64(int64(len(piece)) - room)
}

// over returns how much of a frame that has ended is not recorded.
func (t *Tap) over() uint64 {
	passed := t.passed
	if t.passed = 0; t.recorder.maxFrame <= 0 {
		return 0
	}
	return uint64(max(0, passed-t.recorder.maxFrame))
}

// tellCut says, when a frame has ended, that it is not all there.
func (t *Tap) tellCut(seq, over uint64, at time.Duration) {
	if over > 0 {
		t.recorder.addCut(at, seq, over, t.stream())
	}
}

// addCut adds the event that tells of a frame that is cut.
func (r *Recorder) addCut(at time.Duration, seq, over uint64, stream string) {
	r.sum.Cut++
	r.add(store.Event{At: at, Kind: store.Lost, Payload: store.EncodePayload(store.LostInfo{Frames: 1, Bytes: over,
		Reason: fmt.Sprintf("event %d is cut after %d B", seq, r.maxFrame), Streams: []string{stream}})}, false)
}
