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

// Tap is the pass-through of one direction, or of standard error: it reads a chunk, writes it to
// the spool, and passes it on. Readers of the spool find the frames; the tap only counts lines.
// One goroutine uses a tap at a time.
type Tap struct {
	log  *log
	kind store.Kind // Frame or Stderr
	dir  transport.Direction

	gaveUp bool   // the direction is over, though its source is not
	open   bool   // the newest byte is not a newline
	torn   bool   // the beginning of the open line is lost
	lost   bool   // the newest bytes of the open line are lost
	size   int64  // of the open line, if frames have a limit
	begun  uint64 // lines that begin in the chunk being written
}

// Pass copies src to dst until either ends, recording every read before it is written on, and
// returns how the pass ended: By "sender" when src ended, "receiver" when dst refused. Pass
// closes neither, and its memory does not depend on the length of a line.
func (t *Tap) Pass(dst io.Writer, src io.Reader) store.EOFInfo {
	return t.pass(dst, src, new(passState))
}

// Observe records bytes that are about to be passed on. It returns false when the recording is
// over and the bytes must not pass.
func (t *Tap) Observe(chunk []byte) bool {
	t.log.take()
	defer t.log.give()
	if t.add(chunk, nil) {
		t.written(chunk, t.log.commit())
	}
	return t.passes()
}

// End records the end of the direction, and the reason. Pass calls End itself.
func (t *Tap) End(info store.EOFInfo) store.EOFInfo {
	t.end(info, false)
	return info
}

// end records the end of the direction; giveUp: the source goes on, and from now on the tap
// passes nothing on.
func (t *Tap) end(info store.EOFInfo, giveUp bool) {
	l := t.log
	l.take()
	defer l.give()
	if l.sealed || t.gaveUp {
		return
	}
	t.gaveUp = giveUp
	if t.kind != store.Frame {
		return
	}
	l.begin()
	l.addInfo(store.EOF, t.dir, info)
	if err := l.commit(); err != nil {
		l.lose(store.LostInfo{Frames: 1}, err)
	}
}

// passes reports whether anything may be passed on. The caller has the turn.
func (t *Tap) passes() bool { return t.log.open() && !t.gaveUp }

var newline = []byte{'\n'}

// add begins a write with the chunk, which may end a buffer with room for a head. It reports
// whether there is anything to write.
func (t *Tap) add(chunk, buffer []byte) bool {
	if !t.passes() || len(chunk) == 0 {
		return false
	}
	t.begun = uint64(bytes.Count(chunk, newline))
	if chunk[len(chunk)-1] != '\n' {
		t.begun++
	}
	if t.open {
		t.begun--
	}
	l := t.log
	l.begin()
	l.parts = append(l.parts, store.Part{Event: store.Event{At: l.at, Kind: t.kind, Dir: t.dir, Payload: chunk},
		Chunk: true, Cont: t.lost, Lines: t.begun, Buffer: buffer})
	return true
}

// written counts the lines of the chunk once it is written, or lost.
func (t *Tap) written(chunk []byte, err error) {
	l := t.log
	lines := t.begun
	open := chunk[len(chunk)-1] != '\n'
	if err != nil {
		if t.open && !t.lost { // the chunk begins with the rest of a line
			lines++
		}
		t.open, t.torn, t.lost, t.size = open, open, open, 0
		stream := "stderr"
		if t.kind == store.Frame {
			stream = t.dir.String()
		}
		l.lose(store.LostInfo{Frames: lines, Bytes: uint64(len(chunk)), Streams: []string{stream}}, err)
		return
	}
	if t.kind == store.Frame {
		l.sum.Frames += lines
		if t.open {
			lines++
		}
		if open {
			lines--
		}
		t.count(chunk, lines)
	}
	t.open = open
	t.lost = false
}

// count counts the bytes of frames in a chunk, and the frames that are longer than the limit.
func (t *Tap) count(chunk []byte, newlines uint64) {
	l := t.log
	if l.maxFrame == 0 && !t.torn {
		l.sum.Bytes += uint64(len(chunk)) - newlines
		return
	}
	limit := l.maxFrame
	if limit == 0 {
		limit = math.MaxInt64
	}
	for len(chunk) > 0 {
		piece, rest, ended := bytes.Cut(chunk, newline)
		chunk = rest
		if !t.torn {
			before := min(t.size, limit)
			t.size += int64(len(piece))
			l.sum.Bytes += uint64(min(t.size, limit) - before)
			if t.size > limit && before < limit {
				l.sum.Cut++
			}
		}
		if ended {
			t.torn = false
			t.size = 0
		}
	}
}

// pump is one call of Pass. Its goroutine writes to the spool itself, which is quickest. If the
// write is overdue, another goroutine goes on with the pump, and the first only ends its write;
// see [outage.Spool.WriteInline].
type pump struct {
	tap   *Tap
	dst   io.Writer
	src   io.Reader
	state *passState
	buf   []byte // with room for the head of a record in front
	chunk []byte // of buf: read, and not yet passed on
	err   error  // of the read of chunk
	ended chan store.EOFInfo
}

func (t *Tap) pass(dst io.Writer, src io.Reader, state *passState) store.EOFInfo {
	defer state.set(ended)
	p := &pump{tap: t, dst: dst, src: src, state: state, ended: make(chan store.EOFInfo, 1)}
	go p.run()
	return <-p.ended
}

// run passes chunks on until either side ends or another goroutine has taken over.
func (p *pump) run() {
	overdue := func() { go p.goOn() }
	p.buf = make([]byte, store.ChunkRoom+readSize)
	for {
		p.state.set(reading)
		n, err := p.src.Read(p.buf[store.ChunkRoom:])
		p.chunk = p.buf[store.ChunkRoom : store.ChunkRoom+n]
		p.err = err
		if n > 0 {
			p.state.set(writing)
			if !p.record(overdue) {
				return
			}
		}
		if !p.forward() {
			return
		}
	}
}

// record writes the chunk to the spool. It returns false when this goroutine is to end.
func (p *pump) record(overdue func()) bool {
	t, l := p.tap, p.tap.log
	l.take()
	if t.add(p.chunk, p.buf[:store.ChunkRoom+len(p.chunk)]) {
		mine, err := l.commitInline(overdue)
		if !mine {
			return false
		}
		t.written(p.chunk, err)
	}
	return p.recorded()
}

// goOn takes over with the turn: the chunk waits in memory.
func (p *pump) goOn() {
	l := p.tap.log
	l.parts = nil // the overdue write may still read them
	p.tap.written(p.chunk, l.committed(nil))
	if p.recorded() && p.forward() {
		p.run() // with a new buffer: the old one is still being written
	}
}

// recorded gives the turn back, and reports whether the chunk may be passed on.
func (p *pump) recorded() bool {
	passes := p.tap.passes()
	p.tap.log.give()
	if !passes {
		p.end(store.EOFInfo{By: "receiver", Error: store.ErrClosed.Error()})
	}
	return passes
}

// forward passes the chunk on, and returns false when either side has ended.
func (p *pump) forward() bool {
	if len(p.chunk) > 0 {
		start := p.tap.log.clock.now()
		p.state.read.Add(int64(len(p.chunk)))
		p.state.watch.wake()
		for rest := p.chunk; ; {
			n, err := p.dst.Write(rest)
			rest = rest[n:]
			p.state.passed.Store(p.state.read.Load() - int64(len(rest)))
			if err == nil {
				break
			}
			if !retries(err) {
				p.end(p.state.refused("receiver", err.Error()))
				return false
			}
		}
		if p.tap.kind == store.Frame {
			p.tap.log.recordBlocked(p.tap.dir, 0, p.tap.log.clock.since(start))
		}
	}
	switch {
	case p.err == nil || retries(p.err):
		return true
	case p.err == io.EOF:
		p.end(store.EOFInfo{By: "sender"})
	default:
		p.end(store.EOFInfo{By: "sender", Error: p.err.Error()})
	}
	return false
}

func (p *pump) end(info store.EOFInfo) { p.ended <- p.tap.End(info) }

// retries reports whether a call is to be tried again, and waits a moment before: another
// process that shares the open file, such as a terminal, has made it non-blocking.
func retries(err error) bool {
	if !errors.Is(err, syscall.EAGAIN) {
		return false
	}
	time.Sleep(time.Millisecond)
	return true
}
