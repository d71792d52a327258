package streamable

import (
	"context"
	"net/http"
	"strconv"
)

// follower is an HTTP response that is fed from a stream.
type follower struct {
	conn    *ServerConn
	stream  *httpStream
	w       http.ResponseWriter
	at      int
	begun   bool
	resumed bool
	nth     int // among the stream's
}

// follow feeds the response until it is over or the client hangs up.
func (f *follower) follow(ctx context.Context) {
	defer f.leave()
	for {
		f.conn.mu.Lock()
		step := f.stream.next(f.begun, f.resumed, f.at)
		if f.nth != f.stream.newest {
			step.kind = stepEnd
		}
		f.conn.mu.Unlock()
		if step.kind != stepWait {
			if f.do(step) {
				return
			}
			continue
		}
		select {
		case <-step.changed:
		case <-ctx.Done():
			return
		}
	}
}

// do takes one step, and reports whether it was the last.
func (f *follower) do(step followStep) (over bool) {
	switch step.kind {
	case stepBreak:
		panic(http.ErrAbortHandler)
	case stepAbsent:
		http.Error(f.w, "mcprec: the session is over", http.StatusServiceUnavailable)
		return true
	case stepPlain:
		f.respond(step.answer, "", step.event)
		return true
	case stepJSON:
		if f.respond(step.answer, "application/json", step.event) == nil {
			f.advance()
		}
		return true
	case stepHead:
		f.begun = true
		return f.respond(step.answer, "text/event-stream", nil) != nil
	case stepEvent:
		_, err := f.w.Write(step.event)
		if err == nil {
			err = http.NewResponseController(f.w).Flush()
		}
		f.advance()
		return err != nil
	}
	return true
}

// respond sends the head of the response, and its body or the beginning of that.
func (f *follower) respond(a Answer, contentType string, body []byte) error {
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	h := f.w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if contentType == "text/event-stream" {
		h.Set("Cache-Control", "no-cache, no-transform")
		h.Set("X-Accel-Buffering", "no")
	}
	if contentType != "text/event-stream" && status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	if f.conn.tell(f.stream, status) {
		h.Set("Mcp-Session-Id", f.conn.id)
	}
	f.w.WriteHeader(status)
	if len(body) > 0 {
		if _, err := f.w.Write(body); err != nil {
			return err
		}
	}
	return http.NewResponseController(f.w).Flush()
}

// advance says that an event is out.
func (f *follower) advance() {
	f.at++
	f.conn.mu.Lock()
	defer f.conn.mu.Unlock()
	f.stream.sent = max(f.stream.sent, f.at)
	f.stream.wake()
}

func (f *follower) leave() {
	c := f.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	f.stream.followers--
	f.stream.wake()
	again := f.stream.answer.IDs && f.stream.form == StreamForm // somebody may come back to it
	if f.stream.over && !again && f.stream.number != 0 {
		delete(c.streams, f.stream.number)
	}
}
