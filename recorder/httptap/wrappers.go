package httptap

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"

	"github.com/mcprec/mcprec/store"
)

// roundTripper is the tap in a client.
type roundTripper struct {
	tap  *Tap
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
				_, _ = io.Copy(io.Discard, b) // records the body that was to be sent
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

// lengthOf returns how long the response's body will be, -1 if that is not known.
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

func (b *downloadBody) Read(p []byte) (int, error) {
	b.x.taken(&b.x.down)
	n, err := b.ReadCloser.Read(p)
	if n == 0 && err == nil {
		return n, err
	}
	what, cause, end := "", "", endOf(err)
	switch {
	case end != bodyCut:
	case b.ctx.Err() != nil:
		what, cause = hungUp(b.ctx)
	default:
		b.broken = store.RootCause(err)
		what, cause = store.HTTPBroken, b.broken.Error()
	}
	b.x.download(p[:n], end, what, cause)
	return n, err
}

// Close records that the client hung up, unless the body was read to its end.
func (b *downloadBody) Close() error {
	err := b.ReadCloser.Close()
	what, cause := hungUp(b.ctx)
	b.x.download(nil, bodyCut, what, cause)
	return err
}

// tappedHandler is the tap in a server.
type tappedHandler struct {
	tap  *Tap
	next http.Handler
}

func (h *tappedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := h.tap.begin(r)
	in := r.WithContext(r.Context()) // a copy, for the request must not be changed
	if !x.up.done {
		in.Body = &uploadBody{ReadCloser: r.Body, x: x}
	}
	tapped := &tappedWriter{ResponseWriter: w, x: x}
	defer func() {
		what, cause := store.HTTPEnd, ""
		fault := recover()
		switch {
		case r.Context().Err() != nil:
			what, cause = hungUp(r.Context())
		case fault != nil:
			what, cause = store.HTTPBroken, "the handler panicked"
		}
		tapped.finish(what, cause)
		if fault != nil {
			panic(fault)
		}
	}()
	h.next.ServeHTTP(tapped, in)
}

// tappedWriter records a response as it is written.
type tappedWriter struct {
	http.ResponseWriter
	x        *exchange
	head     bool // the head is written
	hijacked bool
}

// WriteHeader records the head before it is sent.
func (w *tappedWriter) WriteHeader(status int) {
	switch {
	case w.head:
	case status >= 200:
		w.head = true
		w.x.respond(status, w.Header(), -1, false)
	default:
		w.x.informed(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write records the bytes before they are sent.
func (w *tappedWriter) Write(p []byte) (int, error) {
	if !w.head {
		w.WriteHeader(http.StatusOK)
	}
	w.x.download(p, bodyOpen, "", "")
	n, err := w.ResponseWriter.Write(p)
	w.x.taken(&w.x.down)
	return n, err
}

// FlushError lets [http.ResponseController] flush.
func (w *tappedWriter) FlushError() error {
	if !w.head {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements [http.Flusher].
func (w *tappedWriter) Flush() { _ = w.FlushError() }

// Unwrap lets [http.ResponseController] find the other methods of the writer below.
func (w *tappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack gives the handler the connection. Its bytes are not recorded: the exchange ends here.
func (w *tappedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.hijacked = true
		what := store.HTTPNone
		if w.head {
			what = store.HTTPLeft
		}
		w.x.fail(what, "the handler took the connection over; what passes on it is not recorded")
		w.x.upload(nil, bodyCut)
	}
	return conn, buffered, err
}

// finish records how the handler ended.
func (w *tappedWriter) finish(what, cause string) {
	x := w.x
	if w.hijacked {
		return
	}
	if !w.head && what == store.HTTPEnd {
		x.respond(http.StatusOK, w.Header(), -1, false)
	}
	x.upload(nil, bodyCut)
	end := bodyCut
	if what == store.HTTPEnd {
		end = bodyWhole
	}
	if !w.head && end == bodyCut {
		x.fail(what, cause)
		return
	}
	x.download(nil, end, what, cause)
}
