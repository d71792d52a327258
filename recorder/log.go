package recorder

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// log puts the events of a session into one order and writes them. It counts the events that
// could not be written, and tells the number in the next write.
//
// A write is: take the turn, begin, add the parts, commit, give the turn back. The turn guards
// all fields but lost.
type log struct {
	turn
	clock    clock
	start    time.Time
	strict   bool
	maxFrame int64 // 0: no limit

	spool  *outage.Spool
	seq    uint64 // of the newest event, as parts have it
	sealed bool   // the log takes no further events
	failed bool   // the log is strict, and a write was late or failed
	ended  bool   // the end of the log is written, or waits
	closed bool   // the spool is closed
	sum    Summary
	lost   atomic.Uint64 // sum.Lost for Recorder.Lost, which does not take the turn

	// The current write.
	at        time.Duration
	parts     []store.Part
	doubt     *store.NoteInfo // in this write: a disk lost data; or nil
	recovered *store.NoteInfo // in this write: an outage is over; or nil

	// For the next write.
	gap    store.LostInfo
	broken []uint64      // events begun in the spool that get no more parts
	unsaid []store.Event // exits that could not be written
}

// turn is the right to use a log, which one goroutine has at a time. Unlike a mutex, a turn may
// be handed to another goroutine, which then gives it back.
type turn chan struct{}

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

// clock tells the time. A nil clock is the system's, which is the quickest to read.
type clock func() time.Time

func (c clock) now() time.Time {
	if c == nil {
		return time.Now()
	}
	return c()
}

func (c clock) since(start time.Time) time.Duration {
	if c == nil {
		return time.Since(start)
	}
	return c().Sub(start)
}

// maxIdleParts is how many parts' memory a log keeps between writes: enough for a read of many
// server-sent events, which must not allocate.
const maxIdleParts = 1 << 10

// open reports whether events are still recorded.
func (l *log) open() bool { return !l.sealed && !l.failed }

// begin starts the parts of one write with the facts the log lacks. seq counts parts as written;
// commit takes seq back if the write fails.
func (l *log) begin() {
	l.at = l.clock.since(l.start)
	l.parts = l.parts[:0]
	for _, seq := range l.broken {
		l.parts = append(l.parts, store.Part{Event: store.Event{Seq: seq, Unterminated: true}, Cont: true})
	}
	if l.doubt = l.spool.Doubt(); l.doubt != nil {
		l.addInfo(store.Note, transport.NoDirection, l.doubt)
	}
	if l.gap.Frames+l.gap.Bytes > 0 {
		l.addInfo(store.Lost, transport.NoDirection, l.gap)
	}
	if l.recovered = l.spool.Recovered(); l.recovered != nil {
		l.addInfo(store.Note, transport.NoDirection, l.recovered)
	}
}

// add adds a new event's first part, stamped with the time of the write, and returns its Seq.
func (l *log) add(event store.Event, more bool) uint64 {
	l.seq++
	event.Seq = l.seq
	event.At = l.at
	l.parts = append(l.parts, store.Part{Event: event, More: more})
	return event.Seq
}

// addInfo adds an event of mcprec's own kinds.
func (l *log) addInfo(kind store.Kind, dir transport.Direction, info any) {
	l.add(store.Event{Kind: kind, Dir: dir, Payload: store.EncodePayload(info)}, false)
}

// addCut adds the event that tells how much of frame seq is missing.
func (l *log) addCut(seq, missing uint64, dir transport.Direction) {
	l.sum.Cut++
	l.addInfo(store.Lost, transport.NoDirection, store.LostInfo{Frames: 1, Bytes: missing,
		Reason: fmt.Sprintf("event %d is cut after %d B", seq, l.maxFrame), Streams: []string{dir.String()}})
}

// addEnd adds the end of the log.
func (l *log) addEnd() {
	for _, e := range l.unsaid {
		l.add(e, false)
	}
	l.addInfo(store.Closed, transport.NoDirection, store.ClosedInfo{Frames: l.sum.Frames, Lost: l.sum.Lost + l.sum.Cut})
}

// commit writes the parts. If commit fails, the log has no part of the write, and the caller
// calls lose.
func (l *log) commit() error {
	if len(l.parts) == 0 {
		return nil
	}
	return l.committed(l.spool.Write(l.parts))
}

// commitInline is commit in the caller's goroutine; see [outage.Spool.WriteInline]. If the
// write is overdue, another goroutine calls overdue, with the turn, and commitInline returns
// false.
func (l *log) commitInline(overdue func()) (mine bool, err error) {
	if mine, err = l.spool.WriteInline(l.parts, overdue); mine {
		err = l.committed(err)
	}
	return mine, err
}

// committed records the outcome of a write: err is nil if the parts are written or wait in
// memory.
func (l *log) committed(err error) error {
	if err == nil {
		if l.strict && (l.spool.Late() || l.spool.Doubt() != nil) {
			l.failed = true
		}
		l.broken = l.broken[:0]
		l.gap = store.LostInfo{}
		l.spool.Told(l.doubt)
		l.spool.Told(l.recovered)
	} else {
		for i := range l.parts {
			if p := &l.parts[i]; !p.Cont && !p.Chunk {
				l.seq--
			}
		}
		l.fail(err)
	}
	clear(l.parts) // an idle session keeps no payloads alive
	if cap(l.parts) > maxIdleParts {
		l.parts = nil
	}
	return err
}

// record writes one event of mcprec's own kinds.
func (l *log) record(kind store.Kind, dir transport.Direction, info any) {
	e := store.Event{Kind: kind, Dir: dir, Payload: store.EncodePayload(info)}
	l.take()
	defer l.give()
	if l.sealed {
		return
	}
	l.begin()
	l.add(e, false)
	err := l.commit()
	switch {
	case err == nil:
	case kind == store.Exited:
		l.unsaid = append(l.unsaid, e)
	default:
		l.lose(store.LostInfo{Frames: 1}, err)
	}
}

// recordFrame writes one whole frame and returns its Seq, or 0 if the write failed.
func (l *log) recordFrame(dir transport.Direction, f transport.Frame) uint64 {
	e := store.Event{Kind: store.Frame, Dir: dir, Stream: f.Stream, Unterminated: f.Unterminated, Payload: f.Bytes}
	if n := int64(len(f.Bytes)); l.maxFrame > 0 && n > l.maxFrame {
		e.Payload = f.Bytes[:l.maxFrame]
		e.Cut = uint64(n - l.maxFrame)
	}
	l.take()
	defer l.give()
	if !l.open() {
		return 0
	}
	l.begin()
	seq := l.add(e, false)
	if e.Cut > 0 {
		l.addCut(seq, e.Cut, dir)
	}
	if err := l.commit(); err != nil {
		l.lose(store.LostInfo{Frames: 1, Bytes: uint64(len(f.Bytes)), Streams: []string{dir.String()}}, err)
		return 0
	}
	l.sum.Frames++
	l.sum.Bytes += uint64(len(e.Payload))
	return seq
}

// recordBlocked writes a Delivered event if the write of a frame to its peer had blocked. With
// upto 0 a reader of the log finds the frame.
func (l *log) recordBlocked(dir transport.Direction, upto uint64, blocked time.Duration) {
	if blocked >= BlockedThreshold {
		l.record(store.Delivered, dir, store.DeliveredInfo{Upto: upto, Blocked: blocked})
	}
}

// fail notes the first failure of the store.
func (l *log) fail(err error) {
	if l.sum.Err == nil {
		l.sum.Err = err
	}
}

// lose adds to the gap, which the next write tells.
func (l *log) lose(lost store.LostInfo, cause error) {
	l.gap.Frames += lost.Frames
	l.gap.Bytes += lost.Bytes
	l.gap.Reason = store.RootCause(cause).Error()
	l.addGapStreams(lost.Streams...)
	l.sum.Lost += lost.Frames
	l.lost.Store(l.sum.Lost)
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
	begun := map[uint64]store.Event{}
	pipes := map[string]bool{}
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
			l.addGapStreams(store.AllPipes()...)
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
	l.lost.Store(l.sum.Lost)
	l.fail(fault)
}

// uncount counts an event as lost that was counted as recorded.
func (l *log) uncount(event store.Event) {
	switch event.Kind {
	case store.Closed, store.Note:
		return
	case store.Exited:
		l.unsaid = append(l.unsaid, event)
		return
	case store.Lost: // these are counted as lost, and have to be told again
		if info, err := store.DecodePayload[store.LostInfo](event); err == nil {
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
func (l *log) uncountChunk(part *store.Part, first bool) {
	newlines := uint64(bytes.Count(part.Payload, newline))
	stream := "stderr"
	if part.Kind == store.Frame {
		stream = part.Dir.String()
		l.sum.Frames -= part.Lines
		l.sum.Bytes -= uint64(len(part.Payload)) - newlines
	}
	lines := newlines
	if !bytes.HasSuffix(part.Payload, newline) {
		lines++
	}
	lost := part.Lines
	if first && lines > lost {
		lost++
	}
	l.sum.Lost += lost
	l.gap.Frames += lost
	l.gap.Bytes += uint64(len(part.Payload))
	l.addGapStreams(stream)
}
