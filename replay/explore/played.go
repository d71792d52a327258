package explore

import (
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/halves"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
)

// recordedServer lets the server of the plan's session play under a model.
func (p *peers) recordedServer(model closed.Model) {
	if p.terms.plan.HTTP != nil {
		half, handler := halves.HTTPServer(p.forHalves(), p.terms.plan.ready)
		p.recorded = append(p.recorded, half)
		p.gate.HTTP.Handle(handler)
		return
	}
	p.recorded = append(p.recorded, halves.Server(p.forHalves(), p.terms.plan.ready, model))
}

// recordedClient lets the client of the plan's session play under a model.
func (p *peers) recordedClient(model closed.Model) {
	if p.terms.plan.HTTP != nil {
		half, conn, err := halves.HTTPClient(p.forHalves(), p.terms.plan.ready, p.pairs[0].HTTPClient())
		if err != nil {
			panic("explore: RecordedClient: " + err.Error())
		}
		p.recorded = append(p.recorded, half)
		p.pairs[0].client = conn
		return
	}
	p.recorded = append(p.recorded, halves.Client(p.forHalves(), p.terms.plan.ready, model))
}

// forHalves is the run for package halves.
func (p *peers) forHalves() halves.Run {
	expect := func(name string, rest bool) halves.Operation {
		op := p.operation(name, nil)
		op.played = true
		op.behind = rest
		return halves.Operation{Name: name, Finish: op.finish, Begin: func() {
			p.gate.Lock()
			op.started = true
			p.gate.Unlock()
		}}
	}
	return halves.Run{Gate: p.gate, Go: p.start, Expect: expect, Fail: p.fail, Live: p.live, Loose: p.terms.level == schedule.SendingOrder}
}

// Modeled returns a plan without a live peer: both ends of a session play their half, each
// under an endpoint model. At level DeliveryOrder every order of steps comes to the end that
// [closed.Replay] finds. At SendingOrder both ends send in any legal order; SingleThreaded, which
// has a single order, reads as Independent then.
func Modeled(events []store.Event, client, server closed.Model) (Plan, error) {
	models, err := halves.NewModels(events, client, server)
	if err != nil {
		return Plan{}, err
	}
	return Plan{
		Session: events,
		Setup: func(run *Run) {
			p := &run.peers
			if run.terms.level == schedule.SendingOrder {
				p.recordedServer(server)
				p.recordedClient(client)
				return
			}
			p.modeled = models.Play(p.forHalves())
		},
		Check: func(*Run) error { return nil }, // neither end is a stranger
		notes: models.Warnings,
		again: func(events []store.Event) (Plan, error) { return Modeled(events, client, server) },
	}, nil
}

// findings says where the live ends differ from the recorded ends so far.
func (p *peers) findings() []match.StepVerdict {
	var all []match.StepVerdict
	for _, h := range p.recorded {
		all = append(all, h.Findings()...)
	}
	return all
}

// strangers are the messages of live ends for which nothing is recorded.
func (p *peers) strangers() []match.StepVerdict {
	return slices.DeleteFunc(p.findings(), func(f match.StepVerdict) bool { return f.Result != match.Extra })
}

// failures returns an unrecorded request of a live end, or the first error of an operation.
func (p *peers) failures() error {
	for _, f := range p.strangers() {
		return fmt.Errorf("the recording does not cover this run: %s", f.Text)
	}
	for _, op := range p.ops {
		if op.err != nil {
			return fmt.Errorf("operation %s: %w", op.name, op.err)
		}
	}
	return nil
}

// unsaid says what the recorded ends did not say, and why.
func (p *peers) unsaid() (notes []string) {
	for _, h := range p.recorded {
		notes = append(notes, h.Unsaid()...)
	}
	return notes
}

// unsent lists the notifications of recorded servers that no live server has sent.
func (p *peers) unsent() (notices []string) {
	for _, h := range p.recorded {
		notices = append(notices, h.Unsent()...)
	}
	return notices
}
