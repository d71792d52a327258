package replay_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// sessions calls test with each of the real sessions.
func sessions(t *testing.T, test func(*testing.T, []store.Event)) {
	paths, err := filepath.Glob(filepath.Join("..", "fixtures", "testdata", "sessions", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d sessions, %v", len(paths), err)
	}
	for _, path := range paths {
		events, err := fixtures.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) { test(t, events) })
	}
}

// half plays the client's half of a session, changed by live, to a Player of it
// and returns what the recorded server said and what the Player says.
func half(events []store.Event, live func([]byte) []byte) (recorded, played [][]byte) {
	p := replay.NewPlayer(events, replay.Rules{})
	frames := p.Start()
	for _, e := range events {
		switch {
		case e.Kind != store.Frame:
		case e.Dir == transport.ServerToClient:
			recorded = append(recorded, e.Payload)
		default:
			frames = append(frames, p.Receive(transport.Frame{Bytes: live(bytes.Clone(e.Payload))})...)
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
			t.Fatalf("%d frames played, %d recorded", len(played), len(recorded))
		}
		if !bytes.Equal(played[i], recorded[i]) {
			t.Errorf("frame %d\ngot  %s\nwant %s", i+1, played[i], recorded[i])
		}
	}
}

// TestPlayerSessions plays real sessions to the clients that they recorded.
func TestPlayerSessions(t *testing.T) {
	sessions(t, func(t *testing.T, events []store.Event) {
		recorded, played := half(events, func(b []byte) []byte { return b })
		compare(t, played, recorded)
	})
}

// TestPlayerSessionsRenamed gives the client other ids and tokens: with those put
// back, the server's half is the recorded one to the byte.
func TestPlayerSessionsRenamed(t *testing.T) {
	sessions(t, func(t *testing.T, events []store.Event) {
		var names names
		recorded, played := half(events, names.rename)
		if !bytes.Contains(bytes.Join(played, nil), []byte("live id")) {
			t.Error("no id was changed")
		}
		for i, b := range played {
			played[i] = names.undo(b)
		}
		compare(t, played, recorded)
	})
}

// names are pairs of a value recorded and the one the live client uses.
type names [][2]string

func (n *names) rename(b []byte) []byte {
	messages, err := transport.Frame{Bytes: b}.Messages()
	if err != nil || len(messages) != 1 || messages[0].Method == "" {
		return b
	}
	m := messages[0]
	b = n.replace(b, "id", m.ID)
	b = n.replace(b, "progressToken", m.ProgressToken())
	if m.Method == "notifications/cancelled" {
		b = n.replace(b, "requestId", transport.Member(m.Params, "requestId"))
	}
	return b
}

// replace gives the member another value; the real sessions hold each only once,
// or twice with the last to be taken.
func (n *names) replace(b []byte, key string, value []byte) []byte {
	if value == nil {
		return b
	}
	live := strconv.Quote("live " + key + " " + fmt.Sprintf("%x", value))
	if key == "requestId" {
		live = strconv.Quote("live id " + fmt.Sprintf("%x", value))
	}
	*n = append(*n, [2]string{string(value), live})
	i := bytes.LastIndex(b, []byte(strconv.Quote(key)))
	from := i + bytes.Index(b[i:], value)
	return append(append(bytes.Clone(b[:from]), live...), b[from+len(value):]...)
}

func (n names) undo(b []byte) []byte {
	for _, pair := range n {
		b = bytes.ReplaceAll(b, []byte(pair[1]), []byte(pair[0]))
	}
	return b
}
