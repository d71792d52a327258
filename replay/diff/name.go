package diff

import (
	"strconv"

	"github.com/mcprec/mcprec/replay/phrase"
)

// name is what messages are told apart by in a report: the method, and of a tool or a
// prompt its name.
type name struct{ method, target string }

// names numbers them.
type names struct {
	list  []name
	known map[name]int32
}

// keptNames is how many names are told apart. Behind that a hostile peer's are by method.
const keptNames = 100_000

func newNames() *names { return &names{known: map[name]int32{}} }

func (n *names) of(method, target string) int32 {
	one := name{method, target}
	if at, ok := n.known[one]; ok {
		return at
	}
	if len(n.list) >= keptNames {
		one = name{}
		if at, ok := n.known[one]; ok {
			return at
		}
	}
	at := int32(len(n.list))
	n.list = append(n.list, one)
	n.known[one] = at
	return at
}

// String returns the name as a report has it.
func (n name) String() string {
	method := n.method
	if method == "" {
		method = "(no method)"
	}
	if n.target != "" {
		method += " " + strconv.Quote(shorten(n.target))
	}
	return shorten(method)
}

func shorten(s string) string { return phrase.Shorten(s, 80) }

func quote(s string) string { return strconv.Quote(shorten(s)) }
