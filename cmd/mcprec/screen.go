package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// addColor adds the flag that all commands have.
func addColor(root *cobra.Command) {
	root.PersistentFlags().String("color", "auto", "`WHEN` to colour: auto (on a terminal, without NO_COLOR), always or never")
	completeWords(root, "color", "auto", "always", "never")
}

// screen is where a command prints lines for people. What it writes is plain; what it
// paints is coloured, if colours are wanted, and plain within.
type screen struct {
	out    *bufio.Writer
	plain  *plainWriter
	colors bool
	width  int // columns
}

// newScreen returns the screen of a command. It is to be flushed.
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
		s.colors = isTerminal(exactOut(cmd)) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return s, nil
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columnsOf is how wide the output is: $COLUMNS, what the terminal says, or 100.
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

// style is a way to paint, as the parameters of a terminal's SGR sequence.
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

// ofDirection tells the two ends apart.
func ofDirection(dir transport.Direction) style {
	switch dir {
	case transport.ClientToServer:
		return cyan
	case transport.ServerToClient:
		return magenta
	}
	return unpainted
}

func ofTone(t replay.Tone) style {
	return [...]style{replay.Usual: unpainted, replay.Beside: dim, replay.Fault: red}[t]
}

// Write writes plain text.
func (s *screen) Write(p []byte) (int, error) { return s.plain.Write(p) }

// paint writes a text in a style.
func (s *screen) paint(how style, text string) {
	if !s.colors || how == unpainted || text == "" {
		_, _ = s.plain.Write([]byte(text)) // a fault of the output is told by flush
		return
	}
	_ = s.plain.Close()
	_, _ = s.out.WriteString("\x1b[" + string(how) + "m")
	_, _ = s.plain.Write([]byte(text))
	_ = s.plain.Close()
	_, _ = s.out.WriteString("\x1b[0m")
}

// paintVerdicts writes a report in which a line may begin with a verdict in capitals.
func (s *screen) paintVerdicts(text string) {
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
		word := line[:len(line)-len(rest)]
		switch {
		case len(word) < 4:
		case word == "PASS":
			s.paint(green, word)
		case word == "UNDECIDED", word == "SUSPECT", word == "STALL":
			s.paint(yellow, word)
		default:
			s.paint(loud, word)
		}
		if len(word) < 4 {
			rest = line
		}
		s.paint(unpainted, rest)
	}
}

// paintTo writes a text in a style if w is a screen.
func paintTo(w io.Writer, how style, text string) error {
	if s, ok := w.(*screen); ok {
		s.paint(how, text)
		return nil
	}
	_, err := io.WriteString(w, text)
	return err
}

// flush hands on what was written, and returns the first fault.
func (s *screen) flush() error { return s.out.Flush() }
