package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// RecordedServer lets the server of [Plan.Session] play on the server's end: it
// answers the live client from the recording, and says the rest where it was
// said, or at level L1 in any legal order. Only Setup may call it.
func (r *Run) RecordedServer() { r.recordedServer(replay.Free) }

// RecordedClient lets the client of [Plan.Session] play on the client's end: it
// says to the live server what was recorded, when it has heard what the recorded
// client had heard, or at level L1 in any legal order. Each of its calls is an
// operation of the run, which ends with its response: also of a call that the recorded
// server did not answer, unless it was cancelled. Only Setup may call it.
func (r *Run) RecordedClient() { r.recordedClient(replay.Free) }

func (r *Run) recordedServer(m replay.Model) {
	p := replay.NewPlayer(r.plan.Session, replay.Rules{Match: r.plan.ready.match})
	if r.level == L1 {
		p.Loosen()
	}
	h := r.newHalf(transport.ServerToClient, p, m)
	h.close, h.without = p.Close, p.Without
	h.play(p.Start(), p.End)
}

func (r *Run) recordedClient(m replay.Model) {
	d := replay.NewDriver(r.plan.Session, replay.Rules{})
	if r.level == L1 {
		d.Loosen()
	}
	h := r.newHalf(transport.ClientToServer, d, m)
	h.close, h.without = d.Close, d.Without
	h.calls, h.said = r.expectCalls(), d.Said
	h.play(d.Start(), nil)
}

// newHalf puts a machine on the end that sends in direction own.
func (r *Run) newHalf(own transport.Direction, m machine, model replay.Model) *half {
	h := &half{
		run: r, end: &r.gate.ends[own-transport.ClientToServer], name: "recorded " + own.Sender(),
		machine: m, wake: make(chan struct{}, 1),
		loose: r.level == L1, habit: newHabit(model),
	}
	r.halves = append(r.halves, h)
	return h
}

// Findings says where the live ends differ from the recorded ones so far; it is
// for Check.
func (r *Run) Findings() []replay.StepVerdict {
	var all []replay.StepVerdict
	for _, h := range r.halves {
		h.mu.Lock()
		all = append(all, h.close()...)
		h.mu.Unlock()
	}
	return all
}

// strangers are what the live ends said for which nothing is recorded.
func (r *Run) strangers() []replay.StepVerdict {
	return slices.DeleteFunc(r.Findings(), func(f replay.StepVerdict) bool { return f.Result != replay.Extra })
}

// stranger is the first of them.
func (r *Run) stranger() error {
	for _, f := range r.strangers() {
		return fmt.Errorf("the recording does not cover this run: %s", f.Text)
	}
	return nil
}

// unsaid notes of a hang what a recorded half did not say, and why.
func (r *Run) unsaid() {
	for _, h := range r.halves {
		h.mu.Lock()
		findings := h.close()
		h.mu.Unlock()
		for _, f := range findings {
			if f.Result == replay.NotSent {
				r.note("the " + h.name + " has not said all: " + f.Text)
			}
		}
		if h.end.out.dir == transport.ServerToClient {
			r.unanswered()
		}
	}
}

// unanswered notes what the recorded server never answered: a live client that
// asks it waits for ever, and that is the recording's doing.
func (r *Run) unanswered() {
	calls, err := r.plan.ready.calls()
	if err != nil {
		return
	}
	var names []string
	for _, c := range calls {
		if c.dir == transport.ClientToServer && c.response == 0 && !c.cancelled && !c.listen {
			names = append(names, c.name)
		}
	}
	if len(names) > 0 {
		r.note("the recording itself has no answer to " + strings.Join(names, ", "))
	}
}

// differences are what a live server answered otherwise than the recorded one.
func (r *Run) differences() []string {
	var list []string
	for _, f := range r.Findings() {
		if f.Result == replay.Mismatch {
			list = append(list, "the live server answers otherwise than the recorded one: "+f.Text)
		}
	}
	return list
}
