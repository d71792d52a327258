package main

import (
	"bufio"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// colorOption is the --color of a command.
type colorOption struct{ when string }

func (o *colorOption) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.when, "color", "auto", "auto (on a terminal, without NO_COLOR), always or never")
	completeWords(cmd, "color", "auto", "always", "never")
}

// screen is where a command prints lines for people. What it writes is plain; what it
// paints is coloured, if colours are wanted, and plain within.
type screen struct {
	out    *bufio.Writer
	plain  *plainWriter
	colors bool
	width  int // columns
}

func (o colorOption) screen(cmd *cobra.Command) (*screen, error) {
	if err := oneOf("color", o.when, "auto", "always", "never"); err != nil {
		return nil, err
	}
	out := bufio.NewWriter(exactOut(cmd))
	s := &screen{out: out, plain: &plainWriter{w: out}, width: columnsOf(exactOut(cmd))}
	switch o.when {
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
	blue      style = "34"
	cyan      style = "36"
	loud      style = "1;31"
)

// ofDirection tells the two ends apart.
func ofDirection(dir transport.Direction) style {
	switch dir {
	case transport.ClientToServer:
		return cyan
	case transport.ServerToClient:
		return blue
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

// flush hands on what was written, and returns the first fault.
func (s *screen) flush() error { return s.out.Flush() }
