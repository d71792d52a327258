package main

import (
	"fmt"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// unanswered names the first of the client's requests that a recording has no
// answer to, and how many there are more; "" when there is none. A cancelled one
// needs none, and a subscription has none while it lasts. Over HTTP a status may be
// the answer: nothing is said there.
func unanswered(events []store.Event) string {
	calls := replay.NewCalls()
	for _, e := range events {
		if e.Stream > 0 {
			return ""
		}
		_ = calls.Apply(e) // never fails
	}
	first, more := "", 0
	for _, c := range calls.Unanswered() {
		switch {
		case c.Dir != transport.ClientToServer || c.Cancelled != 0 || c.Method == "subscriptions/listen":
		case first == "":
			first = fmt.Sprintf("#%d %s", c.Request, named(c.Method))
			if c.Target != "" {
				first += " " + named(c.Target)
			}
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" and %d more", more)
	}
	return first
}
