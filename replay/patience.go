package replay

import "time"

// patience is how long a live end must be silent before a shell gives up waiting
// for what the recorded one said next. It runs only while something is held back,
// and costs nothing where the live end does as the recorded one did.
const patience = 500 * time.Millisecond

// queuePatience is patience with a serialized call that waits for the answer to an
// earlier one. A call may take its time; what is lost by being wrong is a moment,
// or that two calls meet as they did before.
const queuePatience = 4 * patience

// patience returns how long to wait, in silence, for what may never come: longer
// where the recorded server took its time. What came by a timer then comes by one
// now.
func (d *Driver) patience() time.Duration {
	l := d.held()
	switch turns := d.unheard(); {
	case len(turns) > 0:
		return patience + 2*d.took(turns[0].index, 1+turns[len(turns)-1].index)
	case l == nil:
		return patience + 2*d.took(0, len(d.turns))
	case d.queues():
		return queuePatience + 2*d.took(d.settled, 1+l.lastQueued())
	}
	return patience + 2*d.took(d.settled, l.before)
}

// took is the longest time that the recorded server was silent before one of the
// turns between two that have not come.
func (d *Driver) took(from, to int) (longest time.Duration) {
	for _, t := range d.turns[min(from, to):to] {
		if !t.arrived && !t.forgone && !t.parting {
			longest = max(longest, t.gap)
		}
	}
	return longest
}
