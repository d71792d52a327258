package replay

import (
	"slices"
	"unicode/utf8"

	"encoding/json"
	"fmt"
)

// respell returns a recorded frame with the live values of variables in it, and
// every other byte as it was. Ids and tokens of requests are not variables.
func (v *variables) respell(frame []byte) []byte {
	if v.isEmpty() {
		return frame
	}
	r := respelling{variables: v}
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
	return r.apply(frame)
}

// respellParams is respell of the params of one message.
func (v *variables) respellParams(params []byte) []byte {
	if v.isEmpty() {
		return params
	}
	r := respelling{variables: v}
	r.walk(treeOf(params), "params")
	return r.apply(params)
}

// respelling is the values to put in a text.
type respelling struct {
	*variables
	changes []change
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
	if text := r.put(name, n.text); text != n.text {
		value := []byte(text)
		if n.kind == '"' || !json.Valid(value) {
			value = quoteJSON(text)
		}
		r.changes = append(r.changes, change{n.start, n.end, value})
	}
}

func (r *respelling) apply(text []byte) []byte {
	if len(r.changes) == 0 {
		return text
	}
	slices.SortFunc(r.changes, func(a, b change) int { return a.start - b.start })
	var spelled []byte
	from := 0
	for _, c := range r.changes {
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
		case c < 0x20:
			b = fmt.Appendf(b, `\u%04x`, c)
		case c == 0xED && i+2 < len(text) && text[i+1] >= 0xA0 && !utf8.ValidString(text[i:i+3]):
			b = fmt.Appendf(b, `\u%04x`, 0xD000|int(text[i+1]&0x3F)<<6|int(text[i+2]&0x3F))
			i += 2
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
