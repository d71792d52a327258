package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcprec/mcprec/replay/filter"
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
// The words may be written ||, && and !. A duration is a number of seconds: 1.5s is
// 1.5. A number holds unless it is 0, a text unless it is empty. [Names] lists the names.
type Condition struct {
	root operand
	text string
}

// ParseCondition reads an expression.
func ParseCondition(text string) (*Condition, error) {
	p := &parser{text: text}
	root, err := p.any(0)
	p.skipBlanks()
	if err == nil && p.rest() != "" {
		err = p.wants("an operator, and, or, or the end")
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return &Condition{root, text}, nil
}

// Holds reports whether the condition holds.
func (c *Condition) Holds(state *State) bool { return c.root.eval(state).holds() }

// String returns the expression.
func (c *Condition) String() string { return c.text }

// value is a number or a text. A truth is 1 or 0.
type value struct {
	number float64
	text   string
}

func (v value) holds() bool { return v.number != 0 || v.text != "" }

func truth(b bool) value {
	if b {
		return value{number: 1}
	}
	return value{}
}

// operand is a part of a condition.
type operand struct {
	eval   func(*State) value
	isText bool
}

// Name is a word of the expression language.
type Name struct {
	Word string
	Of   string // the argument in parentheses; "": none
	Says string

	isText   bool
	required bool // the argument may not be left out
	compile  func(of string) (func(*State) value, error)
}

// Names lists the words of the expression language.
func Names() []Name { return names }

var names = []Name{
	{Word: "pending", Of: "FILTER", Says: "open calls", compile: ofCalls(func(_ *State, w *watch) float64 { return float64(w.open) })},
	{Word: "waited", Of: "FILTER", Says: "how long the oldest open call has waited", compile: ofCalls(func(s *State, w *watch) float64 {
		if len(w.calls) == 0 {
			return 0
		}
		return (s.at - w.calls[0].At).Seconds()
	})},
	{Word: "progress", Of: "TOKEN", Says: "the latest progress of the open call with the token", required: true, compile: ofProgress},
	{Word: "capability", Of: "PATH", Says: "a side can do it: sampling, server.tools.listChanged", required: true, compile: ofCapability},
	{Word: "revision", Says: "the settled revision", isText: true, compile: textOf(func(s *State) string { return s.revision })},
	{Word: "client", Says: "the client's name", isText: true, compile: textOf(func(s *State) string { return s.peers[transport.ClientToServer].Name })},
	{Word: "server", Says: "the server's name", isText: true, compile: textOf(func(s *State) string { return s.peers[transport.ServerToClient].Name })},
	{Word: "subscriptions", Of: "URI", Says: "subscriptions to resources, and those of listen requests", compile: counted(func(s *State, uri string) int {
		if uri == "" {
			return len(s.subscriptions) + s.calls.listening
		}
		_, ok := s.subscriptions[uri]
		return int(truth(ok).number)
	})},
	{Word: "tasks", Of: "STATUS", Says: "tasks", compile: counted(func(state *State, status string) int {
		if status == "" {
			return len(state.tasks)
		}
		return state.statuses[status]
	})},
	{Word: "queued", Of: "c2s|s2c", Says: "messages that may not have been read yet", compile: ofDirections(func(s *State, dir transport.Direction) float64 { return float64(s.queues.counts[dir]) })},
	{Word: "messages", Of: "c2s|s2c", Says: "messages so far", compile: ofDirections(func(s *State, dir transport.Direction) float64 { return float64(s.frames[dir]) })},
	{Word: "ended", Of: "c2s|s2c", Says: "directions that ended", compile: ofDirections(func(s *State, dir transport.Direction) float64 { return truth(s.ended[dir] != "").number })},
	{Word: "failures", Says: "answers that are errors, of the protocol or of a tool", compile: numberOf(func(s *State) float64 { return float64(s.failures) })},
	{Word: "lost", Says: "events that could not be recorded", compile: numberOf(func(s *State) float64 { return float64(s.lost) })},
	{Word: "streams", Says: "open HTTP exchanges", compile: numberOf(func(s *State) float64 { return float64(len(s.streams)) })},
	{Word: "exit", Says: "how the server's process ended", isText: true, compile: textOf(func(s *State) string { return s.exit })},
	{Word: "seq", Says: "the event's number", compile: numberOf(func(state *State) float64 { return float64(state.seq) })},
	{Word: "at", Says: "the event's time", compile: numberOf(func(state *State) float64 { return state.at.Seconds() })},
}

func numberOf(read func(*State) float64) func(string) (func(*State) value, error) {
	return func(string) (func(*State) value, error) {
		return func(state *State) value { return value{number: read(state)} }, nil
	}
}

func textOf(read func(*State) string) func(string) (func(*State) value, error) {
	return func(string) (func(*State) value, error) {
		return func(state *State) value { return value{text: read(state)} }, nil
	}
}

// ofCalls asks about the open calls of a filter. It refuses a filter about the end of a call.
func ofCalls(read func(*State, *watch) float64) func(string) (func(*State) value, error) {
	return func(of string) (func(*State) value, error) {
		f, err := filter.Parse(of)
		if err == nil && f.Ahead() {
			err = fmt.Errorf("filter %q: status: and took: ask how a call ends, and these are open", of)
		}
		return func(state *State) value { return value{number: read(state, state.calls.watch(f))} }, err
	}
}

// ofDirections counts in one direction, or in both.
func ofDirections(count func(*State, transport.Direction) float64) func(string) (func(*State) value, error) {
	return func(of string) (func(*State) value, error) {
		if of == "" {
			return func(state *State) value {
				return value{number: count(state, transport.ClientToServer) + count(state, transport.ServerToClient)}
			}, nil
		}
		dir, err := transport.ParseDirection(of)
		return func(state *State) value { return value{number: count(state, dir)} }, err
	}
}

// counted counts the elements with a name; "": every element.
func counted(count func(s *State, name string) int) func(string) (func(*State) value, error) {
	return func(of string) (func(*State) value, error) {
		name := unquote(of)
		return func(state *State) value { return value{number: float64(count(state, name))} }, nil
	}
}

// ofProgress finds a call by the token as written on the wire, or as a text without quotes.
func ofProgress(of string) (func(*State) value, error) {
	tokens := []mcp.Key{mcp.KeyOf([]byte(of)), mcp.KeyOf([]byte(`"` + of + `"`))}
	return func(state *State) value {
		for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			for _, token := range tokens {
				if c := state.calls.withToken(dir, token); c != nil {
					n, _ := strconv.ParseFloat(c.progress, 64) // 0 if it is no number, infinite if it is too large
					return value{number: n}
				}
			}
		}
		return value{}
	}, nil
}

// ofCapability asks for a capability by path, as tools.listChanged, of either end or of the end
// named before.
func ofCapability(of string) (func(*State) value, error) {
	path, ofClient := strings.CutPrefix(unquote(of), "client.")
	path, ofServer := strings.CutPrefix(path, "server.")
	members := strings.Split(path, ".")
	has := func(peer Peer) bool {
		return !slices.Contains([]string{"", "false", "null"}, string(transport.Member(peer.Capabilities, members...)))
	}
	return func(s *State) value {
		return truth(!ofServer && has(s.peers[transport.ClientToServer]) || !ofClient && has(s.peers[transport.ServerToClient]))
	}, nil
}

// unquote returns a text, perhaps in quotes.
func unquote(s string) string {
	if t, err := strconv.Unquote(s); err == nil {
		return t
	}
	return s
}

type parser struct {
	text string
	at   int
}

func (p *parser) rest() string { return p.text[p.at:] }

func (p *parser) skipBlanks() {
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
	p.skipBlanks()
	for _, w := range words {
		r, ok := strings.CutPrefix(p.rest(), w)
		if ok && !(isNameByte(w[0]) && r != "" && isNameByte(r[0])) {
			p.at += len(w)
			return w, true
		}
	}
	return "", false
}

func isNameByte(c byte) bool {
	return c == '_' || unicode.IsLetter(rune(c)) || '0' <= c && c <= '9'
}

func (p *parser) any(depth int) (operand, error) { return p.chain(depth, p.all, true, "or", "||") }

func (p *parser) all(depth int) (operand, error) { return p.chain(depth, p.not, false, "and", "&&") }

// chain reads operands between operators. An operand whose truth equals decides settles the
// chain: the operands behind are not asked.
func (p *parser) chain(depth int, next func(depth int) (operand, error), decides bool, operators ...string) (operand, error) {
	left, err := next(depth)
	for err == nil {
		if _, ok := p.take(operators...); !ok {
			break
		}
		var right operand
		right, err = next(depth)
		first := left.eval
		left = operand{eval: func(state *State) value {
			if first(state).holds() == decides {
				return truth(decides)
			}
			return truth(right.eval(state).holds())
		}}
	}
	return left, err
}

func (p *parser) not(depth int) (operand, error) {
	if depth > 100 {
		return operand{}, fmt.Errorf("at %d: nested too deep", p.at+1)
	}
	if _, ok := p.take("not", "!"); ok {
		inner, err := p.not(depth + 1)
		return operand{eval: func(state *State) value { return truth(!inner.eval(state).holds()) }}, err
	}
	left, err := p.operand(depth)
	if err != nil {
		return operand{}, err
	}
	operator, ok := p.take("==", "!=", "<=", ">=", "<", ">")
	if !ok {
		return left, nil
	}
	right, err := p.operand(depth)
	if err != nil {
		return operand{}, err
	}
	if left.isText != right.isText {
		return operand{}, fmt.Errorf("at %d: %s compares a number with a text", p.at+1, operator)
	}
	return operand{eval: func(s *State) value { return truth(compare(operator, left.eval(s), right.eval(s))) }}, nil
}

// compare applies an operator to two values of one kind.
func compare(operator string, x, y value) bool {
	less := x.number < y.number || x.text < y.text
	switch operator {
	case "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return less
	case "<=":
		return less || x == y
	case ">":
		return !less && x != y
	}
	return !less
}

func (p *parser) operand(depth int) (operand, error) {
	if _, ok := p.take("("); ok {
		inner, err := p.any(depth + 1)
		if _, ok := p.take(")"); err == nil && !ok {
			err = p.wants(")")
		}
		return inner, err
	}
	r := p.rest()
	switch {
	case r == "":
	case r[0] == '"':
		quoted, err := strconv.QuotedPrefix(r)
		if err != nil {
			return operand{}, p.wants("a text in quotes")
		}
		p.at += len(quoted)
		text, _ := strconv.Unquote(quoted)
		return operand{func(*State) value { return value{text: text} }, true}, nil
	case '0' <= r[0] && r[0] <= '9' || r[0] == '-' || r[0] == '.':
		return p.number()
	case isNameByte(r[0]):
		return p.name()
	}
	return operand{}, p.wants("a name, a number or a text in quotes")
}

// number reads a number or a duration.
func (p *parser) number() (operand, error) {
	r := p.rest()
	end := 1
	for end < len(r) && (isNameByte(r[end]) || r[end] == '.' || r[end] >= 0x80) { // µ too
		end++
	}
	n, err := strconv.ParseFloat(r[:end], 64)
	if err != nil {
		d, err := time.ParseDuration(r[:end])
		if err != nil {
			return operand{}, p.wants("a number, or a duration such as 1.5s")
		}
		n = d.Seconds()
	}
	p.at += end
	return operand{eval: func(*State) value { return value{number: n} }}, nil
}

// name reads a name and an argument.
func (p *parser) name() (operand, error) {
	r := p.rest()
	end := 0
	for end < len(r) && isNameByte(r[end]) {
		end++
	}
	i := slices.IndexFunc(names, func(name Name) bool { return name.Word == r[:end] })
	if i < 0 {
		var words []string
		for _, n := range names {
			words = append(words, n.Word)
		}
		return operand{}, p.wants("a name, one of " + strings.Join(words, ", "))
	}
	p.at += end
	n := names[i]
	argument := ""
	if _, opened := p.take("("); opened {
		if n.Of == "" {
			return operand{}, fmt.Errorf("at %d: %s has no parentheses", p.at, n.Word)
		}
		var err error
		argument, err = p.argument()
		if err != nil {
			return operand{}, err
		}
	}
	if n.required && argument == "" {
		return operand{}, fmt.Errorf("at %d: %s wants (%s)", p.at+1, n.Word, n.Of)
	}
	eval, err := n.compile(argument)
	if err != nil {
		return operand{}, fmt.Errorf("%s(%s): %w", n.Word, shorten(argument), err)
	}
	return operand{eval, n.isText}, nil
}

// argument reads up to the closing parenthesis; a parenthesis in quotes does not close.
func (p *parser) argument() (string, error) {
	r := p.rest()
	quoted := false
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
