package output

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Screen prints lines for people, in colours if they are wanted. All text is plain. Lines fit
// the width if they go to a terminal and Fit says how.
type Screen struct {
	out        *bufio.Writer
	plain      *Writer
	colors     bool
	isTerminal bool
	Width      int // columns
	fit        Fit
	line       []Segment // the line so far, if it is to fit
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
		s.isTerminal = term.IsTerminal(int(f.Fd()))
		if colors == "auto" {
			s.colors = s.isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
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
func (s *Screen) Write(p []byte) (int, error) {
	if s.isTerminal && s.fit != Whole {
		s.Paint(Unpainted, string(p))
		return len(p), nil
	}
	return s.plain.Write(p)
}

// Fit sets how the lines that follow are made to fit a terminal. On a pipe or in a file lines
// are always whole.
func (s *Screen) Fit(how Fit) {
	s.endLine()
	s.fit = how
}

// Narrow reports whether the screen is a terminal of fewer columns.
func (s *Screen) Narrow(columns int) bool { return s.isTerminal && s.Width < columns }

// Paint writes a text in a style, if the screen has colours.
func (s *Screen) Paint(how Style, text string) {
	if !s.isTerminal || s.fit == Whole {
		s.paint(how, text)
		return
	}
	for part := range strings.Lines(text) {
		part, ended := strings.CutSuffix(part, "\n")
		s.line = append(s.line, Segment{how, string(appendPlain(nil, []byte(part)))})
		if ended {
			s.endLine()
			s.paint(Unpainted, "\n")
		}
	}
}

// endLine writes the line so far, as it fits.
func (s *Screen) endLine() {
	lines := [][]Segment{s.line}
	switch s.fit {
	case Clip:
		lines[0] = ClipLine(s.line, s.Width)
	case Wrap:
		lines = wrapLine(s.line, s.Width)
	}
	for i, line := range lines {
		if i > 0 {
			s.paint(Unpainted, "\n")
		}
		for _, part := range line {
			s.paint(part.How, part.Text)
		}
	}
	s.line = nil
}

func (s *Screen) paint(how Style, text string) {
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
func (s *Screen) Flush() error {
	s.endLine()
	return s.out.Flush()
}

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
		case word == "UNDECIDED", word == "STALL":
			how = Yellow
		}
		s.Paint(how, word)
		s.Paint(Unpainted, rest)
	}
}
