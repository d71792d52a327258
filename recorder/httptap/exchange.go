package httptap

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport"
)

// exchange is a request with its response on their way through a tap. The two directions may
// run at the same time.
type exchange struct {
	tap     *Tap
	request requestInfo

	mu      sync.Mutex
	rec     *recording // nil until the first event is written
	number  uint64
	pending []recorder.Item // written together with the next part of a body
	up      body            // the request's
	down    body            // the response's
	over    bool            // its end is written
	left    bool            // it has left its recording
	resends bool            // the request's body can be read again, so Close is no sign of the end
	expects bool            // the client waits for a status before it sends the body
	stream  bool            // the server answers a GET with events
	named   bool            // the server has named the endpoint of HTTP+SSE
}

// begin starts an exchange for a request.
func (t *Tap) begin(r *http.Request) *exchange {
	x := &exchange{tap: t, request: t.classify(r), expects: r.Header.Get("Expect") != ""}
	info := &store.HTTPInfo{What: store.HTTPRequest, Method: r.Method, Path: x.request.path,
		Header: httpevent.Header(r.Header), Other: x.request.other}
	x.pending = []recorder.Item{{Kind: store.HTTP, Dir: transport.ClientToServer, Info: info}}
	empty, length := r.Body == nil || r.Body == http.NoBody, r.ContentLength
	if length == 0 && !empty { // in a client 0 means unknown
		length = -1
	}
	x.up.open(transport.ClientToServer, r.Header, length, !x.request.other)
	if empty {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.up.done = true
		x.write(&x.up, nil)
	}
	return x
}

// upload records bytes of the request's body before they pass.
func (x *exchange) upload(chunk []byte, end bodyEnd) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for again := true; again && !x.up.done; again, chunk = x.up.full(), nil {
		items, _ := x.up.cut(chunk, end)
		if x.rec == nil {
			x.request.guess(items)
		}
		x.announce(&x.up)
		if len(items) > 0 || end != bodyOpen {
			x.write(&x.up, items)
		}
		x.leave()
	}
}

// unread returns how much of the request's body must still come, or -1 if unknown.
func (x *exchange) unread() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.up.done:
		return 0
	case x.expects && x.up.size == 0: // the client still waits for a status
		return -1
	}
	return x.up.left
}

// traced returns a context in which a transport reports interim responses: they are recorded,
// and given to pass, which may be nil.
func (x *exchange) traced(ctx context.Context, pass func(status int, h http.Header)) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
		x.interim(status, http.Header(h))
		if pass != nil {
			pass(status, http.Header(h))
		}
		return nil
	}})
}

// interim records an interim response.
func (x *exchange) interim(status int, header http.Header) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	it := recorder.Item{Kind: store.HTTP, Dir: transport.ServerToClient,
		Info: &store.HTTPInfo{What: store.HTTPInterim, Status: status, Header: httpevent.Header(header)}}
	if x.rec == nil { // the request's body decides which recording it is
		x.pending = append(x.pending, it)
		return
	}
	x.write(&x.down, []recorder.Item{it})
}

// respond records the head of the response. If wait is set, the head is passed on with the
// first bytes of its body, and recorded with them.
func (x *exchange) respond(status int, h http.Header, length int64, wait bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	x.stream = x.request.method == http.MethodGet && status >= 200 && status < 300 && formOf(h.Get("Content-Type")) == formEvents
	x.down.open(transport.ServerToClient, h, length, !x.request.other || x.stream)
	info := &store.HTTPInfo{What: store.HTTPResponse, Status: status, Header: httpevent.Header(h)}
	x.pending = append(x.pending, recorder.Item{Kind: store.HTTP, Dir: transport.ServerToClient, Info: info})
	if length == 0 {
		x.pending = append(x.pending, x.end(store.HTTPEnd, ""))
	}
	x.enter()
	if !wait {
		x.write(&x.down, nil)
	}
	x.tap.responded(x, status, h)
	x.leave()
}

// download records bytes of the response's body before they pass; what and cause describe the end
// of the exchange if end is bodyCut.
func (x *exchange) download(chunk []byte, end bodyEnd, what, cause string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for again := true; again && !x.over; again, chunk = x.down.full(), nil {
		items, end := x.down.cut(chunk, end)
		x.announce(&x.down)
		x.tap.findEndpoint(x, items)
		switch end {
		case bodyWhole:
			items = append(items, x.end(store.HTTPEnd, ""))
		case bodyCut:
			items = append(items, x.end(what, cause))
		}
		if len(items) > 0 {
			x.write(&x.down, items)
		}
		x.leave()
	}
}

// announce notes the length of a body in its head, which is recorded with the first bytes, if more is to
// come: the rest may never come.
func (x *exchange) announce(body *body) {
	if body.left <= 0 {
		return
	}
	for _, it := range x.pending {
		if it.Dir == body.dir && (it.Info.What == store.HTTPRequest || it.Info.What == store.HTTPResponse) {
			it.Info.Length = body.size + body.left
		}
	}
}

// passed records how long the receiver blocked the last write of a body, if it was long.
func (x *exchange) passed(body *body) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if body.recorded.IsZero() {
		return
	}
	blocked := x.rec.Now().Sub(body.recorded)
	body.recorded = time.Time{}
	if blocked < recorder.BlockedThreshold || body.rec.Whole() == 0 {
		return
	}
	x.write(body, []recorder.Item{{Kind: store.Delivered, Dir: body.dir,
		Payload: store.EncodePayload(store.DeliveredInfo{Upto: body.rec.Whole(), Blocked: blocked})}})
}

// fail ends an exchange without a response.
func (x *exchange) fail(what, cause string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	x.write(&x.down, []recorder.Item{x.end(what, cause)})
	x.leave()
}

// failRoundTrip ends an exchange whose round trip failed: if the context is over, the client has
// hung up.
func (x *exchange) failRoundTrip(ctx context.Context, err error) {
	if ctx.Err() != nil {
		x.fail(hungUp(ctx))
		return
	}
	x.fail(store.HTTPNone, store.RootCause(err).Error())
}

// ErrEnded is the cause with which a context is cancelled because the recorder ends.
var ErrEnded = errors.New("the recorder ended")

// hungUp tells from an ended context whether the client went away or the recorder ended.
func hungUp(ctx context.Context) (what, cause string) {
	switch err := context.Cause(ctx); {
	case errors.Is(err, ErrEnded):
		return store.HTTPLeft, ""
	case err != nil && err != context.Canceled:
		return store.HTTPAbort, err.Error()
	}
	return store.HTTPAbort, ""
}

// end returns the item that ends the exchange.
func (x *exchange) end(what, cause string) recorder.Item {
	x.over = true
	info := &store.HTTPInfo{What: what, Error: cause}
	info.SetBody(x.down.rest)
	dir := transport.ServerToClient
	switch what {
	case store.HTTPAbort:
		dir = transport.ClientToServer
	case store.HTTPLeft:
		dir = transport.NoDirection
	}
	return recorder.Item{Kind: store.HTTP, Dir: dir, Info: info, Ends: []*recorder.Stream{&x.up.rec, &x.down.rec}}
}

// leave leaves the recording when the exchange is over in both directions.
func (x *exchange) leave() {
	if x.over && x.resends && !x.up.done {
		items, _ := x.up.cut(nil, bodyCut)
		x.write(&x.up, items)
	}
	if x.over && x.up.done && !x.left {
		x.left = true
		x.tap.leave(x)
	}
}

// write records the pending items and then these, with one write.
func (x *exchange) write(body *body, items []recorder.Item) {
	if len(x.pending) > 0 {
		items = append(x.pending, items...)
		x.pending = nil
	}
	x.enter()
	body.rec.Write(items)
	if len(items) > 0 {
		body.recorded = x.rec.Now()
	}
}

// enter finds the exchange's recording.
func (x *exchange) enter() {
	if x.rec != nil {
		return
	}
	x.rec, x.number = x.tap.enter(x)
	x.tap.open(x.rec)
	x.up.rec = x.rec.Stream(x.number, transport.ClientToServer)
	x.down.rec = x.rec.Stream(x.number, transport.ServerToClient)
}
