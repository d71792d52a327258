package explore

import (
	"fmt"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/order"
)

// breaches lists the rules that live ends broke, in the order of the wire.
func (p *peers) breaches() []gate.Breach {
	var list []gate.Breach
	for _, b := range p.gate.Breaches {
		if p.live(b.Dir) {
			list = append(list, b)
		}
	}
	return list
}

// illegal returns the first breach of a rule that makes a run fail.
func (p *peers) illegal() (breach gate.Breach, ok bool) {
	for _, b := range p.breaches() {
		if b.Severity == order.Error && !p.terms.plan.excuses(b.Dir) {
			return b, true
		}
	}
	return breach, false
}

// owed returns the first request that a live end, excused or not, has read and not answered,
// though the sender still reads and did not cancel; or nil. In real time a response may still
// come.
func (p *peers) owed(excused bool) *gate.Call {
	plan := p.terms.plan
	if plan.Lawless || p.terms.engine == schedule.Settle {
		return nil
	}
	for _, c := range p.gate.Names.Calls {
		back := c.Request.Lane.Back
		shut := back.Ended || back.Ending || back.Deafened || back.Leaving || c.Abandoned()
		unsent := c.Response == nil
		if halved(c.Request.Lane) { // the sender waits, whatever the far end then closes
			shut, unsent = false, unsent || c.Response.Taken == 0
		}
		if c.Request.Given > 0 && unsent && !c.Cancelled && !c.Listen && !shut && p.live(back.Dir) && excused == plan.excuses(back.Dir) {
			return c
		}
	}
	return nil
}

// halved reports whether the sender of a lane has closed its writing side alone, and read on to
// the end.
func halved(lane *gate.Lane) bool {
	back := lane.Back
	return lane.Halved && (back.EOF > 0 || !back.Deafened && !back.Leaving)
}

// lostText says which request is answered to nobody.
func lostText(c *gate.Call) string {
	dir := c.Request.Dir
	ends := "both sides are open, and nothing is on its way"
	if halved(c.Request.Lane) {
		ends = fmt.Sprintf("the %s had closed its writing side alone and read on", dir.Sender())
	}
	return fmt.Sprintf("the %s read %s of the %s at step %d and answers it to nobody: "+
		"every operation has returned, the request was not cancelled, %s",
		dir.Receiver(), c.Name, dir.Sender(), c.Request.Given, ends)
}

// answers lists the responses of live ends in a finished run.
func (p *peers) answers() []answer {
	list := make([]answer, 0, len(p.gate.Names.Calls))
	for _, c := range p.gate.Names.Calls {
		if c.Open() || !p.live(c.Response.Dir) {
			continue
		}
		request, response := c.Messages()
		result := response.Result
		if result == nil {
			result = response.Error
		}
		list = append(list, answer{c.Name, request.Params, result, p.terms.plan.excuses(c.Response.Dir)})
	}
	return list
}
