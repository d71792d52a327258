package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcprec/mcprec/transport"
)

// tree is a JSON value and the place in the text. Strings keep the bytes that encoding/json
// replaces (invalid UTF-8, half a surrogate pair), and numbers keep their spelling, so that
// reading never makes two values equal.
type tree struct {
	kind       byte   // '{' '[' '"' '0' of a number, 't' 'f' 'n'; 0 is no value
	text       string // a string without its escapes, a number as written
	start, end int    // in the text
	keys       []string
	kids       []tree // of an object in the order of keys, which are sorted
}

var errNotTree = errors.New("not JSON")

// parseTree reads a JSON value. The last of several equal keys counts. An empty text is the
// tree of kind 0.
func parseTree(raw []byte) (tree, error) {
	r := treeReader{raw: raw}
	r.blank()
	if r.at == len(raw) {
		return tree{}, nil
	}
	n, ok := r.value()
	if r.blank(); !ok || r.at != len(raw) {
		return tree{}, errNotTree
	}
	return n, nil
}

// treeOf is parseTree for a text of a validated message.
func treeOf(raw []byte) tree {
	n, _ := parseTree(raw)
	return n
}

// treeReader reads a JSON text. Most texts are validated before; with the others the reader
// only stays within the text.
type treeReader struct {
	raw   []byte
	at    int
	depth int
}

// deepest limits how deep a value may nest. A message never nests as deep, but a JSON text
// within a message is not validated before, and the stack is finite.
const deepest = 100_000

func (r *treeReader) blank() {
	for r.at < len(r.raw) && (r.raw[r.at] == ' ' || r.raw[r.at] == '\t' || r.raw[r.at] == '\n' || r.raw[r.at] == '\r') {
		r.at++
	}
}

// take skips c and the blanks around it, and reports whether c was there.
func (r *treeReader) take(c byte) bool {
	r.blank()
	if r.at == len(r.raw) || r.raw[r.at] != c {
		return false
	}
	r.at++
	r.blank()
	return true
}

func (r *treeReader) value() (tree tree, ok bool) {
	if r.at == len(r.raw) || r.depth > deepest {
		return tree, false
	}
	r.depth++
	tree.start = r.at
	switch c := r.raw[r.at]; c {
	case '{', '[':
		tree.kind, ok = c, r.container(&tree, c)
	case '"':
		tree.kind = c
		tree.text, ok = r.text()
	default:
		tree.kind, ok = r.word()
		tree.text = string(r.raw[tree.start:r.at])
	}
	tree.end = r.at
	r.depth--
	return tree, ok
}

// container reads the members of an object, or the elements of a list.
func (r *treeReader) container(tree *tree, opening byte) bool {
	for r.take(opening); !r.take(opening + 2); { // } is two after {, ] two after [
		if len(tree.kids) > 0 && !r.take(',') {
			return false
		}
		if opening == '{' {
			if r.at == len(r.raw) || r.raw[r.at] != '"' {
				return false
			}
			key, ok := r.text()
			if !ok || !r.take(':') {
				return false
			}
			tree.keys = append(tree.keys, key)
		}
		kid, ok := r.value()
		if !ok {
			return false
		}
		tree.kids = append(tree.kids, kid)
	}
	for r.raw[r.at-1] != '}' && r.raw[r.at-1] != ']' { // take went over the blanks behind it
		r.at--
	}
	tree.sortKeys()
	return true
}

// sortKeys sorts the members and keeps the last of those with one key.
func (n *tree) sortKeys() {
	rises := true
	for i := 1; i < len(n.keys) && rises; i++ {
		rises = n.keys[i-1] < n.keys[i]
	}
	if rises {
		return
	}
	sort.Stable(n)
	last := 0
	for i := 1; i < len(n.keys); i++ {
		if n.keys[i] != n.keys[last] {
			last++
		}
		n.keys[last], n.kids[last] = n.keys[i], n.kids[i]
	}
	n.keys = n.keys[:last+1]
	n.kids = n.kids[:last+1]
}

// Len, Less and Swap are for sort.Stable, of an object's members.
func (n *tree) Len() int           { return len(n.keys) }
func (n *tree) Less(i, j int) bool { return n.keys[i] < n.keys[j] }
func (n *tree) Swap(i, j int) {
	n.keys[i], n.keys[j] = n.keys[j], n.keys[i]
	n.kids[i], n.kids[j] = n.kids[j], n.kids[i]
}

// word reads a number or one of true, false and null.
func (r *treeReader) word() (kind byte, ok bool) {
	from := r.at
	for r.at < len(r.raw) && (r.raw[r.at] >= '0' && r.raw[r.at] <= '9' || r.raw[r.at] >= 'a' && r.raw[r.at] <= 'z' ||
		r.raw[r.at] == '-' || r.raw[r.at] == '+' || r.raw[r.at] == '.' || r.raw[r.at] == 'E') {
		r.at++
	}
	switch word := r.raw[from:r.at]; {
	case string(word) == "true", string(word) == "false", string(word) == "null":
		return word[0], true
	default:
		return '0', len(word) > 0 && json.Valid(word)
	}
}

// text reads a string.
func (r *treeReader) text() (string, bool) {
	from := r.at + 1
	plain := true
	for r.at = from; r.at < len(r.raw) && r.raw[r.at] != '"'; r.at++ {
		if r.raw[r.at] == '\\' {
			plain = false
			r.at++
		}
	}
	if r.at >= len(r.raw) {
		return "", false
	}
	inner := r.raw[from:r.at]
	r.at++
	if plain {
		return string(inner), true
	}
	return unescape(inner), true
}

// unescape resolves the escapes of a string.
func unescape(inner []byte) string {
	b := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' || i+1 == len(inner) {
			b = append(b, inner[i])
			continue
		}
		i++
		switch c := inner[i]; c {
		case 'b', 'f', 'n', 'r', 't':
			b = append(b, map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[c])
		case 'u':
			unit, next := codeUnit(inner, i-1)
			low, after := codeUnit(inner, next)
			if pair := utf16.DecodeRune(unit, low); pair != utf8.RuneError {
				unit, next = pair, after
			}
			b = appendUnit(b, unit)
			i = next - 1
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// codeUnit reads \uXXXX at i and returns it with its end, or -1 for anything else.
func codeUnit(inner []byte, i int) (unit rune, next int) {
	if i+6 > len(inner) || inner[i] != '\\' || inner[i+1] != 'u' {
		return -1, min(i+2, len(inner))
	}
	v, err := strconv.ParseUint(string(inner[i+2:i+6]), 16, 16)
	if err != nil {
		return -1, i + 2
	}
	return rune(v), i + 6
}

// appendUnit appends a rune, or half a surrogate pair in the three bytes that it
// would have if it were one.
func appendUnit(data []byte, unit rune) []byte {
	switch {
	case unit < 0:
		return append(data, 'u')
	case utf16.IsSurrogate(unit):
		return append(data, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0xBF, 0x80|byte(unit)&0xBF)
	}
	return utf8.AppendRune(data, unit)
}

// member returns the member of an object, or no value.
func (n tree) member(key string) tree {
	if i, ok := slices.BinarySearch(n.keys, key); ok {
		return n.kids[i]
	}
	return tree{}
}

// element returns the element of a list, or no value.
func (n tree) element(i int) tree {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return tree{}
}

// isScalar reports whether the value is a string, a number or a literal.
func (n tree) isScalar() bool { return n.kind != 0 && n.kind != '{' && n.kind != '[' }

// without returns an object without some of its members.
func (n tree) without(names ...string) tree {
	if n.kind != '{' || !slices.ContainsFunc(n.keys, func(k string) bool { return slices.Contains(names, k) }) {
		return n
	}
	keys, kids := n.keys, n.kids
	n.keys = nil
	n.kids = nil
	for i, k := range keys {
		if !slices.Contains(names, k) {
			n.keys = append(n.keys, k)
			n.kids = append(n.kids, kids[i])
		}
	}
	return n
}

// Splice returns doc with the value at path replaced and every other byte unchanged. A path
// has keys of objects and decimal indices of lists; the last of several equal keys counts, as
// in [transport.Message]. Without such a value Splice returns doc and false. It never writes
// to doc itself.
func Splice(doc, value []byte, path ...string) (spliced []byte, ok bool) {
	if !json.Valid(doc) {
		return doc, false
	}
	start, end, ok := transport.Locate(doc, path...)
	if !ok {
		return doc, false
	}
	return slices.Concat(doc[:start], value, doc[end:]), true
}

// change replaces a part of a text.
type change struct {
	start, end int
	value      []byte
}

// apply makes changes, which are in the order of the text.
func apply(text []byte, changes []change) []byte {
	var spelled []byte
	from := 0
	for _, c := range changes {
		spelled = append(append(spelled, text[from:c.start]...), c.value...)
		from = c.end
	}
	return append(spelled, text[from:]...)
}

// escape returns the lengths of the first character of a string: as written, with its
// escapes, and as said.
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

// quoteJSON writes a string that parseTree has read: halves of surrogate pairs as escapes,
// invalid UTF-8 unchanged.
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
