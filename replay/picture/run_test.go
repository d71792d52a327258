package picture_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/store/jsonl"
)

func loadFixture(t *testing.T, name string) *closed.Recording {
	t.Helper()
	events, err := jsonl.ReadFile("../../fixtures/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	recording, err := closed.Load(replaytest.SequenceOf(events))
	if err != nil {
		t.Fatal(err)
	}
	return recording
}

func loadLines(t *testing.T, lines string) *closed.Recording {
	t.Helper()
	recording, err := closed.Load(replaytest.SequenceOf(replaytest.Session(t, lines)))
	if err != nil {
		t.Fatal(err)
	}
	return recording
}

func parseSetup(t *testing.T, text string) closed.Setup {
	t.Helper()
	list, err := closed.ParseExpectation("pass " + text)
	if err != nil {
		t.Fatal(err)
	}
	return list[0].Setup
}

func numbered(seq uint64) picture.Frame {
	return picture.Frame{Seq: seq, Label: fmt.Sprintf("frame of event %d", seq), Kind: "request", Dir: "c2s"}
}

// TestRun pins runs as the page gets them: a step a line.
func TestRun(t *testing.T) {
	for _, c := range []struct{ name, fixture, setup, words string }{
		{"seed-inbox", "seed", "client=notification-queue=0 buffer=0", "HANG (proved) blocked behind a notification"},
		{"seed-free", "seed", "buffer=1", "PASS"},
		{"both sides write and neither reads", "crossing", "client=single-threaded server=single-threaded buffer=0", "HANG (proved) both sides write and neither reads"},
		{"head-on-passes", "crossing", "client=single-threaded server=single-threaded buffer=1", "PASS"},
		{"mutual", "gosdk-handler-calls", "client=blocking-handlers server=blocking-handlers buffer=0", "HANG (proved) each waits for the other's answer"},
	} {
		run := picture.NewRun(loadFixture(t, c.fixture), parseSetup(t, c.setup), numbered)
		if run.Words != c.words {
			t.Errorf("%s: %s, want %s", c.name, run.Words, c.words)
		}
		text, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		replaytest.Golden(t, "run-"+c.name+".json", lined(t, text))
	}
}

// lined writes each member of an object, and each element of its lists, on a line.
func lined(t *testing.T, text []byte) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range []string{"words", "tone", "says", "means", "verdict", "steps", "told", "total", "messages", "held", "parts"} {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.ReplaceAll(strings.ReplaceAll(string(members[name]), "},{", "},\n  {"), `.","`, ".\",\n  \""))
		delete(members, name)
	}
	if len(members) > 0 {
		t.Errorf("more members: %v", members)
	}
	return b.String()
}

// TestRunTicks: a writer that need not wait has one line with its reader, one that waits has
// the lines between, and a frame in a queue goes from line to line.
func TestRunTicks(t *testing.T) {
	for _, c := range []struct{ name, lines, setup, want string }{
		{"rendezvous", "> 1:call\n< 1=", "", "offer c2s.1 1, take c2s.1 1, ack c2s.1 1, give c2s.1 1, offer s2c.1 2, take s2c.1 2, ack s2c.1 2, give s2c.1 2"},
		{"a queue", "> ~a\n> ~b\n> 1:call\n< ~x\n< 1=", "client=single-threaded server=single-threaded c2s=1", ""},
		{"both hold", "> 1:call\n< 1:ping\n> 1=\n< 1=", "client=single-threaded server=single-threaded", "offer c2s.1 1, offer s2c.1 2"},
	} {
		run := picture.NewRun(loadLines(t, c.lines), parseSetup(t, c.setup), numbered)
		var steps []string
		last := 0
		for _, s := range run.Steps {
			steps = append(steps, fmt.Sprintf("%s %s.%d %d", s.Op, s.Dir, s.N, s.Tick))
			if s.Tick < last || s.Tick > last+1 {
				t.Errorf("%s: %v: line %d after %d", c.name, s, s.Tick, last)
			}
			last = s.Tick
		}
		if text := strings.Join(steps, ", "); c.want != "" && text != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.name, text, c.want)
		}
	}
}

// TestRunTicksRise: in every bundled session, under pairs of models and at several capacities,
// the lines rise by one at most, and so does the state: a step changes one queue by one frame.
func TestRunTicksRise(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/*.jsonl")
	if err != nil || len(paths) < 20 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		recording := loadFixture(t, strings.TrimSuffix(filepath.Base(path), ".jsonl"))
		for _, setup := range []string{"", "client=notification-queue=0", "client=single-threaded server=single-threaded", "client=blocking-handlers server=answers-inline c2s=1", "buffer=2", "server=notification-queue=1 buffer=unbounded"} {
			run := picture.NewRun(recording, parseSetup(t, setup), numbered)
			line := 0
			var queue picture.Queue
			for i, s := range run.Steps {
				if s.Tick < line || s.Tick > line+1 {
					t.Errorf("%s %s: step %d %+v: line after %d", path, setup, i, s, line)
				}
				line = s.Tick
				if moved := s.Queue.C2S - queue.C2S + s.Queue.S2C - queue.S2C; (s.Op == "take") != (moved == 1) || (s.Op == "give") != (moved == -1) {
					t.Errorf("%s %s: step %d %+v after %+v", path, setup, i, s, queue)
				}
				queue = s.Queue
			}
		}
	}
}

// TestRunLast: of a long replay the last steps are kept, with their frames alone.
func TestRunLast(t *testing.T) {
	const calls = 2000
	recording := loadLines(t, strings.Repeat("> 1:call\n< 1=\n", calls))
	run := picture.NewRun(recording, closed.Setup{}, numbered)
	if run.Total != 2*calls*4 || len(run.Steps) != picture.RunSteps || len(run.Frames) != picture.RunSteps/4 {
		t.Fatalf("%d steps of %d, %d messages", len(run.Steps), run.Total, len(run.Frames))
	}
	first, last := run.Steps[0], run.Steps[len(run.Steps)-1]
	if first.Tick != 1 || last.N != calls || last.Tick != picture.RunSteps/4 || run.Frames[fmt.Sprint("s2c.", calls)].Seq == 0 {
		t.Errorf("first %+v, last %+v", first, last)
	}
}

// TestApart: two runs part where one makes a step that the other does not.
func TestApart(t *testing.T) {
	recording := loadFixture(t, "crossing")
	hang := picture.NewRun(recording, parseSetup(t, "client=single-threaded server=single-threaded buffer=0"), numbered)
	pass := picture.NewRun(recording, parseSetup(t, "client=single-threaded server=single-threaded buffer=1"), numbered)
	at, same := picture.Apart(hang, pass)
	if at != same || at != len(hang.Steps)-1 || hang.Steps[at].Op != "offer" || pass.Steps[at].Op != "take" {
		t.Errorf("apart at %d and %d of %d and %d steps", at, same, len(hang.Steps), len(pass.Steps))
	}
	if a, b := picture.Apart(pass, pass); a != len(pass.Steps) || b != a {
		t.Errorf("a run parts from itself at %d and %d", a, b)
	}
	long := strings.Repeat("> 1:call\n< 1=\n", 1000)
	whole := picture.NewRun(loadLines(t, long), closed.Setup{}, numbered)
	longer := picture.NewRun(loadLines(t, long+"> ~x"), closed.Setup{}, numbered)
	if a, b := picture.Apart(whole, longer); a != len(whole.Steps) || b != len(longer.Steps)-4 {
		t.Errorf("long runs part at %d and %d", a, b)
	}
}
