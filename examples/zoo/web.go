package zoo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// Web is HTTP without a network: a round trip calls the handler on a goroutine of
// its own, so that both sides can live in a bubble. As with net/http, the headers go
// out when the handler flushes, has written more than a buffer, or returns; the
// handler's context ends when the client gives up or closes the body; what the
// client has not read yet is kept without a limit.
type Web struct{ Handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (w Web) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancel(req.Context())
	asked := req.Clone(ctx)
	if asked.Body == nil {
		asked.Body = http.NoBody
	}
	asked.RemoteAddr, asked.RequestURI = "zoo:1", req.URL.RequestURI()
	a := &answer{header: http.Header{}, begun: make(chan struct{}), end: end}
	a.more.L = &a.mu
	go func() {
		defer end()
		w.Handler.ServeHTTP(a, asked)
		a.finish(io.EOF)
	}()
	context.AfterFunc(ctx, func() { a.finish(errors.Join(context.Canceled, req.Context().Err())) })
	select {
	case <-a.begun:
		return &http.Response{
			Status: http.StatusText(a.status), StatusCode: a.status, Header: a.sent, Body: a, Request: req,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		}, nil
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// buffer is how much a handler may write before net/http sends it.
const buffer = 4 << 10

// answer is a response: the handler writes it, the client reads its body.
type answer struct {
	header http.Header // the handler's
	end    context.CancelFunc

	mu     sync.Mutex // never held across a wait but more's own
	more   sync.Cond
	status int
	sent   http.Header   // as it was when the headers went out
	begun  chan struct{} // closed when they did
	held   bytes.Buffer  // not flushed
	body   bytes.Buffer  // not read
	err    error         // how it ended
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil {
		return 0, a.err
	}
	a.held.Write(b)
	if a.held.Len() > buffer {
		a.send()
	}
	return len(b), nil
}

// Flush implements http.Flusher.
func (a *answer) Flush() {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.send()
}

// finish sends what is left, and ends the body with err, unless it has ended.
func (a *answer) finish(err error) {
	a.WriteHeader(http.StatusOK)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
		a.send()
	}
}

// send hands over what is held. The lock is held.
func (a *answer) send() {
	if a.sent == nil {
		a.sent = a.header.Clone()
		if a.sent == nil {
			a.sent = http.Header{}
		}
		close(a.begun)
	}
	io.Copy(&a.body, &a.held)
	a.more.Broadcast()
}

// Read is the client's.
func (a *answer) Read(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.body.Len() == 0 && a.err == nil {
		a.more.Wait()
	}
	if a.body.Len() == 0 {
		return 0, a.err
	}
	return a.body.Read(b)
}

// Close is the client's.
func (a *answer) Close() error {
	a.end()
	return nil
}
