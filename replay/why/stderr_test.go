package why

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLastWords: of what runtimes write when they crash, the line that says why. testdata/stderr.txt has the
// texts; a line that begins with => is that line, one with .. the last line that is worth a word.
func TestLastWords(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "stderr.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n== ") {
		name, body, _ := strings.Cut(strings.TrimPrefix(block, "== "), "\n")
		t.Run(name, func(t *testing.T) {
			var lines stderrLines
			wantHeadline, wantLast := "", ""
			for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
				if rest, ok := strings.CutPrefix(line, "=>"); ok {
					line, wantHeadline, wantLast = rest, rest, rest
				} else if rest, ok := strings.CutPrefix(line, ".."); ok {
					line, wantLast = rest, rest
				}
				seq := uint64(lines.count + 1)
				lines.add(moment{seq: seq}, []byte(line))
			}
			headline, last := lastWords(lines.between(0, 0))
			if string(headline.text) != wantHeadline || string(last.text) != wantLast {
				t.Errorf("%q, last %q; want %q, last %q", headline.text, last.text, wantHeadline, wantLast)
			}
		})
	}
}

// TestStderrKept: of a talkative process the latest lines are kept, in their order.
func TestStderrKept(t *testing.T) {
	var lines stderrLines
	for seq := uint64(1); seq <= 3*keptStderr+7; seq++ {
		lines.add(moment{seq: seq}, make([]byte, 2*keptStderrLine))
	}
	kept := lines.between(2*keptStderr+7, 0)
	if len(kept) != keptStderr || kept[0].seq != 2*keptStderr+8 || kept[keptStderr-1].seq != 3*keptStderr+7 || len(kept[0].text) != keptStderrLine {
		t.Errorf("%d lines, from #%d", len(kept), kept[0].seq)
	}
	if before := lines.between(0, 2*keptStderr+9); len(before) != 1 {
		t.Errorf("%d lines before an event, want 1", len(before))
	}
}
