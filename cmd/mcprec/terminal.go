package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
)

// plainWriter keeps recorded bytes from driving the terminal. It writes control characters,
// marks that change the direction of writing, and invisible characters as \u and a number.
// These are the escapes of JSON, so JSON stays the same JSON. All commands print through a
// plainWriter.
//
// Line ends and tabs pass: use [plain] for a peer's text inside a line.
type plainWriter struct {
	w    io.Writer
	rest []byte // the beginning of a character that is not complete
}

// plainTo returns a plainWriter for one message.
func plainTo(w io.Writer) io.Writer { return &plainWriter{w: w} }

// Write writes p, except an incomplete character at its end.
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

// Close writes an incomplete character.
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

// plain escapes a recorded text that stands inside a line.
func plain(s string) string {
	if isPlain([]byte(s)) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(string(appendPlain(nil, []byte(s))))
}

// plainName is plain for a name that a peer chose, and cuts it: it may have megabytes.
func plainName(s string) string {
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

// exactOut returns the output for exact bytes: a fixture or a stream.
func exactOut(cmd *cobra.Command) io.Writer { return underneath(cmd.OutOrStdout()) }

func underneath(w io.Writer) io.Writer {
	if p, ok := w.(*plainWriter); ok {
		return p.w
	}
	return w
}

// screen prints lines for people, in colours if they are wanted. All text is plain.
type screen struct {
	out    *bufio.Writer
	plain  *plainWriter
	colors bool
	width  int // columns
}

// newScreen returns the screen of a command. It must be flushed.
func newScreen(cmd *cobra.Command) (*screen, error) {
	when, err := cmd.Flags().GetString("color")
	if err == nil {
		err = oneOf("color", when, "auto", "always", "never")
	}
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriter(exactOut(cmd))
	s := &screen{out: out, plain: &plainWriter{w: out}, width: columnsOf(exactOut(cmd))}
	switch when {
	case "always":
		s.colors = true
	case "auto":
		f, ok := exactOut(cmd).(*os.File)
		s.colors = ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return s, nil
}

// columnsOf returns the width of the output: $COLUMNS, the terminal's, or 100.
func columnsOf(w any) int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	return 100
}

// style holds the parameters of a terminal's SGR sequence.
type style string

const (
	unpainted style = ""
	dim       style = "2"
	red       style = "31"
	green     style = "32"
	yellow    style = "33"
	magenta   style = "35"
	cyan      style = "36"
	loud      style = "1;31"
)

// ofDirection returns the colour of a direction.
func ofDirection(dir transport.Direction) style {
	switch dir {
	case transport.ClientToServer:
		return cyan
	case transport.ServerToClient:
		return magenta
	}
	return unpainted
}

func ofTone(t timeline.Tone) style {
	return [...]style{timeline.Usual: unpainted, timeline.Beside: dim, timeline.Fault: red}[t]
}

func (s *screen) Write(p []byte) (int, error) { return s.plain.Write(p) }

func (s *screen) paint(how style, text string) {
	if !s.colors || how == unpainted || text == "" {
		_, _ = s.plain.Write([]byte(text)) // flush returns the error
		return
	}
	_ = s.plain.Close()
	_, _ = s.out.WriteString("\x1b[" + string(how) + "m")
	_, _ = s.plain.Write([]byte(text))
	_ = s.plain.Close()
	_, _ = s.out.WriteString("\x1b[0m")
}

// paintTo writes a text, in a style if w is a screen.
func paintTo(w io.Writer, how style, text string) error {
	if s, ok := w.(*screen); ok {
		s.paint(how, text)
		return nil
	}
	_, err := io.WriteString(w, text)
	return err
}

// flush writes what is buffered, and returns the first error of the output.
func (s *screen) flush() error { return s.out.Flush() }

// printReport writes a report on the screen. If it did not pass, the error is the exit code.
func printReport(cmd *cobra.Command, format string, r report.Report) error {
	out, err := newScreen(cmd)
	if err != nil {
		return err
	}
	if err := errors.Join(r.Write(out, format), out.flush()); err != nil {
		return err
	}
	if !r.Passed {
		return verdictError
	}
	return nil
}

func single(passed bool, value any, text func(io.Writer) error) report.Report {
	return report.Report{Passed: passed, Sections: []report.Section{{Value: value, Text: text}}}
}

func printVerdict(cmd *cobra.Command, format string, v interface{ Text() string }, passed bool) error {
	return printReport(cmd, format, single(passed, v, func(w io.Writer) error {
		s := w.(*screen)
		for line := range strings.Lines(v.Text()) { // one may begin with a verdict in capitals
			rest := strings.TrimLeft(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
			word, how := line[:len(line)-len(rest)], loud
			switch word {
			case "PASS":
				how = green
			case "UNDECIDED", "SUSPECT", "STALL":
				how = yellow
			}
			if len(word) < 4 {
				how = unpainted
			}
			s.paint(how, word)
			s.paint(unpainted, rest)
		}
		return nil
	}))
}

// shellLine quotes words for a shell.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = shellWord(w)
	}
	return strings.Join(quoted, " ")
}

func shellWord(w string) string {
	const plainWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./@:=+,%"
	if w != "" && strings.Trim(w, plainWord) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(plain(w), "'", `'\''`) + "'"
}
