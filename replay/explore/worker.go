package explore

import (
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// observe notes, before a frame is given in a traced run, where those stand whom
// it may wake, and who there is: only so can be told afterwards what it did.
func (r *Run) observe(s Step) {
	f := s.flight
	if f == nil {
		return
	}
	l := r.gate.lane(s.Dir)
	if s.Kind != Give && (s.Kind != Take || l.cap != 0) {
		return
	}
	if f.answers == nil && r.live(s.Dir.Reverse()) {
		r.handed = f
	}
	asks, last := f.asks(), l.last != nil && l.last.alive != nil
	if !asks && f.answers == nil && !last {
		return
	}
	all := snapshot()
	if c := f.answers; c != nil {
		c.then = stanceAt(all, c, r.operation(c.request.op))
	}
	if last {
		l.last.until = alive(all)
	}
	if asks && len(l.readers) > 0 {
		f.reader, f.alive = l.readers[0].goroutine, alive(all)
	}
}

// asks reports whether a frame is a request.
func (f *flight) asks() bool {
	return slices.ContainsFunc(f.said.Messages, func(m transport.Message) bool { return m.Kind() == transport.Request })
}

// alive lists the goroutines of a snapshot.
func alive(all []string) map[int]bool {
	list := make(map[int]bool, len(all))
	for _, g := range goroutines(all) {
		list[g.id] = true
	}
	return list
}

// worker is the goroutine that took up a request: one that was started by the
// reader, or by who was, after the request was given and before the next frame was,
// and that does not wait for a frame. It is "" if none is seen.
func (g *gate) worker(c *call) string {
	f := c.request
	if f.alive == nil || len(f.reader) == 0 || len(g.all) == 0 {
		return ""
	}
	reader, _ := strconv.Atoi(f.reader[0])
	all := make(map[int]goroutine, len(g.all))
	for _, w := range goroutines(g.all) {
		all[w.id] = w
	}
	var likely []string
	for _, w := range goroutines(g.all) {
		id := strconv.Itoa(w.id)
		if f.alive[w.id] || f.until != nil && !f.until[w.id] || idle(w.text) || placeOf(g.all, id).at == "" {
			continue
		}
		switch by := f.ancestor(w, all, reader); {
		case by == reader:
			return id
		case by == 0 && g.alone && w.mark != "" && w.mark == all[reader].mark:
			likely = append(likely, id)
		}
	}
	if len(likely) == 1 {
		return likely[0]
	}
	return ""
}

// ancestor follows who started a goroutine, up to the reader or to one that was
// there before the frame. It is 0 where that has come and gone since.
func (f *flight) ancestor(w goroutine, all map[int]goroutine, reader int) int {
	for p := w.parent; ; {
		if p == reader || f.alive[p] {
			return p
		}
		next, there := all[p]
		if !there {
			return 0
		}
		p = next.parent
	}
}
