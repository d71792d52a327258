package output

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Writer keeps recorded bytes from driving the terminal. It writes control characters,
// marks that change the direction of writing, and invisible characters as \u and a number.
// These are the escapes of JSON, so JSON stays the same JSON. Every command prints through a
// Writer.
//
// Line ends and tabs pass: use [Plain] for a peer's text inside a line.
type Writer struct {
	w       io.Writer
	rest    []byte // the beginning of a character that is not complete
	columns int    // where the lines of messages are folded; 0: nowhere
}

// NewWriter returns a Writer that writes to w. It must be closed, unless all that it is
// given ends with a whole character.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// NewMessages returns a Writer for messages to a person. On a terminal their lines are folded at its width, each
// write for itself.
func NewMessages(w io.Writer) *Writer {
	m := NewWriter(w)
	if IsTerminal(w) {
		m.columns = NewScreen(w, "never").Width
	}
	return m
}

// Write writes data, except an incomplete character at its end.
func (w *Writer) Write(data []byte) (int, error) {
	if len(w.rest) == 0 && isPlain(data) {
		if _, err := w.w.Write(w.folded(data)); err != nil {
			return 0, err
		}
		return len(data), nil
	}
	text := append(w.rest, data...)
	whole := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if b := text[len(text)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-i:]) {
				whole = len(text) - i
			}
			break
		}
	}
	out := appendPlain(nil, text[:whole])
	w.rest = append([]byte(nil), text[whole:]...)
	if _, err := w.w.Write(w.folded(out)); err != nil {
		return 0, err
	}
	return len(data), nil
}

// folded returns plain text as it fits the width, if there is one.
func (w *Writer) folded(text []byte) []byte {
	if w.columns == 0 || len(text) <= w.columns {
		return text
	}
	var out []byte
	for line := range strings.Lines(string(text)) {
		line, ended := strings.CutSuffix(line, "\n")
		for i, part := range wrapLine([]Segment{{Unpainted, line}}, w.columns) {
			if i > 0 {
				out = append(out, '\n')
			}
			out = append(out, plainOf(part)...)
		}
		if ended {
			out = append(out, '\n')
		}
	}
	return out
}

// Close writes an incomplete character.
func (w *Writer) Close() error {
	if len(w.rest) == 0 {
		return nil
	}
	_, err := w.w.Write(appendPlain(nil, w.rest))
	w.rest = nil
	return err
}

// isPlain reports whether data is printable ASCII, with line ends and tabs.
func isPlain(data []byte) bool {
	for _, c := range data {
		if (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

func appendPlain(out, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, "\uFFFD"...)
		case r == '\n', r == '\t', isShown(r):
			out = append(out, text[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

// isShown reports whether a character has no effect but to be seen. Joiners count: languages
// and emoji are written with them.
func isShown(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.IsGraphic(r) || r == nonJoiner || r == joiner
}

// Plain escapes a recorded text that stands inside a line.
func Plain(s string) string {
	if isPlain([]byte(s)) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(string(appendPlain(nil, []byte(s))))
}

// PlainName is [Plain] for a name that a peer chose, and cuts it: it may have megabytes.
func PlainName(s string) string {
	const most = 120
	if len(s) <= most {
		return Plain(s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return Plain(s[:cut]) + "…"
}

// Underneath returns the output below a Writer, for exact bytes.
func Underneath(w io.Writer) io.Writer {
	if p, ok := w.(*Writer); ok {
		return p.w
	}
	return w
}
