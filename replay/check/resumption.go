package check

import (
	"hash/maphash"
	"net/http"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rule P11.
var (
	resumptionRule = newRule(order.Rule{ID: "P11", Name: "resumption",
		Why: `A client that lost a stream says which event it has, and the server sends what came behind it
on that stream. What is of another stream, or was there before, is answered or counted twice.
2026-07-28 has none of this: with its stream a request is lost.`,
		Example: `http/c2s/1 {"what":"request","method":"POST","path":"/"}
>1 {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
http/s2c/1 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"],"Mcp-Session-Id":["s"]}}
http/s2c/1 {"what":"event","sse":{"id":"1-1"}}
<1 {"id":0,"result":{"protocolVersion":"2025-11-25"}}
http/s2c/1 {"what":"end"}
http/c2s/2 {"what":"request","method":"POST","path":"/","header":{"Mcp-Session-Id":["s"]}}
>2 {"method":"notifications/initialized"}
http/s2c/2 {"what":"response","status":202}
http/c2s/3 {"what":"request","method":"POST","path":"/","header":{"Mcp-Session-Id":["s"]}}
>3 {"id":1,"method":"tools/call","params":{"name":"count","_meta":{"progressToken":"t"}}}
http/s2c/3 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}
http/s2c/3 {"what":"event","sse":{"id":"3-1"}}
<3 {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}
http/s2c/3 {"what":"broken","error":"reset"}
http/c2s/4 {"what":"request","method":"GET","path":"/","header":{"Mcp-Session-Id":["s"],"Last-Event-Id":["3-1"]}}
http/s2c/4 {"what":"response","status":200,"header":{"Content-Type":["text/event-stream"]}}
http/s2c/4 {"what":"event","sse":{"id":"1-1"}}
<4 {"id":0,"result":{"protocolVersion":"2025-11-25"}}
http/s2c/4 {"what":"event","sse":{"id":"3-2"}}
<4 {"id":1,"result":{}}
http/s2c/4 {"what":"end"}`})
	eventIDUnique  = newDemand(resumptionRule, "an event has an id of its own", order.Error, pageResumability, firstHTTP, lastHandshake)
	eventForward   = newDemand(resumptionRule, "redelivery keeps the stream's order, and gives nothing twice", order.Error, pageResumability, firstHTTP, lastHandshake)
	eventOfStream  = newDemand(resumptionRule, "no event of another stream is redelivered", order.Error, pageResumability, firstHTTP, lastHandshake)
	eventKnown     = newDemand(resumptionRule, "a stream is taken up behind an event that was received", order.Warning, pageResumability, firstHTTP, lastHandshake)
	responseStream = newDemand(resumptionRule, "a response comes on its request's stream, or where that is taken up again", order.Error,
		"basic/transports, Listening for Messages from the Server", firstHTTP, lastHandshake)
	notResumed = newDemand(resumptionRule, "a lost stream is not taken up again", order.Warning, pageHTTP+", Receiving Messages", newest, newest)
)

const pageResumability = "basic/transports, Resumability and Redelivery"

// resumption is rule P11. It remembers the positions of the latest events with an id, by
// session and id: a client resumes a stream where the stream was cut, not long ago.
type resumption struct {
	*exchanges
	sent recent[uint64, position]
}

// position is the place of an event in a stream.
type position struct {
	*eventStream
	n   uint64 // from 1
	seq uint64 // of the event; 0: a client's claim
}

// eventStream is a stream of server-sent events, over the first exchange and those resuming.
type eventStream struct {
	events uint64 // events with an id
}

// maxEvents is how many events with an id are remembered.
const maxEvents = 1 << 17

// hasResumption reports whether a revision has resumable streams.
func hasResumption(revision string) bool {
	return revision >= firstHTTP && revision < mcp.Revision2026_07_28
}

var idSeed = maphash.MakeSeed()

func eventKey(sessionID, id string) uint64 {
	return maphash.Comparable(idSeed, [2]string{sessionID, id})
}

// onRequest judges a request to resume a stream behind an event.
func (r *resumption) onRequest(e store.Event, x *exchange) {
	id := firstHeader(x.headers, mcp.HeaderLastEventID)
	if id == "" {
		return
	}
	x.resumes = true
	revision := r.revisionOf(x)
	if revision >= mcp.Revision2026_07_28 {
		r.report(notResumed, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s of a stream", clip(id))
		return
	}
	last, known := r.sent.get(eventKey(x.sessionID, id))
	if known {
		x.position = position{eventStream: last.eventStream, n: last.n}
		return
	}
	if own := r.byID[x.sessionID]; own != nil && own.beginning == middle {
		own.reportMiddle(r.reporter)
	} else if hasResumption(revision) {
		r.report(eventKnown, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s, which was never sent in its session", clip(id))
	}
}

// onEvent judges an event with an id. It reports whether a resumed stream has it again.
func (r *resumption) onEvent(e store.Event, x *exchange, id string) bool {
	key := eventKey(x.sessionID, id)
	before, known := r.sent.get(key)
	if !known {
		if x.position.eventStream == nil {
			x.position.eventStream = &eventStream{}
		}
		x.position.events++
		x.position.n = x.position.events
		r.sent.put(key, position{x.position.eventStream, x.position.n, e.Seq})
		return false
	}
	// A recording without sessions may have several clients, each with ids of its own.
	if revision := r.revisionOf(x); hasResumption(revision) && (x.sessionID != "" || x.resumes) {
		report := func(d order.Demand, format string) {
			r.report(d, transport.ServerToClient, revision, []uint64{e.Seq, before.seq}, format, clip(id), before.seq)
		}
		switch own := x.position.eventStream; {
		case !x.resumes:
			report(eventIDUnique, "the server sent event %s, which has the id of #%d")
		case own != nil && own != before.eventStream:
			report(eventOfStream, "the server sent event %s again, which is of another stream (#%d)")
		case before.n <= x.position.n:
			report(eventForward, "the server sent event %s again (#%d), which is not behind what the client has")
		}
	}
	if x.position.eventStream == nil {
		x.position.eventStream = before.eventStream
	}
	if x.position.eventStream == before.eventStream {
		x.position.n = max(x.position.n, before.n)
	}
	return x.resumes
}

// onResponse judges a response on a stream opened with GET.
func (r *resumption) onResponse(e store.Event, x *exchange, id string) {
	if revision := r.revisionOf(x); x.method == http.MethodGet && !x.resumes && !x.refused() && id != "null" && !r.isSSE && hasResumption(revision) {
		r.report(responseStream, transport.ServerToClient, revision, []uint64{e.Seq, x.requested.seq}, "the server sent the response to id %s on a stream that the client opened with GET (#%d)", clip(id), x.requested.seq)
	}
}
