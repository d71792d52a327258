package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// plainWriter keeps recorded bytes from driving the terminal: what a character would do
// to it (control sequences, marks that turn the direction of writing, characters that
// nobody sees) is written as \u and its number. All that commands print goes through
// one. The escapes are those of JSON, so that JSON stays the same JSON.
//
// Line ends and tabs pass: [plain] is for what a peer chose and stands in a line.
type plainWriter struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end has not come
}

// plainTo returns a plainWriter for a message that ends with its line.
func plainTo(w io.Writer) io.Writer { return &plainWriter{w: w} }

// Write writes p, but for the beginning of a character at its end.
func (w *plainWriter) Write(p []byte) (int, error) {
	if len(w.rest) == 0 && isPlain(p) {
		return w.w.Write(p)
	}
	text := append(w.rest, p...)
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
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what is left of a character that was cut.
func (w *plainWriter) Close() error {
	if len(w.rest) == 0 {
		return nil
	}
	_, err := w.w.Write(appendPlain(nil, w.rest))
	w.rest = nil
	return err
}

// isPlain reports whether p is printable ASCII, with line ends and tabs.
func isPlain(p []byte) bool {
	for _, c := range p {
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
		default:
			out = appendEscape(out, r)
		}
		text = text[n:]
	}
	return out
}

// isShown reports whether a character is only seen. Joiners are: languages and emoji
// are written with them.
func isShown(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.IsGraphic(r) || r == nonJoiner || r == joiner
}

func appendEscape(out []byte, r rune) []byte {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// plain keeps a recorded text from driving the terminal or breaking the line.
func plain(s string) string {
	if isPlain([]byte(s)) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(string(appendPlain(nil, []byte(s))))
}

// named is plain for a name that a peer chose, which may have megabytes.
func named(s string) string {
	const most = 120
	if len(s) <= most {
		return plain(s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return plain(s[:cut]) + "…"
}

// exactOut is where a command writes what must come out to the byte: a fixture, a
// stream.
func exactOut(cmd *cobra.Command) io.Writer { return underneath(cmd.OutOrStdout()) }

func underneath(w io.Writer) io.Writer {
	if p, ok := w.(*plainWriter); ok {
		return p.w
	}
	return w
}
