package recorder

import (
	"io"

	"github.com/mcprec/mcprec/store"
)

// pump is the state of one direction's pass-through. The goroutine that runs a pump writes to
// the spool itself. If that write is overdue, another goroutine goes on with the pump, and the
// first one has only its write left; see outage.Spool.
type pump struct {
	t     *Tap
	dst   io.Writer
	src   io.Reader
	f     *flow
	buf   []byte // with room for the head of a record in front
	chunk []byte // of buf, read, and not yet passed on
	lines uint64 // that begin in chunk
	err   error  // of that read
	ended chan store.EOFInfo
}

func (t *Tap) pass(dst io.Writer, src io.Reader, f *flow) store.EOFInfo {
	defer f.set(ended)
	p := &pump{t: t, dst: dst, src: src, f: f, ended: make(chan store.EOFInfo, 1)}
	p.newBuffer()
	go p.run()
	return <-p.ended
}

func (p *pump) newBuffer() { p.buf = make([]byte, store.ChunkRoom+readSize) }

// run passes on until either side ends or another has taken over.
func (p *pump) run() {
	for p.read() && p.forward() {
	}
}

// read reads the next chunk and records it. It returns false when there is nothing more to
// do for this goroutine.
func (p *pump) read() bool {
	p.f.set(reading)
	n, err := p.src.Read(p.buf[store.ChunkRoom:])
	if p.chunk, p.err = p.buf[store.ChunkRoom:store.ChunkRoom+n], err; n == 0 {
		return true
	}
	p.f.set(writing)
	return p.record()
}

// record writes the chunk to the spool.
func (p *pump) record() bool {
	r := p.t.recorder
	r.turn.take()
	var writes bool
	if p.lines, writes = p.t.begin(p.chunk, p.buf[:store.ChunkRoom+len(p.chunk)]); writes {
		mine, err := r.commitInline(p.goOn)
		if !mine {
			return false
		}
		p.t.written(p.chunk, p.lines, err)
	}
	return p.recorded()
}

// goOn is called with the turn when the write of the chunk is overdue: another goroutine
// goes on.
func (p *pump) goOn() {
	go func() {
		r := p.t.recorder
		r.parts = nil // the write that is late may still read them
		p.t.written(p.chunk, p.lines, r.committed(nil))
		if on := p.recorded() && p.forward(); on {
			p.newBuffer() // the other is still being written
			p.run()
		}
	}()
}

// recorded gives the turn back, and reports whether the chunk may be passed on.
func (p *pump) recorded() bool {
	passes := p.t.passes()
	p.t.recorder.turn.give()
	if !passes {
		p.end(store.EOFInfo{By: "receiver", Error: store.ErrClosed.Error()})
	}
	return passes
}

// forward passes the chunk on and looks at how its read ended.
func (p *pump) forward() bool {
	if len(p.chunk) > 0 {
		if err := p.t.forward(p.dst, p.chunk); err != nil {
			p.end(store.EOFInfo{By: "receiver", Error: err.Error()})
			return false
		}
	}
	switch {
	case p.err == nil || again(p.err):
		return true
	case p.err == io.EOF:
		p.end(store.EOFInfo{By: "sender"})
	default:
		p.end(store.EOFInfo{By: "sender", Error: p.err.Error()})
	}
	return false
}

func (p *pump) end(info store.EOFInfo) { p.ended <- p.t.End(info) }
