package replay

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Dial returns what connects the client's half of a recording to a server over HTTP
// as the recorded client was: in one session or in several, with the standalone
// stream if that client had it. A response that is no success and has no message is
// as it should be when it was recorded for the same request.
func Dial(events []store.Event, url string) transport.HTTPClient {
	x := exchangesOf(events)
	client := transport.HTTPClient{URL: url, Legacy: x.legacy, Listen: len(x.order) == 0 || x.asksToListen()}
	if len(x.order) == 0 {
		return client
	}
	of := x.sessions()
	client.Session = func(stream uint64) string { return of[stream] }
	client.Routing = func(stream uint64) http.Header {
		if ex := x.byNumber[stream]; ex != nil {
			return ex.routing
		}
		return nil
	}
	client.Forgive = func(stream uint64, e *transport.StatusError) bool {
		ex := x.byNumber[stream]
		return ex != nil && ex.status == e.Status
	}
	return client
}

// isRouting reports whether a header of a request is one by which it is routed.
func isRouting(name string) bool {
	return strings.HasPrefix(name, "Mcp-") && name != "Mcp-Session-Id"
}

// asksToListen reports whether the recorded client asked for the standalone stream,
// which it need not have got.
func (x *exchanges) asksToListen() bool {
	return !x.legacy && slices.ContainsFunc(x.order, func(ex *exchange) bool {
		return ex.method == http.MethodGet && ex.resumes == ""
	})
}
