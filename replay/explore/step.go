package explore

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Kind is what a step releases. Eager prefers them in the order of the constants,
// save where one says otherwise.
type Kind uint8

const (
	// Start lets an operation begin.
	Start Kind = iota + 1
	// Ack lets a Write return whose frame was taken.
	Ack
	// Give lets a Read return the first queued frame.
	Give
	// Take moves a frame from its writer's hand into the queue; at capacity 0 to
	// the waiting reader.
	Take
	// End lets a Read return io.EOF.
	End
	// Close lets a Close of an end, which has returned, take effect.
	Close
	// Relent tells a recorded half that the live end is silent, so that it goes on
	// without what it waited for. It is enabled when nothing else is.
	Relent
	// HalfClose lets the CloseWrite of an end, which has returned, take effect.
	HalfClose
	// Reach lets a goroutine go on from its [Point]. Eager prefers it to all but
	// the start of an operation.
	Reach
)

// String returns the kind's word in a content name.
func (k Kind) String() string {
	return [...]string{"none", "start", "ack", "give", "take", "eof", "close", "relent", "half-close", "reach"}[k]
}

// Step is one step that may be released now. Its name is its content: no id, no
// address, no order of arrival is in it.
type Step struct {
	Kind Kind
	// Dir is the direction of the frame; of a Close or HalfClose the one in which
	// the closing end sends; none for a Start or Reach.
	Dir transport.Direction
	// What names the frame, the operation or the point; "" for End and closes.
	What string

	hash   uint64 // of What
	flight *flight
	op     *Operation
	half   *half
	point  *point
}

// Name returns the content name: c2s take tools/call "x"#1, start list, c2s close.
func (s Step) Name() string {
	name := s.Kind.String()
	if s.Dir != transport.NoDirection {
		name = s.Dir.String() + " " + name
	}
	if s.What != "" {
		name += " " + s.What
	}
	return name
}

// Hash stands for the name: equal names have equal hashes on every machine.
func (s Step) Hash() uint64 { return scramble(s.content() ^ uint64(s.class())<<56) }

// content is the hash of What.
func (s Step) content() uint64 {
	if s.hash == 0 {
		return hashOf(s.What)
	}
	return s.hash
}

// class numbers the pair of kind and direction.
func (s Step) class() int { return int(s.Kind)*3 + int(s.Dir) }

// classes is above every class.
const classes = (int(Reach) + 1) * 3

// hashOf is FNV-1a: small, fixed for ever, as tokens depend on it.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// scramble spreads a number over all bits (the finalizer of splitmix64).
func scramble(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// enabled appends the steps of the gate that may be released: points, then kinds
// in their order, client to server first, then by round and name.
func (g *gate) enabled(steps []Step) []Step {
	g.admit()
	for _, p := range g.points {
		steps = append(steps, Step{Kind: Reach, What: p.name, point: p})
	}
	for i := range g.lanes {
		for _, f := range g.lanes[i].unacked {
			steps = append(steps, f.step(Ack))
		}
	}
	for i := range g.lanes {
		if l := &g.lanes[i]; len(l.queue) > 0 && l.heard() {
			steps = append(steps, l.queue[0].step(Give))
		}
	}
	steps = g.takes(g.takes(steps, false), true)
	for i := range g.lanes {
		if l := &g.lanes[i]; l.ended && len(l.queue) == 0 && l.heard() {
			steps = append(steps, Step{Kind: End, Dir: l.dir})
		}
	}
	for i := range g.ends {
		e := &g.ends[i]
		if e.in.leaving && !e.closed {
			steps = append(steps, Step{Kind: Close, Dir: e.out.dir})
		}
		if e.out.ending && !e.out.ended && !e.in.leaving { // a close covers it
			steps = append(steps, Step{Kind: HalfClose, Dir: e.out.dir})
		}
	}
	return steps
}

// takes appends the steps that take a frame, or those of frames that stand before
// their place in the recorded order: eager leaves these to the last.
func (g *gate) takes(steps []Step, early bool) []Step {
	for i := range g.lanes {
		l := &g.lanes[i]
		room := l.cap < 0 || len(l.queue) < l.cap || l.cap == 0 && l.heard() // at capacity 0 a reader must be there
		if !room || l.ending || l.deafened {
			continue
		}
		for _, f := range l.waiting {
			if early == (f.place > l.turn) {
				steps = append(steps, f.step(Take))
			}
		}
	}
	return steps
}

func (f *flight) step(k Kind) Step {
	return Step{Kind: k, Dir: f.dir, What: f.name, hash: f.hash, flight: f}
}

// release performs a step of the gate.
func (g *gate) release(s Step) {
	if s.Kind == Reach {
		g.reach(s.point)
		return
	}
	l := g.lane(s.Dir)
	switch s.Kind {
	case Ack:
		l.ack(s.flight)
	case Give:
		l.give(g.round)
		g.gave(s.flight)
	case Take:
		f := s.flight
		f.taken = g.round
		i := slices.Index(l.waiting, f)
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.unacked = append(l.unacked, f)
		l.queue = append(l.queue, f)
		if l.cap == 0 { // its reader has it
			l.give(g.round)
		}
		if g.rules != nil {
			for _, v := range g.rules.Send(f.dir, f.said.Parsed, f.known) {
				g.breaches = append(g.breaches, Breach{v, f.dir.String() + " " + f.name, f.taken})
			}
		}
		if f.given > 0 {
			g.gave(f)
		}
		if !g.splits {
			l.ack(s.flight)
		}
	case End:
		l.eof = g.round
		l.readers[0].got <- received{err: io.EOF}
		l.readers = l.readers[1:]
	case Close:
		g.ends[s.Dir-transport.ClientToServer].close()
	case HalfClose:
		l.ended, l.halved = true, true
		l.refuse()
	}
}

// namer gives frames their content names in the order of their offers.
type namer struct {
	seen   map[counted]int
	ids    map[called]*call // the latest request with the id
	tokens map[called]*call // the latest request with the progress token
	calls  []*call          // all requests, by offer
	parser *parser
}

// counted is what occurrences are counted of: a name in a direction.
type counted struct {
	dir  transport.Direction
	name string
}

// called is an id or a progress token, by the direction of its request.
type called struct {
	dir transport.Direction
	key mcp.Key
}

// call is a request and, when it was offered, its response.
type call struct {
	name    string
	id      json.RawMessage
	request *flight
	answer  *flight
	then    *stance // when the response was given, of a traced gate

	cancelled bool // its sender tried to
	listen    bool // it stays open, and need not be answered
}

func newNamer() *namer {
	return &namer{parser: &parser{}, seen: map[counted]int{}, ids: map[called]*call{}, tokens: map[called]*call{}}
}

// name names the frame of a flight, and remembers its requests.
func (n *namer) name(f *flight) {
	f.said = n.parser.parse(f.frame)
	messages := f.said.Messages
	switch {
	case messages == nil:
		f.name = n.count(f.dir, fmt.Sprintf("not JSON %08x", uint32(hashOf(string(f.frame.Bytes)))))
	case len(messages) == 1:
		f.name = n.message(f, 0)
	default:
		parts := make([]string, len(messages))
		for i := range messages {
			parts[i] = n.message(f, i)
		}
		f.name = n.count(f.dir, "batch ["+strings.Join(parts, ", ")+"]")
	}
	f.hash = hashOf(f.name)
}

// message names the frame's message number i.
func (n *namer) message(f *flight, i int) string {
	m, about, operation := &f.said.Messages[i], f.said.about[i], f.op
	if f.quiet {
		operation = ""
	}
	switch m.Kind() {
	case transport.Request:
		c := &call{name: n.count(f.dir, by(about, operation)), id: m.ID, request: f, listen: m.Method == mcp.MethodListen}
		n.calls = append(n.calls, c)
		n.ids[called{f.dir, mcp.KeyOf(m.ID)}] = c
		if token := m.ProgressToken(); token != nil {
			n.tokens[called{f.dir, mcp.KeyOf(token)}] = c
		}
		f.ping = f.ping || m.Method == mcp.MethodPing
		return c.name
	case transport.Response:
		return n.response(f, m)
	case transport.Notification:
		return n.count(f.dir, by(n.notification(f.dir, m, about), operation))
	}
	return n.count(f.dir, "not a message")
}

// response names a response after its request. One that answers nothing has only
// its occurrence, as its id must not show.
func (n *namer) response(f *flight, m *transport.Message) string {
	c := n.ids[called{f.dir.Reverse(), mcp.KeyOf(m.ID)}]
	if c == nil {
		return n.count(f.dir, "response to nothing")
	}
	f.ping = f.ping || c.request.ping
	if f.answers == nil {
		f.answers = c
	}
	name := "response to " + c.name
	if c.answer != nil {
		return n.count(f.dir, "another "+name)
	}
	c.answer = f
	return name
}

// notification names what a notification is about: its request, where it has one.
func (n *namer) notification(dir transport.Direction, m *transport.Message, about string) string {
	var c *call
	switch m.Method {
	case mcp.NotificationProgress:
		c = n.tokens[called{dir.Reverse(), mcp.KeyOf(m.ProgressToken())}]
	case mcp.NotificationCancelled:
		if c = n.ids[called{dir, mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID))}]; c != nil {
			c.cancelled = true
		}
	default:
		return about
	}
	if c == nil {
		return m.Method
	}
	return m.Method + " (" + c.name + ")"
}

// count adds the occurrence number of a name.
func (n *namer) count(dir transport.Direction, name string) string {
	k := counted{dir, name}
	n.seen[k]++
	return name + "#" + strconv.Itoa(n.seen[k])
}

// by adds the operation that wrote a frame, where it is known.
func by(name, op string) string {
	if op == "" {
		return name
	}
	return name + " by " + op
}

// clip keeps a name that a peer chose on one line.
func clip(s string) string { return phrase.OneLine(shorten(s)) }

// shorten keeps a name that a peer chose short, and unlike other long ones.
func shorten(s string) string {
	const limit = 48
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s%08x", phrase.Shorten(s, limit), uint32(hashOf(s)))
}

// said is what a frame says. It is shared by runs and never changed.
type said struct {
	order.Parsed
	about []string // of each message, the method and the tool, prompt or resource
}

// parser remembers what frames say: in run after run the same peers send the same
// bytes. It may be used by several goroutines at once.
type parser struct {
	mu   sync.Mutex // never held across a wait
	seen map[string]*said
}

const (
	parserFrames = 1024    // that are remembered
	parserBytes  = 1 << 14 // of a frame that is
)

func (p *parser) parse(f transport.Frame) *said {
	if len(f.Bytes) > parserBytes {
		return parseFrame(f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.seen[string(f.Bytes)]; old != nil {
		return old
	}
	text := string(f.Bytes)
	read := parseFrame(transport.Frame{Bytes: []byte(text)}) // not the peer's bytes, which it may change
	if p.seen == nil {
		p.seen = map[string]*said{}
	}
	if len(p.seen) < parserFrames {
		p.seen[text] = read
	}
	return read
}

func parseFrame(f transport.Frame) *said {
	s := &said{Parsed: order.Parse(f)}
	for _, m := range s.Messages {
		about := clip(m.Method)
		if target, ok := timeline.Target(m); ok {
			about += " " + strconv.Quote(shorten(target))
		}
		s.about = append(s.about, about)
	}
	return s
}
