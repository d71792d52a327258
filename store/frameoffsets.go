package store

import (
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// FrameOffsets finds the frames at the offsets that [StalledInfo] and [EOFInfo] name: it counts the
// bytes of both directions of a session on stdio, event by event. The zero value is ready.
//
// Data layout: of each direction the offset behind its newest frame, and the ends of its
// frames within the last offsetReach bytes, oldest first.
type FrameOffsets struct {
	pipes [2]pipeOffsets
}

type pipeOffsets struct {
	size    int64      // bytes until here
	ends    []frameEnd // rising
	cut     uint64     // bytes that the newest frame lacks, and the next lost event tells again
	unknown bool       // bytes of it are missing, and their number is not known
}

type frameEnd struct {
	seq  uint64
	from int64 // where the frame begins
	to   int64 // behind its newline
}

// offsetReach is how far behind the newest byte an offset may be: what a pipe holds at most,
// and what a tap has in hand.
const offsetReach = 2 << 20

// Apply takes the next event.
func (o *FrameOffsets) Apply(event Event) {
	switch {
	case event.Kind == Lost:
		o.lose(event)
	case event.Kind == Frame && event.Stream == 0:
		n, ok := pipeOf(Frame, event.Dir)
		if !ok {
			return
		}
		d := &o.pipes[n]
		end := frameEnd{event.Seq, d.size, d.size + int64(event.Size()) + int64(event.Cut)}
		if !event.Unterminated {
			end.to++
		}
		d.size = end.to
		d.cut = event.Cut
		d.ends = append(d.ends, end)
		if old := len(d.ends) / 2; d.ends[old].to < d.size-offsetReach {
			d.ends = slices.Delete(d.ends, 0, old)
		}
	}
}

// lose counts missing bytes.
func (o *FrameOffsets) lose(event Event) {
	info, err := DecodePayload[LostInfo](event)
	for n := range o.pipes {
		d := &o.pipes[n]
		switch {
		case err == nil && (info.Bytes == 0 || !slices.Contains(info.Streams, pipeNames[n])):
		case err == nil && len(info.Streams) == 1 && info.Bytes == d.cut:
			d.cut = 0
		case err == nil && len(info.Streams) == 1:
			d.size += int64(info.Bytes)
		default:
			d.unknown = true
		}
	}
}

// Size returns how many bytes of a direction the events hold so far.
func (o *FrameOffsets) Size(dir transport.Direction) int64 {
	n, ok := pipeOf(Frame, dir)
	if !ok {
		return 0
	}
	return o.pipes[n].size
}

// At returns the frame that has the byte at an offset of a direction, how many of the frame's
// bytes stand before it, and how many the frame has, both with its newline. seq is 0 if no
// frame of the events so far has it: the byte is then of an open line, of which `before` bytes
// stand before it, or, if before is negative, it is missing, too old or not countable.
func (o *FrameOffsets) At(dir transport.Direction, offset int64) (seq uint64, before, size int64) {
	n, ok := pipeOf(Frame, dir)
	if !ok || o.pipes[n].unknown {
		return 0, -1, 0
	}
	d := &o.pipes[n]
	if offset >= d.size {
		return 0, offset - d.size, 0
	}
	i, _ := slices.BinarySearchFunc(d.ends, offset, func(end frameEnd, offset int64) int {
		if end.to <= offset {
			return -1
		}
		return 1
	})
	if i == len(d.ends) || offset < d.ends[i].from {
		return 0, -1, 0
	}
	return d.ends[i].seq, offset - d.ends[i].from, d.ends[i].to - d.ends[i].from
}
