package hang

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/transport"
)

// Tracer looks at the goroutines of a run that follows a token: the report of a hang names
// code. Each look stops the world; other runs have no tracer. A nil tracer does not look.
type Tracer struct {
	Gate *gate.Gate
	Own  func(stacks.Dump) stacks.Dump  // the goroutines of the run
	Live func(transport.Direction) bool // reports whether the sender is a peer under test
	// Goroutines returns the numbers of the operations' goroutines, by name.
	Goroutines func() map[string]int

	handed   *gate.Flight             // the last step gave it to a live end
	handlers map[int]*gate.Flight     // by goroutine, the frame that a handler was called for, or nil
	began    map[*gate.Flight]int     // the step at which a handler was first seen at work on a frame
	closers  map[int]int              // by goroutine, the step since which it stands in a Close
	stances  map[*gate.Call]*stance   // when the response was given
	pickups  map[*gate.Flight]*pickup // of requests, at their give
}

// stance is where the goroutines stood that have to do with a call.
type stance struct {
	writer, operation []stacks.Call // of the request's writer, and of the operation
	writing           bool          // the request's Write had not returned
}

// pickup is the goroutines that were there when a request was given.
type pickup struct {
	reader gate.Lineage // of the request
	before map[int]bool // every goroutine at the give
	next   map[int]bool // all goroutines when the next frame was given; nil before
}

// See notes, at rest after so many steps, the handlers that have not returned and the
// goroutines that stand in a Close.
func (t *Tracer) See(step int) {
	const most = 1000 // looks where no frame was given
	if t == nil || t.handed == nil && step > most {
		return
	}
	all := stacks.Take()
	t.seeHandlers(all, step)
	if step > 0 && step < most {
		t.closersIn(all, step)
	}
}

// seeHandlers notes which frame each handler was called for.
func (t *Tracer) seeHandlers(all stacks.Dump, step int) {
	still := map[int]*gate.Flight{}
	for _, h := range t.handlersIn(all) {
		f, known := t.handlers[h.Goroutine]
		if !known || f != nil && t.answered(f) { // a goroutine of a pool may have gone on to the next request
			f = t.begins(dispatcher(all.Find(h.Goroutine)))
			if f != nil {
				if t.began == nil {
					t.began = map[*gate.Flight]int{}
				}
				t.began[f] = max(step, 1)
			}
		}
		still[h.Goroutine] = f
	}
	t.handlers = still
	t.handed = nil
}

// begins returns the frame that a new handler was called for: the frame that was just given,
// or else the first open request without a handler; nil if there is neither. The handler is of
// the end that sends in a direction, or of either end.
func (t *Tracer) begins(dir transport.Direction) *gate.Flight {
	of := func(f *gate.Flight) bool {
		return (dir == transport.NoDirection || f.Dir == dir.Reverse()) && t.began[f] == 0
	}
	if t.handed != nil && of(t.handed) {
		return t.handed
	}
	for _, c := range t.Gate.Names.Calls {
		if f := c.Request; f.Given > 0 && c.Response == nil && t.Live(f.Dir.Reverse()) && of(f) {
			return f
		}
	}
	return nil
}

// dispatcher returns the direction in which the end sends that called a handler, by the names
// of the library's functions below the handler; NoDirection if they name neither role or both.
func dispatcher(goroutine stacks.Goroutine) transport.Direction {
	dir := transport.NoDirection
	for _, call := range goroutine.Calls() {
		if !call.Library {
			break
		}
		switch role := closedEnd(path.Base(call.Function)); {
		case role == transport.NoDirection || role == dir:
		case dir == transport.NoDirection:
			dir = role
		default:
			return transport.NoDirection
		}
	}
	return dir
}

// handles reports whether a goroutine was started by the end that reads a request, by the names
// of the library's functions.
func handles(goroutine stacks.Goroutine, call *gate.Call) bool {
	dir := dispatcher(goroutine)
	return dir != transport.NoDirection && dir == call.Request.Dir.Reverse()
}

// answered reports whether a frame is a request with a response.
func (t *Tracer) answered(flight *gate.Flight) bool {
	return slices.ContainsFunc(t.Gate.Names.Calls, func(c *gate.Call) bool { return c.Request == flight && c.Response != nil })
}

// handlersIn finds the handlers of the run in a dump. An operation is no handler.
func (t *Tracer) handlersIn(all stacks.Dump) (list []stacks.Handler) {
	for _, g := range t.Own(all) {
		if h, ok := g.Handler(); ok && !t.operates(g.ID) {
			list = append(list, h)
		}
	}
	return list
}

// operates reports whether an operation runs on a goroutine.
func (t *Tracer) operates(goroutine int) bool {
	for _, id := range t.Goroutines() {
		if id == goroutine {
			return true
		}
	}
	return false
}

// BeforeGive looks at the goroutines that a frame may wake, before the step is released: a
// later look shows the difference.
func (t *Tracer) BeforeGive(step gate.Step) {
	f := step.Flight
	if t == nil || f == nil || !t.Gate.Gives(step) {
		return
	}
	if f.Answers == nil && t.Live(step.Dir.Reverse()) {
		t.handed = f
	}
	lane := f.Lane
	asks := isRequest(f)
	last := t.pickups[lane.Last]
	if !asks && f.Answers == nil && last == nil {
		return
	}
	all := stacks.Take()
	if t.stances == nil {
		t.stances = map[*gate.Call]*stance{}
		t.pickups = map[*gate.Flight]*pickup{}
	}
	if c := f.Answers; c != nil {
		t.stances[c] = stanceIn(all, c, t.Goroutines()[c.Request.Op])
	}
	if last != nil {
		last.next = all.IDs()
	}
	if asks && lane.Readers() > 0 {
		t.pickups[f] = &pickup{reader: lane.Next(), before: all.IDs()}
	}
}

// stance returns where the goroutines of a call stood when its response was given, or nil.
func (t *Tracer) stance(call *gate.Call) *stance {
	if t == nil {
		return nil
	}
	return t.stances[call]
}

func isRequest(flight *gate.Flight) bool {
	return slices.ContainsFunc(flight.Messages(), func(m transport.Message) bool { return m.Kind() == transport.Request })
}

// stanceIn finds the goroutines of a call: the writer's, and the operation's with the given
// number, or 0.
func stanceIn(all stacks.Dump, call *gate.Call, operation int) *stance {
	writer := all.Find(call.Request.Writer.ID)
	return &stance{writer: writer.Calls(), writing: writer.Writing(), operation: all.Find(operation).Calls()}
}

// wentOn reports whether an operation has gone on since the response to its call was read:
// the waiting goroutine stands elsewhere now.
func (d *diagnosis) wentOn(op *Operation, call *gate.Call) bool {
	then := d.Tracer.stance(call)
	if then == nil || len(d.all) == 0 {
		return false
	}
	now := stanceIn(d.all, call, op.Goroutine)
	own := call.Request.Writer.ID == op.Goroutine
	switch wrote := call.Request.Wrote; {
	case then.writing && (own || len(now.writer) > 0):
		return len(wrote) > 1 && (!stacks.SameCall(wrote, now.writer) || stacks.LeftLibrary(wrote, now.writer))
	case own || stacks.SameCall(wrote, then.writer): // the writer waited for the response
		return !slices.Equal(then.writer, now.writer)
	}
	return !slices.Equal(then.operation, now.operation)
}

// worker returns the goroutine that took up a request, or 0: the goroutine of its handler, or a
// descendant of the reader, started between the request and the next frame, that does not wait
// for a frame.
func (d *diagnosis) worker(call *gate.Call) int {
	if d.Tracer == nil || len(d.all) == 0 {
		return 0
	}
	for id, f := range d.Tracer.handlers {
		if f != call.Request {
			continue
		}
		if h, ok := d.all.Find(id).Handler(); ok {
			return h.Goroutine
		}
	}
	p := d.Tracer.pickups[call.Request]
	if p == nil || p.reader.ID == 0 {
		return 0
	}
	byID := make(map[int]stacks.Goroutine, len(d.all))
	for _, g := range d.all {
		byID[g.ID] = g
	}
	var likely []int
	for _, g := range d.all {
		if p.before[g.ID] || p.next != nil && !p.next[g.ID] || g.Reading() || d.all.Place(g.ID).At == "" {
			continue
		}
		// Follow the parents up to the reader or to an older goroutine; 0 if a parent has ended.
		ancestor := g.Parent
		for ancestor != p.reader.ID && !p.before[ancestor] && ancestor != 0 {
			ancestor = byID[ancestor].Parent
		}
		switch {
		case ancestor == p.reader.ID:
			return g.ID
		case ancestor == 0 && g.Bubble != "" && g.Bubble == byID[p.reader.ID].Bubble &&
			(d.alone || handles(g, call)):
			likely = append(likely, g.ID)
		}

	}
	if len(likely) == 1 {
		return likely[0]
	}
	return 0
}

// handlers lists the handlers that have not returned, by the step at which their messages were read. A handler that
// a point held up, so that nobody knows its message, comes last. Without points, or in the gate, it may be anything.
func (d *diagnosis) handlers() []stacks.Handler {
	if d.Tracer == nil || len(d.all) == 0 {
		return nil
	}
	given := func(h stacks.Handler) int {
		if f := d.Tracer.handlers[h.Goroutine]; f != nil {
			return f.Given
		}
		return math.MaxInt
	}
	list := slices.DeleteFunc(d.Tracer.handlersIn(d.all), func(h stacks.Handler) bool {
		return given(h) == math.MaxInt && (d.Gate.Points == 0 || strings.Contains(d.all.Find(h.Goroutine).Text, "/replay/explore/gate."))
	})
	slices.SortStableFunc(list, func(a, b stacks.Handler) int { return cmp.Compare(given(a), given(b)) })
	return list
}

// blame puts the blocked handlers before the reason of a hang. A handler of a notification
// makes the category if every request was answered and no frame is on its way.
func (d *diagnosis) blame(category, why string) (string, string) {
	if category != closed.NeverSent && category != closed.AnswerLost || len(d.all) == 0 {
		return category, why
	}
	const shown = 3
	frames := d.Tracer.handlers
	blocked := d.handlers()
	var said []string
	listen := func(f *gate.Flight) bool {
		return slices.ContainsFunc(d.Gate.Names.Calls, func(c *gate.Call) bool { return c.Request == f && c.Listen })
	}
	blocked = slices.DeleteFunc(blocked, func(h stacks.Handler) bool { // a listen stays open until its end closes
		f := frames[h.Goroutine]
		return f != nil && d.closing(f.Dir.Reverse()) == nil && listen(f)
	})
	quiet := !slices.ContainsFunc(d.Gate.Names.Calls, func(c *gate.Call) bool {
		return !c.Cancelled && !c.Listen && !c.Request.Withdrawn && c.Open()
	})
	for _, l := range d.Gate.Live() {
		quiet = quiet && len(l.Waiting)+len(l.Queue) == 0
	}
	for _, h := range blocked[:min(len(blocked), shown)] {
		f := frames[h.Goroutine]
		if category == closed.NeverSent && (f == nil || !isRequest(f) || listen(f)) && quiet {
			category = closed.BlockedHandler
		}
		if strings.Contains(why, h.Place.String()) {
			continue
		}
		if f == nil {
			d.blocked = append(d.blocked, fmt.Sprintf("%s (%s), called by %s", h.Line, h.Place.State, h.By))
			d.waits = append(d.waits, Wait{Who: "a handler", BlockedAt: h.Place.String(), Why: "called by " + h.By + "; has not returned"})
			continue
		}
		name := "the handler of " + f.Name
		if i := slices.IndexFunc(f.Messages(), func(m transport.Message) bool { return m.Kind() == transport.Notification }); i >= 0 {
			name = "the handler of " + gate.Clip(f.Messages()[i].Method)
		}
		if h.Place.Entry != "" {
			said = append(said, fmt.Sprintf("%s is blocked at [%s] %s, in %s, called at %s",
				name, h.Place.State, h.Place.At, h.Place.Entry, h.Line))
		} else {
			d.blocked = append(d.blocked, fmt.Sprintf("%s (%s), under %s", h.Line, h.Place.State, name))
		}
		d.waits = append(d.waits, Wait{Who: name, BlockedAt: h.Place.String(),
			Why: fmt.Sprintf("called by %s for the message of step %d; has not returned", h.By, f.Given)})
	}
	if d.chain != nil && len(d.chain.closed) > 0 { // the cause comes first
		said = slices.Insert(said, 0, why)
	} else {
		said = append(said, why)
	}
	for _, c := range d.closers {
		if !strings.Contains(strings.Join(said, "; "), c.function) {
			said = append(said, fmt.Sprintf("the %s's end %v: %s", c.dir.Sender(), &c, d.closeWhy(c.dir)))
		}
	}
	return category, strings.Join(said, "; ")
}
