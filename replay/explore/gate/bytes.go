package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Bytes is an end of the gate as the bytes of stdio, for peers that write bytes and no frames.
//
// Each Write waits for a step of its own. Then its bytes go into the stream, behind those of the
// steps before, as in a pipe. A frame is offered when its newline has come, and frames are taken
// in the order of the stream. A Write that completes a frame returns as the Write of a frame
// does; a Write without a newline returns when its bytes are in the stream.
//
// So two goroutines that each write a frame in two writes, without a lock, can come to share a line.
// Blank lines are not passed on. Several goroutines may write; one may read.
type Bytes struct {
	end   *End
	rest  []byte         // of the frame read last: what Read has not returned yet
	text  []byte         // in the stream behind the last newline
	line  line           // the writes of text
	begun map[int]string // by goroutine, the name of its last write without a newline
}

// line is the writes of a line.
type line []part

// part is the bytes of a Write in a line.
type part struct {
	name   string // of the bytes
	writer int    // goroutine
	code   []stacks.Call
}

// Bytes returns the end as bytes. It may be called once, and the end is then used in no other way.
func (e *End) Bytes() *Bytes {
	e.Out.stream = true
	return &Bytes{end: e, begun: map[int]string{}}
}

// Read returns bytes of one frame and its newline, never of the next frame.
func (b *Bytes) Read(data []byte) (int, error) {
	if len(b.rest) == 0 {
		f, err := b.end.Read(context.Background())
		switch {
		case errors.Is(err, transport.ErrClosed):
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
		b.rest = transport.AppendFrame(nil, f)
	}
	n := copy(data, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Write puts the bytes into the stream when the engine releases the step.
func (b *Bytes) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	e, g := b.end, b.end.gate
	p := part{writer: stacks.Self().ID}
	if g.options.Traced {
		p.code = stacks.Caller().Calls()
	}
	g.Lock()
	if e.mute() {
		g.Unlock()
		return 0, transport.ErrClosed
	}
	verb, name := b.name(data, p.writer)
	p.name = name
	at := g.park(g.Names.countAgain(fmt.Sprintf("%s %s %s", e.Out.Dir.Sender(), verb, name)))
	g.Unlock()
	<-at.reached
	flights, err := b.put(data, p)
	for _, f := range flights {
		err = errors.Join(err, e.Await(context.Background(), f))
	}
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// put appends bytes to the stream, and offers the frames that are whole.
func (b *Bytes) put(data []byte, from part) (flights []*Flight, err error) {
	g := b.end.gate
	g.Lock()
	defer g.Unlock()
	if b.end.mute() {
		return nil, transport.ErrClosed
	}
	for {
		text, rest, whole := bytes.Cut(data, []byte{'\n'})
		if len(text) > 0 {
			b.text = append(b.text, text...)
			b.line = append(b.line, from)
		}
		if !whole {
			return flights, nil
		}
		data = rest
		if len(transport.TrimBlanks(b.text)) > 0 {
			f, err := b.end.put(context.Background(), transport.Frame{Bytes: bytes.Clone(b.text)}, "", false)
			if err != nil {
				return flights, err
			}
			f.line = b.line
			flights = append(flights, f)
		}
		b.text, b.line = b.text[:0], nil
	}
}

// Close closes the end, as [End.Close].
func (b *Bytes) Close() error { return b.end.Close() }

// CloseWrite ends the sending direction, as [End.CloseWrite].
func (b *Bytes) CloseWrite() error { return b.end.CloseWrite() }

// name names the bytes of a write, and what the goroutine does with them: it writes, begins or
// ends a line. Bytes that are messages have the name of these, and a newline alone that of the
// goroutine's last write. Other bytes have a hash as their name, which leaves out digits: they may
// be of an id. The gate is locked.
func (b *Bytes) name(data []byte, writer int) (verb, name string) {
	text, whole := bytes.CutSuffix(data, []byte{'\n'})
	begun := b.begun[writer]
	delete(b.begun, writer)
	said := b.end.gate.Names.parser.parse(text)
	switch {
	case len(text) == 0 && begun != "":
		return "ends", begun
	case len(text) == 0:
		return "writes", "a newline"
	case said.messages != nil:
		var names []string
		for i := range said.messages {
			names = append(names, b.end.gate.Names.describe(b.end.Out, said, i))
		}
		name = strings.Join(names, ", ")
	default:
		letters := bytes.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, text)
		name = fmt.Sprintf("bytes %08x", uint32(hashOf(string(letters))))
	}
	if whole {
		return "writes", name
	}
	b.begun[writer] = name
	return "begins", name
}

// describe names message number i of parsed bytes, without an occurrence number: they are not a
// frame yet. The gate is locked.
func (n *Namer) describe(lane *Lane, said *said, i int) string {
	m := &said.messages[i]
	switch m.Kind() {
	case transport.Response:
		name := "response to nothing"
		for _, c := range slices.Backward(n.Calls) { // the latest that is open, else the latest
			if c.Request.Lane == lane.Back && mcp.Same(c.id, m.ID) {
				if c.Response == nil {
					return "response to " + c.Name
				}
				if name == "response to nothing" {
					name = "response to " + c.Name
				}
			}
		}
		return name
	case transport.Request, transport.Notification:
		return said.about[i]
	}
	return "JSON that is no message"
}

// numbered matches the name of a write that ends in the occurrence number of a request.
var numbered = phrase.Regexp(` response to .*#[0-9]+$`)

// countAgain adds the occurrence number to the name of a write, except to the first write of a
// response, whose name ends in a number.
func (n *Namer) countAgain(name string) string {
	counted := n.count(transport.NoDirection, name)
	if numbered().MatchString(name) && counted == name+"#1" {
		return name
	}
	return counted
}

// garbled returns the breach of a line in the stream that is no message, or nil.
func garbled(f *Flight) *order.Violation {
	if len(f.line) == 0 || f.said.messages != nil {
		return nil
	}
	v := &order.Violation{
		Rule: "E4", Title: "only messages are on the wire", Severity: order.Error, Section: "basic/transports, stdio", Dir: f.Dir,
		Text: fmt.Sprintf("the %s sent a line that is not JSON-RPC", f.Dir.Sender()),
	}
	if !f.line.shared() {
		return v
	}
	v.Text += ": writes of several goroutines share it, without a lock between them"
	for i, p := range f.line {
		v.Text += [...]string{": ", ", then "}[min(i, 1)] + p.name
		if code := codeOf(p.code); len(code) > 0 {
			v.Text += " (at " + code[0] + ")"
		}
	}
	return v
}

// shared reports whether several goroutines wrote the line.
func (l line) shared() bool {
	return slices.ContainsFunc(l, func(p part) bool { return p.writer != l[0].writer })
}

// name names a line that several goroutines wrote.
func (l line) name() string {
	var names []string
	for _, p := range l {
		names = append(names, p.name)
	}
	return "one line of [" + strings.Join(names, ", ") + "]"
}
