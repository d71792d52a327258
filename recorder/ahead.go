package recorder

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mcprec/mcprec/transport/streamable"
)

// moment is how long is waited for bytes of a request that most clients send together
// with those before them.
const moment = 10 * time.Millisecond

// readEnder is a ResponseWriter that can end a read of the request.
type readEnder interface {
	SetReadDeadline(deadline time.Time) error
}

// isShort reports whether a body is short, and its client said so and waits for nothing
// before it sends it.
func isShort(out *http.Request) bool {
	return out.ContentLength > 0 && out.ContentLength <= streamable.EventLimit && out.Header.Get("Expect") == ""
}

// ahead reads a short body before it passes the request on. If all of it comes soon, it is
// logged at once, and the transport can send it together with the head, and once more if
// it finds its connection closed before any of it was sent. A client may also send nothing
// but the head and wait for what the server says: after a moment the request is passed on
// beside the read. That costs a goroutine only then, for waking one takes a tenth of what a
// short exchange does.
func ahead(server readEnder, out *http.Request, body *uploadBody, pass func()) {
	first := &firstBytes{ReadCloser: body.ReadCloser, buf: make([]byte, out.ContentLength), stopped: make(chan struct{})}
	body.ReadCloser = first
	passed := make(chan any, 1)
	beside := time.AfterFunc(moment, func() {
		if come := first.leave(); len(come) > 0 {
			body.came(come, bodyOpen)
			out.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(come), body), body}
		}
		defer func() {
			fault := recover()
			if !first.over() { // nobody needs it any more
				_ = server.SetReadDeadline(time.Now())
			}
			passed <- fault
		}()
		pass()
	})
	whole := first.fill()
	if !beside.Stop() {
		if fault := <-passed; fault != nil {
			panic(fault)
		}
		_ = server.SetReadDeadline(time.Time{}) // net/http waits for the rest before it closes
		return
	}
	if whole {
		body.came(first.buf, bodyWhole)
		again := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(first.buf)), nil }
		if out.Body, _ = again(); !isRepeatable(out.Header) {
			out.GetBody = again
		}
	}
	pass()
}

// isRepeatable reports whether a request has a header for which net/http sends its body
// again that the server may have read. It is its client who may do that.
func isRepeatable(h http.Header) bool {
	return h["Idempotency-Key"] != nil || h["X-Idempotency-Key"] != nil
}

// came records the first bytes of a body.
func (b *uploadBody) came(text []byte, end bodyEnd) {
	b.turn.Lock()
	defer b.turn.Unlock()
	b.ended.Store(end == bodyWhole)
	b.x.upload(text, end)
}

// finish reads the rest of the request for the log. A client may wait for the end of
// the answer before it sends that: it is not made to wait for long. Nobody may read when
// the handler returns: at the end of the request net/http would begin to read itself, and
// undo with that what it ends reads with, and wait for ever.
func finish(w http.ResponseWriter, r *http.Request, body *uploadBody) {
	if body.x.unread() <= 0 {
		_ = body.Close()
		return
	}
	over := make(chan struct{})
	go func() {
		_ = body.Close()
		close(over)
	}()
	if within(over) || r.ProtoMajor != 1 {
		return
	}
	server := http.NewResponseController(w)
	if server.SetReadDeadline(time.Now()) == nil {
		<-over
		_ = server.SetReadDeadline(time.Time{}) // net/http waits for the rest before it closes
	}
}

// giveUp ends the reads of a request whose answer broke off. Otherwise net/http would
// wait for the rest of it before it lets the client see that.
func (b *uploadBody) giveUp(w http.ResponseWriter) {
	if b.ended.Load() {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	b.turn.Lock()
	defer b.turn.Unlock()
	b.given = true
	b.x.upload(nil, bodyCut)
}

// within waits a moment for something.
func within(done <-chan struct{}) bool {
	patience := time.NewTimer(moment)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-patience.C:
		return false
	}
}

// firstBytes are the first of a body, which may still be coming.
type firstBytes struct {
	io.ReadCloser // the body
	buf           []byte
	stopped       chan struct{} // closed when nothing is read ahead any more

	mu    sync.Mutex
	n     int  // of buf, read
	given int  // of that
	left  bool // what comes now, to Read
	err   error
}

// fill reads until buf is full, or the rest is left to Read.
func (f *firstBytes) fill() (whole bool) {
	defer close(f.stopped)
	for {
		n, err := f.ReadCloser.Read(f.buf[f.n:])
		f.mu.Lock()
		f.n, f.err = f.n+n, err
		whole = f.n == len(f.buf)
		stop := whole || err != nil || f.left
		f.mu.Unlock()
		if stop {
			return whole
		}
	}
}

// leave leaves what comes from now on to Read, and returns what has come.
func (f *firstBytes) leave() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.given = true, f.n
	return f.buf[:f.n]
}

// over reports whether nothing is read ahead any more.
func (f *firstBytes) over() bool {
	select {
	case <-f.stopped:
		return true
	default:
		return false
	}
}

// Read gives what the read under way gets, then the rest.
func (f *firstBytes) Read(p []byte) (int, error) {
	<-f.stopped
	n := copy(p, f.buf[f.given:f.n])
	f.given += n
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case f.err != nil:
		return 0, f.err
	}
	return f.ReadCloser.Read(p)
}
