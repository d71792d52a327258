package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Condition is an expression over a state. Its grammar:
//
//	any     = all { "or" all }
//	all     = not { "and" not }
//	not     = "not" not | value [ ("==" | "!=" | "<" | "<=" | ">" | ">=") value ]
//	value   = number | duration | "text" | name [ "(" of ")" ] | "(" any ")"
//
// ||, && and ! are as good as the words. A duration is a number of seconds: 1.5s is
// 1.5. A number holds unless it is 0, a text unless it is empty. The names are those
// of [Names].
type Condition struct {
	root node
	text string
}

// node is a part of a condition: what it asks of a state, and of which sort the answer is.
type node struct {
	eval func(*State) value
	sort byte // '0' a number or a truth, '"' a text
}

// value is what a node comes to.
type value struct {
	number float64
	text   string
}

func truth(b bool) value {
	if b {
		return value{number: 1}
	}
	return value{}
}

func (v value) holds() bool { return v.number != 0 || v.text != "" }

// ParseCondition reads an expression.
func ParseCondition(text string) (*Condition, error) {
	p := &parser{text: text}
	root, err := p.any(0)
	if p.blank(); err == nil && p.rest() != "" {
		err = p.wants("an operator, and, or, or the end")
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return &Condition{root, text}, nil
}

// Holds reports whether the condition holds.
func (c *Condition) Holds(s *State) bool { return c.root.eval(s).holds() }

// String returns the expression.
func (c *Condition) String() string { return c.text }

type parser struct {
	text string
	at   int
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) blank() {
	p.at = len(p.text) - len(strings.TrimLeft(p.rest(), " \t\n"))
}

func (p *parser) wants(what string) error {
	found := "the end"
	if r := p.rest(); r != "" {
		found = strconv.Quote(shorten(r))
	}
	return fmt.Errorf("at %d: want %s, found %s", p.at+1, what, found)
}

// take skips one of the words, if it is next.
func (p *parser) take(words ...string) (string, bool) {
	p.blank()
	for _, w := range words {
		r, ok := strings.CutPrefix(p.rest(), w)
		if !ok || isName(w[0]) && r != "" && isName(r[0]) {
			continue
		}
		p.at += len(w)
		return w, true
	}
	return "", false
}

func isName(c byte) bool { return c == '_' || unicode.IsLetter(rune(c)) || '0' <= c && c <= '9' }

func (p *parser) any(depth int) (node, error) {
	a, err := p.all(depth)
	for err == nil {
		if _, ok := p.take("or", "||"); !ok {
			break
		}
		left, right := a, node{}
		right, err = p.all(depth)
		a = node{func(s *State) value { return truth(left.eval(s).holds() || right.eval(s).holds()) }, '0'}
	}
	return a, err
}

func (p *parser) all(depth int) (node, error) {
	a, err := p.not(depth)
	for err == nil {
		if _, ok := p.take("and", "&&"); !ok {
			break
		}
		left, right := a, node{}
		right, err = p.not(depth)
		a = node{func(s *State) value { return truth(left.eval(s).holds() && right.eval(s).holds()) }, '0'}
	}
	return a, err
}

func (p *parser) not(depth int) (node, error) {
	if depth > 100 {
		return node{}, fmt.Errorf("at %d: nested too deep", p.at+1)
	}
	if _, ok := p.take("not", "!"); ok {
		n, err := p.not(depth + 1)
		return node{func(s *State) value { return truth(!n.eval(s).holds()) }, '0'}, err
	}
	left, err := p.value(depth)
	if err != nil {
		return node{}, err
	}
	op, ok := p.take("==", "!=", "<=", ">=", "<", ">")
	if !ok {
		return left, nil
	}
	right, err := p.value(depth)
	if err != nil {
		return node{}, err
	}
	if left.sort != right.sort {
		return node{}, fmt.Errorf("at %d: %s compares a number with a text", p.at+1, op)
	}
	return node{func(s *State) value {
		x, y := left.eval(s), right.eval(s)
		less := x.number < y.number || x.text < y.text
		switch op {
		case "==":
			return truth(x == y)
		case "!=":
			return truth(x != y)
		case "<":
			return truth(less)
		case "<=":
			return truth(less || x == y)
		case ">":
			return truth(!less && x != y)
		}
		return truth(!less)
	}, '0'}, nil
}

func (p *parser) value(depth int) (node, error) {
	if _, ok := p.take("("); ok {
		n, err := p.any(depth + 1)
		if _, ok := p.take(")"); err == nil && !ok {
			err = p.wants(")")
		}
		return n, err
	}
	p.blank()
	r := p.rest()
	switch {
	case r == "":
	case r[0] == '"':
		quoted, err := strconv.QuotedPrefix(r)
		if err != nil {
			return node{}, p.wants("a text in quotes")
		}
		p.at += len(quoted)
		text, _ := strconv.Unquote(quoted)
		return node{func(*State) value { return value{text: text} }, '"'}, nil
	case '0' <= r[0] && r[0] <= '9' || r[0] == '-' || r[0] == '.':
		return p.number()
	case isName(r[0]):
		return p.name()
	}
	return node{}, p.wants("a name, a number or a text in quotes")
}

// number reads a number or a duration.
func (p *parser) number() (node, error) {
	r := p.rest()
	end := 1
	for end < len(r) && (isName(r[end]) || r[end] == '.' || r[end] == 'µ' || r[end] >= 0x80) {
		end++
	}
	n, err := strconv.ParseFloat(r[:end], 64)
	if err != nil {
		d, err := time.ParseDuration(r[:end])
		if err != nil {
			return node{}, p.wants("a number, or a duration such as 1.5s")
		}
		n = d.Seconds()
	}
	p.at += end
	return node{func(*State) value { return value{number: n} }, '0'}, nil
}

// Name is a word of the expression language.
type Name struct {
	Word string
	Of   string // what may stand in parentheses; "" is nothing
	Says string

	sort byte
	must bool // the parentheses must be there
	make func(of string) (func(*State) value, error)
}

// Names lists the words of the expression language.
func Names() []Name { return names }

// names is filled by init: name refers to it.
var names []Name

func init() {
	names = []Name{
		{Word: "pending", Of: "FILTER", Says: "open calls", sort: '0', make: ofCalls(pending)},
		{Word: "waited", Of: "FILTER", Says: "how long the oldest open call has waited", sort: '0', make: ofCalls(waited)},
		{Word: "progress", Of: "TOKEN", Says: "the latest progress of the open call with the token", sort: '0', must: true, make: ofProgress},
		{Word: "capability", Of: "PATH", Says: "an end can do it: sampling, server.tools.listChanged", sort: '0', must: true, make: ofCapability},
		{Word: "revision", Says: "the settled revision", sort: '"', make: plain(func(s *State) value { return value{text: s.revision} })},
		{Word: "client", Says: "the client's name", sort: '"', make: plain(func(s *State) value { return value{text: s.peers[transport.ClientToServer].Name} })},
		{Word: "server", Says: "the server's name", sort: '"', make: plain(func(s *State) value { return value{text: s.peers[transport.ServerToClient].Name} })},
		{Word: "subscriptions", Of: "URI", Says: "subscriptions to resources, and those of listen requests", sort: '0', make: ofSubscriptions},
		{Word: "tasks", Of: "STATUS", Says: "tasks", sort: '0', make: ofTasks},
		{Word: "queued", Of: "c2s|s2c", Says: "frames that nothing shows to be taken", sort: '0', make: ofWays(func(s *State, dir transport.Direction) float64 { return float64(s.queued[dir]) })},
		{Word: "frames", Of: "c2s|s2c", Says: "frames so far", sort: '0', make: ofWays(func(s *State, dir transport.Direction) float64 { return float64(s.frames[dir]) })},
		{Word: "ended", Of: "c2s|s2c", Says: "directions that ended", sort: '0', make: ofWays(func(s *State, dir transport.Direction) float64 { return truth(s.ended[dir] != "").number })},
		{Word: "failures", Says: "answers that are errors, of the protocol or of a tool", sort: '0', make: plain(func(s *State) value { return value{number: float64(s.failures)} })},
		{Word: "lost", Says: "events that could not be recorded", sort: '0', make: plain(func(s *State) value { return value{number: float64(s.lost)} })},
		{Word: "streams", Says: "open HTTP exchanges", sort: '0', make: plain(func(s *State) value { return value{number: float64(len(s.streams))} })},
		{Word: "exit", Says: "how the server's process ended", sort: '"', make: plain(func(s *State) value { return value{text: s.exit} })},
		{Word: "seq", Says: "the event's number", sort: '0', make: plain(func(s *State) value { return value{number: float64(s.seq)} })},
		{Word: "at", Says: "the event's time", sort: '0', make: plain(func(s *State) value { return value{number: s.at.Seconds()} })},
	}
}

// name reads a name and what stands in its parentheses.
func (p *parser) name() (node, error) {
	r := p.rest()
	end := 0
	for end < len(r) && isName(r[end]) {
		end++
	}
	i := slices.IndexFunc(names, func(n Name) bool { return n.Word == r[:end] })
	if i < 0 {
		var words []string
		for _, n := range names {
			words = append(words, n.Word)
		}
		return node{}, p.wants("a name, one of " + strings.Join(words, ", "))
	}
	p.at += end
	n := names[i]
	of := ""
	if _, opened := p.take("("); opened {
		if n.Of == "" {
			return node{}, fmt.Errorf("at %d: %s has no parentheses", p.at, n.Word)
		}
		var err error
		if of, err = p.argument(); err != nil {
			return node{}, err
		}
	}
	if n.must && of == "" {
		return node{}, fmt.Errorf("at %d: %s wants (%s)", p.at+1, n.Word, n.Of)
	}
	eval, err := n.make(of)
	if err != nil {
		return node{}, fmt.Errorf("%s(%s): %w", n.Word, shorten(of), err)
	}
	return node{eval, n.sort}, nil
}

// argument reads up to the parenthesis that closes; one in quotes does not.
func (p *parser) argument() (string, error) {
	r, quoted := p.rest(), false
	for i := 0; i < len(r); i++ {
		switch {
		case r[i] == '\\' && quoted:
			i++
		case r[i] == '"':
			quoted = !quoted
		case r[i] == ')' && !quoted:
			p.at += i + 1
			return strings.TrimSpace(r[:i]), nil
		}
	}
	return "", p.wants("what ends with )")
}

func plain(eval func(*State) value) func(string) (func(*State) value, error) {
	return func(string) (func(*State) value, error) { return eval, nil }
}

// ofWays makes what counts one direction, or both.
func ofWays(count func(*State, transport.Direction) float64) func(string) (func(*State) value, error) {
	return func(of string) (func(*State) value, error) {
		if of == "" {
			return func(s *State) value {
				return value{number: count(s, transport.ClientToServer) + count(s, transport.ServerToClient)}
			}, nil
		}
		dir, err := transport.ParseDirection(of)
		return func(s *State) value { return value{number: count(s, dir)} }, err
	}
}

// ofProgress finds a call by its token: as it is written on the wire, or a text
// without its quotes.
func ofProgress(of string) (func(*State) value, error) {
	keys := []string{string(mcp.KeyOf([]byte(of))), string(mcp.KeyOf([]byte(`"` + of + `"`)))}
	return func(s *State) value {
		for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			for _, k := range keys {
				if x := s.tokens[key{dir, k}]; x != nil {
					n, _ := strconv.ParseFloat(x.progress, 64) // 0 if it is no number, infinite if it is too large
					return value{number: n}
				}
			}
		}
		return value{}
	}, nil
}

func ofCapability(of string) (func(*State) value, error) {
	of = unquoted(of)
	path, ofClient := strings.CutPrefix(of, "client.")
	path, ofServer := strings.CutPrefix(path, "server.")
	return func(s *State) value {
		client := !ofServer && s.peers[transport.ClientToServer].has(path)
		return truth(client || !ofClient && s.peers[transport.ServerToClient].has(path))
	}, nil
}

func ofSubscriptions(of string) (func(*State) value, error) {
	uri := unquoted(of)
	return func(s *State) value {
		if uri != "" {
			_, ok := s.subscriptions[uri]
			return truth(ok)
		}
		return value{number: float64(len(s.subscriptions) + s.listening)}
	}, nil
}

func ofTasks(of string) (func(*State) value, error) {
	status := unquoted(of)
	return func(s *State) value {
		if status == "" {
			return value{number: float64(len(s.tasks))}
		}
		return value{number: float64(s.statuses[status])}
	}, nil
}

// unquoted returns a text that may stand in quotes.
func unquoted(s string) string {
	if t, err := strconv.Unquote(s); err == nil {
		return t
	}
	return s
}
