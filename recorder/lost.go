package recorder

import (
	"bytes"
	"slices"

	"github.com/mcprec/mcprec/store"
)

// lose adds to the gap, which the next write tells.
func (l *log) lose(lost store.LostInfo, cause error) {
	l.gap.Frames += lost.Frames
	l.gap.Bytes += lost.Bytes
	l.gap.Reason = store.RootCause(cause).Error()
	l.addGapStreams(lost.Streams...)
	l.sum.Lost += lost.Frames
	l.failed = l.failed || l.strict
}

// addGapStreams notes the streams with a gap.
func (l *log) addGapStreams(names ...string) {
	for _, name := range names {
		if !slices.Contains(l.gap.Streams, name) {
			l.gap.Streams = append(l.gap.Streams, name)
		}
	}
}

// giveUp counts the last parts of the log as lost, because the disk did not take them.
func (l *log) giveUp(left []store.Part, fault error) {
	l.ended = false
	begun, pipes := map[uint64]store.Event{}, map[string]bool{}
	first := uint64(0)
	for i := range left {
		p := &left[i]
		if p.Chunk {
			pipe := string(p.Kind) + p.Dir.String()
			l.uncountChunk(p, !pipes[pipe])
			pipes[pipe] = true
			continue
		}
		e, known := begun[p.Seq]
		switch {
		case !p.Cont:
			if first == 0 {
				first = p.Seq
			}
			e = p.Event
			l.uncount(e)
		case !known && !slices.Contains(l.broken, p.Seq): // its beginning is in the log
			l.broken = append(l.broken, p.Seq)
			l.gap.Frames++
			l.sum.Lost++
		}
		begun[p.Seq] = e
		switch size := uint64(len(p.Payload)); {
		case p.Cont && !known: // the stream is unknown here
			l.addGapStreams("c2s", "s2c", "stderr")
			l.gap.Bytes += size
		case e.Kind == store.Frame:
			l.addGapStreams(e.Dir.String())
			l.gap.Bytes += size
			l.sum.Bytes -= size
		case e.Kind == store.Stderr:
			l.addGapStreams("stderr")
			l.gap.Bytes += size
		}
	}
	if first > 0 {
		l.seq = first - 1
		// The log has no event that began in memory, so no such event needs an end.
		l.broken = slices.DeleteFunc(l.broken, func(seq uint64) bool { return seq >= first })
	}
	l.gap.Reason = store.RootCause(fault).Error()
	l.fail(fault)
}

// uncount counts an event as lost that was counted as recorded.
func (l *log) uncount(e store.Event) {
	switch e.Kind {
	case store.Closed, store.Note:
		return
	case store.Exited:
		l.unsaid = append(l.unsaid, e)
		return
	case store.Lost: // these are counted as lost, and have to be told again
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			l.gap.Frames += info.Frames
			l.gap.Bytes += info.Bytes
			l.addGapStreams(info.Streams...)
		}
		return
	case store.Frame:
		l.sum.Frames--
	}
	l.gap.Frames++
	l.sum.Lost++
}

// uncountChunk counts the lines of a chunk as lost. The first one of its pipe may end a line
// that began in the log.
func (l *log) uncountChunk(p *store.Part, first bool) {
	newlines, stream := uint64(bytes.Count(p.Payload, newline)), "stderr"
	if p.Kind == store.Frame {
		stream = p.Dir.String()
		l.sum.Frames -= p.Lines
		l.sum.Bytes -= uint64(len(p.Payload)) - newlines
	}
	lines := newlines
	if !bytes.HasSuffix(p.Payload, newline) {
		lines++
	}
	lost := p.Lines
	if first && lines > lost {
		lost++
	}
	l.sum.Lost += lost
	l.gap.Frames += lost
	l.gap.Bytes += uint64(len(p.Payload))
	l.addGapStreams(stream)
}
