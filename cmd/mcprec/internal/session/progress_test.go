package session

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/store"
)

// A long reading draws a line, which goes before anything else is printed.
func TestWatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.jsonl")
	if err := os.WriteFile(path, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, row := range []struct {
		name string
		s    Session
		want string
	}{
		{"a file", Session{Name: "long.jsonl", File: file}, "mcprec: reads long.jsonl: 1 of 3 MB"},
		{"a session of a store", Session{Name: "session 12", Head: 1000}, "mcprec: reads session 12: 256 of 1000 events"},
		{"a pipe", Session{Name: "standard input", File: io.NopCloser(strings.NewReader(""))}, "mcprec: reads standard input: 256 events"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			row.s.progress = output.ProgressOn(&out, 80)
			read := 0
			for e := range row.s.watched(func(yield func(store.Event, error) bool) {
				for seq := uint64(1); seq <= 300; seq++ {
					time.Sleep(5 * time.Millisecond) // the line comes after a second
					if seq == 200 {
						_, _ = file.Seek(1<<20, io.SeekStart)
					}
					if !yield(store.Event{Seq: seq}, nil) {
						return
					}
				}
			}) {
				if read++; e.Seq == 290 {
					row.s.Beside(func() { out.WriteString("FOUND") })
				}
			}
			const erase = "\r\x1b[K"
			if want := erase + row.want + erase + "FOUND"; read != 300 || out.String() != want {
				t.Errorf("%s: %d read, drawn %q, want %q", row.name, read, out.String(), want)
			}
		})
	}
}
