package recorder

import (
	"bytes"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Seal writes the end of the log. It is quick: a program in a hurry may leave the rest of
// Close to the next mcprec. Taps used after it pass on nothing.
func (r *Recorder) Seal() {
	r.turn.take()
	defer r.turn.give()
	if r.sealed {
		return
	}
	at := r.at()
	r.begin(at)
	if text := r.spool.Waiting(); text != "" {
		r.add(store.Event{At: at, Kind: store.Note, Payload: store.EncodePayload(store.NoteInfo{Text: text})}, false)
	}
	r.end(at)
	r.ended = r.commit() == nil // if not, Close tries again
	r.sealed = true
}

// end adds the end of the log.
func (r *Recorder) end(at time.Duration) {
	for _, e := range r.unsaid {
		e.At = at
		r.add(e, false)
	}
	r.add(store.Event{At: at, Kind: store.Closed,
		Payload: store.EncodePayload(store.ClosedInfo{Frames: r.sum.Frames, Lost: r.sum.Lost + r.sum.Cut})}, false)
}

// Close seals the log, waits for what is not on the disk yet while the disk takes it, and
// closes the spool. A log whose end cannot be written is read as that of a recorder that died.
func (r *Recorder) Close() Summary {
	r.Seal()
	r.turn.take()
	defer r.turn.give()
	if r.closed {
		return r.sum
	}
	r.closed = true
	left, fault := r.spool.Drain()
	r.sum.Trouble = r.spool.Trouble()
	if fault != nil {
		r.giveUp(left, fault)
	}
	r.parts = nil
	if !r.ended {
		at := r.at()
		r.begin(at)
		r.end(at)
	}
	written, err := r.spool.Finish(r.parts)
	r.ended = r.ended || written
	if err != nil {
		r.fault(err)
	}
	if !r.ended {
		r.sum.Lost += uint64(len(r.unsaid)) // which the log does not have
	}
	return r.sum
}

// giveUp counts what the disk did not take before the end: it is the last of the log.
func (r *Recorder) giveUp(left []store.Part, fault error) {
	r.ended = false
	begun, pipes := map[uint64]store.Event{}, map[string]bool{}
	first := uint64(0)
	for i := range left {
		p := &left[i]
		e, known := begun[p.Seq]
		switch {
		case p.Chunk:
			pipe := string(p.Kind) + p.Dir.String()
			r.forgetChunk(p, !pipes[pipe])
			pipes[pipe] = true
			continue
		case !p.Cont:
			if first == 0 {
				first = p.Seq
			}
			e = p.Event
			r.forget(e)
		case !known && !slices.Contains(r.broken, p.Seq): // its beginning is in the log
			r.broken = append(r.broken, p.Seq)
			r.gap.Frames++
			r.sum.Lost++
		}
		begun[p.Seq] = e
		r.forgetBytes(e, p.Cont && !known, uint64(len(p.Payload)))
	}
	if first > 0 {
		r.seq = first - 1
		// What began in the queue is not in the log: nothing is to end it.
		r.broken = slices.DeleteFunc(r.broken, func(seq uint64) bool { return seq >= first })
	}
	r.gap.Reason = store.RootCause(fault).Error()
	r.fault(fault)
}

// forget counts an event as lost that was counted as recorded.
func (r *Recorder) forget(e store.Event) {
	switch e.Kind {
	case store.Closed, store.Note:
		return
	case store.Exited:
		r.unsaid = append(r.unsaid, e)
		return
	case store.Lost: // it is counted: it has to be told again
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			r.gap.Frames += info.Frames
			r.gap.Bytes += info.Bytes
			r.inStreams(info.Streams...)
		}
		return
	case store.Frame:
		r.sum.Frames--
	}
	r.gap.Frames++
	r.sum.Lost++
}

// forgetChunk counts as lost what was counted of a chunk, the first of its pipe or not.
func (r *Recorder) forgetChunk(p *store.Part, first bool) {
	newlines, stream := uint64(bytes.Count(p.Payload, newline)), "stderr"
	if p.Kind == store.Frame {
		stream = p.Dir.String()
		r.sum.Frames -= p.Lines
		r.sum.Bytes -= uint64(len(p.Payload)) - newlines
	}
	lines := newlines
	if !bytes.HasSuffix(p.Payload, newline) {
		lines++
	}
	lost := p.Lines
	if first && lines > lost {
		lost++ // a line that had begun
	}
	r.sum.Lost += lost
	r.gap.Frames += lost
	r.gap.Bytes += uint64(len(p.Payload))
	r.inStreams(stream)
}

// forgetBytes counts bytes of an event as lost. The stream of an event that began in an
// earlier write is unknown here.
func (r *Recorder) forgetBytes(e store.Event, unknown bool, n uint64) {
	switch {
	case unknown:
		r.inStreams("c2s", "s2c", "stderr")
	case e.Kind == store.Frame:
		r.sum.Bytes -= n
		r.inStreams(e.Dir.String())
	case e.Kind == store.Stderr:
		r.inStreams("stderr")
	default:
		return
	}
	r.gap.Bytes += n
}

// inStreams notes in which streams something is missing.
func (r *Recorder) inStreams(names ...string) {
	for _, s := range names {
		if !slices.Contains(r.gap.Streams, s) {
			r.gap.Streams = append(r.gap.Streams, s)
		}
	}
}
