package recorder

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// exchange is a request with its response on their way through a tap. The two
// directions may run at once.
type exchange struct {
	tap *HTTPTap
	ask question

	mu      sync.Mutex
	rec     *recording // from its first event on
	number  uint64
	pending []item // what is logged with the next of its body
	up      body   // the request's
	down    body   // the response's
	over    bool   // its end is logged
	left    bool   // its recording knows
	resends bool   // the request's body can be read again, so its Close says nothing
	expects bool   // the client sends no body before it is told to
	stream  bool   // the server answers a GET with events
	named   bool   // the server has named the endpoint of HTTP+SSE
}

// begin starts an exchange for a request.
func (t *HTTPTap) begin(r *http.Request) *exchange {
	x := &exchange{tap: t, ask: t.ask(r), expects: r.Header.Get("Expect") != ""}
	info := &store.HTTPInfo{What: store.HTTPRequest, Method: r.Method, Path: x.ask.path,
		Header: keepHeader(r.Header), Other: x.ask.other}
	x.pending = []item{{kind: store.HTTP, dir: transport.ClientToServer, info: info}}
	empty, length := r.Body == nil || r.Body == http.NoBody, r.ContentLength
	if length == 0 && !empty { // a client's own way to say that it is not known
		length = -1
	}
	if x.up.open(transport.ClientToServer, r.Header, length, !x.ask.other); empty {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.up.done = true
		x.log(&x.up, nil)
	}
	return x
}

// upload records bytes of the request's body that are about to be passed on.
func (x *exchange) upload(chunk []byte, end bodyEnd) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for again := true; again && !x.up.done; again, chunk = x.up.full(), nil {
		x.uploaded(chunk, end)
	}
}

func (x *exchange) uploaded(chunk []byte, end bodyEnd) {
	items, _ := x.up.cut(chunk, end)
	if x.rec == nil {
		x.ask.look(items)
	}
	if len(items) > 0 || end != bodyOpen {
		x.log(&x.up, items)
	}
	x.leave()
}

// respond records the head of the response; wait: with the first of its body, before
// which the head is not passed on.
func (x *exchange) respond(status int, h http.Header, length int64, wait bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	x.stream = x.ask.method == http.MethodGet && status >= 200 && status < 300 && formOf(h.Get("Content-Type")) == formEvents
	x.down.open(transport.ServerToClient, h, length, !x.ask.other || x.stream)
	info := &store.HTTPInfo{What: store.HTTPResponse, Status: status, Header: keepHeader(h)}
	x.pending = append(x.pending, item{kind: store.HTTP, dir: transport.ServerToClient, info: info})
	if length == 0 {
		x.pending = append(x.pending, x.ending(store.HTTPEnd, ""))
	}
	if x.enter(); !wait {
		x.log(&x.down, nil)
	}
	x.tap.answered(x, status, h)
	x.leave()
}

// download records bytes of the response's body that are about to be passed on.
func (x *exchange) download(chunk []byte, end bodyEnd, what, cause string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for again := true; again && !x.over; again, chunk = x.down.full(), nil {
		x.downloaded(chunk, end, what, cause)
	}
}

func (x *exchange) downloaded(chunk []byte, end bodyEnd, what, cause string) {
	items, end := x.down.cut(chunk, end)
	x.tap.learn(x, items)
	switch end {
	case bodyWhole:
		items = append(items, x.ending(store.HTTPEnd, ""))
	case bodyCut:
		items = append(items, x.ending(what, cause))
	}
	if len(items) > 0 {
		x.log(&x.down, items)
	}
	x.leave()
}

// fail ends an exchange that got no response.
func (x *exchange) fail(what, cause string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	x.log(&x.down, []item{x.ending(what, cause)})
	x.leave()
}

// ending is the item that ends the exchange.
func (x *exchange) ending(what, cause string) item {
	x.over = true
	info := &store.HTTPInfo{What: what, Error: cause, Dropped: x.up.dropped + x.down.dropped}
	info.SetBody(x.down.rest)
	dir := transport.ServerToClient
	switch what {
	case store.HTTPAbort:
		dir = transport.ClientToServer
	case store.HTTPLeft:
		dir = transport.NoDirection
	}
	return item{kind: store.HTTP, dir: dir, info: info}
}

// leave tells the recording that nothing more comes.
func (x *exchange) leave() {
	if x.over && x.resends && !x.up.done {
		items, _ := x.up.cut(nil, bodyCut)
		x.log(&x.up, items)
	}
	if x.over && x.up.done && !x.left {
		x.left = true
		x.tap.leave(x)
	}
}

// taken records that the receiver of a body took long to take what was passed on.
func (x *exchange) taken(b *body) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if b.passed.IsZero() {
		return
	}
	blocked := time.Since(b.passed)
	b.passed = time.Time{}
	if blocked < BlockedThreshold || b.whole == 0 || x.rec == nil {
		return
	}
	x.log(b, []item{{kind: store.Delivered, dir: b.dir,
		payload: store.EncodePayload(store.DeliveredInfo{Upto: b.whole, Blocked: blocked})}})
}

// log writes the items with one write, after those that had to wait.
func (x *exchange) log(b *body, items []item) {
	if len(x.pending) > 0 {
		x.pending = append(x.pending, items...)
		items, x.pending = x.pending, nil
	}
	x.enter()
	x.rec.write(x.number, b, items)
	if len(items) > 0 {
		b.passed = time.Now()
	}
}

// enter finds the exchange's recording.
func (x *exchange) enter() {
	if x.rec == nil {
		x.rec, x.number = x.tap.enter(x)
		x.tap.open(x.rec)
	}
}

// ErrEnded is the cause with which a context is cancelled when the recorder is to end.
var ErrEnded = errors.New("the recorder ended")

// hungUp says what the end of a context was: somebody went away, or the recorder ended.
func hungUp(ctx context.Context) (what, cause string) {
	switch err := context.Cause(ctx); {
	case errors.Is(err, ErrEnded):
		return store.HTTPLeft, ""
	case err != nil && err != context.Canceled:
		return store.HTTPAbort, err.Error()
	}
	return store.HTTPAbort, ""
}

// interrupt ends an exchange in the log that has not ended on the wire.
func (x *exchange) interrupt() {
	x.upload(nil, bodyCut)
	x.download(nil, bodyCut, store.HTTPLeft, "")
}
