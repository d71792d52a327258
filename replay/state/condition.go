package state

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
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

// deepest is how far an expression may nest.
const deepest = 100

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

// take goes over one of the words, if it is next.
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
	if depth > deepest {
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
	return compare(op, left, right), nil
}

// compare returns the node of a comparison.
func compare(op string, a, b node) node {
	return node{func(s *State) value {
		x, y := a.eval(s), b.eval(s)
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
	}, '0'}
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
