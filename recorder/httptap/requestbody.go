package httptap

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/transport/streamable"
)

// uploadBody records a request's body as it is read. After an early response Close and the
// transport may both read: the bytes of one read are recorded before the next.
type uploadBody struct {
	io.ReadCloser
	x       *exchange
	mu      sync.Mutex  // held over a read
	skip    int64       // bytes at the beginning that are recorded already
	ended   atomic.Bool // the body was read to its end
	givenUp atomic.Bool // further reads fail
}

// Read implements [io.Reader].
func (b *uploadBody) Read(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.givenUp.Load() {
		return 0, http.ErrAbortHandler
	}
	b.x.passed(&b.x.up)
	n, err := b.ReadCloser.Read(data)
	if err == io.EOF {
		b.ended.Store(true)
	}
	seen := min(int64(n), b.skip)
	b.skip -= seen
	b.x.upload(data[seen:n], endOf(err))
	return n, err
}

// record records the first bytes of the body, which the proxy has read ahead.
func (b *uploadBody) record(first []byte, end bodyEnd) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended.Store(end == bodyWhole)
	b.x.upload(first, end)
}

// giveUp ends the reads of a request whose response broke off. Otherwise net/http would wait
// for the rest of the request before it closes the connection.
func (b *uploadBody) giveUp(w http.ResponseWriter) {
	if b.ended.Load() {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.givenUp.Store(true)
	b.x.upload(nil, bodyCut)
}

// isDone reports whether the body was read to its end, or given up: no read follows.
func (b *uploadBody) isDone() bool { return b.ended.Load() || b.givenUp.Load() }

// Close records a short rest of a body that was not read to its end: the server does not need
// the rest, but the client has sent it.
func (b *uploadBody) Close() error {
	if n := b.x.unread(); n > 0 && n <= streamable.EventLimit && !b.x.resends {
		_, _ = io.Copy(io.Discard, b)
	}
	err := b.ReadCloser.Close()
	if !b.x.resends {
		b.x.upload(nil, bodyCut) // does nothing if the body was read to its end
	}
	return err
}

// readAheadTime is how long the proxy waits for bytes that most clients send together with the
// bytes in front.
const readAheadTime = 10 * time.Millisecond

// readEnder is a ResponseWriter that can end a read of the request.
type readEnder interface {
	SetReadDeadline(deadline time.Time) error
}

// readAhead reads a short body before it passes the request on. If the whole body comes soon, the
// transport can send it together with the head, and again on a new connection if the old one was
// closed before the first byte. But a client may send only the head and wait for the server: after
// readAheadTime another goroutine passes the request on, while readAhead still reads.
func readAhead(server readEnder, out *http.Request, body *uploadBody, pass func()) {
	first := &firstBytes{ReadCloser: body.ReadCloser, buf: make([]byte, out.ContentLength), stopped: make(chan struct{})}
	body.ReadCloser = first
	passed := make(chan any, 1)
	beside := time.AfterFunc(readAheadTime, func() {
		if come := first.stop(); len(come) > 0 {
			body.record(come, bodyOpen)
			out.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(come), body), body}
		}
		defer func() {
			fault := recover()
			select {
			case <-first.stopped:
			default: // the server does not need the rest
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
		body.record(first.buf, bodyWhole)
		again := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(first.buf)), nil }
		out.Body, _ = again()
		// With these headers net/http sends a body again that the server may have read. Only
		// the client may decide that.
		if out.Header["Idempotency-Key"] == nil && out.Header["X-Idempotency-Key"] == nil {
			out.GetBody = again
		}
	}
	pass()
}

// firstBytes reads the first bytes of a body ahead of Read.
type firstBytes struct {
	io.ReadCloser // the body
	buf           []byte
	stopped       chan struct{} // closed when reading ahead has ended

	mu    sync.Mutex
	n     int  // bytes in buf
	given int  // bytes of them that Read or stop has returned
	stops bool // stop was called
	err   error
}

// fill reads until buf is full, or stop was called.
func (f *firstBytes) fill() (whole bool) {
	defer close(f.stopped)
	for {
		n, err := f.ReadCloser.Read(f.buf[f.n:])
		f.mu.Lock()
		f.n = f.n + n
		f.err = err
		whole = f.n == len(f.buf)
		over := whole || err != nil || f.stops
		f.mu.Unlock()
		if over {
			return whole
		}
	}
}

// stop returns the bytes so far, and leaves the following ones to Read.
func (f *firstBytes) stop() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stops = true
	f.given = f.n
	return f.buf[:f.n]
}

// Read returns the bytes that fill has read since stop, then the rest.
func (f *firstBytes) Read(data []byte) (int, error) {
	<-f.stopped
	n := copy(data, f.buf[f.given:f.n])
	f.given += n
	switch {
	case n > 0 || len(data) == 0:
		return n, nil
	case f.err != nil:
		return 0, f.err
	}
	return f.ReadCloser.Read(data)
}

// finish reads and records the rest of the request for readAheadTime: a client may send the rest
// only after the end of the response. When finish returns no read is left. Otherwise net/http,
// which then ends a read by a deadline, would wait for ever: a read that comes to the end of
// the request just then starts another one without the deadline.
func finish(w http.ResponseWriter, r *http.Request, body *uploadBody) {
	if body.isDone() {
		_ = body.Close()
		return
	}
	closed := make(chan struct{})
	go func() {
		_ = body.Close()
		close(closed)
	}()
	patience := time.NewTimer(readAheadTime)
	defer patience.Stop()
	select {
	case <-closed:
	case <-patience.C:
	}
	server := http.NewResponseController(w)
	if r.ProtoMajor != 1 || body.isDone() || server.SetReadDeadline(time.Now()) != nil {
		return
	}
	<-closed
	body.mu.Lock() // the transport may have read, too
	body.givenUp.Store(true)
	body.mu.Unlock()
	_ = server.SetReadDeadline(time.Time{}) // net/http waits for the rest before it closes
}
