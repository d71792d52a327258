package standin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// MissCode is the JSON-RPC error code of the answer to a request for which
// nothing is recorded: in the range left to implementations, and not one that an
// SDK gives a meaning of its own (-32001 is a time-out in the TypeScript SDK).
const MissCode = -32010

// Player plays the server's half of a recording to a live client. It is a pure machine:
// frames in, frames out; no I/O, no clock, no goroutine. It is not safe for concurrent use.
//
// The recording is a list of client messages, which are waited for, and of server frames,
// which are sent. A live request stands for the first client message of its Key that is
// left. A server frame goes out when what preceded it has happened, in recorded order
// among those that may:
//
//   - a server frame that belongs to a request (its response, its progress, what was said
//     while no other request was open) waits for that request, for the client messages
//     recorded between the two, and for earlier requests that were under way as well;
//   - any other server frame waits for all client messages recorded before it.
//
// A client message that is not coming is not waited for: the recorded client said it before
// it said something that the live client said already. Where that cannot be known (the
// recorded client had several calls open, the live one makes them one by one) the player
// waits, and Relent ends the wait.
//
// Ids and progress tokens of the live client replace the recorded ones, in responses,
// progress and subscription ids. The server's own requests keep their recorded ids; the
// client's answers are waited for and compared. What the live client made up (the id of a
// task that it runs) replaces what the recorded one did. A recorded batch goes out as a
// batch when all its requests have come; a live batch is taken as its messages one by one.
//
// A request without a recorded answer gets an error that names the nearest one. Only a ping
// is answered all the same, and server/discover, for which a client may have probed in a
// session of its own. A client of a revision that was not recorded gets the protocol's own
// error.
//
// What is no message (a stray log line, a blank one) is not waited for, from either end.
// The server's own is said where it stood, but for blank lines; one that was recorded over
// several lines (HTTP) is said on one.
type Player struct {
	rules        match.Rules
	revisions    revisions
	variables    *match.Variables // what the live client made up
	clientMsgs   []*clientMsg
	serverFrames []*serverFrame
	requests     map[match.Key][]*clientMsg // each queue in recorded order
	masked       map[string][]*clientMsg    // requests with something redacted, by method
	queue        []*clientMsg               // of ByOrder: the requests that are left
	others       map[string][]*clientMsg    // notifications by method
	failed       map[match.Key]failedCall
	asked        map[mcp.Key][]*serverRequest
	findings     []judged
	score        Score

	without []string // what Relent passed over
	noises  noises

	open      []*clientMsg   // live requests whose recorded answer was not sent
	held      []*serverFrame // not sent, and all client messages before them are below reach
	loose     bool
	handshake *clientMsg        // loose: the request of the handshake, if there is one
	out       []*serverFrame    // every frame that was returned; nil: not a recorded one
	streams   map[uint64]uint64 // recorded exchanges, by the live ones that stand for them
	first     int               // loose: server frames before this one were written
	cued      int               // server frames before this one were sent or are held
	reached   uint64            // Seq of the last client message that came
	settled   int               // client messages before this one are all settled
	reach     int               // client messages from this one on are all unsettled
}

// Score counts what a Player did.
type Score struct {
	Recorded int // requests of the recorded client
	Matched  int // of these, made by the live client
	Missed   int // requests of the live client without a recorded answer
	Replies  int // recorded frames sent
	Answered int // requests of the server that the live client answered
}

// Start returns what can be sent before the client said anything.
func (p *Player) Start() []transport.Frame { return p.release() }

// Receive takes a frame of the live client and returns what to send now.
func (p *Player) Receive(f transport.Frame) []transport.Frame {
	var out []transport.Frame
	messages := timeline.MessagesOf(f)
	if isNoise(f.Bytes, messages) {
		noise := p.others[noiseMethod]
		if i := slices.IndexFunc(noise, func(c *clientMsg) bool { return !c.isSettled() }); i >= 0 {
			p.arrive(noise[i], transport.Message{}, f.Stream)
		} else {
			p.noises.add(f, p.reached)
		}
	}
	for _, m := range messages {
		switch m.Kind() {
		case transport.Request:
			out = append(out, p.request(m, f.Stream)...)
		case transport.Response:
			p.response(m, f.Stream)
		case transport.Notification:
			c := p.notified(m)
			if c == nil {
				p.extra(about(m), fmt.Sprintf("the client's %s was not recorded", about(m)), false)
				continue
			}
			late := c.skipped
			p.arrive(c, m, f.Stream)
			if !late {
				p.withdraw(c)
			}
		}
	}
	return append(out, p.release()...)
}

// Exchange returns the recorded HTTP exchange that the live one stands for; 0: none
// is known.
func (p *Player) Exchange(live uint64) (recorded uint64) { return p.streams[live] }

// Score returns the counts so far.
func (p *Player) Score() Score { return p.score }

// Findings returns what was noticed so far that cannot change any more.
func (p *Player) Findings() []match.StepVerdict { return grave(p.findings) }

// request takes a live request and returns the answers that nobody recorded.
func (p *Player) request(m transport.Message, stream uint64) []transport.Frame {
	c, key, err := p.matchRequest(m)
	if c != nil {
		p.score.Matched++
		p.arrive(c, m, stream)
		return nil
	}
	var body []byte
	var revision *revisionError
	failed, hasFailed := p.failed[key]
	hasFailed = hasFailed && err == nil && len(p.requests[key]) == 0
	switch {
	case hasFailed && stream != 0: // the HTTP exchange fails as the recorded one did
		p.streams[stream] = failed.exchange.number
		return nil
	case hasFailed && failed.exchange.namesRequest():
		p.out = append(p.out, nil)
		return []transport.Frame{{Bytes: failed.exchange.saidTo(m.Raw), Stream: stream}}
	case hasFailed:
		body = missBody(failed.why())
	case errors.As(err, &revision):
		p.score.Missed++
		p.extra(about(m), err.Error(), true)
		body = revision.body()
	case m.Method == mcp.MethodPing:
		body = []byte(`"result":{}`)
	case m.Method == mcp.MethodDiscover:
		body = p.discover()
	default:
		miss := p.miss(m, key, err)
		p.score.Missed++
		p.extraNear(miss, true)
		body = missBody(miss.Text)
	}
	p.out = append(p.out, nil)
	return []transport.Frame{answerTo(m.ID, stream, body)}
}

// answerTo returns a response that was not recorded.
func answerTo(id json.RawMessage, stream uint64, body []byte) transport.Frame {
	return transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, id, body), Stream: stream}
}

// missBody is the error of a request without a recorded answer.
func missBody(text string) []byte {
	quoted, _ := json.Marshal("mcprec: " + text)
	return fmt.Appendf(nil, `"error":{"code":%d,"message":%s}`, MissCode, quoted)
}

// Knows reports whether Receive would answer the live request otherwise than with
// the error of a request that was not recorded.
func (p *Player) Knows(m transport.Message) bool {
	c, _, _ := p.matchRequest(m)
	return c != nil || m.Method == mcp.MethodPing || m.Method == mcp.MethodDiscover
}

// response takes a live answer to a request of the server.
func (p *Player) response(m transport.Message, stream uint64) {
	for _, q := range p.asked[mcp.KeyOf(m.ID)] { // the first, as everywhere
		if q.done {
			continue
		}
		q.done = true
		p.score.Answered++
		if q.answer != nil {
			p.arrive(q.answer, m, stream)
		}
		return
	}
	if c := firstOpen(p.others[strayKey(m)]); c != nil {
		p.arrive(c, m, stream)
		return
	}
	p.extra("an answer", fmt.Sprintf("an answer with id %s, which no request of the server has", phrase.Name(string(m.ID))), true)
}

func firstOpen(queue []*clientMsg) *clientMsg {
	for _, c := range queue {
		if !c.arrived {
			return c
		}
	}
	return nil
}

// arrive lets m stand for the client message, and passes over the client messages that will
// not come.
func (p *Player) arrive(c *clientMsg, m transport.Message, stream uint64) {
	c.arrived, c.stream, c.live = true, stream, &m
	if stream != 0 && c.on != 0 {
		p.streams[stream] = c.on
	}
	p.reached = max(p.reached, c.seq)
	if m.Kind() != transport.Notification {
		p.variables.Learn(c.msg(), m, c.index)
	}
	if c.answer != nil {
		p.open = append(p.open, c)
	}
	for _, before := range p.clientMsgs[min(p.settled, c.index):c.index] {
		before.skipped = before.skipped || before.isSkippedBy(c)
	}
	p.settle(c.index + 1)
}

// settle keeps the bounds after some client messages before reach were settled.
func (p *Player) settle(reach int) {
	p.reach = max(p.reach, reach)
	for p.settled < len(p.clientMsgs) && p.clientMsgs[p.settled].isSettled() {
		p.settled++
	}
}

// release returns the server frames that may go out, in recorded order.
func (p *Player) release() []transport.Frame {
	var out []transport.Frame
	for p.cued < len(p.serverFrames) && (p.loose || p.serverFrames[p.cued].before <= p.reach) {
		p.held = append(p.held, p.serverFrames[p.cued])
		p.cued++
	}
	p.held = slices.DeleteFunc(p.held, func(r *serverFrame) bool {
		if p.mayGo(r) {
			out = append(out, p.send(r)...)
		}
		return r.sent
	})
	return out
}

func (p *Player) mayGo(r *serverFrame) bool {
	if p.loose {
		return p.mayGoLoose(r)
	}
	isOpen := func(c *clientMsg) bool { return !c.isSettled() }
	from := min(max(r.from(), p.settled), r.before)
	return r.isOwned() && !slices.ContainsFunc(p.overlapping(r), isOpen) && !slices.ContainsFunc(p.clientMsgs[from:r.before], isOpen)
}

// send returns the server frame with the live client's ids and tokens in it; nothing
// when it is progress that the live client did not ask for.
func (p *Player) send(r *serverFrame) []transport.Frame {
	r.sent = true
	f := r.frame
	f.Bytes, f.Stream = p.variables.Substitute(f.Bytes), 0
	if len(r.owners) > 0 && !r.aside {
		f.Stream = r.owners[0].stream
	}
	for _, e := range r.edits {
		value := e.of(*e.owner.live)
		if value == nil {
			p.findings = append(p.findings, judged{seq: r.seq, grave: true, StepVerdict: match.StepVerdict{
				Result: match.NotSent, Seq: r.seq, Dir: transport.ServerToClient, What: about(timeline.MessagesOf(r.frame)[0]),
				Text: fmt.Sprintf("#%d: %s gave no progress token", r.seq, phrase.Name(e.owner.msg().Method)),
			}})
			r.written = true // nothing waits for it
			return nil
		}
		if !bytes.Equal(value, e.of(e.owner.msg())) {
			f.Bytes, _ = match.Splice(f.Bytes, value, e.path...)
		}
	}
	for _, q := range r.requests {
		p.asked[q.id] = append(p.asked[q.id], q)
	}
	p.score.Replies++
	p.out = append(p.out, r)
	return []transport.Frame{f}
}

// clientMsg is a message of the recorded client, and the live one that stands for it.
type clientMsg struct {
	index   int
	seq     uint64
	at      time.Duration
	packed  transport.Packed
	answer  *serverFrame   // of a request: its response; nil: there was none
	answers *serverRequest // of a response: what it answers
	cancels *clientMsg     // of a cancellation: the request
	nth     int            // of a request: among those of its Key, from 1

	arrived  bool
	skipped  bool   // not waited for any more
	timedOut bool   // because the client was silent
	stream   uint64 // of the live message
	on       uint64 // the recorded exchange
	live     *transport.Message
}

func (c *clientMsg) msg() transport.Message { return c.packed.Message() }

func (c *clientMsg) isSettled() bool { return c.arrived || c.skipped }

// what names the client message in words.
func (c *clientMsg) what() string {
	if c.answers != nil {
		return "the answer to " + phrase.Name(c.answers.method)
	}
	if c.msg().Kind() == transport.Invalid {
		return noiseMethod
	}
	return about(c.msg())
}

// mayTakeTime reports whether the client message is an answer that the live client was
// asked for and may take its time with: only roots and pings are answered at once.
func (c *clientMsg) mayTakeTime() bool {
	q := c.answers
	return !c.isSettled() && q != nil && q.reply.sent && q.method != mcp.MethodListRoots && q.method != mcp.MethodPing
}

// serverFrame is a recorded frame of the server.
type serverFrame struct {
	index    int
	seq      uint64
	at       time.Duration
	frame    transport.Frame
	before   int          // client messages recorded before it
	owners   []*clientMsg // the requests it belongs to
	aside    bool         // recorded on a stream that is no request's
	edits    []edit
	requests []*serverRequest
	sent     bool

	needs   []*clientMsg   // loose: must have come
	after   []*serverFrame // loose: must have been written
	written bool
}

// serverRequest is a request of the recorded server.
type serverRequest struct {
	reply  *serverFrame
	id     mcp.Key
	method string
	answer *clientMsg // nil: there was none
	done   bool       // the live client answered
}

// edit is a place in a recorded frame where the live peer's id, or progress token, of a
// request belongs.
type edit struct {
	path     []string
	token    bool
	owner    *clientMsg // the request, in a server frame of a Player
	question *serverMsg // the request, in a client frame of a Driver
}

// of returns the id or the token of a message.
func (e edit) of(m transport.Message) []byte {
	if e.token {
		return m.ProgressToken()
	}
	return m.ID
}

// isSkippedBy reports whether the live client, which has said later, will not say
// c any more as the recorded client did.
func (c *clientMsg) isSkippedBy(later *clientMsg) bool {
	switch c.msg().Kind() {
	case transport.Request:
		// With its answer still open when later was said, the two were under
		// way together and may come in any order.
		return c.answer == nil || c.answer.before <= later.index
	case transport.Response:
		if c.answers == nil {
			return true
		}
		// Its question belongs to a request that is not coming.
		return !c.answers.reply.sent && slices.ContainsFunc(c.answers.reply.owners, func(c *clientMsg) bool { return c.skipped && !c.arrived })
	}
	return true
}

// answers reports whether the server frame is, or has, a response to a request.
func (r *serverFrame) answers() bool {
	return slices.ContainsFunc(r.owners, func(c *clientMsg) bool { return c.answer == r })
}

// isOwned reports whether every request that the server frame belongs to has come.
func (r *serverFrame) isOwned() bool {
	return !slices.ContainsFunc(r.owners, func(c *clientMsg) bool { return !c.arrived })
}

// from returns the first client message that the server frame waits for.
func (r *serverFrame) from() int {
	if len(r.owners) == 0 {
		return 0
	}
	from := r.before
	for _, c := range r.owners {
		from = min(from, c.index+1)
	}
	return from
}

// belongTo makes the server frame the request's, whose live id or token goes to path.
func (r *serverFrame) belongTo(c *clientMsg, token bool, path []string) {
	if !slices.Contains(r.owners, c) {
		r.owners = append(r.owners, c)
	}
	r.edits = append(r.edits, edit{path: path, owner: c, token: token})
}

// Noise is a frame that holds no message. Nothing waits for it, with one exception:
// the error with which a server answers what it could not read, and which names no
// request, belongs to the noise in front of it. It is said to a client that says
// such noise too, and not to one that does not.
//
// An end that says more of it than the recorded one did is told so once, as Extra.

// noiseMethod is the key in Player.others of frames that hold no message.
const noiseMethod = "a frame that is no message"

// isNoise reports whether there is something in a frame, but no message.
func isNoise(frame []byte, messages []transport.Message) bool {
	for _, m := range messages {
		if m.Kind() != transport.Invalid {
			return false
		}
	}
	return len(bytes.TrimSpace(frame)) > 0
}

// Relent gives up waiting, for the first request that has an answer which waits
// for more to come from the client, and returns what can be sent then. A shell
// calls it when the client has fallen silent. An answer that waits for the
// client's own, to something that a person or a model decides, goes on waiting.
func (p *Player) Relent() []transport.Frame {
	r := p.waiting(false)
	for _, c := range p.awaited(r) {
		if !c.isSettled() {
			c.timedOut = true
			p.without = append(p.without, fmt.Sprintf("#%d (%s)", c.seq, c.what()))
		}
	}
	return p.relent(r)
}

// Without says what Relent went on without: #3 (tools/list).
func (p *Player) Without() []string { return slices.Clone(p.without) }

// Waiting reports whether a request of the live client has a recorded answer that
// is held back, so that Relent would send something.
func (p *Player) Waiting() bool { return p.waiting(false) != nil }

// End returns what is held back for requests that have come: the client says no
// more.
func (p *Player) End() []transport.Frame {
	var out []transport.Frame
	for r := p.waiting(true); r != nil; r = p.waiting(true) {
		out = append(out, p.relent(r)...)
	}
	return out
}

func (p *Player) relent(r *serverFrame) []transport.Frame {
	if r == nil {
		return nil
	}
	for _, c := range p.awaited(r) {
		c.skipped = c.skipped || !c.arrived
	}
	p.settle(r.before)
	return p.release()
}

// awaited are the client messages that a server frame waits for besides its own.
func (p *Player) awaited(r *serverFrame) []*clientMsg {
	switch {
	case r == nil:
		return nil
	case p.loose:
		return r.needs
	}
	return append(p.overlapping(r), p.clientMsgs[r.from():r.before]...)
}

// overlapping are the requests that were recorded before those that a server frame belongs
// to, and may still come: they were under way together, and their server frames are kept in
// order whichever comes first.
func (p *Player) overlapping(r *serverFrame) []*clientMsg {
	var list []*clientMsg
	from := r.from()
	for _, c := range p.clientMsgs[min(p.settled, from):from] {
		if c.answer != nil && !c.isSettled() {
			list = append(list, c)
		}
	}
	return list
}

// waiting returns the first recorded of the answers that are held back, and may
// be given when the client is silent or, if so, has ended.
func (p *Player) waiting(ended bool) *serverFrame {
	p.open = slices.DeleteFunc(p.open, func(c *clientMsg) bool { return c.answer.sent })
	var first *serverFrame
	for _, c := range p.open {
		r := c.answer
		if !r.isOwned() || first != nil && first.seq < r.seq {
			continue
		}
		awaited := p.clientMsgs[r.from():r.before]
		if p.loose {
			awaited = r.needs
			if !slices.ContainsFunc(awaited, func(c *clientMsg) bool { return !c.isSettled() }) {
				continue
			}
		}
		if ended || !slices.ContainsFunc(awaited, (*clientMsg).mayTakeTime) {
			first = r
		}
	}
	return first
}

// Gap returns how long after the latest of its causes the frame was recorded that
// was returned as number n, counted from 0 over all that were. Its causes are what
// was recorded before it and has happened: messages of the live client, and frames
// that were sent. It is asked when the frame is returned, and 0 for a frame that
// was not recorded.
func (p *Player) Gap(n int) time.Duration {
	if r := p.out[n]; r != nil {
		return p.gap(r)
	}
	return 0
}

func (p *Player) gap(r *serverFrame) time.Duration {
	last := p.heardBefore(r)
	for _, o := range slices.Backward(p.serverFrames[:r.index]) {
		if o.sent {
			last = max(last, o.at)
			break
		}
	}
	return r.at - last
}

// heardBefore returns when the last message recorded before r was, of those that
// have come.
func (p *Player) heardBefore(r *serverFrame) time.Duration {
	for _, c := range slices.Backward(p.clientMsgs[:r.before]) {
		if c.arrived {
			return c.at
		}
	}
	return 0
}

// apart returns, of a response, how long after the first of the notifications it was
// recorded that stand before it, with nothing else sent or heard since; 0 of others.
func (p *Player) apart(n int) (gap time.Duration) {
	r := p.out[n]
	if r == nil || !r.answers() {
		return 0
	}
	since := p.heardBefore(r)
	for _, o := range slices.Backward(p.serverFrames[:r.index]) {
		if o.sent && (o.answers() || len(o.requests) > 0 || o.at < since) {
			break
		}
		if o.sent {
			gap = r.at - o.at
		}
	}
	return gap
}

// Overtaken reports whether frame n, counted as for Gap, belongs to no request and
// the live client has said already what was recorded after it: then the recorded
// moment of the frame is over.
func (p *Player) Overtaken(n int) bool {
	r := p.out[n]
	return r != nil && len(r.owners) == 0 && r.before < p.reach
}
