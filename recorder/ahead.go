package recorder

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"github.com/mcprec/mcprec/transport"
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
	return out.ContentLength > 0 && out.ContentLength <= transport.EventLimit && out.Header.Get("Expect") == ""
}

// ahead reads what has come of a short body before it passes the request on. If that is
// all of it, the transport can send it together with the head, and once more if it finds
// its connection closed. A client may also send nothing but the head and wait for what
// the server says: after a moment the request is passed on beside the read. That costs a
// goroutine only then, for waking one takes a tenth of what a short exchange does.
func ahead(server readEnder, out *http.Request, body *uploadBody, pass func()) {
	first := &firstRead{came: make(chan struct{})}
	out.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(first, body), body}
	passed := make(chan any, 1)
	beside := time.AfterFunc(moment, func() {
		defer func() {
			fault := recover()
			if !first.over() { // nobody needs it any more
				_ = server.SetReadDeadline(time.Now())
			}
			passed <- fault
		}()
		pass()
	})
	buf := make([]byte, out.ContentLength)
	n, err := body.Read(buf)
	first.bytes, first.err = buf[:n], err
	close(first.came)
	if !beside.Stop() {
		if fault := <-passed; fault != nil {
			panic(fault)
		}
		_ = server.SetReadDeadline(time.Time{}) // net/http waits for the rest before it closes
		return
	}
	if n == len(buf) {
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf)), nil }
		out.Body, _ = out.GetBody()
	}
	pass()
}

// finish reads the rest of the request for the log. A client may wait for the end of
// the answer before it sends that: it is not made to wait for long.
func finish(body *uploadBody) {
	if body.x.unread() <= 0 {
		_ = body.Close()
		return
	}
	over := make(chan struct{})
	go func() { // it ends as what reads ahead does
		_ = body.Close()
		close(over)
	}()
	within(over)
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

// firstRead is the first read of a body, which may still be under way.
type firstRead struct {
	came  chan struct{}
	bytes []byte
	err   error
}

// over reports whether it has ended.
func (f *firstRead) over() bool {
	select {
	case <-f.came:
		return true
	default:
		return false
	}
}

// Read gives what the first read got.
func (f *firstRead) Read(p []byte) (n int, err error) {
	<-f.came
	n = copy(p, f.bytes)
	if f.bytes = f.bytes[n:]; len(f.bytes) > 0 {
		return n, nil
	}
	if f.err == nil {
		return n, io.EOF // the rest is to be read of the body
	}
	return n, f.err
}
