package gate

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Web is a client's HTTP without a network: an http.RoundTripper whose requests go to the gate's
// handler, step by step. See [Exchange].
type Web struct {
	gate *Gate
	pair *Pair
}

// Web returns the client's HTTP of a pair.
func (h *HTTP) Web(pair *Pair) Web {
	pair.lane(transport.ClientToServer).served.Store(true)
	return Web{h.gate, pair}
}

// RoundTrip implements http.RoundTripper. Like net/http it returns with the head of the response.
// The context of the request, or closing the body, gives the exchange up. A trace in the context
// learns that the request was written when it arrives.
func (w Web) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		read, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		body = read
	}
	g := w.gate
	x := &Exchange{gate: g, pair: w.pair, body: body, header: http.Header{}, resumes: req.Header.Get("Last-Event-ID")}
	x.Lane = &Lane{Dir: transport.ServerToClient, Exchange: x, Cap: g.options.S2C, pair: w.pair}
	x.Lane.Back = w.pair.lane(transport.ClientToServer)
	operation := OperationOf(req.Context())
	base := g.Context(context.Background())
	x.burst = g.HTTP.burstOf(operation)
	if x.burst != nil { // handlers that begin at the same time are told apart by it
		base = WithOperation(base, operation)
	}
	ctx, end := context.WithCancel(base)
	x.end = end
	x.request = req.Clone(ctx)
	x.request.Body = io.NopCloser(bytes.NewReader(body))
	x.request.RemoteAddr = "127.0.0.1:1"
	x.request.RequestURI = req.URL.RequestURI()
	if x.request.Host == "" {
		x.request.Host = req.URL.Host
	}
	r := newReader(g.options.Traced)
	offered := offeredOf(req.Context())
	g.Lock()
	if err := req.Context().Err(); err != nil || g.shut {
		g.Unlock()
		end()
		if err == nil {
			err = transport.ErrClosed
		}
		return nil, err
	}
	x.round = g.Round
	if offered == nil {
		x.operation = operation
	}
	if len(body) > 0 {
		x.frame = g.flight(w.pair.lane(transport.ClientToServer), transport.Frame{Bytes: body}, operation)
		x.frame.Exchange = x
		x.frame.quiet = offered != nil
		if g.options.Traced {
			x.frame.trace(stacks.Caller())
		}
	} else {
		g.HTTP.fresh = append(g.HTTP.fresh, x)
	}
	x.Lane.readers = append(x.Lane.readers, r)
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteRequest != nil {
		x.wrote = trace.WroteRequest
	}
	g.use(w.pair.Ends[0])
	g.Unlock()
	if offered != nil {
		offered()
	}
	p, err := x.take(req.Context(), r)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(x.status), StatusCode: x.status, Header: x.sent, Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Body: &responseBody{exchange: x, ctx: req.Context(), rest: p.bytes, ended: p.ends},
	}, nil
}

// take waits for the next part of a response.
func (x *Exchange) take(ctx context.Context, r *reader) (*piece, error) {
	select {
	case got := <-r.got:
		return got.part, got.err
	case <-ctx.Done():
	}
	x.gate.Lock()
	defer x.gate.Unlock()
	i := slices.Index(x.Lane.readers, r)
	if i < 0 { // given in the meantime
		got := <-r.got
		return got.part, got.err
	}
	x.Lane.readers = slices.Delete(x.Lane.readers, i, i+1)
	x.giveUp()
	return nil, ctx.Err()
}

// giveUp is the client's end of an exchange.
func (x *Exchange) giveUp() {
	if x.arrived {
		x.leave(context.Canceled)
	} else if !x.Over() {
		x.withdraw()
	}
	x.gate.Poke()
}

// responseBody is the body of a response, for one reader. Close may be called while Read waits.
type responseBody struct {
	exchange *Exchange
	ctx      context.Context // of the request

	// Guarded by the lock of the gate.
	rest  []byte
	ended bool
}

func (b *responseBody) Read(into []byte) (int, error) {
	for {
		if n, ended := b.take(into); n > 0 {
			return n, nil
		} else if ended {
			return 0, io.EOF
		}
		p, err := b.part()
		if err != nil {
			return 0, err
		}
		b.keep(p)
	}
}

// take copies what has come and was not read yet. It also reports whether nothing follows.
func (b *responseBody) take(into []byte) (n int, ended bool) {
	b.exchange.gate.Lock()
	defer b.exchange.gate.Unlock()
	n = copy(into, b.rest)
	b.rest = b.rest[n:]
	return n, b.ended && len(b.rest) == 0
}

// keep keeps a part for take.
func (b *responseBody) keep(p *piece) {
	b.exchange.gate.Lock()
	defer b.exchange.gate.Unlock()
	b.rest, b.ended = p.bytes, p.ends
}

func (b *responseBody) part() (*piece, error) {
	x := b.exchange
	r := newReader(x.gate.options.Traced)
	x.gate.Lock()
	if x.err != nil {
		x.gate.Unlock()
		return nil, x.err
	}
	x.Lane.readers = append(x.Lane.readers, r)
	x.gate.use(x.pair.Ends[0])
	x.gate.Unlock()
	return x.take(b.ctx, r)
}

// Close gives the exchange up, unless the body has ended.
func (b *responseBody) Close() error {
	x := b.exchange
	x.gate.Lock()
	defer x.gate.Unlock()
	b.rest = nil
	if !x.Over() {
		x.leave(http.ErrBodyReadAfterClose)
		x.gate.use(x.pair.Ends[0])
	}
	return nil
}

// serve runs the handler.
func (x *Exchange) serve() {
	defer x.finish()
	x.gate.HTTP.handler.ServeHTTP((*response)(x), x.request)
}

// finish sends the rest of a response.
func (x *Exchange) finish() {
	aborted := recover()
	g := x.gate
	g.Lock()
	x.returned = true
	switch {
	case x.told:
	case aborted != nil && x.sent == nil: // net/http has no response then
		x.leave(io.EOF)
	case aborted != nil && !x.left: // what is flushed arrives
		x.queue(&piece{kind: EOF, breaks: true})
	case aborted != nil:
	default:
		x.commit()
	}
	x.told = true
	g.use(x.pair.Ends[1])
	g.Unlock()
	x.end()
	if aborted != nil && aborted != http.ErrAbortHandler {
		panic(aborted)
	}
}

// response is the http.ResponseWriter of an exchange.
type response Exchange

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	w.gate.Lock()
	defer w.gate.Unlock()
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

// buffer is how much a handler may write before net/http sends it.
const buffer = 4 << 10

func (w *response) Write(b []byte) (int, error) {
	x := (*Exchange)(w)
	x.gate.Lock()
	err := x.writable()
	if err == nil {
		x.held.Write(b)
	}
	if err != nil || x.held.Len() < buffer {
		x.gate.Unlock()
		return len(b), err
	}
	return len(b), x.send()
}

func (x *Exchange) writable() error {
	switch {
	case x.returned:
		return errReturned
	case x.told:
		return errClientGone
	}
	return nil
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *response) FlushError() error {
	x := (*Exchange)(w)
	x.gate.Lock()
	if err := x.writable(); err != nil {
		x.gate.Unlock()
		return err
	}
	return x.send()
}

// SetReadDeadline is for http.ResponseController; a bubble needs no such deadline.
func (w *response) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is for http.ResponseController. It has no effect.
func (w *response) SetWriteDeadline(time.Time) error { return nil }

// send sends what is held, and waits for room. It unlocks the gate.
func (x *Exchange) send() error {
	x.commit()
	if x.fits() || x.left {
		x.gate.Unlock()
		return nil
	}
	room := make(chan struct{})
	x.parked = append(x.parked, room)
	x.gate.Unlock()
	<-room
	x.gate.Lock()
	defer x.gate.Unlock()
	if x.told {
		return errClientGone
	}
	return nil
}

func isEventStream(header http.Header) bool {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return kind == mcp.MediaEventStream
}
