package state

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// keeper takes a snapshot of a state at every event, and restores each.
type keeper struct {
	last      uint64
	snapshots [][]byte
}

func (k *keeper) take(t *testing.T, s *State) *State {
	t.Helper()
	k.snapshots = append(k.snapshots, s.AppendSnapshot(nil, k.last))
	k.last = s.seq
	return k.restore(t, len(k.snapshots))
}

func (k *keeper) restore(t *testing.T, n int) *State {
	t.Helper()
	queues := Queues{}
	for _, b := range k.snapshots[:n] {
		if err := queues.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Restore(k.snapshots[n-1], queues)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same compares all that there is of two states.
func same(t *testing.T, got, want *State) {
	t.Helper()
	if !bytes.Equal(got.AppendSnapshot(nil, 0), want.AppendSnapshot(nil, 0)) || form(t, got) != form(t, want) {
		t.Fatalf("#%d: restored\n%s\nfolded\n%s", want.seq, form(t, got), form(t, want))
	}
}

// TestSnapshots: at every event of the bundled sessions and of real ones ($MCPREC_CORPUS
// names more), what is restored is the state, and goes on as it does.
func TestSnapshots(t *testing.T) {
	files := sessionFiles(t)
	if dir := os.Getenv("MCPREC_CORPUS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %d sessions, %v", dir, len(more), err)
		}
		files = append(files, more...)
	}
	for _, path := range files {
		events, err := jsonl.ReadFile(path)
		if err != nil {
			t.Fatal(path, err)
		}
		s, restored, early := New(), New(), []*State{}
		var k keeper
		step := max(1, len(events)/200) // real sessions may be long, and each restores all queues before it
		for i, e := range events {
			s.Apply(e)
			restored.Apply(e)
			for _, from := range early {
				from.Apply(e)
			}
			same(t, restored, s)
			if i%step == 0 {
				restored = k.take(t, s)
			}
			if i%max(1, len(events)/8) == 0 {
				early = append(early, s.Clone(), restored.Clone())
			}
		}
		for _, from := range early {
			same(t, from, s)
		}
	}
}

// FuzzSnapshot: whatever a peer writes, what is restored goes on as its origin; and
// bytes that are no snapshot are refused.
func FuzzSnapshot(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "sessions.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for i, session := range strings.Split(string(text), "\n\n") {
		f.Add(session, i%7, i)
	}
	f.Fuzz(func(t *testing.T, text string, every, flip int) {
		s, restored := New(), New()
		var k keeper
		for i, line := range strings.Split(text, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			for _, e := range lines(line)[1:] {
				e.Seq, e.At = uint64(i+1), time.Duration(i)
				if e.Kind == store.Opened {
					continue
				}
				s.Apply(e)
				restored.Apply(e)
			}
			if same(t, restored, s); every <= 1 || i%every == 0 {
				restored = k.take(t, s)
			}
		}
		if len(k.snapshots) == 0 {
			return
		}
		broken := bytes.Clone(k.snapshots[len(k.snapshots)-1])
		broken[uint(flip)%uint(len(broken))] ^= 1 << (uint(flip) % 8)
		queues := Queues{}
		if queues.Add(broken) == nil {
			if s, err := Restore(broken, queues); err == nil {
				s.View(0)
			}
		}
	})
}
