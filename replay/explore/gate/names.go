package gate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Namer gives frames content names, in the order of the offers: the method, the tool,
// prompt or uri, the writer's operation, and an occurrence number. Responses, progress and
// cancellation are named after the request.
type Namer struct {
	Calls  []*Call // all requests, by offer
	seen   map[occurrence]int
	pairs  map[*Pair]*session // each pair has ids of its own
	now    *session           // of the frame that is being named
	of     string             // the pair of the frame, in words
	parser *Parser
}

// session is what a pair has said so far, in the order of the offers, or in the order of the wire.
type session struct {
	model *timeline.Model
	calls map[*timeline.Call]*Call // by the offers; nil of the wire
	seq   uint64                   // of the last event
}

// take reads the next event. messages are those of a frame.
func (s *session) take(e store.Event, messages []transport.Message) timeline.Step {
	s.seq++
	e.Seq = s.seq
	return s.model.TakeParsed(e, messages, messages != nil)
}

// occurrence is a name in a direction.
type occurrence struct {
	dir  transport.Direction
	name string
}

// Call is a request and, when it was offered, its response.
type Call struct {
	Name      string
	Request   *Flight
	Response  *Flight
	Cancelled bool // the sender sent a cancellation
	Listen    bool // the request stays open, and need not be answered
	// Cancellation is the frame of the first cancellation, or nil.
	Cancellation *Flight

	id     json.RawMessage
	unread bool // a response was lost with its exchange
}

// Abandoned reports whether the sender of a request over HTTP does not wait for a response any
// more: it has left the response, was cut off, or has ended the session.
func (c *Call) Abandoned() bool {
	x := c.Request.Exchange
	return x != nil && (x.pair.ended || x.left)
}

// Open reports whether nobody has read a response.
func (c *Call) Open() bool { return c.Response == nil || c.Response.Given == 0 }

// Owed reports whether the request was read and no response offered, or only one that was
// withdrawn. Over HTTP nobody owes what was refused, or what the client has left.
func (c *Call) Owed() bool {
	x := c.lastExchange()
	return c.Request.Given > 0 && (c.Response == nil || c.Response.Withdrawn) && !c.Cancelled && (x == nil || !x.left && !x.refused())
}

// lastExchange returns the exchange of the request, or the last that resumes its stream. It is nil for a
// request that did not make an exchange of its own.
func (c *Call) lastExchange() *Exchange {
	x := c.Request.Exchange
	if x == nil || x.frame != c.Request {
		return nil
	}
	return cmp.Or(x.latest, x)
}

// Forgone says in words how the exchange of a request over HTTP came to its end without a response that its
// sender has read; "" if it goes on. The words go on after «the server read the request, and».
func (c *Call) Forgone() string {
	x := c.lastExchange()
	if x == nil || c.Response != nil && !c.Response.Withdrawn {
		return ""
	}
	answer, but := ", before the answer came", ""
	if c.unread {
		answer, but = ", with the answer unread in it", "answered it, but "
	}
	switch {
	case x.refused():
		return fmt.Sprintf("refused it with HTTP status %d", x.status)
	case !x.Over():
		return ""
	case x.left && errors.Is(x.err, io.EOF):
		return "its handler aborted without a response"
	case errors.Is(x.err, io.EOF):
		return fmt.Sprintf("ended the response at step %d without the answer", x.ended)
	case errors.Is(x.err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("%sthe response broke off at step %d%s; the %s has not resumed it", but, x.ended, answer, c.Request.Dir.Sender())
	}
	return fmt.Sprintf("%sthe %s closed the response after step %d%s", but, c.Request.Dir.Sender(), x.ended, answer)
}

// Method returns the method of the request.
func (c *Call) Method() string {
	for _, m := range c.Request.Messages() {
		if m.Kind() == transport.Request && mcp.Same(m.ID, c.id) {
			return m.Method
		}
	}
	return ""
}

// Messages returns the message of the request and that of the response, which must be
// there. Either frame may be a batch.
func (c *Call) Messages() (request, response transport.Message) {
	for _, m := range c.Request.Messages() {
		if m.Kind() != transport.Response && mcp.Same(m.ID, c.id) {
			request = m
			break
		}
	}
	for _, m := range c.Response.Messages() {
		if m.Kind() == transport.Response && c.isNamed(m.ID) {
			response = m
			break
		}
	}
	return request, response
}

// isNamed reports whether an id is that of the request, perhaps but for its type.
func (c *Call) isNamed(id json.RawMessage) bool {
	key := mcp.KeyOf(id)
	return key == mcp.KeyOf(c.id) || key == mcp.KeyOf(c.id).Retyped()
}

// NewNamer returns a namer. The parser may be nil.
func NewNamer(parser *Parser) *Namer {
	if parser == nil {
		parser = &Parser{}
	}
	return &Namer{parser: parser, seen: map[occurrence]int{}, pairs: map[*Pair]*session{}}
}

// Name returns the content name of the next frame.
func (n *Namer) Name(dir transport.Direction, frame transport.Frame) string {
	f := &Flight{Dir: dir, Frame: frame}
	n.name(f)
	return f.Name
}

// name names the frame of a flight, and remembers its requests.
func (n *Namer) name(flight *Flight) {
	flight.said = n.parser.parse(flight.Frame.Bytes)
	n.choose(flight.Lane)
	messages := flight.said.messages
	step := n.now.take(store.Event{Kind: store.Frame, Dir: flight.Dir, Stream: flight.Frame.Stream, Payload: flight.Frame.Bytes}, messages)
	switch {
	case messages == nil && flight.line.shared():
		flight.Name = n.count(flight.Dir, flight.line.name())
	case messages == nil:
		flight.Name = n.count(flight.Dir, fmt.Sprintf("not JSON %08x", uint32(hashOf(string(flight.Frame.Bytes)))))
	case len(messages) == 1:
		flight.Name = n.message(flight, step, 0)
	default:
		parts := make([]string, len(messages))
		for i := range messages {
			parts[i] = n.message(flight, step, i)
		}
		flight.Name = n.count(flight.Dir, "batch ["+strings.Join(parts, ", ")+"]")
	}
	flight.hash = hashOf(flight.Name)
}

// choose goes on to the pair of a lane, which may be nil.
func (n *Namer) choose(lane *Lane) {
	var pair *Pair
	if lane != nil {
		pair = lane.pair
	}
	n.of = pair.of()
	n.now = n.pairs[pair]
	if n.now == nil {
		n.now = &session{model: timeline.NewModel(timeline.All), calls: map[*timeline.Call]*Call{}}
		n.pairs[pair] = n.now
	}
}

// begin takes the request of an exchange, which belongs to the session of its pair, whether its header names
// one or not: a pair has one client.
func (n *Namer) begin(x *Exchange) {
	n.choose(x.Lane)
	request := store.Event{Kind: store.HTTP, Dir: transport.ClientToServer, Stream: x.Stream, Payload: requestOfPair()}
	n.now.take(request, nil)
	if wire := x.Lane.pair.wire; wire != nil {
		wire.take(request, nil)
	}
}

var requestOfPair = sync.OnceValue(func() []byte {
	return store.EncodePayload(store.HTTPInfo{What: store.HTTPRequest, Header: map[string][]string{mcp.HeaderSessionID: {"pair"}}})
})

// message names message number i of the frame.
func (n *Namer) message(f *Flight, step timeline.Step, i int) string {
	m := &step.Messages[i]
	about := f.said.about[i]
	operation := f.Op
	if f.quiet {
		operation = ""
	}
	switch m.Kind {
	case transport.Request:
		c := &Call{Name: n.count(f.Dir, by(about, operation)), id: m.ID, Request: f, Listen: m.Method == mcp.MethodListen}
		n.Calls = append(n.Calls, c)
		n.now.calls[m.Call] = c
		f.Ping = f.Ping || m.Method == mcp.MethodPing
		return c.Name
	case transport.Response:
		return n.response(f, m)
	case transport.Notification:
		return n.count(f.Dir, by(n.notification(f, m, about), operation))
	}
	return n.count(f.Dir, "not a message")
}

// response names a response after its request. A response to no request is named by its
// occurrence alone: the id must not show.
func (n *Namer) response(flight *Flight, message *timeline.Message) string {
	c := n.now.calls[message.Call]
	if c == nil {
		return n.count(flight.Dir, "response to nothing")
	}
	flight.Ping = flight.Ping || c.Request.Ping
	if flight.Answers == nil {
		flight.Answers = c
	}
	name := "response to " + c.Name
	first := message.Role == timeline.Answers
	if !first {
		name = n.count(flight.Dir, "another "+name)
	}
	if first || flight.Exchange != nil && c.Response == nil { // the first was lost with its stream
		c.Response = flight
	}
	return name
}

// notification names progress and cancellation after the request, and other notifications
// by their subject.
func (n *Namer) notification(flight *Flight, message *timeline.Message, about string) string {
	if message.Method != mcp.NotificationProgress && message.Method != mcp.NotificationCancelled {
		return about
	}
	c := n.now.calls[message.Call]
	if c == nil {
		return message.Method
	}
	if message.Method == mcp.NotificationCancelled {
		c.Cancelled = true
		if c.Cancellation == nil {
			c.Cancellation = flight
		}
	}
	return message.Method + " (" + c.Name + ")"
}

// count adds the occurrence number of a name.
func (n *Namer) count(dir transport.Direction, name string) string {
	if n.of != "" && dir != transport.NoDirection && !strings.Contains(name, n.of) {
		name += n.of
	}
	k := occurrence{dir, name}
	n.seen[k]++
	return name + "#" + strconv.Itoa(n.seen[k])
}

// by adds the writer's operation to a name, where the operation is known.
func by(name, operation string) string {
	if operation == "" {
		return name
	}
	return name + " by " + operation
}

// Clip keeps a peer's name short and on one line.
func Clip(s string) string { return phrase.OneLine(Shorten(s)) }

// Shorten keeps a peer's name short, and different from other long names.
func Shorten(s string) string {
	const limit = 48
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s%08x", phrase.Shorten(s, limit), uint32(hashOf(s)))
}

// Messages returns the messages of a named frame.
func (f *Flight) Messages() []transport.Message { return f.said.messages }

// Behind is the category of a hang behind the frame, whose reader does not read on.
func (f *Flight) Behind() string {
	var kinds []transport.MessageKind
	for i := range f.said.messages {
		kinds = append(kinds, f.said.messages[i].Kind())
	}
	return closed.Behind(kinds...)
}

// said is a parsed frame. Runs share said values and never change them.
type said struct {
	messages []transport.Message // nil for a frame of other bytes than JSON
	about    []string            // of each message, the method and the tool, prompt or resource
}

// Parser remembers parsed frames: in run after run the same peers send the same bytes.
// Several goroutines may use it.
type Parser struct {
	mu   sync.Mutex // never held across a wait
	seen map[string]*said
}

const (
	parserFrames = 1024    // remembered at most
	parserBytes  = 1 << 14 // longest remembered frame
)

func (p *Parser) parse(frame []byte) *said {
	if len(frame) > parserBytes {
		return parseFrame(frame)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.seen[string(frame)]; old != nil {
		return old
	}
	text := string(frame)
	read := parseFrame([]byte(text)) // not the peer's bytes, which may change
	if p.seen == nil {
		p.seen = map[string]*said{}
	}
	if len(p.seen) < parserFrames {
		p.seen[text] = read
	}
	return read
}

func parseFrame(frame []byte) *said {
	s := &said{messages: timeline.MessagesOf(transport.Frame{Bytes: frame})}
	for _, m := range s.messages {
		about := Clip(m.Method)
		if target, ok := timeline.Target(m); ok {
			about += " " + strconv.Quote(Shorten(target))
		}
		s.about = append(s.about, about)
	}
	return s
}
