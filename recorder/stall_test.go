package recorder

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// TestFlow holds what the log says of a receiver. Each look comes 100 ms after the one before:
// the bytes that were read, passed, and are in the queue; ~ marks a queue that is not exact.
func TestFlow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		looks string
		want  string // the looks at which something is said
	}{
		{"nothing", "0/0/0 0/0/0 0/0/0 0/0/0 0/0/0 0/0/0 0/0/0", ""},
		{"a receiver that reads", "9/9/0 20/20/0 20/20/0 20/20/0 20/20/0 20/20/0 20/20/0 20/20/0", ""},
		{"one that reads late", "9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/0", ""},
		{"one that reads slowly", "9/9/9 9/9/8 9/9/7 9/9/6 9/9/5 9/9/4 9/9/3 9/9/2", ""},
		{"one that does not read", "9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/9", "5: 500ms 9/9/9"},
		{"nor what comes later", "9/9/9 9/9/9 9/9/9 12/12/12 12/12/12 12/12/12 12/12/12", "5: 500ms 12/12/12"},
		{"one that reads again", "9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/2 9/9/0", "5: 500ms 9/9/9, 7: 700ms 9/9/2 over"},
		{"a write that blocks", "90/64/60 90/64/60 90/64/60 90/64/60 90/64/60 90/64/60 90/64/60", "5: 500ms 90/64/60 blocked"},
		{"a write that blocked", "90/64/60 90/64/60 90/64/60 90/64/60 90/64/60 90/64/60 90/90/60 90/90/0", "5: 500ms 90/64/60 blocked"},
		{"a write that blocks later", "9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 9/9/9 99/64/64 99/64/64 99/64/64 99/64/64 99/64/64 99/64/64", "5: 500ms 9/9/9, 11: 1.1s 99/64/64 blocked"},
		{"a write that blocks where the queue is not known", "9/5/0 9/5/0 9/5/0 9/5/0 9/5/0 9/5/0 9/9/0", "5: 500ms 9/5/0 blocked"},
		{"a write that blocks when another read has come", "9/9/9 19/9/5 19/9/5 19/9/5 19/9/5 19/9/5 19/9/5", "6: 500ms 19/9/5 blocked"},
		{"two writes that block for less", "9/5/5 9/5/5 9/9/9 9/9/9 9/9/9 9/9/9 19/9/9 19/9/9 19/9/9", "5: 500ms 9/9/9"},
		{"a socket that is not read", "9/9/~700 9/9/~700 9/9/~700 9/9/~700 9/9/~700 9/9/~700", "5: 500ms 9/9/-1"},
		{"a socket that may be read", "9/9/~700 19/19/~700 29/29/~700 39/39/~700 49/49/~700 59/59/~700", ""},
		{"a socket that is not read while more comes", "9/9/~700 9/9/~700 19/19/~1400 29/29/~2100 29/29/~2100 39/39/~2800 49/49/~3500", "5: 500ms 39/39/-1"},
		{"a socket that is read slowly", "9/9/~700 9/9/~600 9/9/~500 9/9/~400 9/9/~300 9/9/~200", ""},
	} {
		var said []string
		var f flow
		start := time.Now()
		for i, text := range strings.Fields(tt.looks) {
			var l look
			l.queued.exact = !strings.Contains(text, "~")
			if _, err := fmt.Sscanf(strings.ReplaceAll(text, "~", ""), "%d/%d/%d", &l.read, &l.passed, &l.queued.bytes); err != nil {
				t.Fatal(err)
			}
			if info := f.next(start.Add(time.Duration(i)*lookEvery), l); info != nil {
				said = append(said, fmt.Sprintf("%d: %s", i, stalledWords(*info)))
			}
		}
		if got := strings.Join(said, ", "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func stalledWords(info store.StalledInfo) string {
	text := fmt.Sprintf("%v %d/%d/%d", info.For, info.Read, info.Passed, info.Unread)
	if info.Blocked {
		text += " blocked"
	}
	if info.Over {
		text += " over"
	}
	return text
}

// TestStderrFlow: that nobody reads standard error is noted once the server can write no more.
func TestStderrFlow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		looks string
		want  string
	}{
		{"nothing", "0/0/0 0/0/0 0/0/0 0/0/0 0/0/0 0/0/0 0/0/0", ""},
		{"a write that blocks, and a server that can write on", "9/5/0 9/5/0 9/5/0 9/5/0 9/5/0 9/5/0 9/5/0 9/5/0", ""},
		{"a pipe that fills", "9/5/100 9/5/20000 9/5/60000 9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/5/65536", "9: 500ms 9/5/65536 blocked"},
		{"a full pipe that the recorder reads", "9/9/65536 19/19/65536 29/29/65536 39/39/65536 49/49/65536 59/59/65536 69/69/65536", ""},
		{"a slow reader", "90/50/65536 90/60/65536 90/70/65536 90/80/65536 190/85/65536 190/90/65536 190/95/65536 190/99/65536", ""},
		{"one that reads again", "9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/5/65536 9/9/0 9/9/0", "6: 500ms 9/5/65536 blocked, 8: 700ms 9/9/0 over"},
	} {
		var said []string
		f := flow{isStderr: true}
		start := time.Now()
		for i, text := range strings.Fields(tt.looks) {
			l := look{queued: queued{exact: true}}
			if _, err := fmt.Sscanf(text, "%d/%d/%d", &l.read, &l.passed, &l.queued.bytes); err != nil {
				t.Fatal(err)
			}
			if info := f.next(start.Add(time.Duration(i)*lookEvery), l); info != nil {
				said = append(said, fmt.Sprintf("%d: %s", i, stalledWords(*info)))
			}
		}
		if got := strings.Join(said, ", "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
