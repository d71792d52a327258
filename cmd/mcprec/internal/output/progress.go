package output

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// IsTerminal reports whether w is a terminal, or a Writer to a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := Underneath(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

const (
	progressAfter = time.Second            // shorter work prints nothing
	progressEvery = 200 * time.Millisecond // between two drawings
	eraseLine     = "\r\x1b[K"
)

// Progress is a line on a terminal, drawn again and again during long work. The zero Progress
// draws nothing.
type Progress struct {
	w     io.Writer // nil: no terminal
	width int
	next  time.Duration // when to draw again
	drawn bool
}

// NewProgress returns the line of the terminal w, or the zero Progress for another writer.
func NewProgress(w io.Writer) *Progress {
	if !IsTerminal(w) {
		return &Progress{}
	}
	return &Progress{w: Underneath(w), width: NewScreen(w, "never").Width, next: progressAfter}
}

// Draw draws the text: not in the first second, and at most five times a second. Elapsed counts
// from the beginning of the work.
func (p *Progress) Draw(elapsed time.Duration, text func() string) {
	if p.w == nil || elapsed < p.next {
		return
	}
	line := text()
	if len(line) >= p.width {
		line = line[:max(p.width-4, 0)] + "..."
	}
	p.next = elapsed + progressEvery
	p.drawn = true
	fmt.Fprint(p.w, eraseLine, line)
}

// Erase takes the line away.
func (p *Progress) Erase() {
	if p.drawn {
		fmt.Fprint(p.w, eraseLine)
	}
	p.drawn = false
}
