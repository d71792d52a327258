package closed

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/timeline"
)

var randomModels = []Model{Independent, SingleThreaded, AnswersInline, BlockingHandlers, BlockingHandlers, NotificationQueue(0), NotificationQueue(1), NotificationQueue(3)}

// stands reports whether an end may wait for itself.
func (m Model) stands() bool { return m.kind == notificationQueue || m.kind == blockingHandlers }

func randomSetup(rng *rand.Rand) Setup {
	models, rooms := randomModels, []Room{0, 0, 1, 2, 5, Unbounded}
	if rng.IntN(2) == 0 { // where transport capacity decides
		models, rooms = []Model{SingleThreaded, SingleThreaded, AnswersInline, BlockingHandlers}, []Room{0, 0, 1, 2}
	}
	pick := func() (Room, Model) { return rooms[rng.IntN(len(rooms))], models[rng.IntN(len(models))] }
	c2s, client := pick()
	s2c, server := pick()
	return Setup{Capacity: Capacity{c2s, s2c}, Client: client, Server: server}
}

// TestScriptsAreSound: no end waits for itself, and no send waits for a frame
// that was recorded after it. From these two facts follows that unbounded lanes
// never hang, see the package documentation.
func TestScriptsAreSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		lines := replaytest.RandomLines(rng, rng.IntN(40))
		r := load(t, lines)
		for _, dir := range directions {
			for _, m := range []Model{Independent, SingleThreaded, AnswersInline} {
				if err := sound(r, newScript(r, dir, m, nil)); err != nil {
					t.Fatalf("%v %v: %v\n%s", dir.Sender(), m, err, lines)
				}
			}
		}
	}
}

// TestSerialStandsOrIsSound: a serial end waits for itself only where its script
// says so, and says all until then.
func TestSerialStandsOrIsSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	stands := 0
	for range 3000 {
		lines := replaytest.RandomLines(rng, rng.IntN(40))
		r := load(t, lines)
		for _, dir := range directions {
			s := newScript(r, dir, BlockingHandlers, nil)
			for _, stop := range s.stops {
				stands++
				if stop.sentBefore > 0 && s.need[stop.sentBefore-1] > stop.readBefore {
					t.Fatalf("%v stands at #%d before it has sent its message %d\n%s", dir.Sender(), r.frameOf(stop.held).seq, stop.sentBefore, lines)
				}
				s.hold, s.need = s.hold[:stop.readBefore], s.need[:stop.sentBefore]
			}
			if err := sound(r, s); err != nil {
				t.Fatalf("%v: %v\n%s", dir.Sender(), err, lines)
			}
		}
	}
	if stands < 300 {
		t.Errorf("only %d stand", stands)
	}
}

func sound(r *Recording, s *script) error {
	for k, need := range s.need {
		f := r.frames[r.nth(s.own, k+1)]
		if need > f.before {
			return fmt.Errorf("#%d needs %d messages read, %d were recorded before it", f.seq, need, f.before)
		}
		if k > 0 && need < s.need[k-1] {
			return fmt.Errorf("need falls at #%d", f.seq)
		}
	}
	for j, hold := range s.hold {
		if j > 0 && hold < s.hold[j-1] {
			return fmt.Errorf("hold falls at %d", j)
		}
		if hold > 0 && s.need[hold-1] > int32(j) {
			return fmt.Errorf("after %d reads it waits for its own message %d, which needs %d", j, hold, s.need[hold-1])
		}
	}
	return nil
}

func TestUnboundedPasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		lines := replaytest.RandomLines(rng, rng.IntN(60))
		r := load(t, lines)
		for _, client := range []Model{Independent, SingleThreaded, AnswersInline} {
			for _, server := range []Model{Independent, SingleThreaded, AnswersInline} {
				s := Setup{Capacity{Unbounded, Unbounded}, client, server}
				if v := Replay(r, s); v.Verdict != Pass {
					t.Fatalf("%v\n%s\n%s", s, lines, v.Text())
				}
			}
		}
		if v := Replay(r, Setup{}); v.Verdict != Pass {
			t.Fatalf("free ends with buffer 0\n%s\n%s", lines, v.Text())
		}
	}
}

// TestMonotone: more capacity never turns a pass into a hang, and what changes
// says of the smallest capacity is so.
func TestMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	hangs := 0
	for range 3000 {
		lines := replaytest.RandomLines(rng, rng.IntN(40))
		r, s := load(t, lines), randomSetup(rng)
		if s.Capacity.C2S < 0 || s.Capacity.S2C < 0 || Replay(r, s).Verdict == Hang {
			hangs++
			continue
		}
		for _, more := range []Capacity{{s.Capacity.C2S + 1, s.Capacity.S2C}, {s.Capacity.C2S, s.Capacity.S2C + 3}, {Unbounded, s.Capacity.S2C}} {
			wider := s
			wider.Capacity = more
			if v := Replay(r, wider); v.Verdict != Pass {
				t.Fatalf("passes at %v, not at %v\n%s\n%s", s.Capacity, more, lines, v.Text())
			}
		}
	}
	if hangs > 2500 {
		t.Fatalf("%d of 3000 cases say nothing", hangs)
	}
}

// TestHangIsExplained: every hang has a cycle (or says what was never sent), a
// category that fits its models, and a report.
func TestHangIsExplained(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	count := map[string]int{}
	for range 4000 {
		lines := replaytest.RandomLines(rng, rng.IntN(40))
		r, s := load(t, lines), randomSetup(rng)
		v := Replay(r, s)
		if v.Verdict == Pass {
			count[Pass]++
			continue
		}
		count[v.Category]++
		inboxes := s.Client.stands() || s.Server.stands()
		if v.Category != BothWrite && !inboxes || len(v.Changes) == 0 || (len(v.Cycle) < 2) != (v.Category == NeverSent) {
			t.Fatalf("%v\n%s\n%s", s, lines, v.Text())
		}
		if (s.Client == SingleThreaded || s.Server == SingleThreaded) && !inboxes && v.Category == BothWrite && s.Client.kind != answersInline && s.Server.kind != answersInline && len(v.Assumptions) == 0 {
			t.Fatalf("a rigid hang without its assumption\n%s\n%s", lines, v.Text())
		}
		for i, name := range v.Cycle {
			next := v.Cycle[(i+1)%len(v.Cycle)]
			if v.Waits[i].Who != name || v.Waits[i].WaitsFor != next {
				t.Fatalf("cycle %q does not follow the waits\n%s", v.Cycle, v.Text())
			}
		}
	}
	for _, c := range []string{Pass, BothWrite, BehindNotification, NeverSent} {
		if count[c] < 50 {
			t.Errorf("only %d cases of %q", count[c], c)
		}
	}
	t.Log(count)
}

// FuzzClosed: no bytes make the replay panic or run for ever, and two free ends
// always pass.
func FuzzClosed(f *testing.F) {
	f.Add([]byte("\x00> 1:call!\n< ~progress\n< 1="))
	f.Add([]byte("\x41> [1:a ~b]\n< [1= ~c]\n> @3\n< {\"id\":1}\n> ~cancelled:1"))
	f.Add([]byte("\xff" + strings.ReplaceAll(replaytest.Plain, "\t", "")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		r, err := Load(replaytest.SequenceOf(replaytest.FuzzEvents(b[1:])))
		if err != nil {
			return
		}
		rng := rand.New(rand.NewPCG(uint64(b[0]), 0))
		s := randomSetup(rng)
		v := Replay(r, s)
		if v.Text() == "" || (v.Verdict == Hang) == (len(v.Waits) == 0) {
			t.Fatalf("%v: %+v", s, v)
		}
		if v := Replay(r, Setup{}); v.Verdict != Pass {
			t.Fatal(v.Text())
		}
		transcript := timeline.NewTranscript(func(e timeline.Entry) error { _ = e.String(); return nil })
		if err := timeline.Project(timeline.Steps(replaytest.SequenceOf(replaytest.FuzzEvents(b[1:]))), transcript, &timeline.Calls{}); err != nil {
			t.Fatal(err)
		}
		for _, dir := range directions {
			if !s.model(dir).stands() {
				if err := sound(r, newScript(r, dir, s.model(dir), nil)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
