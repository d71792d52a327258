package httptap

import (
	"bufio"
	"net"
	"net/http"

	"github.com/mcprec/mcprec/store"
)

// tappedHandler is the tap in a server.
type tappedHandler struct {
	tap  *Tap
	next http.Handler
}

// ServeHTTP implements [http.Handler].
func (h *tappedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := h.tap.begin(r)
	in := r.WithContext(r.Context()) // a copy, for the request must not be changed
	if !x.up.done {
		in.Body = &uploadBody{ReadCloser: r.Body, x: x}
	}
	tapped := &tappedWriter{ResponseWriter: w, x: x}
	defer func() {
		fault := recover()
		what := store.HTTPEnd
		cause := ""
		end := bodyCut
		switch {
		case r.Context().Err() != nil:
			what, cause = hungUp(r.Context())
		case fault != nil:
			what, cause = store.HTTPBroken, "the handler panicked"
		default:
			end = bodyWhole
		}
		if !tapped.hijacked {
			if !tapped.head && end == bodyWhole {
				x.respond(http.StatusOK, w.Header(), -1, false)
			}
			x.upload(nil, bodyCut)
			if !tapped.head && end == bodyCut {
				x.fail(what, cause)
			} else {
				x.download(nil, end, what, cause)
			}
		}
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
		w.x.interim(status, w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write records the bytes before they are sent.
func (w *tappedWriter) Write(data []byte) (int, error) {
	if !w.head {
		w.WriteHeader(http.StatusOK)
	}
	w.x.download(data, bodyOpen, "", "")
	n, err := w.ResponseWriter.Write(data)
	w.x.passed(&w.x.down)
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
