package replay

import (
	"fmt"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// belong finds for what the recorded server said beside its answers the call that
// it belongs to: by the progress token, by the subscription, or because no other
// call was open. It also notes what came directly after an answer, before the
// client said any more. And it counts.
func (d *lining) belong() {
	open := map[*request]bool{}
	said := 0
	var last *request // answered last, and nothing was said since
	for _, t := range d.turns {
		if !t.parting {
			d.missing++
		}
		for ; said < len(d.lines) && d.lines[said].before <= t.index; said++ {
			last = nil
			for _, r := range d.lines[said].requests {
				if r.response != nil {
					open[r] = true
				}
			}
		}
		if t.request != nil {
			delete(open, t.request)
			last = t.request
			continue
		}
		t.follows = last
		if t.owner == nil && len(open) == 1 {
			for r := range open {
				t.owner = r
			}
		}
	}
}

// namedOwner is the call that the message names.
func (d *lining) namedOwner(m transport.Message) *request {
	if m.Method == methodProgress {
		return d.byOwnToken[mcp.KeyOf(m.ProgressToken())]
	}
	if id := transport.Member(m.Params, "_meta", subscriptionID); id != nil {
		if list := d.requests[mcp.KeyOf(id)]; len(list) > 0 {
			return list[len(list)-1]
		}
	}
	return nil
}

// misplaced says on which side of the answer to its call the live message came,
// if that is not the recorded one.
func (t *turn) misplaced() string {
	r := t.owner
	if r == nil {
		r = t.follows
	}
	if t.came == 0 || r == nil || r.cancelled || r.response == nil || r.response.came == 0 {
		return ""
	}
	if t.on != r.response.on || t.liveOn != r.response.liveOn {
		return "" // two HTTP streams have no order
	}
	before, live := t.index < r.response.index, t.came < r.response.came
	if before == live || t.owner == nil && t.alone != r {
		return ""
	}
	how, was := "after", "before"
	if live {
		how, was = was, how
	}
	return fmt.Sprintf("came %s #%d, %s; recorded %s it", how, r.response.seq, r.response.what(), was)
}

// late says which notification of its kind and call the live message came after,
// though it was recorded before that.
func (t *turn) late() string {
	o := t.overtaken
	if o == nil || t.liveOn != o.liveOn {
		return "" // two HTTP streams have no order
	}
	return fmt.Sprintf("came after #%d, %s; recorded before it", o.seq, o.what())
}
