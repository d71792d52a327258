package httptap

import (
	"context"
	"io"
	"net/http"

	"github.com/mcprec/mcprec/store"
)

// roundTripper is the tap in a client.
type roundTripper struct {
	tap  *Tap
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (rt *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	x := rt.tap.begin(r)
	out := r.WithContext(x.traced(r.Context(), nil)) // a request must not be changed
	if !x.up.done {
		out.Body = &uploadBody{ReadCloser: r.Body, x: x}
		if r.GetBody != nil {
			x.resends = true
			// A transport calls GetBody when the connection on which it began to send the
			// body was closed. Bytes that are recorded are not recorded again.
			out.GetBody = func() (io.ReadCloser, error) {
				b, err := r.GetBody()
				if err != nil {
					return nil, err
				}
				x.mu.Lock()
				defer x.mu.Unlock()
				return &uploadBody{ReadCloser: b, x: x, skip: x.up.size}, nil
			}
		}
	}
	resp, err := rt.next.RoundTrip(out)
	if err != nil {
		if x.resends {
			if b, err := out.GetBody(); err == nil {
				_, _ = io.Copy(io.Discard, b) // records the body that was to be sent
			}
		}
		x.failRoundTrip(r.Context(), err)
		return resp, err
	}
	x.respond(resp.StatusCode, resp.Header, lengthOf(resp), false)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &downloadBody{ReadCloser: resp.Body, x: x, ctx: r.Context()}
	}
	return resp, nil
}

// lengthOf returns how long the response's body will be, or -1 if that is unknown.
func lengthOf(r *http.Response) int64 {
	if r.Body == http.NoBody || r.StatusCode == http.StatusSwitchingProtocols {
		return 0
	}
	return r.ContentLength
}

// downloadBody records a response's body as it is read.
type downloadBody struct {
	io.ReadCloser
	x      *exchange
	ctx    context.Context
	broken error // why the server's response broke off
}

// Read implements [io.Reader].
func (b *downloadBody) Read(data []byte) (int, error) {
	b.x.passed(&b.x.down)
	n, err := b.ReadCloser.Read(data)
	if n == 0 && err == nil {
		return n, err
	}
	what := ""
	cause := ""
	end := endOf(err)
	switch {
	case end != bodyCut:
	case b.ctx.Err() != nil:
		what, cause = hungUp(b.ctx)
	default:
		b.broken = store.RootCause(err)
		what = store.HTTPBroken
		cause = b.broken.Error()
	}
	b.x.download(data[:n], end, what, cause)
	return n, err
}

// Close records that the client hung up, unless the body was read to its end.
func (b *downloadBody) Close() error {
	err := b.ReadCloser.Close()
	what, cause := hungUp(b.ctx)
	b.x.download(nil, bodyCut, what, cause)
	return err
}
