package recorder

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/streamable"
)

// RoundTripper returns a transport for HTTP clients that records what passes through
// it and next. It passes bodies on as they are read, and follows no redirect.
func (t *HTTPTap) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return &roundTripper{t, next}
}

type roundTripper struct {
	tap  *HTTPTap
	next http.RoundTripper
}

func (rt *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	x := rt.tap.begin(r)
	out := r.WithContext(x.traced(r.Context(), nil)) // a request must not be changed
	if !x.up.done {
		out.Body = &uploadBody{ReadCloser: r.Body, x: x}
		if r.GetBody != nil {
			x.resends = true
			out.GetBody = x.again(r.GetBody)
		}
	}
	resp, err := rt.next.RoundTrip(out)
	if err != nil {
		if x.resends {
			if b, err := out.GetBody(); err == nil {
				_, _ = io.Copy(io.Discard, b) // what was to be sent
			}
		}
		x.failed(r.Context(), store.HTTPNone, err)
		return resp, err
	}
	x.respond(resp.StatusCode, resp.Header, lengthOf(resp), false)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &downloadBody{ReadCloser: resp.Body, x: x, ctx: r.Context()}
	}
	return resp, nil
}

// lengthOf returns how long the response's body will be; -1: not known.
func lengthOf(r *http.Response) int64 {
	if r.Body == http.NoBody || r.StatusCode == http.StatusSwitchingProtocols {
		return 0
	}
	return r.ContentLength
}

// failed ends an exchange without a response: because of the client, whose context is
// over, or of the server.
func (x *exchange) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		x.fail(hungUp(ctx))
		return
	}
	x.fail(what, rootOf(err).Error())
}

// again returns what gives a transport the body once more, when it finds that the
// connection on which it began to send it is closed. What was recorded of it is not
// recorded again.
func (x *exchange) again(body func() (io.ReadCloser, error)) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		b, err := body()
		if err != nil {
			return nil, err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		return &uploadBody{ReadCloser: b, x: x, skip: x.up.size}, nil
	}
}

// uploadBody records a request's body as it is read. When the answer came early, Close
// and the transport may both read; what one has read is recorded before the other goes on.
type uploadBody struct {
	io.ReadCloser
	x     *exchange
	turn  sync.Mutex
	skip  int64       // how much at its beginning is recorded already
	ended atomic.Bool // who reads it came to its end
	given bool        // up: nothing more is read
}

func (b *uploadBody) Read(p []byte) (int, error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.given {
		return 0, http.ErrAbortHandler
	}
	b.x.taken(&b.x.up)
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
	}
	seen := min(int64(n), b.skip)
	b.skip -= seen
	b.x.upload(p[seen:n], endOf(err))
	return n, err
}

// endOf says what a read means for a body.
func endOf(err error) bodyEnd {
	switch err {
	case nil:
		return bodyOpen
	case io.EOF:
		return bodyWhole
	}
	return bodyCut
}

// Close of a body that was not read to its end: whoever should have got it is gone or
// needs no more. What the client sent is recorded all the same, if it is not long.
func (b *uploadBody) Close() error {
	if n := b.x.unread(); n > 0 && n <= streamable.EventLimit && !b.x.resends {
		_, _ = io.Copy(io.Discard, b)
	}
	err := b.ReadCloser.Close()
	if !b.x.resends {
		b.x.upload(nil, bodyCut) // of no effect when it was read to its end
	}
	return err
}

// unread returns how much of the request's body must still come; -1: that is not known.
func (x *exchange) unread() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.up.done:
		return 0
	case x.expects && x.up.size == 0: // nobody has told the client to send it
		return -1
	}
	return x.up.left
}

// downloadBody records a response's body as it is read.
type downloadBody struct {
	io.ReadCloser
	x      *exchange
	ctx    context.Context
	broken error // why the server's answer broke off
}

func (b *downloadBody) Read(p []byte) (int, error) {
	b.x.taken(&b.x.down)
	n, err := b.ReadCloser.Read(p)
	if n > 0 || err != nil {
		what, cause := b.ending(err)
		b.x.download(p[:n], endOf(err), what, cause)
	}
	return n, err
}

// ending says what a read that failed is to the exchange.
func (b *downloadBody) ending(err error) (what, cause string) {
	switch {
	case endOf(err) != bodyCut:
		return "", ""
	case b.ctx.Err() != nil:
		return hungUp(b.ctx)
	}
	b.broken = rootOf(err)
	return store.HTTPBroken, b.broken.Error()
}

// Close of a body that was not read to its end is how a client hangs up.
func (b *downloadBody) Close() error {
	err := b.ReadCloser.Close()
	what, cause := hungUp(b.ctx)
	b.x.download(nil, bodyCut, what, cause)
	return err
}
