package standin_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// spoken is a frame as a tap between the two halves sees it.
type spoken struct {
	dir   transport.Direction
	bytes []byte
}

// selfPlay is what became of a session whose two halves were played to each other.
type selfPlay struct {
	trace   []spoken
	relents []string
	player  *standin.Player
	driver  *standin.Driver
}

// translator stands between the two halves: it returns a frame as the recording
// has it, and as its receiver is to see it.
type translator func(dir transport.Direction, frame []byte) (recorded, delivered []byte)

func untouched(_ transport.Direction, frame []byte) (recorded, delivered []byte) { return frame, frame }

// playBoth plays the two halves of a session to each other until nothing moves.
// The frames of one direction are delivered before those of the other.
func playBoth(events []store.Event, first transport.Direction, through translator) selfPlay {
	s := selfPlay{player: standin.NewPlayer(events, match.Rules{}), driver: standin.NewDriver(events, match.Rules{})}
	receive := [3]func(transport.Frame) []transport.Frame{transport.ClientToServer: s.player.Receive, transport.ServerToClient: s.driver.Receive}
	var way [3][]transport.Frame
	way[transport.ClientToServer], way[transport.ServerToClient] = s.driver.Start(), s.player.Start()
	for {
		dir := first
		if len(way[dir]) == 0 {
			dir = first.Reverse()
		}
		switch {
		case len(way[dir]) > 0:
			f := way[dir][0]
			way[dir] = way[dir][1:]
			recorded, delivered := through(dir, f.Bytes)
			s.trace = append(s.trace, spoken{dir, recorded})
			back := receive[dir](transport.Frame{Bytes: delivered, Stream: f.Stream})
			way[dir.Reverse()] = append(way[dir.Reverse()], back...)
		case s.player.Waiting():
			way[transport.ServerToClient] = s.player.GiveUpWaiting()
			s.relents = append(s.relents, "server "+strings.Join(s.player.Without(), ","))
		case s.driver.Waiting():
			way[transport.ClientToServer] = s.driver.GiveUpWaiting()
			s.relents = append(s.relents, "client "+strings.Join(s.driver.Without(), ","))
		default:
			return s
		}
	}
}

// said are the frames of a session that the two halves are to say: no blank lines,
// and over lines, so that what HTTP had on several comes on one.
func said(events []store.Event) (frames []spoken) {
	for _, e := range events {
		if e.Kind == store.Frame && len(bytes.TrimSpace(e.Payload)) > 0 {
			frames = append(frames, spoken{e.Dir, bytes.ReplaceAll(e.Payload, []byte("\n"), []byte(" "))})
		}
	}
	return frames
}

// faults says in which way the play was not the session.
func (s selfPlay) faults(events []store.Event) (faults []string) {
	for _, r := range s.relents {
		faults = append(faults, "relent: "+r)
	}
	for _, f := range append(s.player.Close(), s.driver.Close()...) {
		faults = append(faults, f.String())
	}
	verdicts := append(s.player.Verdicts(), s.driver.Verdicts()...)
	if n := countMessages(events); len(verdicts) < n {
		faults = append(faults, fmt.Sprintf("%d verdicts on %d messages", len(verdicts), n))
	}
	for _, v := range verdicts {
		if v.Result != match.Match || len(v.Mapped) > 0 {
			faults = append(faults, fmt.Sprintf("%+v", v))
		}
	}
	want := said(events)
	for i := range max(len(want), len(s.trace)) {
		if got, want := at(s.trace, i), at(want, i); got != want {
			return append(faults, fmt.Sprintf("frame %d: said\n  %.200s\nfor\n  %.200s", i+1, got, want))
		}
	}
	return faults
}

func countMessages(events []store.Event) (n int) {
	for _, e := range events {
		messages, _ := e.AsFrame().Messages()
		for _, m := range messages {
			if e.Kind == store.Frame && m.Kind() != transport.Invalid {
				n++
			}
		}
	}
	return n
}

func at(frames []spoken, i int) string {
	if i >= len(frames) {
		return "the end"
	}
	return fmt.Sprintf("%s %s", frames[i].dir, frames[i].bytes)
}

// TestSelfPlay plays each session to itself: every frame is said, in exactly the
// recorded order of both directions, nothing is missed or left over, nobody has to
// relent; whichever direction is delivered first, and when both ends number and
// token their requests otherwise. Sessions over HTTP are played as one lane.
func TestSelfPlay(t *testing.T) {
	eachSession(t, func(t *testing.T, events []store.Event) {
		for _, first := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			for _, f := range playBoth(events, first, untouched).faults(events) {
				t.Errorf("%s first: %s", first, f)
			}
			for _, f := range playBoth(events, first, newRenamed().translate).faults(events) {
				t.Errorf("%s first, renamed: %s", first, f)
			}
		}
	})
}

// eachSession calls test with every session that is here, and with the whole set
// where $MCPREC_CORPUS names its folder.
func eachSession(t *testing.T, test func(t *testing.T, events []store.Event)) {
	eachSessionIn(t, []string{
		filepath.Join("..", "..", "fixtures"), filepath.Join("..", "..", "fixtures", "testdata", "sessions"),
		filepath.Join("..", "..", "store", "foreign", "testdata", "mcp-frames"), os.Getenv("MCPREC_CORPUS"),
	}, func(t *testing.T, events []store.Event) {
		if !notOneLane[filepath.Base(t.Name())] {
			test(t, events)
		}
	})
}

// notOneLane are sessions over HTTP that cannot be played as one lane: only the exchange
// tells which of several answers is whose. In this one a request is refused twice and sent
// a third time, with the same id, and a GET is answered by a JSON-RPC error.
var notOneLane = map[string]bool{"http-everything-raw-status-2025-11-25": true}

// eachSessionIn calls test with every session of the folders; one named "" is none.
func eachSessionIn(t *testing.T, folders []string, test func(t *testing.T, events []store.Event)) {
	seen := map[string]bool{}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d sessions, %v", folder, len(paths), err)
		}
		for _, path := range paths {
			events, err := jsonl.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
			if !seen[name] { // the sample is of the set
				t.Run(name, func(t *testing.T) { test(t, events) })
			}
			seen[name] = true
		}
	}
}

// TestOrderSession: two calls side by side, progress, a question in each, an answer,
// late progress. The recorded order is the only one that is played, whoever numbers.
func TestOrderSession(t *testing.T) {
	events, err := jsonl.ReadFile(filepath.Join("testdata", "order.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, through := range []func() translator{func() translator { return untouched }, func() translator { return newRenamed().translate }} {
		for _, first := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
			for _, f := range playBoth(events, first, through()).faults(events) {
				t.Errorf("%s first: %s", first, f)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			for _, f := range playShells(t, events, through()).faults(events) {
				t.Errorf("over a pipe: %s", f)
			}
		})
	}
}

// TestSelfPlayRandom is the same for sessions that nobody would record: orphans,
// batches of answers, ids used twice. Of noise it only asks that it is said: nothing
// waits for it, so its place among the frames of the other end is not known.
func TestSelfPlayRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	directions := []transport.Direction{transport.ClientToServer, transport.ServerToClient}
	for range 2000 {
		lines := replaytest.RandomLines(rng, rng.IntN(25))
		for _, through := range []translator{untouched, newRenamed().translate} {
			events := replaytest.Session(t, lines)
			s := playBoth(events, directions[rng.IntN(2)], through)
			if got, want := len(s.trace), len(said(events)); got != want {
				t.Fatalf("%d messages, want %d, of\n%s", got, want, lines)
			}
			s.trace = slices.DeleteFunc(s.trace, func(f spoken) bool { return isNoise(f.bytes) })
			quiet := slices.DeleteFunc(events, func(e store.Event) bool { return e.Kind == store.Frame && isNoise(e.Payload) })
			for _, f := range s.faults(quiet) {
				t.Errorf("%s, of\n%s", f, lines)
			}
		}
	}
}

func isNoise(frame []byte) bool {
	_, err := transport.Frame{Bytes: frame}.Messages()
	return err != nil
}

// TestSelfPlayCut is the same for sessions without an end, as of a recorder that died.
func TestSelfPlayCut(t *testing.T) {
	eachSession(t, func(t *testing.T, events []store.Event) {
		for n := 1; n < len(events); n += 1 + len(events)/12 {
			cut := events[:n]
			for _, f := range playBoth(cut, transport.ServerToClient, newRenamed().translate).faults(cut) {
				t.Errorf("first %d events: %s", n, f)
			}
		}
	})
}
