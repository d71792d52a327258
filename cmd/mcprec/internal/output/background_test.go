package output

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// What does not fit into the queue is counted, and the count is said where it was.
func TestBackgroundWriterCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that no grace ends while the reader is at work
		r, w := io.Pipe()
		b := NewBackground(w)
		line := strings.Repeat("x", 1023) + "\n"
		const lines = 2 * maxQueued / 1024
		for range lines {
			if _, err := io.WriteString(b, line); err != nil {
				t.Fatal(err)
			}
		}
		read := make(chan string, 1)
		go func() {
			all, _ := io.ReadAll(r)
			read <- string(all)
		}()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		w.Close()
		said, missed := 0, 0
		for text := range strings.Lines(<-read) {
			var n int
			if text == line {
				said++
			} else if _, err := fmt.Sscanf(text, "mcprec: %d line", &n); err != nil {
				t.Errorf("%q: %v", text, err)
			}
			missed += n
		}
		if said+missed != lines || missed == 0 || said < maxQueued/1024 {
			t.Errorf("%d lines said and %d counted, of %d", said, missed, lines)
		}
	})
}
