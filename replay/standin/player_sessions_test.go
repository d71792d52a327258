package standin_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// sessions calls test with each of the real sessions.
func sessions(t *testing.T, test func(*testing.T, []store.Event)) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "testdata", "sessions", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d sessions, %v", len(paths), err)
	}
	for _, path := range paths {
		events, err := jsonl.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) { test(t, events) })
	}
}

// half plays the client's half of a session to a Player of it
// and returns what the recorded server said and what the Player says.
func half(events []store.Event) (recorded, played [][]byte) {
	p := standin.NewPlayer(events, match.Rules{})
	frames := p.Start()
	for _, e := range events {
		switch {
		case e.Kind != store.Frame:
		case e.Dir == transport.ServerToClient:
			recorded = append(recorded, e.Payload)
		default:
			frames = append(frames, p.Receive(transport.Frame{Bytes: bytes.Clone(e.Payload)})...)
		}
	}
	for _, f := range frames {
		played = append(played, f.Bytes)
	}
	return recorded, played
}

func compare(t *testing.T, played, recorded [][]byte) {
	t.Helper()
	for i := range max(len(played), len(recorded)) {
		if i >= len(played) || i >= len(recorded) {
			t.Fatalf("%d messages played, %d recorded", len(played), len(recorded))
		}
		if !bytes.Equal(played[i], recorded[i]) {
			t.Errorf("frame %d\ngot  %s\nwant %s", i+1, played[i], recorded[i])
		}
	}
}

// TestPlayerSessions plays real sessions to the clients that they recorded.
func TestPlayerSessions(t *testing.T) {
	sessions(t, func(t *testing.T, events []store.Event) {
		recorded, played := half(events)
		compare(t, played, recorded)
	})
}
