package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// MissCode is the JSON-RPC error code of the answer to a request for which
// nothing is recorded: in the range left to implementations, and not one that an
// SDK gives a meaning of its own (-32001 is a time-out in the TypeScript SDK).
const MissCode = -32010

// Player plays the server's half of a recording to a live client. It is a pure
// machine: frames in, frames out; no I/O, no clock, no goroutine. It is not
// safe for concurrent use.
//
// What the recorded client said are its cues, what the recorded server said its
// replies. A request takes the first cue of its Key that is left, and a live
// frame thus stands for a recorded one. A reply goes out when what preceded it
// has happened, in recorded order among those that may:
//
//   - a reply that belongs to a request (its response, its progress, what was
//     said while no other request was open) waits for that request, for the cues
//     recorded between the two, and for earlier requests that were under way as well;
//   - any other reply waits for all cues recorded before it.
//
// A cue that is not coming is not waited for: the recorded client said it before
// it said something that the live client said already. Where that cannot be known
// (the recorded client had several calls open, the live one makes them one by
// one) the player waits, and Relent ends the wait.
//
// Ids and progress tokens of the live client replace the recorded ones, in
// responses, progress and subscription ids. The server's own requests keep their
// recorded ids; the client's answers are waited for and compared. What the live
// client made up (the id of a task that it runs) replaces what the recorded one did.
// A recorded batch goes out as a batch when all its requests have come; a live
// batch is taken as its messages one by one.
//
// A request without a recorded answer gets an error that names the nearest one.
// Only a ping is answered all the same, and server/discover, for which a client may
// have probed in a session of its own. A client of a revision that was not recorded
// gets the protocol's own error.
//
// What is no message (a stray log line, a blank one) is not waited for, whoever
// said it. The server's own is said where it stood, but for blank lines; one that
// was recorded over several lines (HTTP) is said on one.
type Player struct {
	rules     Rules
	revisions revisions
	variables *variables // what the live client made up
	cues      []*cue
	replies   []*reply
	requests  map[Key][]*cue    // each queue in recorded order
	masked    map[string][]*cue // requests with something redacted, by method
	queue     []*cue            // of ByOrder: the requests that are left
	others    map[string][]*cue // notifications by method
	failed    map[Key]failedCall
	asked     map[mcp.Key][]*question
	findings  []judged
	score     Score

	without []string // what Relent passed over
	noises  noises

	open    []*cue   // live requests whose recorded answer was not sent
	held    []*reply // not sent, and all cues before them are below reach
	loose   bool
	hello   *cue              // loose: the request of the handshake, if there is one
	out     []*reply          // every frame that was returned; nil: not a recorded one
	streams map[uint64]uint64 // recorded exchanges, by the live ones that stand for them
	first   int               // loose: replies before this one were written
	cued    int               // replies before this one were sent or are held
	reached uint64            // Seq of the last cue that came
	settled int               // cues before this one are all settled
	reach   int               // cues from this one on are all unsettled
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
	messages := messagesOf(f)
	if isNoise(f.Bytes, messages) {
		p.noise(f)
	}
	for _, m := range messages {
		switch m.Kind() {
		case transport.Request:
			out = append(out, p.request(m, f.Stream)...)
		case transport.Response:
			p.response(m, f.Stream)
		case transport.Notification:
			p.notification(m, f.Stream)
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
func (p *Player) Findings() []StepVerdict { return grave(p.findings) }

// request takes a live request and returns the answers that nobody recorded.
func (p *Player) request(m transport.Message, stream uint64) []transport.Frame {
	c, key, err := p.find(m)
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
	case m.Method == methodPing:
		body = []byte(`"result":{}`)
	case m.Method == methodDiscover:
		body = p.discover()
	default:
		miss := p.miss(m, key, err)
		p.score.Missed++
		p.extraNear(miss, true)
		body = missBody(miss.Text)
	}
	p.out = append(p.out, nil)
	return []transport.Frame{{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body), Stream: stream}}
}

// missBody is the error of a request without a recorded answer.
func missBody(text string) []byte {
	quoted, _ := json.Marshal("mcprec: " + text)
	return fmt.Appendf(nil, `"error":{"code":%d,"message":%s}`, MissCode, quoted)
}

// Knows reports whether Receive would answer the live request otherwise than with
// the error of a request that was not recorded.
func (p *Player) Knows(m transport.Message) bool {
	c, _, _ := p.find(m)
	return c != nil || m.Method == methodPing || m.Method == methodDiscover
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
	p.extra("an answer", fmt.Sprintf("an answer with id %s, which no request of the server has", clip(string(m.ID))), true)
}

// notification takes a live notification.
func (p *Player) notification(m transport.Message, stream uint64) {
	c := p.notified(m)
	if c == nil {
		p.extra(about(m), fmt.Sprintf("the client's %s was not recorded", about(m)), false)
		return
	}
	late := c.passed
	p.arrive(c, m, stream)
	if !late {
		p.forgo(c)
	}
}

func firstOpen(queue []*cue) *cue {
	for _, c := range queue {
		if !c.arrived {
			return c
		}
	}
	return nil
}

// arrive lets m stand for the cue, and passes over the cues that will not come.
func (p *Player) arrive(c *cue, m transport.Message, stream uint64) {
	c.arrived, c.stream, c.live = true, stream, &m
	if stream != 0 && c.on != 0 {
		p.streams[stream] = c.on
	}
	p.reached = max(p.reached, c.seq)
	if m.Kind() != transport.Notification {
		p.variables.learn(c.msg(), m, c.index)
	}
	if c.answer != nil {
		p.open = append(p.open, c)
	}
	for _, before := range p.cues[min(p.settled, c.index):c.index] {
		before.passed = before.passed || before.isPassedBy(c)
	}
	p.settle(c.index + 1)
}

// settle keeps the bounds after some cues before reach were settled.
func (p *Player) settle(reach int) {
	p.reach = max(p.reach, reach)
	for p.settled < len(p.cues) && p.cues[p.settled].isSettled() {
		p.settled++
	}
}

// release returns the replies that may go out, in recorded order.
func (p *Player) release() []transport.Frame {
	var out []transport.Frame
	for p.cued < len(p.replies) && (p.loose || p.replies[p.cued].before <= p.reach) {
		p.held = append(p.held, p.replies[p.cued])
		p.cued++
	}
	p.held = slices.DeleteFunc(p.held, func(r *reply) bool {
		if p.mayGo(r) {
			out = append(out, p.send(r)...)
		}
		return r.sent
	})
	return out
}

func (p *Player) mayGo(r *reply) bool {
	if p.loose {
		return p.mayGoLoose(r)
	}
	if !r.isOwned() {
		return false
	}
	if slices.ContainsFunc(p.abreast(r), func(c *cue) bool { return !c.isSettled() }) {
		return false
	}
	from := min(max(r.from(), p.settled), r.before)
	return !slices.ContainsFunc(p.cues[from:r.before], func(c *cue) bool { return !c.isSettled() })
}

// send returns the reply with the live client's ids and tokens in it; nothing
// when it is progress that the live client did not ask for.
func (p *Player) send(r *reply) []transport.Frame {
	r.sent = true
	f := r.frame
	f.Bytes, f.Stream = p.variables.respell(f.Bytes), 0
	if len(r.owners) > 0 && !r.aside {
		f.Stream = r.owners[0].stream
	}
	for _, e := range r.edits {
		value := e.of(*e.owner.live)
		if value == nil {
			p.withhold(r, fmt.Sprintf("#%d: %s gave no progress token", r.seq, clip(e.owner.msg().Method)))
			r.written = true // nothing waits for it
			return nil
		}
		if !bytes.Equal(value, e.of(e.owner.msg())) {
			f.Bytes, _ = splice(f.Bytes, value, e.path...)
		}
	}
	for _, q := range r.asks {
		p.asked[q.id] = append(p.asked[q.id], q)
	}
	p.score.Replies++
	p.out = append(p.out, r)
	return []transport.Frame{f}
}
