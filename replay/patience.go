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
	if l == nil {
		return patience + 2*d.took(len(d.turns))
	}
	if d.queues() {
		return queuePatience + 2*d.took(1+l.lastQueued())
	}
	return patience + 2*d.took(l.before)
}

// took is the longest time that the recorded server was silent before one of the
// awaited turns up to a bound.
func (d *Driver) took(bound int) (longest time.Duration) {
	for _, t := range d.turns[min(d.settled, bound):bound] {
		if !t.isSettled() && !t.parting {
			longest = max(longest, t.gap)
		}
	}
	return longest
}
