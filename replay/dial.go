package replay

import (
	"net/http"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Dial returns what connects the client's half of a recording to a server over HTTP
// as the recorded client was: in one session or in several, with the standalone
// stream if that client had it. A response that is no success and has no message is
// as it should be when it was recorded for the same request.
func Dial(events []store.Event, url string) streamable.Client {
	x := exchangesOf(events)
	client := streamable.Client{URL: url, Legacy: x.legacy, Listen: x.listenTime()}
	if len(x.order) == 0 {
		return client
	}
	of := x.sessions()
	client.Session = func(stream uint64) string { return of[stream] }
	refused := newRefusals(Rules{}, x).byNumber()
	client.Manner = func(stream uint64) *streamable.Manner {
		ex := x.byNumber[stream]
		if ex == nil {
			return nil
		}
		m := &streamable.Manner{Routing: routingOf(ex.request), MayBreak: ex.none, Awaits: ex.noneFirst}
		if f := refused[stream]; f != nil {
			f.describe(m)
		}
		return m
	}
	client.Forgive = func(stream uint64, e *streamable.StatusError) bool {
		ex := x.byNumber[stream]
		return ex != nil && ex.status == e.Status
	}
	return client
}

// routingOf returns the headers by which a request is routed.
func routingOf(h http.Header) http.Header {
	of := http.Header{}
	for name, values := range h {
		if isRouting(name) {
			of[name] = values
		}
	}
	return of
}

// isRouting reports whether a header of a request is one by which it is routed.
func isRouting(name string) bool {
	return strings.HasPrefix(name, "Mcp-") && name != "Mcp-Session-Id"
}

// listenTime is when the recorded client asked for the standalone stream, which it
// need not have got. One on stdio had nothing to ask for.
func (x *exchanges) listenTime() streamable.ListenTime {
	initialized := false
	for _, ex := range x.order {
		switch {
		case x.legacy:
			return streamable.ListenNever
		case ex.method == http.MethodGet && ex.resumes == "" && initialized:
			return streamable.ListenInitialized
		case ex.method == http.MethodGet && ex.resumes == "" && ex.session != "":
			return streamable.ListenAnswered
		}
		initialized = initialized || ex.initialized
	}
	if len(x.order) == 0 {
		return streamable.ListenInitialized
	}
	return streamable.ListenNever
}
