package recorder

import (
	"io"

	"github.com/mcprec/mcprec/store"
)

// pump is a direction's pass, as whoever runs it has it. A pump writes to the spool in
// its own goroutine, which costs the least. If that write is overdue, another goroutine
// goes on with the pump where this one waits.
type pump struct {
	t     *Tap
	dst   io.Writer
	src   io.Reader
	f     *flow
	buf   []byte
	chunk []byte // read, and not yet passed on
	err   error  // of that read
	seen  seen
	ended chan store.EOFInfo
}

func (t *Tap) pass(dst io.Writer, src io.Reader, f *flow) store.EOFInfo {
	defer f.set(ended)
	p := &pump{t: t, dst: dst, src: src, f: f, buf: make([]byte, readSize), ended: make(chan store.EOFInfo, 1)}
	if t.recorder.back == nil {
		p.run()
	} else {
		go p.run()
	}
	return <-p.ended
}

// run passes on until either side ends or another has taken over.
func (p *pump) run() {
	for p.read() && p.forward() {
	}
}

// read reads the next chunk and records it.
func (p *pump) read() bool {
	p.f.set(reading)
	n, err := p.src.Read(p.buf)
	if p.chunk, p.err = p.buf[:n], err; n == 0 {
		return true
	}
	p.f.set(writing)
	passes, mine := p.t.observeHere(p.chunk, &p.seen, p.succeed)
	if mine && !passes {
		p.end(store.EOFInfo{By: "receiver", Error: store.ErrClosed.Error()})
	}
	return mine && passes
}

// succeed takes the pump over.
func (p *pump) succeed() {
	go func() {
		r := p.t.recorder
		p.t.observed(&p.seen, r.overtaken())
		if !p.t.release() {
			p.end(store.EOFInfo{By: "receiver", Error: store.ErrClosed.Error()})
			return
		}
		on := p.forward()
		if p.buf = make([]byte, readSize); on {
			p.run()
		}
	}()
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
