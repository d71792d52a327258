package check

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// course is how far an HTTP exchange has come. What has none of HTTP, as a pipe, is
// exchange 0, which has no events of its own.
type course struct {
	lanes    [3]lane
	asked    uint64 // its request
	askedAt  time.Duration
	posted   string                 // what a request's body holds that is no call; "" where it holds one
	undo     []func(refusal string) // of what its request's body did; see notTaken
	answered uint64                 // the first of its response
	spoken   uint64                 // the first frame or event of its response
	ended    uint64
	hungUp   bool   // the client ended it
	cut      bool   // the client or the recorder ended it: what the server had sent may still come
	method   string // HTTP's
	session  string // the protocol session that it names
	version  string // the revision that its request's header names
	status   int    // of its response
	single   bool   // its response is one body, and no stream
	place    place  // in the stream that it is, or takes up again
	resumed  bool   // it takes up a stream
	answers  bool   // it is the stream of HTTP+SSE on which answers come
	again    bool   // its server has said how to take it up again
}

// courses are those of the exchanges. One that has ended is remembered until there are
// many: what may still be seen of it comes soon.
type courses struct {
	all  map[uint64]*course
	left int // that were left when some were last let go
}

func newCourses() courses { return courses{all: map[uint64]*course{0: {}}} }

// of returns an exchange; nil of one that was never begun.
func (c *courses) of(stream uint64) *course { return c.all[stream] }

// begin returns an exchange, a new one if need be.
func (c *courses) begin(stream uint64) *course {
	x := c.all[stream]
	if x == nil {
		if len(c.all) >= 2*max(1024, c.left) {
			maps.DeleteFunc(c.all, func(n uint64, old *course) bool { return n != 0 && (old.ended != 0 || old.asked == 0) })
			c.left = len(c.all)
		}
		x = &course{}
		c.all[stream] = x
	}
	return x
}

// asks takes note of the request of an exchange.
func (f *Fold) asks(e store.Event, info store.HTTPInfo) *course {
	x := f.courses.begin(e.Stream)
	if x.ended != 0 { // its number is given again
		*x = course{}
	}
	if x.answered != 0 {
		f.finds(answersRaw, transport.ServerToClient, "", []uint64{e.Seq, x.answered}, "the request of exchange %d stands behind its response (#%d)", e.Stream, x.answered)
	}
	x.asked, x.askedAt, x.method = e.Seq, e.At, info.Method
	x.session, x.version = headerOf(info.Header, "Mcp-Session-Id"), headerOf(info.Header, "Mcp-Protocol-Version")
	return x
}

// responds takes note of what is of an exchange's response.
func (f *Fold) responds(e store.Event, what string) *course {
	x := f.courses.begin(e.Stream)
	if x.answered == 0 {
		x.answered = e.Seq
	}
	if x.ended != 0 && !x.cut {
		f.finds(afterBody, transport.ServerToClient, "", []uint64{e.Seq, x.ended}, "the server sent %s of exchange %d after its end (#%d)", what, e.Stream, x.ended)
	}
	return x
}

// passes takes note of a frame, and is rule U3 of it.
func (f *Fold) passes(e store.Event, p order.Parsed) *course {
	if e.Stream != 0 && e.Dir == transport.ServerToClient {
		x := f.responds(e, "a frame")
		if x.spoken == 0 {
			x.spoken = e.Seq
		}
	}
	x := f.courses.begin(e.Stream)
	x.lanes[e.Dir].sent = e.Seq
	f.flying.sends(e, p)
	if e.Stream != 0 && e.Dir == transport.ClientToServer && x.spoken != 0 && x.ended == 0 && x.status < 300 {
		f.finds(answersRaw, transport.ServerToClient, "", []uint64{e.Seq, x.spoken}, "the body of the request of exchange %d stands behind a frame of its response (#%d)", e.Stream, x.spoken)
	}
	return x
}

// refused reports whether HTTP refused an exchange. A body may say why, in the words of a
// login or of a web framework: it need not be a message.
func (x *course) refused() bool { return x.status >= 300 }

// turnedAway reports whether HTTP refused an exchange by a status that is about the exchange
// and not about the message in it, as for a login or where the server is busy: a client may
// send the message again, whatever the body says.
func (x *course) turnedAway() bool {
	switch x.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// answersInWords reports whether the body of a refusal is the response to a request. A
// JSON-RPC error without an id, which a body may be too, answers none.
func answersInWords(p order.Parsed) bool {
	if len(p.Messages) != 1 {
		return false
	}
	m := &p.Messages[0]
	return m.Kind() == transport.Response && saysJSONRPC(m.Raw) && m.ID != nil && string(m.ID) != "null"
}

// closedByClient returns the event with which a client of HTTP+SSE closed the stream that
// answers come on; 0 where some such stream is open.
func (f *Fold) closedByClient() uint64 {
	last := f.courses.of(f.scopes.answers)
	if !f.scopes.events || last == nil || !last.hungUp {
		return 0
	}
	for _, x := range f.courses.all {
		if x.answers && x.ended == 0 {
			return 0
		}
	}
	return last.ended
}

// headed takes note of the head of a response.
func (f *Fold) headed(e store.Event, info store.HTTPInfo) {
	x := f.responds(e, "the head")
	f.heads = true
	x.status = info.Status
	if id := headerOf(info.Header, "Mcp-Session-Id"); id != "" {
		x.session = id
	}
	if !x.refused() {
		x.undo = nil
	}
	if info.Status == 202 && len(f.scopes.asked[e.Stream]) > 0 {
		f.scopes.events = true // the answer comes on another stream: HTTP+SSE, whose beginning is not here
	}
	kind, _, _ := strings.Cut(headerOf(info.Header, "Content-Type"), ";")
	x.single = strings.EqualFold(strings.TrimSpace(kind), "application/json")
}

// posts takes note of a POST that asks for nothing, such as a notification: what answers
// it is a status.
func (x *course) posts(p order.Parsed) {
	if x.asked == 0 || x.method != "POST" || x.answered != 0 || len(p.Messages) == 0 {
		return
	}
	for i := range p.Messages {
		if p.Messages[i].Kind() == transport.Request {
			return
		}
	}
	if x.posted = clip(p.Messages[0].Method); p.Messages[0].Kind() == transport.Response {
		x.posted = "the response to id " + clip(string(p.Messages[0].ID))
	}
}

// leavesPost is rule E14 of an exchange that ends. A client that hangs up at once leaves
// it, and where the recorder ended first nothing is known.
func (f *Fold) leavesPost(e store.Event, x *course, info store.HTTPInfo) {
	waited := e.At - x.askedAt
	if x.posted == "" || x.answered != 0 || x.ended != 0 || info.What == store.HTTPLeft || info.What == store.HTTPAbort && waited < leftFor {
		return
	}
	f.finds(unreceived, transport.ServerToClient, f.revisionOf(x), []uint64{x.asked, e.Seq}, "the server did not answer the POST of %s (exchange %d) in %v: %s", x.posted, e.Stream, phrase.Brief(waited), httpEnding(info, e.Seq))
}

// leavesPosts is rule E14 of the exchanges that are open at the end of a session. It says
// nothing where the recording has no status of any.
func (f *Fold) leavesPosts() {
	if !f.heads || !f.end.sealed {
		return
	}
	for _, stream := range slices.Sorted(maps.Keys(f.courses.all)) {
		if x := f.courses.all[stream]; x.posted != "" && x.answered == 0 && x.ended == 0 {
			f.finds(unreceived, transport.ServerToClient, f.revisionOf(x), []uint64{x.asked, f.seq}, "the server did not answer the POST of %s (exchange %d) in %v, to the end of the recording", x.posted, stream, phrase.Brief(f.at-x.askedAt))
		}
	}
}

// headerOf returns a header's first value, however its name is spelled.
func headerOf(header map[string][]string, name string) string {
	values, ok := header[name]
	if !ok {
		for spelled, v := range header {
			if strings.EqualFold(spelled, name) {
				values = v
			}
		}
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// revisionOf is the revision in force for an exchange: the session's, or what its
// request's header names.
func (f *Fold) revisionOf(x *course) string {
	own := f.scopes.session
	if named := f.scopes.sessions[x.session]; named != nil {
		own = named
	}
	if r := own.rules.Revision(); r != "" {
		return r
	}
	return x.version
}

// resumes reports whether a revision has streams that are taken up again.
func resumes(revision string) bool {
	return revision >= streams && revision < order.Revision2026_07_28
}
