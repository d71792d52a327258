package why

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// exchange is an HTTP exchange.
type exchange struct {
	*timeline.Exchange
	posted    string // the message in a body without a request
	calls     int
	answers   []*call // requests of the server that the client's frames answered
	heard     moment  // the last event of the stream
	orphan    frame   // a response to no request
	resumable bool    // the server said how to resume
	lastID    string
	resumes   bool      // its request resumes a stream
	next      *exchange // that resumes this one
}

func momentOf(m timeline.Moment) moment { return moment{m.Seq, m.At} }

// onHTTP follows an exchange.
func (f *Fold) onHTTP(step timeline.Step) {
	if f.exchanges == nil {
		f.exchanges = map[uint64]*exchange{}
		f.deleted = map[*timeline.Scope]moment{}
		f.streams = map[*timeline.Scope]*exchange{}
	}
	info := step.HTTP
	if info == nil {
		return
	}
	if info.What == store.HTTPRequest {
		x := &exchange{Exchange: step.Exchange}
		f.exchanges[step.Stream] = x
		if id := strings.Join(info.Header[mcp.HeaderLastEventID], ", "); id != "" && info.Method == "GET" {
			f.resume(x, id)
		}
		return
	}
	x := f.exchanges[step.Stream]
	if x == nil {
		return
	}
	switch info.What {
	case store.HTTPResponse:
		if x.Method == "DELETE" && step.Scope.Session != "" && !x.IsRefused() {
			f.deleted[step.Scope] = momentOf(x.Asked)
		}
	case store.HTTPEvent:
		x.heard = f.now
		if info.SSE == nil {
			return
		}
		x.resumable = x.resumable || info.SSE.ID != "" || info.SSE.Retry != ""
		if info.SSE.ID != "" {
			x.lastID = info.SSE.ID
		}
		if info.SSE.Event == "endpoint" {
			f.isSSE = true
			f.streams[step.Scope] = x
		}
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		delete(f.exchanges, step.Stream)
		for _, left := range step.Left {
			if c := f.pending[left]; c != nil && info.What == store.HTTPAbort {
				f.repeats.onFailure(c, hungUp, "", f.now)
			}
		}
		for _, c := range step.Over {
			delete(f.pending, c)
		}
		if x.posted != "" && x.Head.Seq == 0 {
			f.unheard = append(f.unheard, x)
		}
	}
}

// onInitialized notes that a client goes on behind an answer that other clients do not take.
func (f *Fold) onInitialized(scope *timeline.Scope) {
	for of := range f.pending {
		if of.Method == mcp.MethodInitialize && of.Scope == scope && of.Untaken != nil && of.Untaken.Form != timeline.BodyUnended {
			if f.tolerates == nil {
				f.tolerates = map[timeline.Form]bool{}
			}
			f.tolerates[of.Untaken.Form] = true
		}
	}
}

// hasTaken reports whether the client takes the answer to a call in the form that it has.
func (f *Fold) hasTaken(c *call) bool { return c.Untaken != nil && f.tolerates[c.Untaken.Form] }

// onRefusal takes what an HTTP status refuses.
func (f *Fold) onRefusal(step timeline.Step) {
	for _, refused := range step.Refused {
		if c := f.pending[refused]; c != nil {
			c.refused = true
			f.repeats.onFailure(c, refusedByStatus, refused.Failure, f.now)
			f.waiting--
		}
	}
	for _, undone := range step.Undone {
		if c := f.pending[undone]; c != nil { // its caller has given it up all the same
			c.undone = f.now
			c.undoneBy = step.Exchange.Status
		}
		if x := f.exchanges[step.Stream]; x != nil {
			for _, c := range x.answers {
				if c.Call == undone {
					f.pending[undone] = c
					c.undone = f.now
					c.undoneBy = x.Status
				}
			}
		}
	}
}

// responseWaits lists the HTTP requests that nothing answers.
func (j *judge) responseWaits() (waits []*wait) {
	exchanges := slices.AppendSeq(slices.Clone(j.unheard), maps.Values(j.exchanges))
	slices.SortFunc(exchanges, func(a, b *exchange) int { return cmp.Compare(a.Asked.Seq, b.Asked.Seq) })
	for _, x := range exchanges {
		w := &wait{shape: NoResponse, culprit: "server", post: x, since: momentOf(x.Asked), until: j.endOfExchange(x)}
		if x.Request.Open && x.calls == 0 && x.posted == "" {
			w.shape = HalfBody
			w.culprit = "client"
			w.since = moment{x.Request.Seq, x.Asked.At}
		}
		if (x.posted != "" || w.shape == HalfBody) && x.Head.Seq == 0 && w.length() >= j.after {
			waits = append(waits, w)
		}
	}
	return waits
}

// endOfExchange is how and when an exchange, or the last that resumed it, ended, or else the session. x may
// be nil.
func (j *judge) endOfExchange(x *exchange) ending {
	end := j.endOfSession()
	x = x.latest()
	if x != nil && x.Ended.Seq != 0 && (end.seq == 0 || x.Ended.Seq < end.seq) && !j.mayResume(x) {
		return endingOf(x)
	}
	return end
}

// resume notes that an exchange takes up the streams of others behind an event.
func (f *Fold) resume(x *exchange, event string) {
	x.resumes = true
	x.resumable = true
	x.lastID = event
	for _, c := range f.pending {
		if last := c.exchange.latest(); last != nil && last != x && last.lastID == event {
			last.next = x
		}
	}
}

// latest returns the exchange on which the stream of x goes on. x may be nil.
func (x *exchange) latest() *exchange {
	for x != nil && x.next != nil {
		x = x.next
	}
	return x
}

// endingOf is how an exchange ended that has ended.
func endingOf(x *exchange) ending {
	end := ending{moment: momentOf(x.Ended), by: "server", text: "the server ended the HTTP response", of: x}
	switch {
	case x.What == store.HTTPAbort:
		end.by = "client"
		end.text = "the client hung up"
	case x.What == store.HTTPLeft:
		end.by = "recorder"
		end.text = "the recorder ended"
	case x.resumes && x.IsRefused():
		end.text = fmt.Sprintf("the server refused to resume the stream (HTTP status %d)", x.Status)
	case x.What == store.HTTPBroken:
		end.text = "the connection to the server broke"
	case x.What == store.HTTPNone:
		end.text = "the connection to the server was closed without a response"
	}
	return end
}

// mayResume reports whether the answer may still come after the end of an exchange: a client takes up a stream
// again whether the server has ended it or the connection broke.
func (j *judge) mayResume(x *exchange) bool {
	switch x.What {
	case store.HTTPEnd:
		return j.isSSE || x.Status == 202 || x.canResume()
	case store.HTTPBroken:
		return x.canResume()
	}
	return false
}

// canResume reports whether the server has said how to take up the stream again.
func (x *exchange) canResume() bool {
	return x.resumable && !mcp.Stateless.Has(x.Revision) && !(x.resumes && x.IsRefused())
}

// response tells an HTTP response that did not come, or came without the answer.
func (w *words) response() {
	c := w.first.call // nil: the POST has no request
	switch w.first.shape {
	case NoResponse:
		if c != nil {
			w.say("Its POST (exchange %d) has no HTTP response.", c.Stream)
		}
		w.serverDid(c)
		w.unknown = "whether the server still works on it"
	case Accepted:
		w.say("The server answered the POST with the status 202 (#%d), which is for messages that need no answer, and sent nothing else for it.", c.exchange.Head.Seq)
		w.show(momentOf(c.exchange.Head), "HTTP status 202")
		w.proves = "that the status closes the exchange without the answer"
	case StreamSilent:
		w.say("The HTTP response began %s (#%d) as a stream of events, and no event came.", w.ago(c.exchange.Head.At), c.exchange.Head.Seq)
		w.show(momentOf(c.exchange.Head), "HTTP status %d, %s", c.exchange.Status, mcp.MediaEventStream)
		w.serverDid(c)
		w.unknown = "whether the server still works on it, or something between holds the events back (a proxy that buffers)"
	case NotResumed:
		w.notResumed(c.exchange.latest())
	}
}

// notResumed tells the end of a stream that the client could take up again.
func (w *words) notResumed(x *exchange) {
	how, last := "when to come back", "" // an event with a pause and no id
	if x.lastID != "" {
		how, last = fmt.Sprintf("how to resume it (event id %s)", clip(x.lastID)), ", event id "+clip(x.lastID)
	}
	if x.What == store.HTTPBroken {
		w.say("The connection to the server broke %s (#%d)%s. The server had said %s; the client has not resumed the stream.", w.ago(x.Ended.At), x.Ended.Seq, because(x.Fault), how)
		w.show(momentOf(x.Ended), "the connection broke%s", last)
	} else {
		w.say("The server ended the stream %s (#%d) and had said %s; the client has not resumed it.", w.ago(x.Ended.At), x.Ended.Seq, how)
		w.show(momentOf(x.Ended), "the end of the stream%s", last)
	}
	w.suggests = "the answer waits for the client at the server"
}

// howEnded says how an exchange ended whose stream can be resumed.
func (x *exchange) howEnded() string {
	if x.What == store.HTTPBroken {
		return "the connection to the server broke"
	}
	return "the server ended the HTTP response"
}

// responseEnded tells an HTTP exchange that ended without the answer, and what came in its place.
func (w *words) responseEnded() {
	x := w.first.until.of
	after := phrase.Brief(momentOf(x.Ended).at - w.first.call.at)
	w.goesOn = true // how it ended is said
	w.proves = "that the HTTP exchange ended without the answer"
	came := momentOf(x.Head)
	if x.Response.Seq != 0 {
		came.seq = x.Response.Seq
	}
	status := fmt.Sprintf("The server answered with the HTTP status %d", x.Status)
	switch {
	case x.resumes && x.IsRefused():
		w.say("%s %v after the request (#%d).", upper(w.first.until.text), after, x.Ended.Seq)
		w.show(momentOf(x.Ended), "%s", w.first.until.text)
	case x.orphan.seq != 0:
		what, evidence := orphanWords(w.shown(x.orphan))
		w.say("The server ended the HTTP response %v after the request (#%d), with %s (#%d).", after, x.Ended.Seq, what, x.orphan.seq)
		w.show(x.orphan.moment, "%s", evidence)
		w.suggests = "it was meant as the answer"
	case x.What != store.HTTPEnd || x.Head.Seq == 0 || x.IsStream() && len(x.Response.Text) == 0:
		w.say("%s %v after the request (#%d)%s.", upper(w.first.until.text), after, x.Ended.Seq, because(x.Fault))
		w.show(momentOf(x.Ended), "%s", w.first.until.text)
		if x.Response.Open {
			w.say("%s.", w.partOf(&x.Response, "The server had sent"))
			w.show(moment{seq: x.Response.Seq}, "the beginning of the response")
		}
	case x.Response.Seq == 0:
		w.say("%s and an empty body, %v after the request (#%d).", status, after, came.seq)
		w.show(came, "HTTP status %d, and no body", x.Status)
	case x.Response.Fault != "":
		w.say("%s and a body that cannot be decoded, %v after the request (#%d)%s.", status, after, came.seq, because(x.Response.Fault))
		w.show(came, "a body that cannot be decoded")
	case len(x.Response.Text) > 0:
		w.say("%s and %s of %s, %v after the request (#%d), in which there is no message: %s.",
			status, phrase.Plural(int(x.Response.Size), "byte"), mediaType(x.MediaType), after, came.seq, w.text(x.Response.Text))
		w.show(came, "no message: %s", w.text(x.Response.Text))
	default:
		w.say("%s %v after the request (#%d).", upper(w.first.until.text), after, x.Ended.Seq)
		w.show(momentOf(x.Ended), "%s", w.first.until.text)
	}
}

// orphanWords tells a response to no request.
func orphanWords(m transport.Message) (what, evidence string) {
	kind := "a response"
	said := ""
	if m.Error != nil {
		kind = "an error"
		said = because(transport.MemberText(m.Error, "message"))
	}
	if id := string(m.ID); id != "" && id != "null" {
		return fmt.Sprintf("%s under the id %s in it, with which nobody asked%s", kind, clip(id), said), "response to id " + clip(id) + ", to no request"
	}
	return kind + " without an id in it" + said, kind + " without an id"
}

// sessionStreamEnded tells the end of the stream of HTTP+SSE that the answer was to come on.
func (w *words) sessionStreamEnded() {
	c := w.first.call
	x := w.first.until.of
	w.goesOn = true // how it ended is said
	w.proves = "that the stream on which the answers come has ended"
	what := map[string]string{
		store.HTTPAbort: "the client closed", store.HTTPLeft: "the recorder ended", store.HTTPBroken: "the connection broke under", store.HTTPNone: "the server closed",
	}[x.What]
	if what == "" {
		what = "the server ended"
	}
	when := phrase.Brief(max(c.at-x.Ended.At, x.Ended.At-c.at))
	if x.Ended.Seq < c.seq {
		w.say("Answers come on the stream of the session (exchange %d), and %s it %v before the request (#%d)%s.", x.Number, what, when, x.Ended.Seq, because(x.Fault))
	} else {
		w.say("Answers come on the stream of the session (exchange %d), and %s it %v after the request (#%d)%s.", x.Number, what, when, x.Ended.Seq, because(x.Fault))
	}
	w.show(momentOf(x.Ended), "%s the stream of the session", what)
	if x.What != store.HTTPAbort {
		w.unknown = "whether the client has noticed that"
	}
}

// notTaken tells an answer that clients do not take as it stands.
func (w *words) notTaken() {
	c := w.first.call
	u := c.Untaken
	w.proves = "that the answer passed the recorder, and in which form"
	w.unknown = "whether this client takes it all the same"
	switch u.Form {
	case timeline.WrongEvent:
		w.say("The answer came in a server-sent event named %s (#%d): a client takes those without a name, or named \"message\".", quote(u.Name), u.Seq)
	case timeline.NoBlankLine:
		w.say("The answer came in a server-sent event without the blank line behind it (#%d): a client takes an event at its blank line.", u.Seq)
	case timeline.NoEvent:
		w.say("The answer came in a stream of server-sent events (#%d), and in no event: a client takes the data lines of events.", u.Seq)
	case timeline.EventInBody:
		w.say("The answer came as a server-sent event in a body of %s (#%d): a client takes that body whole, as JSON.", mediaType(u.Name), u.Seq)
	case timeline.WrongCoding:
		w.say("The answer came in a body that is said to be coded as %s and is not (#%d).", clip(u.Name), u.Seq)
	case timeline.BodyUnended:
		w.bodyUnended(c, u)
	default:
		w.say("The answer came %s (#%d): a client takes %s and %s.", u.How(), u.Seq, mcp.MediaJSON, mcp.MediaEventStream)
	}
	w.show(momentOf(u.Moment), "the answer, %s", u.How())
	if w.first.until.of != nil && w.first.until.by == "server" {
		w.goesOn = true // nothing more can come
	}
}

// bodyUnended tells an answer in a body whose end did not come.
func (w *words) bodyUnended(c *call, u *timeline.Untaken) {
	x := c.exchange
	switch {
	case x != nil && x.IsStream():
		w.say("The answer came in a server-sent event that has no end (#%d): a client takes an event at its end.", u.Seq)
	case x != nil && x.Response.Lacks() > 0:
		w.say("The answer came (#%d), but its body is %s short of its Content-Length of %d: a client takes a body at its end.",
			u.Seq, phrase.Plural(int(x.Response.Lacks()), "byte"), x.Response.Length)
		w.suggests = "the Content-Length is wrong; it counts bytes, not characters"
	default:
		w.say("The answer came (#%d), but the body has no end: a client takes a body at its end.", u.Seq)
	}
	w.unknown = ""
}

// halfBody tells a body of which only the beginning came.
func (w *words) halfBody() {
	x := w.first.post
	if x == nil {
		x = w.first.call.exchange
	}
	if w.first.culprit == "client" {
		w.say("%s (#%d), so the server %s the message.", w.partOf(&x.Request, "The client "+w.tense("has sent", "had sent")), x.Request.Seq, w.tense("does not have", "did not have"))
		w.show(moment{seq: x.Request.Seq}, "the beginning of the body of the POST")
	} else {
		w.say("%s (#%d).", w.partOf(&x.Response, "The server "+w.tense("has sent", "had sent")), x.Response.Seq)
		w.show(moment{seq: x.Response.Seq}, "the beginning of the response")
	}
	w.proves = "that the rest of the body did not come"
}

// partOf says how much of a body came.
func (w *words) partOf(b *timeline.Body, who string) string {
	if b.Length == 0 {
		return fmt.Sprintf("%s only the beginning of the body, %s", who, phrase.Plural(int(b.Size), "byte"))
	}
	return fmt.Sprintf("%s %d of the %d bytes that its Content-Length announced", who, b.Size, b.Length)
}

func mediaType(name string) string {
	if name == "" {
		return "no content type"
	}
	return clip(name)
}
