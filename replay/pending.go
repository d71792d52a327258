package replay

import (
	"fmt"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// IsDone reports whether the client has said all and has heard every answer that
// the recorded one had. What else the recorded server said may still come.
func (d *Driver) IsDone() bool { return len(d.open) == 0 && d.Said() }

// IsHeard reports whether all has come that the recorded server had said before
// the client ended its side.
// What was passed over because later things came first may still come.
func (d *Driver) IsHeard() bool { return d.missing == 0 }

// Pending says who waits for what: the calls that the live server has not
// answered, and the first of the client's frames that is held back.
func (d *Driver) Pending() []string {
	var list []string
	for _, r := range d.open {
		list = append(list, fmt.Sprintf("the client waits for the answer to #%d %s (id %s)", r.line.seq, about(r.msg()), clip(string(r.msg().ID))))
	}
	if d.loose {
		return list
	}
	if d.refused != "" {
		return append(list, d.refused+", which the server has not given: it was not sent")
	}
	l := d.nextLine()
	if l == nil {
		return list
	}
	for _, t := range d.turns[min(d.settled, l.before):l.before] {
		if !t.isSettled() {
			return append(list, fmt.Sprintf("#%d %s was not sent: it waits for %s, recorded as #%d", l.seq, l.what(), t.what(), t.seq))
		}
	}
	return append(list, fmt.Sprintf("#%d %s was not sent: it waits for its turn", l.seq, l.what()))
}

// what names a line.
func (l *line) what() string {
	messages := messagesOf(l.frame)
	if len(messages) == 0 {
		return "(not a message)"
	}
	return about(messages[0])
}

// about names a request or notification and what it is about.
func about(m transport.Message) string {
	if name := target(m); name != "" {
		return clip(m.Method) + " " + clip(name)
	}
	return clip(m.Method)
}

// Gap returns how long after the frame before it the one was recorded that was
// returned as number n, counted from 0 over all that were; 0 for one that was not
// recorded.
func (d *Driver) Gap(n int) time.Duration {
	if l := d.out[n]; l != nil {
		return l.gap
	}
	return 0
}
