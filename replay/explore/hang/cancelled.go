package hang

import (
	"fmt"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

// Unheeded says which requests a live end went on with after it had read their cancellation,
// as far as frames show it: the result was offered in a later step. An error tells that the
// work has ended, and a result of the same step was on its way.
func Unheeded(g *gate.Gate, live func(transport.Direction) bool) (notes []string) {
	for _, c := range g.Names.Calls {
		if !read(c.Cancellation) || c.Response == nil || c.Response.Round <= c.Cancellation.Given || !live(c.Response.Dir) {
			continue
		}
		if _, response := c.Messages(); response.Error == nil {
			notes = append(notes, fmt.Sprintf("the %s read the cancellation of %s at step %d, and sent the result all the same, after step %d",
				c.Request.Dir.Receiver(), c.Name, c.Cancellation.Given, c.Response.Round))
		}
	}
	return notes
}

// Undone reports whether a live end has read a cancellation and sent no response: only stacks
// tell whether the work goes on.
func Undone(g *gate.Gate, live func(transport.Direction) bool) bool {
	for _, c := range g.Names.Calls {
		if read(c.Cancellation) && c.Response == nil && !c.Listen && live(c.Request.Dir.Reverse()) {
			return true
		}
	}
	return false
}

func read(flight *gate.Flight) bool { return flight != nil && flight.Given > 0 }

// Cancelled says which goroutines of a traced run still work on a cancelled request.
func (t *Tracer) Cancelled() (notes []string) {
	if t == nil {
		return nil
	}
	var d *diagnosis
	for _, c := range t.Gate.Names.Calls {
		if !read(c.Cancellation) || c.Response != nil || c.Listen {
			continue
		}
		if d == nil { // a look at the stacks
			d = &diagnosis{Scene: Scene{Gate: t.Gate, Tracer: t}, all: t.Own(stacks.Take())}
		}
		at := d.all.Place(d.worker(c))
		if at.At == "" {
			continue
		}
		note := fmt.Sprintf("the %s was still at %v in the end, for %s, whose cancellation it read at step %d",
			c.Request.Dir.Receiver(), at, c.Name, c.Cancellation.Given)
		if began := t.began[c.Request]; began > c.Cancellation.Given {
			note += fmt.Sprintf("; its handler began after that, at step %d", began)
		}
		notes = append(notes, note)
	}
	return notes
}
