package gate

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcprec/mcprec/transport/mcp"
)

// Deletion ends the sessions of MCP that the server began over HTTP and that no client has ended, behind the
// end of a run: what the server keeps for a session is not left behind by a fault of its own. No step and no
// verdict of the run sees it.
type Deletion struct {
	handler  http.Handler
	requests []*http.Request
	ended    atomic.Int32 // sessions
}

// Deletion returns what ends the sessions that are open now.
func (h *HTTP) Deletion() *Deletion {
	h.gate.Lock()
	defer h.gate.Unlock()
	d := &Deletion{handler: h.handler}
	var open []string
	last := map[string]*http.Request{} // of each open session
	for _, x := range h.Exchanges {
		id := x.request.Header.Get(mcp.HeaderSessionID)
		if id == "" {
			id = x.sessionID()
		}
		switch {
		case id == "":
		case x.request.Method == http.MethodDelete && x.returned && isDeleted(x.status):
			open = slices.DeleteFunc(open, func(other string) bool { return other == id })
		case x.sessionID() == id && !slices.Contains(open, id):
			open = append(open, id)
		}
		last[id] = x.request
	}
	for _, id := range open {
		request := last[id].Clone(context.Background())
		request.Method, request.Body, request.ContentLength = http.MethodDelete, http.NoBody, 0
		request.Header.Set(mcp.HeaderSessionID, id)
		for _, name := range []string{"Content-Type", "Content-Length", mcp.HeaderLastEventID} {
			request.Header.Del(name)
		}
		d.requests = append(d.requests, request)
	}
	return d
}

// sessionID returns the session that a response names; "" for none.
func (x *Exchange) sessionID() string {
	header := x.sent
	if header == nil && x.returned { // the client has left before the head
		header = x.header
	}
	if x.status >= http.StatusMultipleChoices {
		return ""
	}
	return header.Get(mcp.HeaderSessionID)
}

// isDeleted reports whether a session is no more after the response to a DELETE.
func isDeleted(status int) bool {
	return status < http.StatusMultipleChoices || status == http.StatusNotFound || status == http.StatusGone
}

// IsEmpty reports whether there is no session to end.
func (d *Deletion) IsEmpty() bool { return len(d.requests) == 0 }

// Start sends the requests, each on a goroutine of its own.
func (d *Deletion) Start() {
	for _, request := range d.requests {
		go d.serve(request)
	}
}

func (d *Deletion) serve(request *http.Request) {
	response := unheard{header: http.Header{}}
	defer func() {
		if recover() == nil && isDeleted(response.status) { // a panic is no verdict on the run either
			d.ended.Add(1)
		}
	}()
	d.handler.ServeHTTP(&response, request)
}

// HasEnded reports whether all sessions have ended.
func (d *Deletion) HasEnded() bool { return int(d.ended.Load()) == len(d.requests) }

// StandsIn reports whether a stack is that of a request that has no response.
func (d *Deletion) StandsIn(stack string) bool {
	return strings.Contains(stack, "gate.(*Deletion).serve(")
}

// unheard is the response to a request that nobody made.
type unheard struct {
	header http.Header
	status int // 0: success
}

func (u *unheard) Header() http.Header { return u.header }

func (u *unheard) Write(b []byte) (int, error) { return len(b), nil }

func (u *unheard) WriteHeader(status int) {
	if u.status == 0 && status >= http.StatusOK {
		u.status = status
	}
}

// Flush implements http.Flusher.
func (u *unheard) Flush() {}
