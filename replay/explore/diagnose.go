package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// diagnose says why nothing goes on: the category and a sentence, and into waits
// who waits for what. Nothing in the bubble moves meanwhile.
//
// It judges twice: by frames alone, for what must be the same in every run of a
// bug (its fingerprint), and then by what stacks show, of a traced run. Nothing else
// is said that only a stack can show.
func (r *Run) diagnose() (category, why string) {
	g, told := r.gate, r.waits
	g.awaited, g.seats = map[string]bool{}, nil
	for _, op := range r.unfinished() {
		g.awaited[op.name] = true
	}
	for _, op := range r.ops {
		g.seats = append(g.seats, op.where)
	}
	g.blind, g.all, g.alone = true, nil, r.live(transport.ClientToServer) != r.live(transport.ServerToClient)
	r.seen, _ = r.explain()
	r.shape, r.about = r.look()
	r.waits, r.chain = told, nil
	if g.blind = false; g.traced {
		g.all = snapshot()
	}
	for i := range g.lanes {
		l := &g.lanes[i]
		l.quit = l.gone(g.all)
	}
	return r.blame(r.explain())
}

// explain is one of these judgements.
func (r *Run) explain() (category, why string) {
	g, guess := r.gate, ""
	for _, op := range r.unfinished() {
		kind, w, reason, sure := g.waitOf(op)
		if sure || !r.told("operation "+op.name) { // who waits for a mutex was told of
			r.waits = append(r.waits, w...)
		}
		if r.chain = better(r.chain, g.chainOf(op)); category == "" && sure && kind != "" {
			category, why = kind, reason
		} else if guess == "" && category == "" && kind != "" {
			guess, why = kind, reason
		}
	}
	if category == "" {
		category = guess
	}
	r.chainWaits()
	for i := range g.lanes {
		if w, ok := g.readerWait(&g.lanes[i]); ok {
			r.waits = append(r.waits, w)
		}
	}
	if kind, reason := r.stopped(); kind != "" {
		return kind, reason
	}
	if a, b := &g.lanes[0], &g.lanes[1]; a.blocked() && b.blocked() {
		return HeadOn, fmt.Sprintf("both ends are at a write, and nobody reads: the client writes %s, the server writes %s",
			a.waiting[0].name, b.waiting[0].name)
	}
	if r.chain != nil && r.chain.mutual() {
		return Mutual, r.chain.mutualWhy()
	}
	if category == LostAnswer {
		return category, r.lostWhy(why)
	}
	return category, why
}

// lostWhy completes the sentence on an answer that nobody sends, or that is sent
// under another name.
func (r *Run) lostWhy(why string) string {
	if r.chain != nil {
		why = cmp.Or(r.chain.neglectWhy(), why)
	}
	var owed [2]*call // in the other direction, too, it may be that nobody answers
	for _, op := range r.unfinished() {
		if c := r.gate.openCall(op); c != nil && c.owed() && owed[c.request.dir-transport.ClientToServer] == nil {
			owed[c.request.dir-transport.ClientToServer] = c
		}
	}
	if c := owed[1]; owed[0] != nil && c != nil {
		why += fmt.Sprintf("; nor does the %s answer %s, which it read at step %d", c.request.dir.Receiver(), c.name, c.request.given)
	}
	for _, b := range r.breaches() {
		if b.Severity == order.Error && strings.HasPrefix(b.Frame, b.Dir.String()+" response to nothing") {
			return fmt.Sprintf("%s, at step %d: rule %s is broken. So %s", b.Text, b.Step, b.Rule, why)
		}
	}
	return why
}

// blocked: a writer waits and no reader does.
func (l *lane) blocked() bool { return len(l.waiting) > 0 && len(l.readers) == 0 }

// waitOf says what one operation waits for and where that is. It is not sure of
// one that signed no request.
func (g *gate) waitOf(op *Operation) (category string, waits []Wait, why string, sure bool) {
	who := "operation " + op.name
	if before := op.heldBy(); before != nil {
		return "", []Wait{{Who: who, WaitsFor: "operation " + before.name, Why: "it comes after that one"}}, "", true
	}
	if !op.started && !op.played {
		return "", []Wait{{Who: who, Why: "it has not been started"}}, "", true
	}
	at := placeOf(g.all, op.where)
	for i := range g.lanes {
		l := &g.lanes[i]
		for _, f := range l.waiting {
			if g.wrote(op, f) {
				w := Wait{Who: who, WaitsFor: "the Write of " + f.name, Why: l.place(f)}
				return l.behind(), []Wait{w}, l.behindWhy(who, f.name), true
			}
		}
	}
	calls, signed := g.callsOf(op)
	for _, c := range calls {
		if c.answer == nil || c.answer.given == 0 {
			category, w, why := g.callWait(who, c)
			own := Wait{Who: who, WaitsFor: "response to " + c.name, Why: "it has not been read", BlockedAt: at.String()}
			if !signed {
				own.Why = "it signed no request; of those that no waiting operation signed, this one is open"
			}
			if !signed && at.closes() {
				own.WaitsFor, own.Why = at.entry+" to return", g.closeWhy(at.entry)
			}
			return category, []Wait{own, w}, why, signed
		}
	}
	if len(calls) == 0 {
		category, w, why := g.unsigned(who, at)
		return category, []Wait{w}, why, false
	}
	return g.answered(op, calls, at)
}

// unsigned says what an operation may wait for that sent no request under its
// context, such as a Close: its stack tells the function, the open calls the rest.
func (g *gate) unsigned(who string, at place) (category string, w Wait, why string) {
	w = Wait{Who: who, WaitsFor: "something that is not on its way", BlockedAt: at.String()}
	if at.entry != "" {
		w.WaitsFor = at.entry + " to return"
	}
	open := g.unanswered()
	if len(open) == 0 {
		w.Why = "no request of it is open, and nothing is in the transport for it"
		stands := "waits (to see where, follow the token)"
		if at.at != "" {
			stands = "stands at " + at.String()
		}
		why = fmt.Sprintf("%s %s; it has no request open, and no frame is on its way to it; %s", who, stands, g.lastDone(strings.TrimPrefix(who, "operation ")))
		if at.closes() {
			w.Why = g.closeWhy(at.entry)
		}
		return NeverSent, w, why
	}
	w.Why = "it signed no request; read and answered by nobody: " + strings.Join(open, ", ")
	return LostAnswer, w, fmt.Sprintf("%s waits, and nobody answers what was read: %s", who, strings.Join(open, ", "))
}

// lastDone says what an operation wrote last, and which frame was the last to be read.
func (g *gate) lastDone(operation string) string {
	text := "it has written no frame"
	var last *flight
	for _, c := range g.names.calls {
		if c.request.op == operation {
			text = "the last request that it wrote: " + c.name
		}
	}
	for i := range g.lanes {
		if f := g.lanes[i].last; f != nil && (last == nil || f.given > last.given) {
			last = f
		}
	}
	if last == nil {
		return text + ", and nobody has read one"
	}
	return fmt.Sprintf("%s; the last frame that was read: %s, by the %s at step %d", text, last.name, last.dir.Receiver(), last.given)
}

// unanswered lists what was read and not answered.
func (g *gate) unanswered() (open []string) {
	for _, c := range g.names.calls {
		if c.owed() && !c.listen {
			open = append(open, fmt.Sprintf("response to %s (the %s read the request at step %d)", c.name, c.request.dir.Receiver(), c.request.given))
		}
	}
	return open
}

// callsOf returns the requests of an operation; where it is known of none, the open ones
// that nobody signed who still waits. What a session does of its own accord may bear the
// name of the operation that made the session.
func (g *gate) callsOf(op *Operation) (calls []*call, signed bool) {
	var own, unsigned []*call
	for _, c := range g.names.calls {
		open := c.answer == nil || c.answer.given == 0
		switch by := c.request.op; {
		case g.wrote(op, c.request):
			own = append(own, c)
		case open && (by == "" || !g.awaited[by]):
			unsigned = append(unsigned, c)
		}
	}
	if len(own) > 0 {
		return own, true
	}
	return unsigned, false
}

// wrote reports whether an operation wrote a frame: the frame's context says so or,
// where that names nobody, as a Write without a context does not, its goroutine is
// seen to be the operation's own.
func (g *gate) wrote(op *Operation, f *flight) bool {
	if f.op != "" || g.blind || op.where == "" || len(f.writers) == 0 {
		return f.op == op.name
	}
	return f.writers[0] == op.where
}

// callWait follows an open request: to its response, or to where it stands itself.
func (g *gate) callWait(who string, c *call) (category string, w Wait, why string) {
	f := c.request
	if c.answer != nil {
		f = c.answer
	}
	l := g.lane(f.dir)
	if f.given == 0 {
		return l.behind(), Wait{Who: f.name, Why: l.place(f)}, l.behindWhy(who, f.name)
	}
	w = g.debtWait(c)
	for _, other := range g.names.calls { // a response may wait behind the frame that its reader has not come back from
		if a := other.answer; a != nil && a.dir == l.dir && a.given == 0 && len(l.readers) == 0 && l.last != nil {
			return Swallowed, w, l.behindWhy("the "+f.dir.Receiver(), a.name)
		}
	}
	if back := g.lane(f.dir.Reverse()); back.blocked() && back.last != nil {
		return Swallowed, w, fmt.Sprintf("%s; %s is behind it, and %s cannot overtake", back.away(), back.waiting[0].name, w.Who)
	}
	then := "has not answered it, and nothing is on its way to it"
	if l.deafened {
		then = "and has closed without a response"
	}
	return LostAnswer, w, fmt.Sprintf("the %s read %s at step %d, %s", f.dir.Receiver(), c.name, f.given, then)
}

// owed reports whether the request was read and no response offered.
func (c *call) owed() bool { return c.request.given > 0 && c.answer == nil && !c.cancelled }

// debtWait says who owes the response to a request that was read, and where that
// end is blocked if it asked something itself since: the asker's stack tells.
func (g *gate) debtWait(c *call) Wait {
	f := c.request
	w := Wait{Who: "response to " + c.name, Why: fmt.Sprintf("not sent: the %s read the request at step %d", f.dir.Receiver(), f.given)}
	if inner := g.askedSince(g.lane(f.dir.Reverse()), f.given); inner != nil {
		w.Why += "; it has asked " + inner.name + " since"
		w.BlockedAt = g.asker(inner)
	}
	if at := placeOf(g.all, g.worker(c)); w.BlockedAt == "" && at.at != "" {
		w.BlockedAt = at.String()
	}
	return w
}

// asker says where the goroutine stands that sent a request, or the one that it
// was sent for.
func (g *gate) asker(c *call) string {
	for _, goroutine := range c.request.writers {
		if at := placeOf(g.all, goroutine); at.at != "" && !idle(stackOf(g.all, goroutine)) {
			return at.String()
		}
	}
	return ""
}

// chainWaits adds what the chain passes and nobody has told of.
func (r *Run) chainWaits() {
	if r.chain == nil {
		return
	}
	calls := r.chain.calls()
	for i, c := range calls {
		if r.told("response to "+c.name) || !c.owed() {
			continue
		}
		w := r.gate.debtWait(c)
		if i > 0 && w.BlockedAt == "" && r.chain.mutual() {
			w.Why += "; it waits for the response to " + calls[i-1].name
			w.BlockedAt = r.gate.asker(calls[i-1])
		}
		r.waits = append(r.waits, w)
	}
}

// told reports whether the waits speak of a part.
func (r *Run) told(who string) bool {
	return slices.ContainsFunc(r.waits, func(w Wait) bool { return w.Who == who })
}

func (g *gate) lane(dir transport.Direction) *lane { return &g.lanes[dir-transport.ClientToServer] }

// behind is the category of a frame that stands in the lane.
func (l *lane) behind() string {
	if l.last != nil && len(l.readers) == 0 {
		return Swallowed
	}
	return NeverSent
}

func (l *lane) behindWhy(who, frame string) string {
	reader := l.dir.Receiver()
	if l.last == nil {
		return fmt.Sprintf("%s needs %s, but the %s has never read", who, frame, reader)
	}
	return fmt.Sprintf("%s; %s needs %s, which is behind it", l.away(), who, frame)
}

// away says how it comes that nobody reads on.
func (l *lane) away() string {
	if l.quit {
		return fmt.Sprintf("the goroutine that read %s for the %s, at step %d, has ended, and nobody reads on", l.last.name, l.dir.Receiver(), l.last.given)
	}
	return fmt.Sprintf("the %s's reader took %s at step %d and has not come back", l.dir.Receiver(), l.last.name, l.last.given)
}

// place says where a frame is.
func (l *lane) place(f *flight) string {
	if i := slices.Index(l.queue, f); i >= 0 {
		return fmt.Sprintf("queued in %v, number %d of %d", l.dir, i+1, len(l.queue))
	}
	if slices.Contains(l.waiting, f) {
		full := "is closed"
		if l.cap == 0 {
			full = "has no waiting reader"
		} else if l.cap > 0 && len(l.queue) >= l.cap {
			full = fmt.Sprintf("is full (%d of %d)", len(l.queue), l.cap)
		}
		return fmt.Sprintf("in the hand of the %s's writer: %v %s", l.dir.Sender(), l.dir, full)
	}
	if f.given > 0 {
		return fmt.Sprintf("read by the %s at step %d", l.dir.Receiver(), f.given)
	}
	return "withdrawn: its writer gave up, or an end was closed"
}

// readerWait says what a reader that has not come back holds, and where it is
// blocked, of a traced gate.
func (g *gate) readerWait(l *lane) (Wait, bool) {
	who := fmt.Sprintf("%s reader (%v)", l.dir.Receiver(), l.dir)
	switch {
	case len(l.readers) > 0 || l.deafened || l.read:
		return Wait{}, false
	case l.eof > 0:
		return Wait{Who: who, Why: fmt.Sprintf("was told at step %d that the %s has closed, and reads no more", l.eof, l.dir.Sender())}, true
	case l.last == nil:
		return Wait{Who: who, Why: "has never read"}, len(l.queue)+len(l.waiting) > 0
	case l.quit:
		return Wait{Who: who, Why: fmt.Sprintf("the goroutine that was given %s at step %d has ended, and nobody has read since", l.last.name, l.last.given)}, true
	}
	w := Wait{Who: who, Holds: l.last.name, Why: fmt.Sprintf("given at step %d; has not read since", l.last.given)}
	if l.idle != "" {
		w.Why += ": " + l.idle
	}
	for _, goroutine := range l.holder { // some SDKs read each frame on a goroutine of its own, which ends
		if w.BlockedAt == "" {
			w.BlockedAt = placeOf(g.all, goroutine).String()
		}
	}
	return w, true
}

// A library's Close may wait for calls and handlers before it closes the Conn, and then
// the gate sees nothing of it. The stacks of a traced run show it.

// closes reports whether a goroutine stands in a library's Close that the caller's code
// called.
func (p place) closes() bool {
	return strings.HasSuffix(p.entry, ".Close") || strings.HasSuffix(p.entry, ".Shutdown") || strings.HasSuffix(p.entry, ".Stop")
}

// endOf returns the direction in which the end writes whose type a function's name names,
// such as mcp.(*ClientSession).Close; none where it names neither or both.
func endOf(function string) transport.Direction {
	name := strings.ToLower(function)
	switch client, server := strings.Contains(name, "client"), strings.Contains(name, "server"); {
	case client && !server:
		return transport.ClientToServer
	case server && !client:
		return transport.ServerToClient
	}
	return transport.NoDirection
}

// closeWhy says what is open at the end that a function closes: what it may wait for.
func (g *gate) closeWhy(function string) string {
	dir := endOf(function)
	var waits, owes []string
	for _, c := range g.names.calls {
		switch {
		case c.cancelled || c.listen || c.request.taken == 0:
		case c.request.dir == dir && (c.answer == nil || c.answer.given == 0):
			waits = append(waits, "the response to "+c.name)
		case c.request.dir == dir.Reverse() && c.owed():
			owes = append(owes, "the response to "+c.name)
		}
	}
	switch {
	case dir == transport.NoDirection:
		return "it closes an end, which may wait for what is open there"
	case len(waits)+len(owes) == 0:
		return "no request is open at its end: it waits for code there, such as a handler that has not returned"
	case len(owes) == 0:
		return "its end waits for " + strings.Join(waits, ", ")
	case len(waits) == 0:
		return "its end owes " + strings.Join(owes, ", ")
	}
	return "its end waits for " + strings.Join(waits, ", ") + ", and owes " + strings.Join(owes, ", ")
}

// seeCloses notes, when a traced run is at rest, which of its goroutines stand in a Close.
func (r *Run) seeCloses(all []string) {
	still := map[string]int{}
	for _, s := range r.engine.own(all) {
		if !readPlace(s).closes() {
			continue
		}
		id := goroutineOf(s)
		if still[id] = len(r.steps); r.closers[id] > 0 {
			still[id] = r.closers[id]
		}
	}
	r.closers = still
}

// closing notes for a hang which end is closing, since which step, and which code closes it.
func (r *Run) closing() {
	if len(r.gate.all) == 0 {
		return
	}
	r.seeCloses(r.gate.all)
	for _, s := range r.engine.own(r.gate.all) {
		p, id := readPlace(s), goroutineOf(s)
		dir := endOf(p.entry)
		if since := r.closers[id]; since > 0 && dir != transport.NoDirection {
			r.note(fmt.Sprintf("the %s's end is closing since step %d, in %s, called by %s", dir.Sender(), min(since, r.still), p.entry, strings.Join(p.from, ", by ")))
		}
	}
}

const (
	laneWidth  = 64 // columns between the client's line and the server's
	shownLines = 24
	shownQueue = 3 // standing frames shown of each direction
)

// draw shows the run: what was read, when operations began, a Write that returned
// late, and at the end the frames that stand.
func (r *Run) draw() []string {
	var lines []string
	lastGive := 0
	for i, s := range r.shown() {
		at := i + 1
		f := s.flight
		switch {
		case f != nil && f.given == at:
			lines = append(lines, arrow(at, s.Dir, f.name, ""))
			lastGive = at
		case s.Kind == Ack && f.given > 0 && lastGive > f.given:
			lines = append(lines, arrow(at, 0, "only now returns the Write of "+f.name, ""))
		case s.Kind == Start, s.Kind == Close, s.Kind == End, s.Kind == Relent, s.Kind == HalfClose, s.Kind == Reach:
			lines = append(lines, arrow(at, 0, s.Name(), ""))
		}
	}
	if over := len(lines) - shownLines; over > 0 {
		lines = append([]string{"     … " + phrase.Plural(over, "line") + " before"}, lines[over:]...)
	}
	head := "      client" + strings.Repeat(" ", laneWidth-len("client")) + "server"
	lines = append([]string{head}, lines...)
	for i := range r.gate.lanes {
		l := &r.gate.lanes[i]
		for i, f := range slices.Concat(l.queue, l.waiting) {
			if i == shownQueue {
				lines = append(lines, fmt.Sprintf("     … %d more in %v", len(l.queue)+len(l.waiting)-i, l.dir))
				break
			}
			note := fmt.Sprintf("queued in %v", l.dir)
			if f.taken == 0 {
				note = fmt.Sprintf("in the hand of the %s's writer", l.dir.Sender())
			}
			lines = append(lines, arrow(0, l.dir, f.name, note))
		}
	}
	return lines
}

// arrow draws one line: of a frame that was read a whole arrow, of one that was
// not its first half and a note, of anything else the words alone.
func arrow(at int, dir transport.Direction, label, note string) string {
	shaft := "   "
	switch {
	case dir == transport.ClientToServer && note == "":
		shaft = "-->"
	case dir == transport.ClientToServer:
		shaft = "-  "
	case dir == transport.ServerToClient && note == "":
		shaft = "<--"
	case dir == transport.ServerToClient:
		shaft = "  -"
	}
	number := "    "
	if at > 0 {
		number = fmt.Sprintf("%4d", at)
	}
	pad := strings.Repeat(shaft[1:2], max(laneWidth-5-utf8.RuneCountInString(label), 0))
	return strings.TrimRight(fmt.Sprintf("%s  |%s %s %s%s| %s", number, shaft[:1], label, pad, shaft[2:], note), " ")
}
