package gate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Exchange is an HTTP request and its response. It moves through these steps:
//
//	arrive  the handler is called              the take of the request's frame, or Arrive
//	head    RoundTrip returns                  Head, or the take of a body that is a frame
//	event   an event reaches the body's reader a take or, without a frame, a Part
//	end     the body ends                      EOF; a response that comes whole ends with its head
//	leave   the request's context ends         Leave, after the client gave up or was cut off
//	cut     the body breaks off                Cut
//
// A response keeps what its handler wrote until the reader takes it, in order. The handler waits
// in Write and Flush while more than the capacity of the lane is kept. A capacity without a limit
// is like the buffers of a socket.
type Exchange struct {
	Name   string // such as POST tools/call "x"#1, or GET by listen#1
	Stream uint64 // from 1, over all pairs
	Lane   *Lane  // of the response

	gate    *Gate
	pair    *Pair
	request *http.Request // as the handler gets it
	body    []byte
	frame   *Flight                          // of the request, or nil
	round   int                              // of the offer
	resumes string                           // the event id after which the stream goes on, or ""
	wrote   func(httptrace.WroteRequestInfo) // the client is told that the request was written; may be nil
	end     context.CancelFunc
	began   *Exchange // with which the stream began that this one resumes; itself, if it resumes none
	latest  *Exchange // of one with which a stream began: the last that resumes it; nil: none does
	burst   *burst    // of the operation that asks, or nil

	operation string // that asks, as it shows in the name; or ""

	// The handler's side.
	arrived  bool
	returned bool
	header   http.Header // the handler's
	status   int         // 0 before WriteHeader
	held     bytes.Buffer
	scanner  streamable.EventScanner
	long     []byte // of an event that comes in pieces
	prefix   []byte // comments, which reach the reader with the next part
	parked   []chan struct{}

	// On the way, and the client's side.
	sent  http.Header // as the head took it; nil before
	parts []*piece
	given []*piece
	err   error  // how the body ended; nil before
	ended int    // steps released before that
	begun bool   // the client has the head
	last  string // id of the last event that the reader took
	left  bool   // the client gave up or was cut off
	told  bool   // the handler knows
}

// piece is a part of a response that reaches the reader in one step.
type piece struct {
	kind   Kind    // Head, Take, Part or EOF
	flight *Flight // of a Take
	head   bool    // with the status and the headers
	bytes  []byte
	ends   bool // the body ends here
	breaks bool // the body breaks off here: the handler has aborted
	id     string
	round  int                    // of the handler's write
	event  streamable.StreamEvent // without data; zero: bytes are no event
}

var (
	errClientGone = errors.New("write: the client has closed the connection")
	errReturned   = errors.New("write: the handler has returned")
)

// HTTP is the HTTP of a gate, of all its pairs.
type HTTP struct {
	Exchanges []*Exchange // by round of the request, then by name

	gate    *Gate
	live    []*Exchange  // those that are not finished, in the same order
	handler http.Handler // or nil
	fresh   []*Exchange  // requests without a frame, not named
	cuts    int          // that are still allowed
	bursts  []*burst
}

// burst is operations whose requests reach their handlers together.
type burst struct {
	operations []string
	arrived    []*Exchange // their handlers have not begun
}

// Burst lets the handlers of the requests that these operations make at the same time begin at the same time,
// when the last of the requests has arrived.
func (h *HTTP) Burst(operations []string) {
	h.bursts = append(h.bursts, &burst{operations: operations})
}

// burstOf returns the burst of an operation, or nil.
func (h *HTTP) burstOf(operation string) *burst {
	i := slices.IndexFunc(h.bursts, func(b *burst) bool { return slices.Contains(b.operations, operation) })
	if i < 0 {
		return nil
	}
	return h.bursts[i]
}

// begin calls the handlers of the requests of a burst that have arrived, unless another is still on its way.
func (h *HTTP) begin(b *burst) {
	if slices.ContainsFunc(h.live, func(x *Exchange) bool { return x.burst == b && !x.arrived && !x.left }) {
		return
	}
	for _, x := range b.arrived {
		h.gate.options.Go(x.serve)
	}
	b.arrived = nil
}

// Handle sets the server's handler.
func (h *HTTP) Handle(handler http.Handler) { h.handler = handler }

// admit names a frame and judges it: what its sender knew when it was written counts, and frames
// of different exchanges have no order on the way.
func (h *HTTP) admit(f *Flight) {
	x := f.Exchange
	if f == x.frame {
		h.number(x)
		f.Frame.Stream = x.Stream
	}
	h.gate.Names.name(f)
	if f == x.frame {
		x.Name = x.request.Method + " " + f.Name
		h.place(x)
	}
	h.gate.send(f, h.gate.Round)
}

// admitRest names the new requests without a frame.
func (h *HTTP) admitRest() {
	fresh := h.fresh
	h.fresh = nil
	slices.SortStableFunc(fresh, func(a, b *Exchange) int { return cmp.Compare(a.subject(), b.subject()) })
	for _, x := range fresh {
		h.number(x)
		h.gate.Names.choose(x.Lane)
		x.Name = h.gate.Names.count(transport.ClientToServer, x.subject())
		h.place(x)
	}
}

// number numbers an exchange, which begins.
func (h *HTTP) number(x *Exchange) {
	x.Stream = uint64(len(h.Exchanges) + 1)
	x.began = x
	if resumed := x.resumed(); resumed != nil {
		x.began = resumed.began
	}
	h.gate.Names.begin(x)
}

// place puts a named exchange among the exchanges: by round of the offer, then by name. Which
// goroutine ran first must not show.
func (h *HTTP) place(x *Exchange) {
	lanes := 2 * len(h.gate.Pairs) // stand before those of exchanges
	at, _ := slices.BinarySearchFunc(h.Exchanges, x, byRound)
	h.Exchanges = slices.Insert(h.Exchanges, at, x)
	h.gate.Lanes = slices.Insert(h.gate.Lanes, lanes+at, x.Lane)
	at, _ = slices.BinarySearchFunc(h.live, x, byRound)
	h.live = slices.Insert(h.live, at, x)
	h.gate.live = slices.Insert(h.gate.live, lanes+at, x.Lane)
	if from := x.began; from != x && (from.latest == nil || byRound(from.latest, x) < 0) {
		from.latest = x
	}
}

// byRound orders exchanges by the round of the offer, then by name.
func byRound(a, b *Exchange) int {
	return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.Name, b.Name))
}

// forgetFinished takes the exchanges that can have no step any more out of those that are looked through
// at each step. A client may resume a stream for ever.
func (h *HTTP) forgetFinished() {
	lanes := 2 * len(h.gate.Pairs)
	kept := 0
	for i, x := range h.live {
		if !x.finished() {
			h.live[kept] = x
			h.gate.live[lanes+kept] = h.gate.live[lanes+i]
			kept++
		}
	}
	clear(h.live[kept:])
	clear(h.gate.live[lanes+kept:])
	h.live = h.live[:kept]
	h.gate.live = h.gate.live[:lanes+kept]
}

// finished reports whether no step can come of the exchange any more.
func (x *Exchange) finished() bool {
	l := x.Lane
	return x.err != nil && (x.returned || x.told || !x.arrived) && len(x.parts) == 0 &&
		len(l.readers) == 0 && len(l.fresh) == 0 && len(l.Waiting) == 0 && len(l.Queue) == 0 && len(l.unacked) == 0
}

// steps appends the enabled steps of these kinds, by exchange.
func (h *HTTP) steps(steps []Step, kinds ...Kind) []Step {
	for _, kind := range kinds {
		for _, x := range h.live {
			if x.enabled(kind) {
				dir := transport.ClientToServer
				if kind == Head || kind == Part || kind == EOF {
					dir = transport.ServerToClient
				}
				steps = append(steps, Step{Kind: kind, Dir: dir, What: x.Name, exchange: x})
			}
		}
	}
	return steps
}

// lose takes a named frame out of the session.
func (h *HTTP) lose(f *Flight) {
	for _, c := range h.gate.Names.Calls {
		if c.Response == f {
			c.Response = nil
			c.unread = true
		}
		c.Cancelled = c.Cancelled || c.Request == f
	}
	if rules := f.Lane.pair.rules; rules != nil {
		rules.Refuse(f.sent)
		f.Lane.pair.wire.model.Lose(f.sent.Messages)
	}
	h.gate.Recall = true
}

// subject is the name of a request without a frame, before its number.
func (x *Exchange) subject() string {
	if x.resumes == "" {
		return by(x.request.Method, x.operation)
	}
	resumed := x.resumed()
	if resumed == nil {
		return by(x.request.Method+" after an unknown event", x.operation)
	}
	return x.request.Method + " (resumes " + resumed.began.Name + ")"
}

// resumed returns the exchange that had the event after which this one goes on; nil if there is none.
func (x *Exchange) resumed() *Exchange {
	if x.resumes == "" || x.pair.ids[x.resumes] == x {
		return nil
	}
	return x.pair.ids[x.resumes]
}

func (x *Exchange) enabled(kind Kind) bool {
	switch kind {
	case Arrive:
		return !x.arrived && !x.left && x.frame == nil
	case Leave:
		return x.arrived && x.left && !x.told && !x.returned
	case Cut:
		return x.gate.HTTP.cuts > 0 && x.Resumable() && x.err == nil && !x.left
	}
	next := x.next()
	return next != nil && next.kind == kind
}

// next returns the part that the reader takes next, or nil if there is none or nobody reads.
func (x *Exchange) next() *piece {
	if len(x.parts) == 0 || len(x.Lane.readers) == 0 {
		return nil
	}
	return x.parts[0]
}

// Resumable reports whether the client has the head and can go on after the last event that it
// has read.
func (x *Exchange) Resumable() bool { return x.last != "" || x.resumes != "" && x.begun }

// Over reports whether nothing can come of the exchange any more: the body has ended, or the
// client has left.
func (x *Exchange) Over() bool { return x.err != nil || x.left }

// refused reports whether the client has a status that is no success.
func (x *Exchange) refused() bool { return x.begun && x.status >= http.StatusMultipleChoices }

// release performs a step of the exchange. The gate is locked.
func (x *Exchange) release(kind Kind) {
	switch {
	case kind == Arrive:
		x.arrive()
	case kind == Take && x.frame != nil && !x.arrived:
		l := x.frame.Lane
		l.Waiting = slices.Delete(l.Waiting, slices.Index(l.Waiting, x.frame), slices.Index(l.Waiting, x.frame)+1)
		x.frame.Taken = x.gate.Round
		x.gate.given(x.frame)
		x.arrive()
	case kind == Leave:
		x.told = true
		x.end()
		x.unpark()
	case kind == Cut:
		x.gate.HTTP.cuts--
		x.leave(io.ErrUnexpectedEOF)
	default:
		x.deliver()
	}
}

func (x *Exchange) arrive() {
	x.arrived = true
	if x.request.Method == http.MethodDelete {
		x.pair.ended = true
	}
	if x.wrote != nil {
		x.gate.options.Go(func() { x.wrote(httptrace.WroteRequestInfo{}) })
	}
	if x.burst == nil {
		x.gate.options.Go(x.serve)
		return
	}
	x.burst.arrived = append(x.burst.arrived, x)
	x.gate.HTTP.begin(x.burst)
}

// deliver hands the next part to the reader.
func (x *Exchange) deliver() {
	p := x.parts[0]
	x.parts = x.parts[1:]
	x.given = append(x.given, p)
	l := x.Lane
	l.Before = l.Holder
	l.Holder = l.readers[0].goroutine
	if p.flight != nil {
		l.Waiting = slices.Delete(l.Waiting, 0, 1)
		p.flight.Taken = x.gate.Round
		x.gate.given(p.flight)
	}
	x.begun = true
	if p.id != "" {
		x.last = p.id
		if x.pair.ids[p.id] == nil {
			x.pair.ids[p.id] = x
		}
	}
	if p.ends {
		l.EOF = x.gate.Round
		x.over(io.EOF)
	}
	r := l.nextReader()
	if p.breaks {
		x.over(io.ErrUnexpectedEOF)
		r.got <- received{err: x.err}
	} else {
		r.got <- received{part: p}
	}
	if x.fits() {
		x.unpark()
	}
}

// leave ends the client's side of the exchange. What was not read is lost.
func (x *Exchange) leave(err error) {
	if x.Over() {
		return
	}
	x.left = true
	x.gate.GivenUp = true
	x.over(err)
	x.drop()
	x.Lane.wake(err)
	x.unpark()
}

// over notes that the body has ended.
func (x *Exchange) over(err error) {
	x.err = err
	x.ended = x.gate.Round
	x.Lane.Deafened = true
}

// drop loses what is kept. A server may send it again on another stream.
func (x *Exchange) drop() {
	x.Lane.fresh = nil // seen by nobody
	for _, f := range x.Lane.Waiting {
		x.gate.HTTP.lose(f)
	}
	x.Lane.Waiting = nil
	x.parts = nil
}

// withdraw takes the request back, if it has not arrived.
func (x *Exchange) withdraw() {
	g := x.gate
	x.left = true
	g.GivenUp = true
	x.over(context.Canceled)
	g.HTTP.fresh = slices.DeleteFunc(g.HTTP.fresh, func(other *Exchange) bool { return other == x })
	if x.frame != nil && g.withdraw(x.frame.Lane, x.frame) && x.Name != "" {
		g.HTTP.lose(x.frame) // it was judged when it was named
	}
	if x.burst != nil {
		g.HTTP.begin(x.burst)
	}
}

// fits reports whether the handler may go on writing.
func (x *Exchange) fits() bool { return x.Lane.Cap < 0 || len(x.parts) <= x.Lane.Cap }

func (x *Exchange) unpark() {
	for _, p := range x.parked {
		close(p)
	}
	x.parked = nil
}

// shutdown ends the exchange with the run.
func (x *Exchange) shutdown() {
	x.told = true
	if x.err == nil {
		x.leave(transport.ErrClosed)
	}
	x.end()
	x.unpark()
}

// queue keeps a part for the reader. The gate is locked.
func (x *Exchange) queue(p *piece) {
	if x.sent == nil {
		x.sent = x.header.Clone()
		if x.sent == nil {
			x.sent = http.Header{}
		}
		p.head = true
	}
	p.bytes = append(x.prefix, p.bytes...)
	p.round = x.gate.Round
	x.prefix = nil
	if p.flight != nil {
		p.flight.Exchange = x
	}
	x.parts = append(x.parts, p)
	x.gate.use(x.pair.Ends[1])
}

// offer is a frame of the response as a part.
func (x *Exchange) offer(data []byte) *piece {
	f := x.gate.flight(x.Lane, transport.Frame{Bytes: bytes.Clone(data), Stream: x.Stream}, "")
	if x.gate.options.Traced {
		f.trace(stacks.Caller())
	}
	return &piece{kind: Take, flight: f}
}

// commit sends what the handler wrote so far; all of it, if the handler has returned.
func (x *Exchange) commit() {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.left { // the socket takes it, and nobody reads it
		x.held.Reset()
		return
	}
	if !isEventStream(x.header) {
		x.commitWhole()
		return
	}
	if x.sent == nil {
		x.queue(&piece{kind: Head})
	}
	x.events(x.scanner.Scan(x.held.Bytes()))
	x.held.Reset()
	if !x.returned {
		return
	}
	events, rest := x.scanner.End()
	x.events(events)
	x.queue(&piece{kind: EOF, bytes: rest, ends: true})
}

// commitWhole sends a body that is no event stream, at its end; only the head may go before.
func (x *Exchange) commitWhole() {
	if !x.returned {
		if x.sent == nil {
			x.queue(&piece{kind: Head})
		}
		return
	}
	body := bytes.Clone(x.held.Bytes())
	x.held.Reset()
	p := &piece{kind: Head}
	if x.sent != nil {
		p.kind = EOF
	}
	if _, err := (transport.Frame{Bytes: body}).Messages(); err == nil && len(body) > 0 {
		p = x.offer(transport.TrimBlanks(body))
	}
	p.bytes = body
	p.ends = true
	x.queue(p)
}

// events queues the events of a stream.
func (x *Exchange) events(list []streamable.StreamEvent) {
	for _, e := range list {
		x.long = append(x.long, e.Data...)
		if e.More {
			continue
		}
		raw := streamable.JoinEvent(e.Meta, x.long, false)
		data := bytes.Clone(x.long)
		x.long = x.long[:0]
		fields := e.Fields()
		p := &piece{kind: Part}
		switch {
		case len(data) > 0:
			p = x.offer(data)
		case !fields.Any: // a comment
			x.prefix = append(x.prefix, raw...)
			continue
		}
		p.bytes = raw
		p.id = fields.ID
		p.event = streamable.StreamEvent{Meta: bytes.Clone(e.Meta), Stray: e.Stray}
		x.queue(p)
	}
}
