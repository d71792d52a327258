package terminal

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Screen prints lines for people, in colours if they are wanted. All text is plain.
type Screen struct {
	out    *bufio.Writer
	plain  *Writer
	colors bool
	Width  int // columns
}

// NewScreen returns a screen that writes to w, which must be flushed. It has colours always,
// never, or with auto on a terminal without NO_COLOR. Its width is $COLUMNS, the terminal's, or 100.
func NewScreen(w io.Writer, colors string) *Screen {
	w = Underneath(w)
	out := bufio.NewWriter(w)
	s := &Screen{out: out, plain: NewWriter(out), colors: colors == "always", Width: 100}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			s.Width = n
		}
		if colors == "auto" {
			s.colors = term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.Width = n
	}
	return s
}

// Style holds the parameters of a terminal's SGR sequence.
type Style string

// The styles of mcprec.
const (
	Unpainted Style = ""
	Dim       Style = "2"
	Red       Style = "31"
	Green     Style = "32"
	Yellow    Style = "33"
	Magenta   Style = "35"
	Cyan      Style = "36"
	loud      Style = "1;31"
)

// Write writes plain text without a style.
func (s *Screen) Write(data []byte) (int, error) { return s.plain.Write(data) }

// Paint writes a text in a style, if the screen has colours.
func (s *Screen) Paint(how Style, text string) {
	if !s.colors || how == Unpainted || text == "" {
		_, _ = s.plain.Write([]byte(text)) // flush returns the error
		return
	}
	_ = s.plain.Close()
	_, _ = s.out.WriteString("\x1b[" + string(how) + "m")
	_, _ = s.plain.Write([]byte(text))
	_ = s.plain.Close()
	_, _ = s.out.WriteString("\x1b[0m")
}

// PaintTo writes a text, in a style if w is a screen.
func PaintTo(w io.Writer, how Style, text string) error {
	if s, ok := w.(*Screen); ok {
		s.Paint(how, text)
		return nil
	}
	_, err := io.WriteString(w, text)
	return err
}

// Flush writes what is buffered, and returns the first error of the output.
func (s *Screen) Flush() error { return s.out.Flush() }

// PaintVerdict writes a text in which the word in capitals that begins a line is a verdict.
func (s *Screen) PaintVerdict(text string) {
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		word, how := line[:len(line)-len(rest)], loud
		switch {
		case len(word) < 4:
			how = Unpainted
		case word == "PASS":
			how = Green
		case word == "UNDECIDED", word == "SUSPECT", word == "STALL":
			how = Yellow
		}
		s.Paint(how, word)
		s.Paint(Unpainted, rest)
	}
}
