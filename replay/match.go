package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Key is what a request asks for, in a form that can be compared: requests with
// the same Key take their answers from one queue.
type Key string

// Matcher gives a request its Key. Ids must not be part of it.
type Matcher func(transport.Message) (Key, error)

// MatchParams is the Matcher of the zero Rules: the method and the params in one
// spelling, with keys sorted, escapes resolved, the last of a duplicate key, and
// numbers equal that are the same number (100, 1e2). Absent params are as empty
// ones. Of _meta it leaves out what says who asks and not what: progressToken, and
// the client's name and capabilities that 2026-07-28 puts in every request.
func MatchParams(m transport.Message) (Key, error) { return Rules{}.key(m) }

// key returns the queue of answers that a request belongs to.
func (r Rules) key(m transport.Message) (Key, error) {
	switch {
	case matchedByMethod(m.Method):
		return Key(m.Method), nil
	case r.Match != nil:
		return r.Match(m)
	case r.By == ByMethod || r.By == ByOrder:
		return Key(m.Method), nil
	}
	params, err := parseTree(m.Params)
	if err != nil {
		return "", fmt.Errorf("match %s: params are %v", m.Method, err)
	}
	w := keyWriter{rules: r, b: append([]byte(m.Method), ' '), path: []string{"params"}}
	w.write(r.paramsOf(m, params))
	return Key(w.b), nil
}

// matchedByMethod reports whether a request matches whatever its params are: two
// clients never introduce themselves alike.
func matchedByMethod(method string) bool {
	return method == methodInitialize || method == methodDiscover || method == methodPing
}

const (
	methodDiscover = "server/discover"
	methodPing     = "ping"
	methodRoots    = "roots/list"
)

// paramsOf returns what of a message's params is compared: not ids and tokens, and
// but for Strict not who asks.
func (r Rules) paramsOf(m transport.Message, params tree) tree {
	if params.kind == 0 || params.kind == 'n' {
		params = tree{kind: '{'}
	}
	switch m.Method {
	case methodProgress:
		params = params.without("progressToken")
	case methodCancelled:
		params = params.without("requestId")
	case methodInitialize:
		if r.By != Strict {
			params = params.without("clientInfo", "capabilities")
		}
	}
	meta := params.member("_meta")
	if meta.kind != '{' {
		return params
	}
	names := []string{"progressToken", subscriptionID}
	if r.By != Strict {
		names = append(names, "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities")
	}
	if meta = meta.without(names...); len(meta.keys) == 0 {
		return params.without("_meta")
	}
	params.kids = slices.Clone(params.kids)
	i, _ := slices.BinarySearch(params.keys, "_meta")
	params.kids[i] = meta
	return params
}

// without returns an object without some of its members.
func (n tree) without(names ...string) tree {
	if n.kind != '{' || !slices.ContainsFunc(n.keys, func(k string) bool { return slices.Contains(names, k) }) {
		return n
	}
	keys, kids := n.keys, n.kids
	n.keys, n.kids = nil, nil
	for i, k := range keys {
		if !slices.Contains(names, k) {
			n.keys, n.kids = append(n.keys, k), append(n.kids, kids[i])
		}
	}
	return n
}

// keyWriter writes a value in one spelling.
type keyWriter struct {
	rules Rules
	b     []byte
	path  []string // kept only for rules that ignore places, and for shapes
	shape bool     // marks stand for what looks made up
}

func (w *keyWriter) write(n tree) {
	switch n.kind {
	case '{':
		w.b = append(w.b, '{')
		for i, kid := range n.kids {
			w.enter(n.keys[i], kid, true)
		}
		w.b = append(w.b, '}')
	case '[':
		w.b = append(w.b, '[')
		for i, kid := range n.kids {
			w.enter(strconv.Itoa(i), kid, false)
		}
		w.b = append(w.b, ']')
	case '"':
		w.quote(w.text(n))
	case '0':
		w.b = append(w.b, w.text(n)...)
	default:
		w.b = append(w.b, n.text...)
	}
}

// enter writes a member or an element. Of an ignored one nothing is left but, in a
// list, that it is there.
func (w *keyWriter) enter(step string, kid tree, named bool) {
	ignored := false
	if len(w.rules.Ignore) > 0 || w.shape {
		w.path = append(w.path, step)
		defer func() { w.path = w.path[:len(w.path)-1] }()
		ignored = w.rules.ignores(w.path)
	}
	switch {
	case ignored && named:
		return
	case named:
		w.quote(step)
	}
	if !ignored {
		w.write(kid)
	}
	w.b = append(w.b, ',')
}

// text returns a string or a number as it is compared.
func (w *keyWriter) text(n tree) string {
	text := n.text
	if n.kind == '0' {
		text = w.rules.number(text)
	}
	if w.shape {
		return w.shapeOf(text)
	}
	return w.rules.normal(text)
}

func (w *keyWriter) quote(s string) {
	w.b = append(w.b, '"')
	for {
		i := strings.IndexAny(s, `"\`)
		if i < 0 {
			break
		}
		w.b = append(append(w.b, s[:i]...), '\\', s[i])
		s = s[i+1:]
	}
	w.b = append(append(w.b, s...), '"')
}

// ignores reports whether the place is not compared.
func (r Rules) ignores(path []string) bool {
	return slices.ContainsFunc(r.Ignore, func(p Pointer) bool { return p.covers(path) })
}

// normal applies the normalizers in their order.
func (r Rules) normal(text string) string {
	for _, n := range r.Normalize {
		text = n.Apply(text)
	}
	return text
}

// number returns a number as it is compared.
func (r Rules) number(written string) string {
	if r.By == Strict {
		return written
	}
	return mcp.Decimal(written)
}
