package recorder

import (
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
)

// MaxFrame has the recorder record at most so many bytes of a frame; 0: all. What is
// longer passes whole. In the log it is cut, its event says by how much, and a "lost"
// event stands behind it; a spool has all of what passed through a pipe.
func MaxFrame(bytes int64) Option {
	return func(r *Recorder) { r.maxFrame = bytes }
}

// addCut adds the event that tells of a frame that is cut.
func (r *Recorder) addCut(at time.Duration, seq, over uint64, stream string) {
	r.sum.Cut++
	r.add(store.Event{At: at, Kind: store.Lost, Payload: store.EncodePayload(store.LostInfo{Frames: 1, Bytes: over,
		Reason: fmt.Sprintf("event %d is cut after %d B", seq, r.maxFrame), Streams: []string{stream}})}, false)
}
