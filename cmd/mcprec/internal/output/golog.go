package output

import (
	"fmt"
	"io"
	"log"
	"strconv"
	"strings"
	"sync"
)

// goLog is where Go's packages log, as net/http does of a server that says more than it was asked for. Each
// entry becomes a line of mcprec's, masked, for it may hold what a peer said. Nobody who logs waits for the
// reader of w.
type goLog struct {
	w io.Writer

	mu     sync.Mutex
	lines  *Background // nil until there is an entry
	masker func() (func(string) string, error)
	masked func(string) string
}

// TakeLog writes what Go's packages log to w, masked by the function that masker returns when there is an
// entry. closeLog waits for the lines as [Background.Close] does.
func TakeLog(w io.Writer, masker func() (func(string) string, error)) (closeLog func()) {
	l := &goLog{w: w, masker: masker}
	log.SetFlags(0)
	log.SetOutput(l)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.lines != nil {
			_ = l.lines.Close()
		}
	}
}

// Write takes one entry.
func (l *goLog) Write(entry []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == nil {
		masked, err := l.masker()
		if err != nil {
			return 0, err
		}
		l.masked, l.lines = masked, NewBackground(l.w)
	}
	text := l.mask(strings.TrimSuffix(string(entry), "\n"))
	if _, err := fmt.Fprintf(l.lines, "mcprec: %s\n", Plain(text)); err != nil {
		return 0, err
	}
	return len(entry), nil
}

// mask masks an entry. What stands there in quotes is masked as it was before it was quoted, with its line ends.
func (l *goLog) mask(text string) string {
	var masked strings.Builder
	for {
		before, rest, isQuoted := strings.Cut(text, `"`)
		masked.WriteString(l.masked(before))
		if !isQuoted {
			return masked.String()
		}
		rest = `"` + rest
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil { // a quotation mark
			masked.WriteString(l.masked(rest))
			return masked.String()
		}
		inner, _ := strconv.Unquote(quoted) // which it can be
		masked.WriteString(strconv.Quote(l.masked(inner)))
		text = rest[len(quoted):]
	}
}
