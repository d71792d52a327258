package explore

import (
	"fmt"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// Breach is a frame that broke a rule of the protocol.
type Breach struct {
	order.Violation
	Frame string `json:"frame"` // its content name, with its direction
	Step  int    `json:"step"`  // that took it from its writer's hand
}

// took tells the rules that a frame left its writer's hand.
func (g *gate) took(f *flight) {
	if g.rules == nil {
		return
	}
	for _, v := range g.rules.Send(f.dir, f.said.Parsed, f.known) {
		g.breaches = append(g.breaches, Breach{v, f.dir.String() + " " + f.name, f.taken})
	}
}

// gave tells the rules that a reader has a frame.
func (g *gate) gave(f *flight) {
	if g.rules != nil {
		g.rules.Give(f.dir, f.said.Parsed)
	}
}

// live reports whether the end that sends in a direction is a peer under test,
// not one that plays from a recording.
func (r *Run) live(dir transport.Direction) bool {
	for _, h := range r.halves {
		if h.end.out.dir == dir {
			return false
		}
	}
	for _, a := range r.actors {
		if a.own == dir {
			return false
		}
	}
	return true
}

// judge asks the oracles about a run that no other judgement has failed.
func (r *Run) judge() {
	if r.verdict != Pass {
		return
	}
	for _, b := range r.breaches() {
		if b.Severity == order.Error {
			r.verdict, r.category = Illegal, b.Rule
			r.why = fmt.Sprintf("%s: %s; at step %d, %s", b.Text, b.Title, b.Step, b.Frame)
			return
		}
	}
	if c := r.owed(); c != nil {
		dir := c.request.dir
		r.verdict = Lost
		ends := "both ends are open, and nothing is on its way"
		if r.halved(dir) {
			ends = fmt.Sprintf("the %s had closed its writing side alone and read on", dir.Sender())
		}
		r.why = fmt.Sprintf("the %s read %s of the %s at step %d and answers it to nobody: every operation has returned, the request was not cancelled, %s",
			dir.Receiver(), c.name, dir.Sender(), c.request.given, ends)
	}
}

// breaches lists the rules that live ends broke, in the order of the wire.
func (r *Run) breaches() []Breach {
	var list []Breach
	for _, b := range r.gate.breaches {
		if r.live(b.Dir) {
			list = append(list, b)
		}
	}
	return list
}

// owed returns the first request that a live end has read and not answered, though
// its sender still listens and did not try to cancel it; or nil.
func (r *Run) owed() *call {
	if r.plan.Lawless || r.kind == Settle { // where time is real, an answer may still come
		return nil
	}
	for _, c := range r.gate.names.calls {
		back := r.gate.lane(c.request.dir.Reverse())
		shut := back.ended || back.ending || back.deafened || back.leaving
		unsent := c.answer == nil
		if r.halved(c.request.dir) { // who asked wants to know, whatever the far end then closes
			shut, unsent = false, unsent || c.answer.taken == 0
		}
		if c.request.given > 0 && unsent && !c.cancelled && !c.listen && !shut && r.live(back.dir) {
			return c
		}
	}
	return nil
}

// halved reports whether the sender of a direction has closed its writing side alone,
// and read on, if not for ever then to the end.
func (r *Run) halved(dir transport.Direction) bool {
	back := r.gate.lane(dir.Reverse())
	return r.gate.lane(dir).halved && (back.eof > 0 || !back.deafened && !back.leaving)
}
