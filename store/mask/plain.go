package mask

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plainText is a text as its reader sees it: without colours and invisible characters, and with what is written as an
// escape, an entity or a percent code as the characters themselves.
type plainText struct {
	data []byte
	from []int // where in the written text each byte begins
	to   []int // and where it ends
}

// asWritten are the bytes that a reader sees as they are written: those of ASCII with which no colour, entity, code
// or escape begins.
var asWritten = func() *byteSet {
	set := setOf("\x1b&%\\")
	for c := range set {
		set[c] = !set[c] && c < utf8.RuneSelf
	}
	return set
}()

// plainOf returns the text as its reader sees it; nil if that is the text itself.
func plainOf(text []byte) *plainText {
	var p *plainText
	for i := 0; i < len(text); {
		if n := run(text, i, asWritten); n > 0 {
			if p != nil {
				p.addAll(text[i:i+n], i)
			}
			i += n
			continue
		}
		size, is := written(text[i:])
		if p == nil && is != string(text[i:i+size]) {
			p = &plainText{}
			p.addAll(text[:i], 0)
		}
		if p != nil {
			for k := range len(is) {
				p.add(is[k], i, i+size)
			}
		}
		i += size
	}
	return p
}

// addAll adds bytes that are as they were written, from a place of the text on.
func (p *plainText) addAll(part []byte, at int) {
	for k, c := range part {
		p.add(c, at+k, at+k+1)
	}
}

func (p *plainText) add(c byte, from, to int) {
	p.data = append(p.data, c)
	p.from = append(p.from, from)
	p.to = append(p.to, to)
}

// written returns how many bytes the character at the beginning of a text takes, and what its reader sees of them.
func written(text []byte) (size int, is string) {
	switch c := text[0]; {
	case c == 0x1b:
		return colour(text, 1)
	case c == '&':
		return entity(text)
	case c == '%' && len(text) > 2:
		return code(text, 1)
	case c == '\\':
		return escaped(text)
	case c < utf8.RuneSelf:
		return 1, string(text[:1])
	}
	r, size := utf8.DecodeRune(text)
	switch r {
	case utf8.RuneError, '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff': // broken, or not to be seen
		return size, ""
	case '\u00a0', '\u2007', '\u202f', '\u3000':
		return size, " "
	case '“', '”', '„', '«', '»', '＂':
		return size, `"`
	case '‘', '’', '＇':
		return size, "'"
	}
	if r > '\uff00' && r < '\uff5f' { // the wide forms of ASCII
		return size, string(r - '\uff00' + ' ')
	}
	return size, string(text[:size])
}

// colour returns a control sequence whose first bytes are an escape.
func colour(text []byte, escape int) (size int, is string) {
	if len(text) <= escape || text[escape] != '[' {
		return 1, string(text[:1])
	}
	size = escape + 1
	size += run(text[:min(len(text), size+16)], size, inParameters)
	if size == len(text) || !isLetter(text[size]) {
		return 1, string(text[:1])
	}
	return size + 1, ""
}

var inParameters = setOf("0123456789;?:")

// entity returns the character of an entity of HTML.
func entity(text []byte) (size int, is string) {
	end := bytes.IndexByte(text[:min(len(text), 10)], ';')
	if end < 0 {
		return 1, "&"
	}
	name := string(text[1:end])
	if is := entities[name]; is != "" {
		return end + 1, is
	}
	if number, ok := strings.CutPrefix(strings.ToLower(name), "#"); ok {
		base := 10
		if hex, ok := strings.CutPrefix(number, "x"); ok {
			number, base = hex, 16
		}
		if n, err := strconv.ParseUint(number, base, 7); err == nil && n >= ' ' {
			return end + 1, string(rune(n))
		}
	}
	return 1, "&"
}

var entities = map[string]string{"quot": `"`, "apos": "'", "amp": "&", "lt": "<", "gt": ">", "nbsp": " ", "colon": ":", "equals": "="}

// escaped returns the character of an escape such as \x22 or \u0022, behind one backslash or more.
func escaped(text []byte) (size int, is string) {
	marks := 1
	for marks < len(text) && marks < 8 && text[marks] == '\\' {
		marks++
	}
	for _, escape := range []string{"x", "u00"} {
		rest, ok := bytes.CutPrefix(text[marks:], []byte(escape))
		if !ok || len(rest) < 2 {
			continue
		}
		if string(rest[:2]) == "1b" || string(rest[:2]) == "1B" {
			return colour(text, marks+len(escape)+2)
		}
		return code(text, marks+len(escape))
	}
	for _, escape := range []string{"033", "e"} {
		if bytes.HasPrefix(text[marks:], []byte(escape)) {
			return colour(text, marks+len(escape))
		}
	}
	return 1, `\`
}

// code returns the character whose code stands at a place in two hexadecimal digits.
func code(text []byte, at int) (size int, is string) {
	if len(text) >= at+2 {
		if n, err := strconv.ParseUint(string(text[at:at+2]), 16, 7); err == nil && n >= ' ' && n < 0x7f {
			return at + 2, string(rune(n))
		}
	}
	return 1, string(text[:1])
}

// written returns an edit of the plain text as one of the text that was written.
func (p *plainText) written(e edit) edit {
	e.from, e.to = p.from[e.from], p.to[e.to-1]
	return e
}
