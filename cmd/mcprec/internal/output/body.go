package output

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Body is how the payload of a frame is printed below its line.
type Body struct {
	Indent int // columns before each line
	Lines  int // the most lines; 0: all, and nothing is cut
}

// deepest is the nesting from which on lines are not indented further.
const deepest = 30

// Print prints a payload as JSON on lines that a reader can follow: an object or array stands
// on one line if it fits. Digits, the order of members, doubled members and escapes stay as
// they were sent. Any other payload is printed line by line as it is. With a limit of lines,
// each is cut to the width of the screen.
func (b Body) Print(s *Screen, payload []byte) {
	p := &bodyPrinter{screen: s, body: b, room: max(s.Width-b.Indent, 20)}
	if json.Valid(payload) {
		p.json(payload)
	} else {
		for line := range bytes.Lines(payload) {
			p.add(Unpainted, string(bytes.TrimRight(line, "\r\n")))
			if !p.endLine() {
				break
			}
		}
	}
	p.endLine()
	if p.full {
		s.Paint(Dim, strings.Repeat(" ", b.Indent)+"… (--body=full shows the rest)\n")
	}
}

// bodyPrinter prints one payload.
type bodyPrinter struct {
	screen *Screen
	body   Body
	room   int // columns of a line
	lines  int // printed
	full   bool
	line   []Segment
	used   int // columns of the line
}

// add adds a text to the line.
func (p *bodyPrinter) add(how Style, text string) {
	if p.body.Lines > 0 && len(text) > 8*p.room { // the line is cut anyway
		text = strings.ToValidUTF8(text[:8*p.room], "")
	}
	text = Plain(text)
	p.line = append(p.line, Segment{How: how, Text: text})
	p.used += Columns(text)
}

// endLine prints the line. It reports whether the payload may have more.
func (p *bodyPrinter) endLine() bool {
	if len(p.line) == 0 {
		return !p.full
	}
	p.full = p.body.Lines > 0 && p.lines == p.body.Lines
	if p.full {
		p.line = nil
		return false
	}
	if p.body.Lines > 0 {
		p.line = ClipLine(p.line, p.room)
	}
	if p.used > 0 {
		p.screen.Paint(Unpainted, strings.Repeat(" ", p.body.Indent))
	}
	for _, part := range p.line {
		p.screen.Paint(part.How, part.Text)
	}
	p.screen.Paint(Unpainted, "\n")
	p.lines++
	p.line = nil
	p.used = 0
	return true
}

// json prints valid JSON.
func (p *bodyPrinter) json(b []byte) {
	depth, short := 0, 0 // all before the byte short is on this line
	newLine := func() bool {
		more := p.endLine()
		p.add(Unpainted, strings.Repeat("  ", min(depth, deepest)))
		return more
	}
	for i := skipBlank(b, 0); i < len(b); i = skipBlank(b, i) {
		end := tokenEnd(b, i)
		token := string(b[i:end])
		switch next := skipBlank(b, end); {
		case token == "{" || token == "[":
			p.add(Unpainted, token)
			depth++
			if i >= short {
				if last, ok := shortEnd(b, i, p.room-p.used); ok {
					short = last
				} else if !newLine() {
					return
				}
			}
		case token == "}" || token == "]":
			depth--
			if i >= short && !newLine() {
				return
			}
			p.add(Unpainted, token)
		case token == "," && i < short:
			p.add(Unpainted, ", ")
		case token == ",":
			p.add(Unpainted, token)
			if !newLine() {
				return
			}
		case token == ":":
			p.add(Unpainted, ": ")
		case token[0] == '"' && next < len(b) && b[next] == ':':
			p.add(Cyan, token)
		case token[0] == '"':
			p.add(Green, token)
		default:
			p.add(Yellow, token)
		}
		i = end
	}
}

// shortEnd returns the end of the object or array at i, if it and a comma fit in so many
// columns behind its bracket.
func shortEnd(b []byte, i, columns int) (end int, ok bool) {
	depth := 0
	b = b[:min(len(b), i+4*max(columns, 1))] // blanks are not shown, and are not worth a long search
	for i < len(b) {
		token := tokenEnd(b, i)
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',', ':':
			columns-- // the blank behind it
		}
		if columns -= token - i; columns < -1 { // the first bracket is on the line already
			return 0, false
		}
		if depth == 0 {
			return token, columns >= 0
		}
		i = skipBlank(b, token)
	}
	return 0, false
}

// skipBlank returns the place of the next byte that is no blank.
func skipBlank(b []byte, i int) int {
	return len(b) - len(bytes.TrimLeft(b[i:], " \t\r\n"))
}

// tokenEnd returns the end of the token at i in valid JSON, or in the beginning of such.
func tokenEnd(b []byte, i int) int {
	switch b[i] {
	case '{', '}', '[', ']', ',', ':':
		return i + 1
	case '"':
		for i++; i < len(b) && b[i] != '"'; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		return min(i+1, len(b))
	}
	if n := bytes.IndexAny(b[i:], "{}[],: \t\r\n\""); n >= 0 {
		return i + n
	}
	return len(b)
}
