package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// call is a request without an answer so far.
type call struct {
	in        *scope
	dir       transport.Direction
	id        string // as a key
	method    string
	target    string
	stream    uint64
	seq       uint64
	at        time.Duration
	bytes     int
	token     string // of its progress, as a key; "" where it asks for none
	progress  moment // the last
	cancelled moment
	reason    string // of the cancellation, as its sender says
	timedOut  bool   // that says that the wait was too long
	slow      bool   // it was found to take longer than the user allows
	notices   int    // of the other end, before it
	refusal   string // how HTTP refused the answer of the client
	ending    string // how its HTTP exchange ended
	ended     moment // the event of that
	again     bool   // the exchange is to be taken up again
	hungUp    bool   // the client ended that
	left      bool   // the recorder ended that
	can       string // what its client declared; "" where it is not said
}

func (c *call) String() string {
	name := clip(c.method)
	if c.target != "" {
		name += fmt.Sprintf(" %s", quote(c.target))
	}
	return fmt.Sprintf("%s of the %s (id %s, #%d)", name, c.dir.Sender(), clip(c.id), c.seq)
}

// calls are those of a scope without an answer, by direction and id. A peer should not
// have two with one id open; where it has, they are in their order.
type calls map[callKey][]*call

type callKey struct {
	dir transport.Direction
	id  string
}

// all lists the calls of both directions in no order.
func (c calls) all() (list []*call) {
	for _, some := range c {
		list = append(list, some...)
	}
	return list
}

// sorted lists the calls of both directions in the order of their requests.
func (c calls) sorted() []*call {
	return slices.SortedFunc(slices.Values(c.all()), func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.id, b.id))
	})
}

// after returns the first call of a direction that was asked after an event and waits for
// an answer; nil if there is none.
func (c calls) after(dir transport.Direction, seq uint64) (first *call) {
	for _, some := range c {
		for _, one := range some {
			if one.dir == dir && one.seq > seq && !one.lasts() && (first == nil || one.seq < first.seq) {
				first = one
			}
		}
	}
	return first
}

// answeredBy returns the call that a response answers, nil if there is none: over HTTP
// that of its own exchange. Where no request of the exchange had the id, as on a stream
// that is taken up again, it is the first that is open.
func (f *Fold) answeredBy(e store.Event, s *scope, k callKey) *call {
	open := s.calls[k]
	if i := slices.IndexFunc(open, func(c *call) bool { return c.stream == e.Stream }); i >= 0 {
		return open[i]
	}
	if len(open) == 0 || slices.ContainsFunc(f.scopes.asked[e.Stream], func(c *call) bool { return c.dir == k.dir && c.id == k.id }) {
		return nil // the request of this exchange has its answer
	}
	return open[0]
}

func (f *Fold) opens(e store.Event, s *scope, m *transport.Message) {
	target, _ := timeline.Target(*m)
	c := &call{
		in: s, dir: e.Dir, id: string(mcp.KeyOf(m.ID)), method: m.Method, target: strings.Clone(target),
		stream: e.Stream, seq: e.Seq, at: e.At, bytes: sizeOf(e, m), notices: f.notices[e.Dir.Reverse()],
		token: string(mcp.KeyOf(m.ProgressToken())),
	}
	if c.dir == transport.ClientToServer {
		if f.listens = f.listens || c.method == mcp.MethodListen; c.method != mcp.MethodListen {
			f.asked++
		}
		if closed := f.closedByClient(); closed != 0 {
			c.ending = fmt.Sprintf("the client had closed the stream that the answer was to come on (#%d)", closed)
			c.ended, c.hungUp = moment{e.Seq, e.At}, true
		}
	}
	s.opens(c)
	f.retries.asks(f, e, s, c, m)
	if e.Stream != 0 {
		f.scopes.asked[e.Stream] = append(f.scopes.asked[e.Stream], c)
	}
	f.gate.calls(f, c)
}

// sizeOf returns how many bytes a message had when it was recorded. Of a message in a batch
// that is masked only the size as it stands there is known.
func sizeOf(e store.Event, m *transport.Message) int {
	if len(bytes.TrimSpace(e.Payload)) != len(m.Raw) {
		return len(m.Raw)
	}
	return len(m.Raw) + e.Size() - len(e.Payload)
}

// answers takes note of a response and returns the method of its request.
func (f *Fold) answers(e store.Event, s *scope, m *transport.Message) (method string) {
	k := callKey{e.Dir.Reverse(), string(mcp.KeyOf(m.ID))}
	c := f.answeredBy(e, s, k)
	if c == nil {
		return ""
	}
	c.drop()
	took := e.At - c.at
	tally := f.tallies.add(c, took, sizeOf(e, m), failed(m, c.method))
	if c.dir == transport.ServerToClient && e.Stream != 0 {
		as, size, wrong := *c, sizeOf(e, m), failed(m, c.method)
		f.undoes(e, func(refusal string) {
			if refusal != "" {
				tally.takesBack(&as, took, size, wrong)
				c.refusal = refusal
				s.opens(c)
			}
		})
	}
	f.gate.answered(f, c, e.Seq, took)
	if c.dir == transport.ClientToServer {
		if c.method != mcp.MethodListen {
			f.replies++
			if m.Error == nil {
				f.results++
			} else {
				f.came.add(c, errorSaid(m), true)
			}
			if c.method != mcp.MethodInitialize {
				f.slowest = max(f.slowest, took)
			}
		}
		f.silence.answered(e, c, f.notices[e.Dir]-c.notices)
	}
	if c.cancelled.seq != 0 {
		f.finds(lateAnswer, e.Dir, s.rules.Revision(), []uint64{e.Seq, c.cancelled.seq, c.seq},
			"the %s answered %v after %v, when its cancellation (#%d) had passed", e.Dir.Sender(), c, phrase.Brief(took), c.cancelled.seq)
	}
	f.retries.answered(f, e, s, c, m)
	if c.method == mcp.MethodListTools && m.Result != nil {
		f.defines(e, s, m.Result)
		f.compares(e, s, m.Result)
	}
	return c.method
}

// failed reports whether a response is an error, of the protocol or of a tool.
func failed(m *transport.Message, method string) bool {
	return m.Error != nil || method == mcp.MethodCallTool && string(transport.Member(m.Result, mcp.MemberIsError)) == "true"
}

// opens adds a call to those without an answer.
func (s *scope) opens(c *call) {
	if c.token != "" {
		s.tokens[callKey{c.dir, c.token}] = c
	}
	k := callKey{c.dir, c.id}
	s.calls[k] = append(s.calls[k], c)
}

// undoes keeps how to undo what a frame of the client did, until its exchange has a response.
func (f *Fold) undoes(e store.Event, undo func(refusal string)) {
	x := f.courses.begin(e.Stream)
	x.undo = append(x.undo, undo)
}

// drop takes a call from those of its scope: it was answered.
func (c *call) drop() {
	k := callKey{c.dir, c.id}
	open := slices.DeleteFunc(c.in.calls[k], func(one *call) bool { return one == c })
	if c.in.calls[k] = open; len(open) == 0 {
		delete(c.in.calls, k)
	}
	if t := (callKey{c.dir, c.token}); c.in.tokens[t] == c {
		delete(c.in.tokens, t)
	}
}

// notifies follows the notifications that are about a call.
func (f *Fold) notifies(e store.Event, s *scope, m *transport.Message) {
	switch m.Method {
	case mcp.NotificationProgress:
		if c := s.tokens[callKey{e.Dir.Reverse(), string(mcp.KeyOf(m.ProgressToken()))}]; c != nil {
			c.progress = moment{e.Seq, e.At}
		}
	case mcp.NotificationCancelled:
		id := transport.Member(m.Params, mcp.MemberRequestID)
		if open := s.calls[callKey{e.Dir, string(mcp.KeyOf(id))}]; id != nil && len(open) > 0 {
			f.cancels(e, s, open[len(open)-1], m) // of several it is not said which
		}
	}
}

// cancels takes note of a cancellation. A cancellation because of a timeout is the trace of
// most hangs, and is found at once.
func (f *Fold) cancels(e store.Event, s *scope, c *call, m *transport.Message) {
	if e.Stream != 0 && e.Dir == transport.ClientToServer {
		before := c.cancelled
		f.undoes(e, func(refusal string) {
			if refusal != "" {
				c.cancelled = before
			}
		})
	}
	c.cancelled = moment{e.Seq, e.At}
	_ = json.Unmarshal(transport.Member(m.Params, "reason"), &c.reason) // what is no text says nothing
	waited := e.At - c.at
	f.gate.waits(f, c, e.Seq, waited)
	if c.timedOut || c.method == mcp.MethodListen || !timeout().MatchString(c.reason) {
		return
	}
	c.timedOut = true
	d, fault := gaveUp, c.dir.Reverse()
	if f.gate.FailOnTimeout {
		d.Severity = order.Error
	}
	said := fmt.Sprintf("the %s said nothing", c.dir.Receiver())
	if last := f.lastOf(c)[fault]; last.seq > c.seq {
		said = fmt.Sprintf("the %s sent #%d last, %v before", c.dir.Receiver(), last.seq, phrase.Brief(e.At-last.at))
	}
	if open := s.calls.after(fault, c.seq); open != nil {
		said += fmt.Sprintf("; it waited itself for the %s to answer %v", c.dir.Sender(), open)
		fault = c.dir
	}
	f.finds(d, fault, s.rules.Revision(), []uint64{e.Seq, c.seq}, "%v: the %s gave up after %v: %s; %s", c, c.dir.Sender(), phrase.Brief(waited), c.why(), said)
}

// cancelsElsewhere takes note of a cancellation over HTTP without a session. It may be of
// any client, so it counts where there is one open request with the id and no other.
func (f *Fold) cancelsElsewhere(e store.Event, p order.Parsed) {
	for i := range p.Messages {
		m := &p.Messages[i]
		id := transport.Member(m.Params, mcp.MemberRequestID)
		if m.Method != mcp.NotificationCancelled || id == nil {
			continue
		}
		var found []*call
		for _, own := range f.scopes.exchanges {
			found = append(found, own.calls[callKey{e.Dir, string(mcp.KeyOf(id))}]...)
		}
		if len(found) == 1 {
			f.cancels(e, found[0].in, found[0], m)
		}
	}
}

// timeout is what peers say of a call that waited too long: "McpError: MCP error -32001:
// Request timed out" (TypeScript), "context deadline exceeded" (Go), "Timed out while
// waiting for response" (Python), "Did not observe any item or terminal signal within
// 20000ms" (Java), "TimeoutError: …" (of a browser). The noun alone says little, for a
// person may speak of a timeout too: it counts at the beginning or behind what makes it the
// cause, with nothing behind it but what a timeout does.
var timeout = phrase.Regexp(`(?i)\btime[ds][ -]?out\b|\bdeadline (was |has |had )?(been )?(exceeded|expired|passed)\b|did not observe any item` +
	`|timeout(error|exception|expired)\b|\betimedout\b|(^|error |code |[:(] ?)-32001\b` +
	`|(^|[:(] ?|\b(due to|because of|on|by|hit) )(an? |the )?(` + whatWaits + ` ){0,3}time[ -]?out([^\w ]|$| (` + whatHappened + `|after|of|error)\b)` +
	`|\btime[ -]?out (of \w+ )?((was|has|had|is) )?(been )?(` + whatHappened + `)\b`)

const (
	whatWaits    = `(mcp|client|server|request|response|tool|call|operation|read|socket|connection|session|idle)`
	whatHappened = `(exceeded|expired|reached|elapsed|occurred|waiting|while)`
)

// errorName is what SDKs put before the words of an error.
var errorName = phrase.Regexp(`^(\w*Error: )?(MCP error -?\d+: )?`)

// why returns the reason of a cancellation for a sentence.
func (c *call) why() string {
	return phrase.Clip(strings.TrimSpace(errorName().ReplaceAllString(c.reason, "")), 120)
}

// inputAsked is a response that asked for input: what a retry must give back.
type inputAsked struct {
	of    request
	id    string // of the request
	seq   uint64
	state string // as a key; "" where there is none
}

type request struct{ method, target string }

func (r request) String() string { return clip(strings.TrimSpace(r.method + " " + r.target)) }

// retries is rule P12: the responses that asked for input, the latest of a kind. Which
// of them a request answers is not said, so it is enough that there is one that it may.
type retries struct {
	exactly recent[stateOf, inputAsked]
	of      recent[request, inputAsked]
	states  recent[string, inputAsked]
}

type stateOf struct {
	of    request
	state string
}

// mostAsked is how many are remembered.
const mostAsked = 4096

func newRetries() retries {
	return retries{newRecent[stateOf, inputAsked](mostAsked), newRecent[request, inputAsked](mostAsked), newRecent[string, inputAsked](mostAsked)}
}

func (r *retries) keep(a inputAsked) {
	r.exactly.put(stateOf{a.of, a.state}, a)
	r.of.put(a.of, a)
	if a.state != "" {
		r.states.put(a.state, a)
	}
}

// asks takes note of a request of the client, and judges it where it is a retry.
func (r *retries) asks(f *Fold, e store.Event, s *scope, c *call, m *transport.Message) {
	if c.dir != transport.ClientToServer || s.rules.Revision() < mcp.Revision2026_07_28 {
		return
	}
	if bytes.Contains(m.Params, []byte(mcp.MetaClientCapabilities)) {
		c.can = string(bytes.Clone(transport.Member(m.Params, mcp.MemberMeta, mcp.MetaClientCapabilities)))
	}
	state := string(mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestState)))
	responses := transport.Member(m.Params, mcp.MemberInputResponses)
	if state == "" && responses == nil {
		return
	}
	of := request{c.method, c.target}
	if a, ok := r.exactly.get(stateOf{of, state}); ok {
		// The rule of package order that a retry has a new id, over several HTTP exchanges.
		if e.Stream != 0 && a.state != "" && a.id == c.id {
			f.finds(retryAnew, e.Dir, s.rules.Revision(), []uint64{e.Seq, a.seq}, "the client sent %v with the requestState of #%d, under the id of the request that #%d answers", c, a.seq, a.seq)
		}
		return
	}
	r.judge(f, e, s, c, state)
}

var retryAnew = func() order.Demand {
	list := order.Demands()
	return list[slices.IndexFunc(list, func(d order.Demand) bool { return strings.HasPrefix(d.Title, "a retry ") })]
}()

// judge tells of a retry that gives back what no response to such a request gave.
func (r *retries) judge(f *Fold, e store.Event, s *scope, c *call, state string) {
	own, asked := r.of.get(request{c.method, c.target})
	other, given := r.states.get(state)
	says := func(d order.Demand, seq uint64, format string, args ...any) {
		f.finds(d, e.Dir, s.rules.Revision(), []uint64{e.Seq, seq}, "the client sent %v with "+format, append([]any{c}, args...)...)
	}
	switch {
	case state == "" && asked:
		says(stateKept, own.seq, "the input that was asked for (#%d), without the requestState", own.seq)
	case state == "":
	case given:
		says(stateUnasked, other.seq, "a requestState that it had for %v (#%d)", other.of, other.seq)
	case asked && own.state == "":
		says(stateUnasked, own.seq, "a requestState, and was given none (#%d)", own.seq)
	case asked:
		says(stateKept, own.seq, "another requestState than it was given (#%d)", own.seq)
	default:
		d := stateUnasked
		d.Severity = order.Warning
		f.finds(d, e.Dir, s.rules.Revision(), []uint64{e.Seq}, "the client sent %v with a requestState that no response in the recording gave", c)
	}
}

// answered takes note of a response that asks for input.
func (r *retries) answered(f *Fold, e store.Event, s *scope, c *call, m *transport.Message) {
	if c.dir != transport.ClientToServer || s.rules.Revision() < mcp.Revision2026_07_28 ||
		!bytes.Contains(m.Result, []byte("input_required")) || string(transport.Member(m.Result, mcp.MemberResultType)) != `"input_required"` {
		return
	}
	says := func(d order.Demand, format string, args ...any) {
		f.finds(d, e.Dir, s.rules.Revision(), []uint64{e.Seq, c.seq}, format, args...)
	}
	if !slices.Contains([]string{mcp.MethodGetPrompt, mcp.MethodReadResource, mcp.MethodCallTool}, c.method) {
		says(inputMethod, "the server answered %v by asking for input", c)
	}
	state, requests := transport.Member(m.Result, mcp.MemberRequestState), transport.Member(m.Result, mcp.MemberInputRequests)
	if state == nil && requests == nil {
		says(inputNone, "the server answered %v by asking for input, with neither inputRequests nor a requestState", c)
	}
	var wanted map[string]struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(requests, &wanted) == nil {
		for _, name := range sortedKeys(wanted) {
			judgeInput(says, c, name, wanted[name].Method)
		}
	}
	r.keep(inputAsked{request{c.method, c.target}, c.id, e.Seq, strings.Clone(string(mcp.KeyOf(state)))})
}

// judgeInput tells of one input that must not be asked for.
func judgeInput(says func(order.Demand, string, ...any), c *call, name, method string) {
	ability, known := map[string]string{mcp.MethodElicit: "elicitation", mcp.MethodCreateMessage: "sampling", mcp.MethodListRoots: "roots"}[method]
	switch {
	case !known:
		says(inputKind, "the server answered %v by asking for %s (%s)", c, clip(method), clip(name))
	case c.can != "" && transport.Member(json.RawMessage(c.can), ability) == nil:
		says(inputUnable, "the server answered %v by asking for %s (%s), and the client had not declared %s", c, method, clip(name), ability)
	}
}

// strand is a stream of server-sent events over all exchanges that carry it: the first,
// and those that take it up again.
type strand struct {
	stream uint64 // the first exchange
	count  uint64 // events with an id
}

// place is where an event stands: the so manieth of its strand, from 1.
type place struct {
	*strand
	n   uint64
	seq uint64 // 0: where a client says that it is
}

// mostEvents is how many events with an id are remembered, by session and id: a client
// takes up a stream where it was cut, not long ago.
const mostEvents = 1 << 17

var idSeed = maphash.MakeSeed()

func eventKey(session, id string) uint64 {
	return maphash.Comparable(idSeed, [2]string{session, id})
}

// resume takes note of a request that takes up a stream behind an event.
func (f *Fold) resume(e store.Event, x *course, id string) {
	x.resumed = true
	revision := f.revisionOf(x)
	if revision >= mcp.Revision2026_07_28 {
		f.finds(resumedModern, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s of a stream", clip(id))
		return
	}
	p, known := f.sent.get(eventKey(x.session, id))
	if !known {
		if own := f.scopes.sessions[x.session]; own != nil && own.begun == middle {
			f.headless(own)
		} else if resumes(revision) {
			f.finds(eventUnknown, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s, which was never sent in its session", clip(id))
		}
		return
	}
	x.place = place{strand: p.strand, n: p.n}
}

// events takes note of an event with an id, and reports whether it was sent before.
func (f *Fold) events(e store.Event, x *course, id string) (again bool) {
	key := eventKey(x.session, id)
	p, known := f.sent.get(key)
	if !known {
		if x.place.strand == nil {
			x.place.strand = &strand{stream: e.Stream}
		}
		x.place.count++
		x.place.n = x.place.count
		f.sent.put(key, place{x.place.strand, x.place.n, e.Seq})
		return false
	}
	if revision := f.revisionOf(x); resumes(revision) {
		f.judgeEvent(e, x, p, revision, id)
	}
	if x.place.strand == nil {
		x.place.strand = p.strand
	}
	if x.place.strand == p.strand {
		x.place.n = max(x.place.n, p.n)
	}
	return x.resumed
}

// judgeEvent is rule P11 of an event that was sent before.
func (f *Fold) judgeEvent(e store.Event, x *course, p place, revision, id string) {
	says := func(d order.Demand, format string) {
		if x.session == "" && !x.resumed {
			return // several clients may be in one recording, and each has ids of its own
		}
		f.finds(d, transport.ServerToClient, revision, []uint64{e.Seq, p.seq}, format, clip(id), p.seq)
	}
	switch own := x.place.strand; {
	case !x.resumed:
		says(eventTwice, "the server sent event %s, which has the id of #%d")
	case own != nil && own != p.strand:
		says(eventOfOther, "the server sent event %s again, which is of another stream (#%d)")
	case p.n <= x.place.n:
		says(eventAgain, "the server sent event %s again (#%d), which is not behind what the client has")
	}
}

// answersOnGet is rule P11 of a response.
func (f *Fold) answersOnGet(e store.Event, x *course, id string) {
	if revision := f.revisionOf(x); x.method == "GET" && !x.resumed && x.status < 300 && id != "null" && !f.scopes.events && resumes(revision) {
		f.finds(answerOnGet, transport.ServerToClient, revision, []uint64{e.Seq, x.asked}, "the server sent the response to id %s on a stream that the client opened with GET (#%d)", clip(id), x.asked)
	}
}
