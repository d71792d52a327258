package explore

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

const (
	methodPing      = "ping"
	methodProgress  = "notifications/progress"
	methodCancelled = "notifications/cancelled"
	methodListen    = "subscriptions/listen"
)

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
	n.parse(f)
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

// parse reads what the frame says.
func (n *namer) parse(f *flight) {
	f.said = n.parser.parse(f.frame)
}

// message names the frame's message number i.
func (n *namer) message(f *flight, i int) string {
	m, about := &f.said.Messages[i], f.said.about[i]
	switch m.Kind() {
	case transport.Request:
		return n.request(f, m, about)
	case transport.Response:
		return n.response(f, m)
	case transport.Notification:
		return n.count(f.dir, by(n.notification(f.dir, m, about), f.signature()))
	}
	return n.count(f.dir, "not a message")
}

func (n *namer) request(f *flight, m *transport.Message, about string) string {
	c := &call{name: n.count(f.dir, by(about, f.signature())), id: m.ID, request: f, listen: m.Method == methodListen}
	n.calls = append(n.calls, c)
	n.ids[called{f.dir, mcp.KeyOf(m.ID)}] = c
	if token := m.ProgressToken(); token != nil {
		n.tokens[called{f.dir, mcp.KeyOf(token)}] = c
	}
	f.ping = f.ping || m.Method == methodPing
	return c.name
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
	case methodProgress:
		c = n.tokens[called{dir.Reverse(), mcp.KeyOf(m.ProgressToken())}]
	case methodCancelled:
		if c = n.ids[called{dir, mcp.KeyOf(transport.Member(m.Params, "requestId"))}]; c != nil {
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

// withdraw forgets an answer that was taken back: another may come.
func (n *namer) withdraw(f *flight) {
	for _, c := range n.calls {
		if c.answer == f {
			c.answer = nil
		}
	}
}

// signature is the operation that the name carries.
func (f *flight) signature() string {
	if f.quiet {
		return ""
	}
	return f.op
}

// by adds the operation that wrote a frame, where it is known.
func by(name, op string) string {
	if op == "" {
		return name
	}
	return name + " by " + op
}

// subject is a method and the tool, prompt or resource it is about.
func subject(m transport.Message) string {
	method := clip(m.Method)
	if target, ok := replay.Target(m); ok {
		return method + " " + strconv.Quote(shorten(target))
	}
	return method
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
