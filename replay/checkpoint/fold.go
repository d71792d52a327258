package checkpoint

import (
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// A point is taken when this many events, or this many bytes of them, have passed since
// the last point, and at least share times as many bytes as the last point took.
const (
	Interval      = 4096
	intervalBytes = 4 << 20
	share         = 4
)

// spacing is the least distance between points.
type spacing struct {
	events, bytes, share int
}

var defaultSpacing = spacing{Interval, intervalBytes, share}

// Fold is the projection that takes points of a session. [New] and [Image.Resume] make it.
type Fold struct {
	image      *Image
	state      *state.State
	transcript *timeline.Transcript
	last       bool // the image has no point behind this
	size       int  // of the last point, in bytes
	events     int  // since the last point
	bytes      int
	spacing    spacing
}

// New returns a fold over a session from its first event on.
func New() *Fold {
	return &Fold{image: &Image{}, state: state.New(), transcript: timeline.NewTranscript(nil), last: true, spacing: defaultSpacing}
}

// Apply takes the next event.
func (f *Fold) Apply(e store.Event) error {
	if e.Seq == 1 {
		f.image.opened = hash(e)
	}
	if e.Kind == store.Frame {
		messages, err := e.AsFrame().Messages() // once for both
		if err != nil {
			messages = []transport.Message{}
		}
		f.state.ApplyParsed(e, messages)
		f.transcript.Follow(e, messages)
	} else {
		if err := f.state.Apply(e); err != nil {
			return err
		}
		f.transcript.Follow(e, nil)
	}
	f.events++
	f.bytes += len(e.Payload)
	if f.last && (f.events >= f.spacing.events || f.bytes >= f.spacing.bytes) && f.bytes >= f.spacing.share*f.size {
		f.image.add(e, f.state, f.transcript)
		f.size = f.image.points[len(f.image.points)-1].size()
		f.events = 0
		f.bytes = 0
	}
	return nil
}

// Seq returns the event that was applied last.
func (f *Fold) Seq() uint64 { return f.state.Seq() }

// State returns the state of the session.
func (f *Fold) State() *state.State { return f.state }

// Transcript returns a transcript that goes on from here.
func (f *Fold) Transcript(emit func(timeline.Entry) error) (*timeline.Transcript, error) {
	return timeline.ResumeTranscript(f.transcript.AppendCalls(nil), emit)
}

// Image returns the points so far.
func (f *Fold) Image() *Image { return f.image }
