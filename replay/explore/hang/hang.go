package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// Wait is a part of a hang, with the frame that the part holds and the event it waits for.
type Wait struct {
	Who      string `json:"who"`
	Holds    string `json:"holds,omitempty"`
	WaitsFor string `json:"waits_for,omitempty"`
	Why      string `json:"why"`
	// BlockedAt is the state and the place, in the peer's own code, of an operation or of a
	// reader that has not come back.
	BlockedAt string `json:"blocked_at,omitempty"`
}

// Operation is an operation of the run that has not returned.
type Operation struct {
	Name      string
	After     string // what must happen first, such as operation call, or ""
	Started   bool
	Goroutine int    // its number, in a traced run
	Missing   string // the operation stands for this message that an end must receive, or ""
}

// Scene is a run at rest, also during the diagnosis.
type Scene struct {
	Gate       *gate.Gate
	Tracer     *Tracer // nil: the run is not traced
	Operations []*Operation
	Live       func(transport.Direction) bool // reports whether the sender is a peer under test
	Breaches   []gate.Breach                  // by live ends
	Waits      []Wait                         // known before
	Steps      int                            // released so far
	Still      int                            // steps before the periodic traffic at the end

	// Category and Why are the reason of an endpoint model that stands, or "".
	Category, Why string
}

// Diagnosis says why a run stands still: in a sentence, by the waits, and by their chain.
type Diagnosis struct {
	Category, Why string
	Waits         []Wait
	Chain         []string // of waits, a line each; the last line says whether the chain goes round
	Closing       []string // the ends that are closing, since which step, and by which code
	Blocked       []string // lines of the user's own code, each with its state and under which handler

	// Seen and Shape are the same in every run of a bug: the category by frames alone, and
	// which readers have not come back with what kind of frame, and for a lost response how
	// far the open calls came. About are the frames of Shape.
	Seen, Shape string
	About       []*gate.Flight
}

// diagnosis judges a scene twice: by frames alone, for the fingerprint, and in a traced run
// by the stacks too.
type diagnosis struct {
	Scene
	all     stacks.Dump         // of a traced run, at the hang
	blind   bool                // frames alone are judged
	alone   bool                // a single end is live
	awaited map[string]bool     // names of the unreturned operations
	quit    map[*gate.Lane]bool // the goroutine that was given the last frame has ended
	closers []closer            // the one that has been closing for longest comes first
	pool    *pool               // or nil

	waits   []Wait
	blocked []string
	chain   *chain
}

// Diagnose explains a scene.
func Diagnose(scene Scene) Diagnosis {
	d := &diagnosis{Scene: scene, blind: true, awaited: map[string]bool{}, waits: scene.Waits}
	for _, op := range scene.Operations {
		d.awaited[op.Name] = true
	}
	d.alone = scene.Live(transport.ClientToServer) != scene.Live(transport.ServerToClient)
	result := Diagnosis{}
	result.Seen, _ = d.explain()
	result.Shape, result.About = d.shape(result.Seen)

	d.waits = scene.Waits
	d.chain = nil
	d.blind = false
	if scene.Tracer != nil {
		d.all = stacks.Take()
	}
	d.quit = map[*gate.Lane]bool{}
	for _, l := range scene.Gate.Live() {
		// Where an end reads every frame on a goroutine of its own, each may end.
		own := l.Before.Parent != 0 && l.Before.Parent == l.Holder.Parent && l.Before.ID != l.Holder.ID
		d.quit[l] = len(d.all) > 0 && l.Holder.ID != 0 && d.all.Find(l.Holder.ID).Text == "" && !own
	}
	if len(d.all) > 0 {
		d.closers = scene.Tracer.closersIn(d.all, scene.Steps)
		for i := range d.closers { // the periodic traffic at the end does not count
			d.closers[i].since = min(d.closers[i].since, scene.Still)
		}
	}
	d.pool = usedUpPool(d)
	result.Category, result.Why = d.blame(d.explain())
	result.Waits, result.Blocked = d.waits, d.blocked
	if d.chain != nil {
		result.Chain = d.chain.links
		if d.chain.cyclic {
			result.Chain[len(result.Chain)-1] += "  <- cycle"
		}
	}
	for _, c := range d.closers {
		if note := fmt.Sprintf("the %s's end %v", c.dir.Sender(), &c); !strings.Contains(result.Why, c.String()) {
			result.Closing = append(result.Closing, note)
		}
	}
	return result
}

// explain judges by frames alone, or by stacks too.
func (d *diagnosis) explain() (category, why string) {
	guess := ""
	for _, op := range d.Operations {
		kind, waits, reason, sure := d.waitOf(op)
		if sure || !d.told("operation "+op.Name) { // a wait for a mutex is told already
			d.waits = append(d.waits, waits...)
		}
		k := d.chainOf(op) // a cycle is preferred, then the longer chain
		if d.chain == nil || !d.chain.cyclic && k.cyclic || d.chain.cyclic == k.cyclic && len(k.links) > len(d.chain.links) {
			d.chain = k
		}
		if category == "" && sure && kind != "" {
			category, why = kind, reason
		} else if guess == "" && category == "" && kind != "" {
			guess, why = kind, reason
		}
	}
	category = cmp.Or(category, guess)
	var calls []*gate.Call
	if d.chain != nil {
		calls = d.chain.calls()
	}
	for i, c := range calls {
		if d.told("response to "+c.Name) || !c.Owed() {
			continue
		}
		w := d.debtWait(c)
		if i > 0 && w.BlockedAt == "" && d.chain.mutual() {
			w.Why += "; it waits for the response to " + calls[i-1].Name
			w.BlockedAt = d.asker(calls[i-1])
		}
		d.waits = append(d.waits, w)
	}
	d.waits = append(d.waits, d.closeWaits()...)
	for _, l := range d.Gate.Live() {
		if w, ok := d.readerWait(l); ok {
			d.waits = append(d.waits, w)
		}
	}
	if d.Scene.Category != "" {
		return d.Scene.Category, d.Scene.Why
	}
	for _, pair := range d.Gate.Pairs {
		if c2s, s2c := pair.Ends[0].Out, pair.Ends[1].Out; c2s.Blocked() && s2c.Blocked() {
			return closed.BothWrite, fmt.Sprintf("both sides are at a write, and nobody reads: the %s writes %s, the %s writes %s",
				c2s.Sender(), c2s.Waiting[0].Name, s2c.Sender(), s2c.Waiting[0].Name)
		}
	}
	if d.pool != nil && slices.Contains(calls, d.pool.next) {
		return closed.Pool, d.pool.String()
	}
	if d.chain != nil && d.chain.mutual() {
		outer, inner := calls[len(calls)-2], calls[len(calls)-1]
		return closed.MutualWait, fmt.Sprintf("each side has read a request of the other and answers neither: "+
			"the %s read %s at step %d and has asked %s since, which the %s read at step %d",
			outer.Request.Dir.Receiver(), outer.Name, outer.Request.Given, inner.Name, inner.Request.Dir.Receiver(), inner.Request.Given)
	}
	if category == closed.AnswerLost {
		why = d.lostWhy(why)
	}
	return category, why
}

// lostWhy completes the sentence on a response that was not sent, or has another id.
func (d *diagnosis) lostWhy(why string) string {
	if k := d.chain; k != nil && len(k.closed) > 0 {
		return strings.Join(k.closed, ". And ")
	}
	if k := d.chain; k != nil && k.ends != "" && !k.cyclic && !k.stuck { // the last call is read and not answered
		calls := k.calls()
		inner := calls[len(calls)-1]
		why = fmt.Sprintf("the %s read %s at step %d, %s", inner.Request.Dir.Receiver(), inner.Name, inner.Request.Given, k.ends)
		if len(calls) > 1 {
			outer := calls[len(calls)-2]
			why += fmt.Sprintf(". The %s asked it after it had read %s, at step %d",
				outer.Request.Dir.Receiver(), outer.Name, outer.Request.Given)
		}
	}
	var owed [2]*gate.Call // by direction: both ends may fail to respond
	for _, op := range d.Operations {
		c := d.openCall(op)
		if c == nil || !c.Owed() {
			continue
		}
		if i := c.Request.Dir - transport.ClientToServer; owed[i] == nil {
			owed[i] = c
		}
	}
	if c := owed[1]; owed[0] != nil && c != nil {
		why += fmt.Sprintf("; nor does the %s answer %s, which it read at step %d", c.Request.Dir.Receiver(), c.Name, c.Request.Given)
	}
	for _, b := range d.Breaches {
		if b.Severity == order.Error && (b.OtherType() || strings.HasPrefix(b.Frame, b.Dir.String()+" response to nothing")) {
			return fmt.Sprintf("%s, at step %d: rule %s is broken. So %s", b.Text, b.Step, b.Rule, why)
		}
	}
	return why
}

// waitOf explains the wait of an operation. The result is not sure if the operation signed
// no request.
func (d *diagnosis) waitOf(op *Operation) (category string, waits []Wait, why string, sure bool) {
	who := "operation " + op.Name
	if op.After != "" {
		return "", []Wait{{Who: who, WaitsFor: op.After, Why: "it comes after that one"}}, "", true
	}
	if op.Missing != "" {
		return "", []Wait{{Who: op.Name, Why: op.Missing}}, "", true
	}
	if !op.Started {
		return "", []Wait{{Who: who, Why: "it has not been started"}}, "", true
	}
	at := d.all.Place(op.Goroutine)
	for _, l := range d.Gate.Live() {
		for _, f := range l.Waiting {
			if d.wrote(op, f) {
				w := Wait{Who: who, WaitsFor: "the Write of " + f.Name, Why: l.Where(f), BlockedAt: at.String()}
				why := d.behindWhy(l, who, f.Name)
				if f.Op == "" && !d.blind {
					other := "that Write has another context than " + who + ", so no deadline of " + op.Name + " ends it"
					w.Why += "; " + other
					why += "; " + other
				}
				return behind(l), []Wait{w}, why, true
			}
		}
	}
	calls, signed := d.callsOf(op)
	closes, inClose := d.closes(op)
	if c := d.openCall(op); c != nil && c.Open() {
		category, w, why := d.callWait(who, c)
		own := Wait{Who: who, WaitsFor: "response to " + c.Name, Why: "it has not been read", BlockedAt: at.String()}
		if !signed {
			own.Why = "it has sent no request itself; this one is open, and no other operation waits for it"
		}
		if !signed && inClose {
			own = closes
		}
		return category, []Wait{own, w}, why, signed
	}
	var w Wait
	if len(calls) == 0 {
		category, w, why = d.unsigned(who, at)
	} else {
		category, w, why = d.answered(op, calls, at)
	}
	if inClose {
		w = closes
		if category == closed.NeverSent {
			why = fmt.Sprintf("%s is in %s: %s", who, strings.TrimSuffix(w.WaitsFor, " to return"), w.Why)
			w.Why = "" // the table has the place, the sentence the reason
			if c, ok := closerIn(d.all.Find(op.Goroutine)); ok && d.listenAt(c.dir) != nil {
				category = closed.BlockedHandler
			}
		}
	}
	return category, []Wait{w}, why, len(calls) > 0
}

// unsigned explains an operation without a request under its context, such as a Close: the
// stack tells the function, and the open calls tell the rest.
func (d *diagnosis) unsigned(who string, at stacks.Place) (category string, w Wait, why string) {
	w = Wait{Who: who, WaitsFor: "something that is not on its way", BlockedAt: at.String()}
	if at.Entry != "" {
		w.WaitsFor = at.Entry + " to return"
	}
	open := d.unanswered()
	if len(open) > 0 {
		w.Why = "it has sent no request itself; read and answered by nobody: " + strings.Join(open, ", ")
		return closed.AnswerLost, w, fmt.Sprintf("%s waits, and nobody answers what was read: %s", who, strings.Join(open, ", "))
	}
	w.Why = "no request of it is open, and nothing is in the transport for it"
	stands := "waits (to see where, follow the token)"
	if at.At != "" {
		stands = "is blocked at " + at.String()
	}
	last := "it has written no message"
	var read *gate.Flight
	for _, c := range d.Gate.Names.Calls {
		if "operation "+c.Request.Op == who {
			last = "the last request that it wrote: " + c.Name
			if c.Request.Withdrawn {
				last += ", which was withdrawn"
			}
		}
	}
	for _, l := range d.Gate.Lanes {
		if f := l.Last; f != nil && (read == nil || f.Given > read.Given) {
			read = f
		}
	}
	if read == nil {
		last += ", and nobody has read one"
	} else {
		last += fmt.Sprintf("; the last message that was read: %s, by the %s at step %d", read.Name, read.Dir.Receiver(), read.Given)
	}
	return closed.NeverSent, w, fmt.Sprintf("%s %s; it has no request open, and no message is on its way to it; %s", who, stands, last)
}

// unanswered lists the requests that were read and not answered.
func (d *diagnosis) unanswered() (open []string) {
	for _, c := range d.Gate.Names.Calls {
		if c.Owed() && !c.Listen {
			open = append(open, fmt.Sprintf("response to %s (the %s read the request at step %d)",
				c.Name, c.Request.Dir.Receiver(), c.Request.Given))
		}
	}
	return open
}

// callsOf returns the requests of an operation; if there are none, the open requests that no
// waiting operation signed: a session may sign its requests with the operation that created
// the session. A listen that was read stays open, and nobody waits for its response. A request
// that was withdrawn was never sent.
func (d *diagnosis) callsOf(op *Operation) (calls []*gate.Call, signed bool) {
	var own, unsigned []*gate.Call
	for _, c := range d.Gate.Names.Calls {
		if c.Listen && c.Request.Given > 0 || c.Request.Withdrawn {
			continue
		}
		if d.wrote(op, c.Request) {
			own = append(own, c)
		} else if c.Open() && (c.Request.Op == "" || !d.awaited[c.Request.Op]) {
			unsigned = append(unsigned, c)
		}
	}
	if len(own) > 0 {
		return own, true
	}
	return unsigned, false
}

// openCall returns an operation's first request without a read response; else the last
// request. A request whose exchange is over counts only if there is no other: its operation may have gone on.
func (d *diagnosis) openCall(op *Operation) *gate.Call {
	calls, _ := d.callsOf(op)
	if len(calls) == 0 {
		return nil
	}
	last := calls[len(calls)-1]
	for _, c := range slices.Backward(calls) {
		if c.Open() {
			last = c
			break
		}
	}
	for _, c := range calls {
		if c.Open() && c.Forgone() == "" {
			return c
		}
	}
	return last
}

// wrote reports whether an operation wrote a frame: by the context of the frame or, if the
// context names no operation, by the goroutine.
func (d *diagnosis) wrote(op *Operation, flight *gate.Flight) bool {
	if flight.Op != "" || d.blind || op.Goroutine == 0 || flight.Writer.ID == 0 {
		return flight.Op == op.Name
	}
	return flight.Writer.ID == op.Goroutine
}

// callWait follows an open request to its response, or to where the request stands.
func (d *diagnosis) callWait(who string, call *gate.Call) (category string, w Wait, why string) {
	f := call.Request
	if call.Response != nil && !call.Response.Withdrawn {
		f = call.Response
	}
	l := f.Lane
	if f.Given == 0 {
		return behind(l), Wait{Who: f.Name, Why: l.Where(f)}, d.behindWhy(l, who, f.Name)
	}
	w = d.debtWait(call)
	if how := call.Forgone(); how != "" {
		return closed.AnswerLost, w, fmt.Sprintf("the %s read %s at step %d, and %s", f.Dir.Receiver(), call.Name, f.Given, how)
	}
	// A response may wait behind the frame in the reader's hand.
	for _, other := range d.Gate.Names.Calls {
		if a := other.Response; a != nil && a.Dir == l.Dir && a.Given == 0 && !a.Withdrawn && l.Readers() == 0 && l.Last != nil {
			return l.Last.Behind(), w, d.behindWhy(l, "the "+f.Dir.Receiver(), a.Name)
		}
	}
	if back := f.Lane.Back; back.Blocked() && back.Last != nil {
		return back.Last.Behind(), w, fmt.Sprintf("%s; %s is behind it, and %s cannot overtake", d.away(back), back.Waiting[0].Name, w.Who)
	}
	then := "has not answered it, and nothing is on its way to it"
	if l.Deafened {
		then = "and has closed without a response"
	}
	return closed.AnswerLost, w, fmt.Sprintf("the %s read %s at step %d, %s", f.Dir.Receiver(), call.Name, f.Given, then)
}

// debtWait names the end that owes a response, and the place where the end is blocked: of a
// goroutine that sent a request since, or that took the request up.
func (d *diagnosis) debtWait(call *gate.Call) Wait {
	f := call.Request
	w := Wait{Who: "response to " + call.Name}
	if how := call.Forgone(); how != "" {
		w.Why = fmt.Sprintf("it cannot come any more: the %s read the request at step %d, and %s", f.Dir.Receiver(), f.Given, how)
		return w
	}
	w.Why = fmt.Sprintf("not sent: the %s read the request at step %d", f.Dir.Receiver(), f.Given)
	if inner := d.askedSince(f.Lane.Back, f.Given); inner != nil {
		w.Why += "; it has asked " + inner.Name + " since"
		w.BlockedAt = d.asker(inner)
	}
	if d.handlerReturned(call) {
		w.Why += "; its handler has returned since, and no response was written"
	}
	if d.pool != nil && call == d.pool.next {
		w.Why += "; no handler has begun for it"
		w.BlockedAt = d.pool.place.String()
	}
	if w.BlockedAt == "" {
		w.BlockedAt = d.all.Place(d.worker(call)).String()
	}
	return w
}

// handlerReturned reports whether a handler was seen at work on a request without response,
// and is not there any more.
func (d *diagnosis) handlerReturned(call *gate.Call) bool {
	return d.Tracer != nil && len(d.all) > 0 && d.Tracer.began[call.Request] > 0 && d.worker(call) == 0
}

// asker says where the sender of a request stands, or the sender's parent.
func (d *diagnosis) asker(call *gate.Call) string {
	for _, id := range []int{call.Request.Writer.ID, call.Request.Writer.Parent} {
		if at := d.all.Place(id); at.At != "" && !d.all.Find(id).Reading() {
			return at.String()
		}
	}
	return ""
}

// told reports whether the waits speak of a part.
func (d *diagnosis) told(who string) bool {
	return slices.ContainsFunc(d.waits, func(wait Wait) bool { return wait.Who == who })
}

// behind is the category of a frame that waits in the lane.
func behind(lane *gate.Lane) string {
	if lane.Last != nil && lane.Readers() == 0 {
		return lane.Last.Behind()
	}
	return closed.NeverSent
}

func (d *diagnosis) behindWhy(lane *gate.Lane, who, frame string) string {
	if lane.Last == nil {
		return fmt.Sprintf("%s needs %s, but the %s has never read", who, frame, lane.Dir.Receiver())
	}
	return fmt.Sprintf("%s; %s needs %s, which is behind it", d.away(lane), who, frame)
}

// away says why nobody reads on.
func (d *diagnosis) away(l *gate.Lane) string {
	if d.hasEnded(l) {
		return fmt.Sprintf("the goroutine that read %s for the %s, at step %d, has ended, and nobody reads on",
			l.Last.Name, l.Dir.Receiver(), l.Last.Given)
	}
	return fmt.Sprintf("the %s's reader took %s at step %d and has not come back", l.Dir.Receiver(), l.Last.Name, l.Last.Given)
}

// hasEnded reports whether the goroutine that was given the last frame of the lane has
// ended.
func (d *diagnosis) hasEnded(lane *gate.Lane) bool { return d.quit[lane] }

// readerWait says which frame an absent reader holds and, in a traced run, where the reader
// is blocked.
func (d *diagnosis) readerWait(l *gate.Lane) (Wait, bool) {
	w := Wait{Who: fmt.Sprintf("%s reader (%v)", l.Receiver(), l)}
	switch {
	case l.Readers() > 0 || l.Deafened || l.Read:
		return w, false
	case l.EOF > 0:
		w.Why = fmt.Sprintf("learnt at step %d that the %s has closed, and reads no more", l.EOF, l.Dir.Sender())
		return w, true
	case l.Last == nil:
		w.Why = "has never read"
		return w, len(l.Queue)+len(l.Waiting) > 0
	case d.hasEnded(l):
		w.Why = fmt.Sprintf("the goroutine that was given %s at step %d has ended, and nobody has read since", l.Last.Name, l.Last.Given)
		return w, true
	}
	w.Holds, w.Why = l.Last.Name, fmt.Sprintf("given at step %d; has not read since", l.Last.Given)
	if l.Idle != "" {
		w.Why += ": " + l.Idle
	}
	// Some SDKs read each frame on a goroutine of its own, which ends.
	w.BlockedAt = cmp.Or(d.all.Place(l.Holder.ID).String(), d.all.Place(l.Holder.Parent).String())
	return w, true
}

// answered explains an operation with all responses read: a response did not reach the
// operation, or the operation has gone on to another wait.
func (d *diagnosis) answered(op *Operation, calls []*gate.Call, at stacks.Place) (category string, w Wait, why string) {
	who, c := "operation "+op.Name, calls[len(calls)-1]
	read := func(c *gate.Call) string {
		return fmt.Sprintf("the %s read the response to %s at step %d", c.Response.Dir.Receiver(), c.Name, c.Response.Given)
	}
	for _, c := range slices.Backward(calls) {
		if d.Tracer.stance(c) != nil && !d.wentOn(op, c) {
			w = Wait{Who: who, WaitsFor: "response to " + c.Name, BlockedAt: at.String()}
			w.Why = fmt.Sprintf("the %s read it at step %d; it did not reach the operation", c.Response.Dir.Receiver(), c.Response.Given)
			return closed.AnswerLost, w, read(c) + ", but " + who + " did not get it"
		}
	}
	if d.Tracer.stance(c) == nil {
		return closed.AnswerLost, Wait{Who: who, Why: read(c)}, read(c) + ", and " + who + " has not returned"
	}
	category, w, _ = d.unsigned(who, at)
	w.Why = fmt.Sprintf("the response to its last request, %s, was read at step %d, and it went on", c.Name, c.Response.Given)
	if category == closed.AnswerLost {
		w.Why += "; read and answered by nobody: " + strings.Join(d.unanswered(), ", ")
	}
	does := "waits for something else"
	if at.At != "" {
		does = "is blocked at " + at.String()
	}
	why = fmt.Sprintf("%s %s; the response to its last request, %s, was read at step %d", who, does, c.Name, c.Response.Given)
	return category, w, why
}

// shape makes the Shape and About of the diagnosis. It uses frames alone, because only a
// traced run has stacks.
func (d *diagnosis) shape(category string) (shape string, about []*gate.Flight) {
	var list []string
	for _, l := range d.Gate.Live() {
		if len(l.Queue)+len(l.Waiting) > 0 && l.Last != nil && l.Readers() == 0 && !l.Deafened {
			kind := "batch"
			if messages, err := l.Last.Frame.Messages(); err != nil {
				kind = transport.Invalid.String()
			} else if len(messages) == 1 {
				kind = messages[0].Kind().String()
			}
			list = append(list, fmt.Sprintf("%s reader holds a %s", l.Dir.Receiver(), kind))
			about = append(about, l.Last)
			about = append(about, l.Waiting[:min(1, len(l.Waiting))]...)
		}
	}
	for _, op := range d.Operations {
		c := d.openCall(op)
		if c == nil || op.Missing != "" {
			continue
		}
		about = append(about, c.Request)
		switch {
		case category != closed.AnswerLost && category != closed.MutualWait || c.Request.Given == 0:
		case c.Response == nil:
			list = append(list, fmt.Sprintf("%v request read, not answered", c.Request.Dir))
		case c.Response.Given > 0:
			list = append(list, fmt.Sprintf("%v answer read", c.Response.Dir))
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", "), about
}
