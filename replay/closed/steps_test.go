package closed_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// TestStepsAgree: in every bundled session, under every pair of models and at every capacity,
// the steps end where the verdict says, keep the lanes' rules, and the inner queues are stuck
// where the verdict says.
func TestStepsAgree(t *testing.T) {
	paths, err := filepath.Glob("../../fixtures/*.jsonl")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d sessions, %v", len(paths), err)
	}
	models := []string{"independent", "single-threaded", "answers-inline", "blocking-handlers", "notification-queue=0", "notification-queue=1", "notification-queue=2"}
	replays, hangs, stuck := 0, 0, 0
	for _, path := range paths {
		events, err := jsonl.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := closed.Load(eventsOf(events))
		if err != nil {
			t.Fatal(path, err)
		}
		for _, client := range models {
			for _, server := range models {
				for _, capacity := range []string{"0", "1", "c2s=1", "s2c=2", "unbounded"} {
					s := setupOf(t, client, server, capacity)
					verdict := closed.Replay(r, s)
					last := walked(t, r, s, verdict.Frames, fmt.Sprint(filepath.Base(path), " ", client, " ", server, " ", capacity))
					replays++
					if verdict.Verdict == closed.Hang {
						hangs++
					}
					for who, queue := range map[string]closed.InnerQueue{"client": last.Client, "server": last.Server} {
						read := verdict.Frames.S2C
						if who == "server" {
							read = verdict.Frames.C2S
						}
						// A notification that nothing follows may be held for ever.
						if want := waitsForQueue(verdict, who); want && !queue.Stuck || queue.Stuck && !want && read.Read < read.Recorded {
							t.Errorf("%s %s %s %s: the queue of the %s is %+v, the verdict has the waits %v", path, client, server, capacity, who, queue, verdict.Waits)
						}
						if queue.Stuck {
							stuck++
						}
					}
				}
			}
		}
	}
	if hangs < 500 || stuck < 200 {
		t.Errorf("%d replays, %d hangs, %d stuck queues: they say little", replays, hangs, stuck)
	}
	t.Logf("%d sessions, %d replays, %d hangs, %d stuck queues", len(paths), replays, hangs, stuck)
}

func waitsForQueue(verdict closed.Verdict, who string) bool {
	for _, w := range verdict.Waits {
		if w.Who == who+" reader" && w.WaitsFor == "notification queue ("+who+")" {
			return true
		}
	}
	return false
}

func setupOf(t *testing.T, client, server, capacity string) (s closed.Setup) {
	t.Helper()
	x, err := closed.ParseExpectation(fmt.Sprintf("pass client=%s server=%s buffer=unbounded", client, server))
	if err != nil {
		t.Fatal(err)
	}
	s = x[0].Setup
	if s.Capacity, err = closed.ParseCapacity(capacity); err != nil {
		t.Fatal(err)
	}
	return s
}

// walked checks the steps of a replay and returns the last.
func walked(t *testing.T, r *closed.Recording, setup closed.Setup, want closed.Played, name string) (last closed.Step) {
	t.Helper()
	var count [3][5]int // by direction and kind: steps
	closed.Steps(r, setup, func(step closed.Step) {
		of := &count[step.Dir]
		of[step.Kind]++
		if step.N != of[step.Kind] || of[transport.Take] > of[transport.Offer] || of[transport.Give] > of[transport.Take] ||
			of[transport.Ack] > of[transport.Take] || step.Round < last.Round {
			t.Fatalf("%s: %+v after %+v: %v", name, step, last, of)
		}
		for dir, lane := range map[transport.Direction]int{transport.ClientToServer: step.C2S, transport.ServerToClient: step.S2C} {
			room := setup.Capacity.C2S
			if dir == transport.ServerToClient {
				room = setup.Capacity.S2C
			}
			handed := step.Dir == dir && (step.Kind == transport.Take || step.Kind == transport.Ack) // on the way to a reader
			full := room >= 0 && lane > int(room) && !(handed && lane == 1)
			if lane != count[dir][transport.Take]-count[dir][transport.Give] || full {
				t.Fatalf("%s: %+v: %v, room %v", name, step, count, room)
			}
		}
		for _, q := range []closed.InnerQueue{step.Client, step.Server} {
			if q.Size < 0 || q.Size > q.Room || q.Stuck && q.Size != q.Room {
				t.Fatalf("%s: %+v", name, step)
			}
		}
		last = step
	})
	c2s, s2c := count[transport.ClientToServer], count[transport.ServerToClient]
	got := closed.Played{
		C2S: closed.Way{Recorded: r.Frames(transport.ClientToServer), Taken: c2s[transport.Ack], Read: c2s[transport.Give]},
		S2C: closed.Way{Recorded: r.Frames(transport.ServerToClient), Taken: s2c[transport.Ack], Read: s2c[transport.Give]},
	}
	if got != want {
		t.Fatalf("%s: stepped %+v, verdict %+v", name, got, want)
	}
	return last
}

// TestStepsQueue: the inner queue fills with the notifications of a call, and the end or the
// cancellation of the last call drains it.
func TestStepsQueue(t *testing.T) {
	for _, c := range []struct{ name, lines, client, want string }{
		{"drained by the answer", "> 1:call!\n< ~progress\n< ~progress\n< 1=\n< ~message", "notification-queue=3", "1 2 0 0"},
		{"stuck", "> 1:call!\n< ~progress\n< ~progress\n< 1=", "notification-queue=1", "1 1!"},
		{"stuck without a queue", "> 1:call!\n< ~progress\n< 1=", "notification-queue=0", "0!"},
		{"the last of two calls", "> 1:call!\n> 2:call\n< ~progress\n< 1=\n< ~progress\n< 2=", "notification-queue=2", "1 1 2 0"},
		{"drained by the cancellation", "> 1:call!\n< ~progress\n> ~cancelled:1\n> 2:call!\n< ~progress\n< 2=", "notification-queue=1", "1 0 1 0"},
		{"released by the cancellation", "> 1:call!\n< ~progress\n< ~progress\n> ~cancelled:1\n< ~message", "notification-queue=1", "1 1! 0 0"},
	} {
		r, err := closed.Load(replaytest.SequenceOf(replaytest.Session(t, c.lines)))
		if err != nil {
			t.Fatal(c.name, err)
		}
		var got []string
		setup := setupOf(t, c.client, "independent", "unbounded")
		var last closed.InnerQueue
		last.Room, _ = setup.Client.Queue()
		closed.Steps(r, setup, func(step closed.Step) {
			read := step.Kind == transport.Give && step.Dir == transport.ServerToClient
			if !read && step.Client == last {
				return
			}
			last = step.Client
			text := fmt.Sprint(step.Client.Size)
			if step.Client.Stuck {
				text += "!"
			}
			got = append(got, text)
		})
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}
