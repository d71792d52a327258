package recording

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// TestMuchStderr holds that of what a server writes to its standard error a bounded part is recorded, and that the
// rest is counted.
func TestMuchStderr(t *testing.T) {
	log := memstore.New()
	rec, err := recorder.New(t.Context(), log, store.Header{Transport: "stdio"})
	if err != nil {
		t.Fatal(err)
	}
	o := &observer{tap: rec.StderrTap()}
	line := append(bytes.Repeat([]byte("x"), 99999), '\n')
	for range 300 {
		if n, err := o.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	rec.Close()
	recorded := 0
	for e, err := range log.Read(t.Context(), rec.ID(), 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == store.Stderr {
			recorded += len(e.Payload)
		}
	}
	if lost := o.lost(); recorded > mostStderr || recorded < mostStderr-1000 || lost != 300*uint64(len(line))-mostStderr {
		t.Errorf("%d bytes are recorded, %d lost", recorded, lost)
	}
}

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
