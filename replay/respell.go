package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// respell returns a recorded frame with the live values of variables in it, and
// every other byte as it was. Ids and tokens of requests are not variables.
func (v *variables) respell(frame []byte) []byte {
	if v.isEmpty() {
		return frame
	}
	r := respelling{variables: v, text: frame}
	root := treeOf(frame)
	messages := []tree{root}
	if root.kind == '[' {
		messages = root.kids
	}
	for _, m := range messages {
		for _, part := range [...]string{"params", "result", "error"} {
			r.walk(m.member(part), part)
		}
	}
	return r.spelled()
}

// respellParams is respell of the params of one message.
func (v *variables) respellParams(params []byte) []byte {
	if v.isEmpty() {
		return params
	}
	r := respelling{variables: v, text: params}
	r.walk(treeOf(params), "params")
	return r.spelled()
}

// respelling is the values to put in a text.
type respelling struct {
	*variables
	text []byte
	list []change
}

func (r *respelling) spelled() []byte {
	if len(r.list) == 0 {
		return r.text
	}
	slices.SortFunc(r.list, func(a, b change) int { return a.start - b.start })
	return apply(r.text, r.list)
}

// change is a place in a text and what is to stand there.
type change struct {
	start, end int
	value      []byte
}

func (r *respelling) walk(n tree, name string) {
	for i, kid := range n.kids {
		if n.kind == '{' {
			name = n.keys[i]
		}
		if name != "progressToken" && name != "requestId" && name != subscriptionID {
			r.walk(kid, name)
		}
	}
	if n.kind != '"' && n.kind != '0' {
		return
	}
	changes := r.variables.changes(name, n.text)
	switch {
	case len(changes) == 0:
	case n.kind == '0':
		value := apply([]byte(n.text), changes)
		if !json.Valid(value) {
			value = quoteJSON(string(value))
		}
		r.list = append(r.list, change{n.start, n.end, value})
	default:
		r.within(n, changes)
	}
}

// within moves changes of what a string says to where it is written, so that what is
// around them keeps its spelling.
func (r *respelling) within(n tree, changes []change) {
	at, said := n.start+1, 0
	place := func(offset int) int {
		for said < offset {
			long, short := escape(r.text[at : n.end-1])
			at, said = at+long, said+short
		}
		return at
	}
	for _, c := range changes {
		value := quoteJSON(string(c.value))
		start := place(c.start)
		r.list = append(r.list, change{start, place(c.end), value[1 : len(value)-1]})
	}
}

// escape returns how long the first character of a string is as it is written, and
// in what it says.
func escape(inner []byte) (written, said int) {
	switch {
	case inner[0] != '\\':
		return 1, 1
	case len(inner) < 2 || inner[1] != 'u':
		return min(2, len(inner)), 1
	}
	unit, next := codeUnit(inner, 0)
	if low, after := codeUnit(inner, next); utf16.DecodeRune(unit, low) != utf8.RuneError {
		next = after
	}
	return next, len(unescape(inner[:next]))
}

// apply returns a text with the changes made, which are in order.
func apply(text []byte, changes []change) []byte {
	var spelled []byte
	from := 0
	for _, c := range changes {
		spelled = append(append(spelled, text[from:c.start]...), c.value...)
		from = c.end
	}
	return append(spelled, text[from:]...)
}

// quoteJSON writes a string as parseTree has read it: halves of surrogate pairs as
// escapes, bytes that are not UTF-8 as they are.
func quoteJSON(text string) []byte {
	b := []byte{'"'}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		case c == 0xED && i+2 < len(text) && text[i+1]&^0x1F == 0xA0 && text[i+2]&^0x3F == 0x80:
			b = fmt.Appendf(b, `\u%04x`, 0xD000|int(text[i+1]&0x3F)<<6|int(text[i+2]&0x3F))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
