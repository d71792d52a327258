package order

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Recorded sessions of published peers: after each frame stands what it breaks.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d sessions, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := annotate(string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("other rules are broken; -update rewrites the file:\n%s", got)
			}
		})
	}
}

// annotate plays a session and writes it again with the rules that are broken.
func annotate(session string) string {
	var b strings.Builder
	s := newSession("", nil)
	for line := range strings.Lines(session) {
		if line[0] == '!' {
			continue
		}
		b.WriteString(line)
		e := store.Event{Kind: store.Frame, Dir: directionOf(line), Payload: []byte(line[2:])}
		step := s.take(e)
		for _, v := range s.c.Send(step, s.c.Mark(e.Dir)) {
			b.WriteString("! " + v.String() + "\n")
		}
		s.c.Give(FrameOf(step))
	}
	return b.String()
}
