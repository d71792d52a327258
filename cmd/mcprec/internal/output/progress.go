package output

import (
	"fmt"
	"io"
	"os"
	"sync"
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
// draws nothing. Any goroutine may call its methods.
type Progress struct {
	w     io.Writer // nil: no terminal
	width int
	mu    sync.Mutex    // guards the terminal, and what follows
	next  time.Duration // when to draw again
	drawn bool
}

// NewProgress returns the line of the terminal w, or the zero Progress for another writer.
func NewProgress(w io.Writer) *Progress {
	if !IsTerminal(w) {
		return &Progress{}
	}
	return ProgressOn(Underneath(w), NewScreen(w, "never").Width)
}

// ProgressOn returns a line of width columns on a terminal w.
func ProgressOn(w io.Writer, width int) *Progress {
	return &Progress{w: w, width: width, next: progressAfter}
}

// Draw draws the text: not in the first second, and at most five times a second. Elapsed counts
// from the beginning of the work.
func (p *Progress) Draw(elapsed time.Duration, text func() string) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if elapsed < p.next {
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

// During draws what says returns, again and again, until the caller calls end, which takes the line
// away. says runs in a goroutine of its own.
func (p *Progress) During(says func() string) (end func()) {
	if p.w == nil {
		return func() {}
	}
	began, over := time.Now(), make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.Draw(time.Since(began), says)
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		drawing.Wait()
		p.Erase()
	}
}

// Reader returns a reader of r that draws what says returns for the bytes so far, and takes the line
// away at the end or at an error.
func (p *Progress) Reader(r io.Reader, says func(passed int64) string) io.Reader {
	return &progressReader{Progress: p, r: r, says: says, began: time.Now()}
}

type progressReader struct {
	*Progress
	r      io.Reader
	says   func(passed int64) string
	began  time.Time
	passed int64
}

// Read implements [io.Reader].
func (p *progressReader) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.passed += int64(n)
	if err != nil {
		p.Erase()
		return n, err
	}
	p.Draw(time.Since(p.began), func() string { return p.says(p.passed) })
	return n, nil
}

// Erase takes the line away.
func (p *Progress) Erase() { p.Beside(func() {}) }

// Beside takes the line away and calls print, which may write to the same terminal: no line is drawn
// in the middle of it.
func (p *Progress) Beside(print func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.w, eraseLine)
	}
	p.drawn = false
	print()
}
