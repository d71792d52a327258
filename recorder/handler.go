package recorder

import (
	"net/http"

	"github.com/mcprec/mcprec/store"
)

// Handler returns a handler that records what next is asked and answers.
func (t *HTTPTap) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := t.begin(r)
		in := r.WithContext(r.Context())
		if !x.up.done {
			in.Body = &uploadBody{ReadCloser: r.Body, x: x}
		}
		tapped := &tappedWriter{ResponseWriter: w, x: x}
		defer func() {
			what, cause := store.HTTPEnd, ""
			p := recover()
			switch {
			case r.Context().Err() != nil:
				what, cause = hungUp(r.Context())
			case p != nil:
				what, cause = store.HTTPBroken, "the handler panicked"
			}
			tapped.finish(what, cause)
			if p != nil {
				panic(p)
			}
		}()
		next.ServeHTTP(tapped, in)
	})
}

// tappedWriter records a response as it is written.
type tappedWriter struct {
	http.ResponseWriter
	x        *exchange
	head     bool
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

// Flush is for servers that ask for an [http.Flusher].
func (w *tappedWriter) Flush() { _ = w.FlushError() }

// Unwrap lets [http.ResponseController] reach the rest.
func (w *tappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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
