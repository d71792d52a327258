package recording

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestLastLines writes what a server might, in pieces that end anywhere.
func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 2*keptBytes)
	var many strings.Builder
	var last []string
	for i := range 1000 {
		fmt.Fprintf(&many, "line %d\n", i)
		if i >= 1000-keptLines {
			last = append(last, fmt.Sprintf("line %d", i))
		}
	}
	for _, tt := range []struct {
		said string
		want []string
	}{
		{"", []string{}},
		{"one\r\n\nthree", []string{"one", "", "three"}},
		{long + "\nb", []string{long[:keptBytes], "b"}},
		{"\x1b[31mred\xff\n", []string{`\u001b[31mred` + "�"}},
		{many.String(), last},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			l := new(lastLines)
			for piece := range slices.Chunk([]byte(tt.said), size) {
				if n, err := l.Write(piece); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			if got := l.lines(); !slices.Equal(got, tt.want) {
				t.Errorf("in pieces of %d: got %q, want %q", size, got, tt.want)
			}
		}
	}
}
