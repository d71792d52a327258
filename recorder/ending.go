package recorder

import (
	"bytes"
	"fmt"
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
	if r.back != nil {
		if text := r.back.waiting(); text != "" {
			r.addNote(at, text)
		}
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

func (r *Recorder) addNote(at time.Duration, text string) {
	r.add(store.Event{At: at, Kind: store.Note, Payload: store.EncodePayload(store.NoteInfo{Text: text})}, false)
}

// Close seals the log, waits for what is not on the disk yet while the disk takes it,
// and closes the spool.
func (r *Recorder) Close() Summary {
	r.Seal()
	r.turn.take()
	defer r.turn.give()
	if r.closed {
		return r.sum
	}
	r.closed = true
	if r.back == nil {
		r.close(r.spool.Close())
		r.untold()
		return r.sum
	}
	left, usable := r.back.finish()
	fault := error(nil)
	r.sum.Trouble, fault = r.back.faults()
	r.giveUp(left, fault)
	if usable {
		fault = r.closeSpool()
	}
	r.close(fault)
	r.untold()
	return r.sum
}

func (r *Recorder) close(err error) {
	if err != nil && r.sum.Err == nil {
		r.sum.Err = err
	}
}

// closeSpool writes the end of the log, if it is not there, and closes the spool, all
// if the disk answers. A log without its end is one whose recorder died, and is read as
// such.
func (r *Recorder) closeSpool() error {
	if !r.ended {
		at := r.at()
		r.begin(at)
		r.end(at)
	}
	steps := make(chan error, 2)
	go func(ended bool) { // when the disk does not answer it is left behind: nothing can end it
		err := error(nil)
		if !ended {
			err = r.spool.Write(r.parts)
		}
		steps <- err
		steps <- r.spool.Close()
	}(r.ended)
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case err := <-steps:
		r.ended = err == nil
		r.close(err)
	case <-t.C:
		return fmt.Errorf("close: %w", ErrNoAnswer)
	}
	select {
	case err := <-steps:
		return err
	case <-t.C:
		return fmt.Errorf("close: %w", ErrNoAnswer)
	}
}

// untold counts as lost what was to be told at the end, which is not in the log.
func (r *Recorder) untold() {
	if !r.ended {
		r.sum.Lost += uint64(len(r.unsaid))
	}
}

// giveUp counts what waits and cannot be written: it is the last of the log.
func (r *Recorder) giveUp(left []batch, fault error) {
	begun, pipes := map[uint64]store.Event{}, map[string]bool{}
	first := uint64(0)
	for _, b := range left {
		r.ended = false
		for _, p := range b.parts {
			e, known := begun[p.Seq]
			switch {
			case p.Chunk:
				pipe := string(p.Kind) + p.Dir.String()
				r.forgetChunk(&p, !pipes[pipe])
				pipes[pipe] = true
				continue
			case !p.Cont:
				if first == 0 {
					first = p.Seq
				}
				e = p.Event
				r.forget(e)
			case !known:
				r.unfinished(p.Seq)
			}
			begun[p.Seq] = e
			r.forgetBytes(e, p.Cont && !known, uint64(len(p.Payload)))
		}
	}
	if first > 0 {
		r.seq = first - 1
		// What began in the queue is not in the log: nothing is to end it.
		r.broken = slices.DeleteFunc(r.broken, func(seq uint64) bool { return seq >= first })
	}
	if len(left) > 0 {
		r.gap.Reason = rootOf(fault).Error()
		r.close(fault)
	}
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

// unfinished counts an event as lost whose beginning is in the log.
func (r *Recorder) unfinished(seq uint64) {
	if !slices.Contains(r.broken, seq) {
		r.broken = append(r.broken, seq)
		r.gap.Frames++
		r.sum.Lost++
	}
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
