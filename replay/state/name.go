package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

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
		return node{}, p.wants("a name, one of " + strings.Join(words(), ", "))
	}
	p.at += end
	n, of, err := names[i], "", error(nil)
	_, opened := p.take("(")
	switch {
	case opened && n.Of == "":
		return node{}, fmt.Errorf("at %d: %s has no parentheses", p.at, n.Word)
	case opened:
		of, err = p.argument()
	}
	if err == nil && n.must && of == "" {
		err = fmt.Errorf("at %d: %s wants (%s)", p.at+1, n.Word, n.Of)
	}
	if err != nil {
		return node{}, err
	}
	eval, err := n.make(of)
	if err != nil {
		return node{}, fmt.Errorf("%s(%s): %w", n.Word, shorten(of), err)
	}
	return node{eval, n.sort}, nil
}

func words() (list []string) {
	for _, n := range names {
		list = append(list, n.Word)
	}
	return list
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
					return value{number: number(x.progress)}
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
