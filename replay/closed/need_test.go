package closed

import (
	"math/rand/v2"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/transport"
)

// agreesWithClosed asks for the same as the closed replay at every pair of capacities
// around the frontier, and of what is said of it.
func agreesWithClosed(t *testing.T, r *Recording, client, server Model, text string) (safe bool) {
	t.Helper()
	n := r.Need(client, server)
	passes := func(c Capacity) bool {
		return Replay(r, Setup{Capacity: c, Client: client, Server: server}).Verdict == Pass
	}
	if passes(Capacity{Unbounded, Unbounded}) != n.Safe || n.Safe == (len(n.Frontier) == 0) || n.Safe && !passes(Capacity{n.Least, n.Least}) {
		t.Fatalf("client %v, server %v: %+v\n%s", client, server, n, text)
	}
	if n.Safe && n.Least > 0 && (passes(Capacity{n.Least - 1, n.Least - 1}) || n.Witness == nil) || !n.Safe && n.Witness == nil {
		t.Fatalf("client %v, server %v: %+v: no hang at one less\n%s", client, server, n, text)
	}
	if n.Witness != nil {
		v := Replay(r, Setup{Capacity: n.Witness.Capacity, Client: client, Server: server})
		if v.Category != n.Witness.Category || v.Explanation != n.Witness.Explanation || len(n.Witness.Events) == 0 {
			t.Fatalf("client %v, server %v: %+v, replay %s\n%s", client, server, n.Witness, v.Text(), text)
		}
	}
	for _, corner := range n.Frontier {
		for _, c := range []Capacity{corner, {corner.C2S - 1, corner.S2C}, {corner.C2S, corner.S2C - 1}, {corner.C2S + 1, corner.S2C}, {corner.C2S - 1, corner.S2C + 1}, {corner.C2S + 1, corner.S2C - 1}} {
			if c.C2S < 0 || c.S2C < 0 {
				continue
			}
			slack, ok := n.Slack(c)
			if !ok || passes(c) != (slack >= 0) {
				t.Fatalf("client %v, server %v, buffer %v: slack %d, %v; frontier %v\n%s", client, server, c, slack, ok, n.Frontier, text)
			}
		}
	}
	return n.Safe
}

// TestNeed: of random sessions the analysis says what the closed replay says.
func TestNeed(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	unsafe, corners := 0, 0
	for range 1500 {
		lines := replaytest.RandomLines(rng, rng.IntN(40))
		r, s := load(t, lines), randomSetup(rng)
		if !agreesWithClosed(t, r, s.Client, s.Server, lines) {
			unsafe++
		}
		if n := r.Need(s.Client, s.Server); len(n.Frontier) > 1 {
			corners++
		}
	}
	if unsafe < 50 || corners < 50 {
		t.Errorf("%d never safe, %d with a choice: they say little", unsafe, corners)
	}
}

// TestNeedSeed: the numbers of python-sdk issue 594 and of two crossing requests.
func TestNeedSeed(t *testing.T) {
	r := load(t, "> 1:call!\n< ~progress\n< ~progress\n< 1=")
	if n := r.Need(NotificationQueue(0), Independent); n.Safe || n.Witness.Category != BehindNotification || r.Debt(transport.ClientToServer) != 2 || r.Debt(transport.ServerToClient) != 0 {
		t.Errorf("%+v", n)
	}
	if n := r.Need(NotificationQueue(2), Independent); !n.Safe || n.Least != 0 {
		t.Errorf("%+v", n)
	}
	r = load(t, "> 1:call\n< 7:roots/list\n> 7=\n< 1=")
	n := r.Need(SingleThreaded, SingleThreaded)
	if n.Least != 1 || len(n.Frontier) != 2 || n.Witness.Category != BothWrite || len(n.Witness.Events) != 2 {
		t.Errorf("%+v", n)
	}
	if got, want := n.String(), "buffer 1, or c2s=0,s2c=1, c2s=1,s2c=0"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDebt: the notification debt of an end is the least inner queue with which the closed
// replay passes, also where a call was never answered, was cancelled, or was answered in
// one batch with a notification.
func TestDebt(t *testing.T) {
	for lines, want := range map[string]int{
		"> 1:call\n< ~progress\n< ~progress\n< 1=":                       2,
		"> 1:call\n< ~progress\n< ~progress":                             1, // nobody waits for what is behind the second
		"> 1:call\n< [~progress ~progress]":                              0,
		"> 1:call\n< ~progress\n< ~progress\n> ~cancelled:1\n< ~message": 1, // the cancellation lets the loop go on
		"> 1:call\n< ~progress\n> ~cancelled:1\n< ~message":              0,
		"> 1:call\n< ~progress\n> 2:call\n< 1=\n< ~progress":             1,
		"> 1:call\n< [~progress 1=]\n< ~message":                         1,
		"> 1:call\n< [~progress 1=]":                                     1,
		"> 1:call\n< ~progress\n< not a message":                         1,
	} {
		r := load(t, lines)
		if got := r.Debt(transport.ClientToServer); got != want {
			t.Errorf("%q: a debt of %d, want %d", lines, got, want)
		}
		debtIsLeast(t, r, lines)
	}
	rng := rand.New(rand.NewPCG(14, 14))
	cases, unanswered, owed := 1500, 0, 0
	for range cases {
		lines := replaytest.RandomLines(rng, rng.IntN(40))
		r := load(t, lines)
		debtIsLeast(t, r, lines)
		for _, dir := range directions {
			if r.Debt(dir) > 0 {
				owed++
				unanswered += min(1, len(r.unanswered()))
			}
		}
	}
	if unanswered < cases/5 || owed-unanswered < cases/50 {
		t.Errorf("%d debts, %d of them with a call that was never answered: they say little", owed, unanswered)
	}
}

// debtIsLeast holds that with the debt for its queue each end passes, and with one less hangs.
func debtIsLeast(t *testing.T, r *Recording, lines string) {
	t.Helper()
	for _, dir := range directions {
		debt := r.Debt(dir)
		for _, c := range []Capacity{{}, {C2S: 2, S2C: 2}, {C2S: Unbounded, S2C: Unbounded}} {
			s := Setup{Capacity: c}.with(dir, NotificationQueue(debt))
			if v := Replay(r, s); v.Verdict != Pass {
				t.Fatalf("%v, debt %d: %s\n%s", s, debt, v.Verdict, lines)
			}
			if s = s.with(dir, NotificationQueue(debt-1)); debt > 0 && Replay(r, s).Verdict != Hang {
				t.Fatalf("%v, debt %d: one less passes as well\n%s", s, debt, lines)
			}
		}
	}
}

// TestCrowd plays inline ends whose reader and callers get at the writer in random order:
// with the bound one way, and no room the other way, they never hang.
func TestCrowd(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	hangs := 0
	for range 2500 {
		lines := replaytest.RandomLines(rng, rng.IntN(24))
		r := load(t, lines)
		for _, dir := range directions {
			bound := maxInFlight(r, dir)
			if !disorder(rng, r, Capacity{}.with(dir, bound)) {
				t.Fatalf("hangs at %v=%v\n%s", dir, bound, lines)
			}
			if bound > 0 && !disorder(rng, r, Capacity{}) {
				hangs++
			}
		}
	}
	if hangs < 50 {
		t.Errorf("%d hang without room: they say little", hangs)
	}
}

// looseEnd is an inline end: the answers that its reader owes, and its callers' next frame.
type looseEnd struct {
	answers, calls []int32        // own frames, by index, in their order
	after          map[int32]bool // the peer's frames that it has read
	hand           int32          // frame in the writer's hand; -1
	reply          bool           // it is an answer
}

// disorder plays two such ends by chance; false when they hang.
func disorder(rng *rand.Rand, r *Recording, c Capacity) bool {
	var ends [3]*looseEnd
	var lanes [3][]int32
	for _, dir := range directions {
		e := &looseEnd{hand: -1, after: map[int32]bool{}}
		for _, f := range r.byDirection[dir] {
			if n, only := r.answers(r.frames[f]); n > 0 && only {
				e.answers = append(e.answers, f)
			} else {
				e.calls = append(e.calls, f)
			}
		}
		ends[dir] = e
	}
	for {
		var steps []func()
		for _, dir := range directions {
			steps = append(steps, ends[dir].steps(r, dir, ends[dir.Reverse()], &lanes[dir], c.of(dir))...)
		}
		if len(steps) == 0 {
			break
		}
		steps[rng.IntN(len(steps))]()
	}
	for _, dir := range directions {
		e := ends[dir]
		if e.hand >= 0 || len(lanes[dir]) > 0 {
			return false
		}
	}
	return true
}

// steps are those of an end's writer and of the lane to its peer.
func (e *looseEnd) steps(r *Recording, dir transport.Direction, peer *looseEnd, lane *[]int32, room Room) (steps []func()) {
	ready := -1
	for i, f := range e.answers {
		if n, _ := r.answers(r.frames[f]); e.after[r.nth(dir.Reverse(), int(n))] {
			ready = i
			break
		}
	}
	if e.hand < 0 && ready >= 0 {
		steps = append(steps, func() {
			e.hand, e.reply = e.answers[ready], true
			e.answers = append(e.answers[:ready:ready], e.answers[ready+1:]...)
		})
	}
	if e.hand < 0 && len(e.calls) > 0 && e.hasRead(r, dir, e.calls[0]) {
		steps = append(steps, func() { e.hand, e.reply, e.calls = e.calls[0], false, e.calls[1:] })
	}
	// The peer's reader is its writer's while it has an answer to give, or to write.
	reads := !peer.reply && !peer.owing(r, dir.Reverse())
	if e.hand >= 0 && (len(*lane) < int(room) || len(*lane) == 0 && reads) {
		steps = append(steps, func() { *lane, e.hand, e.reply = append(*lane, e.hand), -1, false })
	}
	if len(*lane) > 0 && reads {
		steps = append(steps, func() { peer.after[(*lane)[0]], *lane = true, (*lane)[1:] })
	}
	return steps
}

func (e *looseEnd) owing(r *Recording, dir transport.Direction) bool {
	for _, f := range e.answers {
		if n, _ := r.answers(r.frames[f]); e.after[r.nth(dir.Reverse(), int(n))] {
			return true
		}
	}
	return false
}

func (e *looseEnd) hasRead(r *Recording, dir transport.Direction, f int32) bool {
	for i := range r.frames[f].before {
		if !e.after[r.nth(dir.Reverse(), int(i)+1)] {
			return false
		}
	}
	return true
}
