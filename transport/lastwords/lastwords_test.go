package lastwords_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport/lastwords"
)

// TestFind: of what runtimes write when they crash, the line that says why. testdata/stderr.txt has the
// texts; a line that begins with => is that line, one with .. the last line that is worth a word.
func TestFind(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "stderr.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n== ") {
		name, body, _ := strings.Cut(strings.TrimPrefix(block, "== "), "\n")
		t.Run(name, func(t *testing.T) {
			var lines []string
			wantHeadline, wantLast := "", ""
			for line := range strings.SplitSeq(strings.TrimSuffix(body, "\n"), "\n") {
				if rest, ok := strings.CutPrefix(line, "=>"); ok {
					line, wantHeadline, wantLast = rest, rest, rest
				} else if rest, ok := strings.CutPrefix(line, ".."); ok {
					line, wantLast = rest, rest
				}
				lines = append(lines, line)
			}
			told := func(index int) string {
				if index < 0 {
					return ""
				}
				return lines[index]
			}
			headline, last := lastwords.Find(lines)
			if told(headline) != wantHeadline || told(last) != wantLast {
				t.Errorf("%q, last %q; want %q, last %q", told(headline), told(last), wantHeadline, wantLast)
			}
		})
	}
}
