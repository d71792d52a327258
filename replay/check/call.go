package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

const (
	methodListen    = "subscriptions/listen"
	methodCancelled = "notifications/cancelled"
	methodTools     = "tools/list"
)

// call is a request without an answer so far.
type call struct {
	dir       transport.Direction
	id        string // as a key
	method    string
	target    string
	stream    uint64
	seq       uint64
	at        time.Duration
	bytes     int
	cancelled uint64
	notices   int    // of the other end, before it
	ending    string // how its HTTP exchange ended
	hungUp    bool   // the client ended that
	left      bool   // the recorder ended that
	can       string // what its client declared; "" where it is not said
}

func (c *call) String() string {
	name := clip(c.method)
	if c.target != "" {
		name += fmt.Sprintf(" %s", quote(c.target))
	}
	return fmt.Sprintf("%s of the %s (id %s, #%d)", name, c.dir.Sender(), clip(c.id), c.seq)
}

// calls are those of a scope without an answer; of several with one id the latest.
type calls map[callKey]*call

type callKey struct {
	dir transport.Direction
	id  string
}

// sorted lists the calls of both directions in the order of their requests.
func (c calls) sorted() []*call {
	return slices.SortedFunc(maps.Values(c), func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.id, b.id))
	})
}

func (f *Fold) opens(e store.Event, s *scope, m *transport.Message) {
	target, _ := replay.Target(*m)
	c := &call{
		dir: e.Dir, id: order.Key(m.ID), method: m.Method, target: strings.Clone(target),
		stream: e.Stream, seq: e.Seq, at: e.At, bytes: len(m.Raw), notices: f.notices[e.Dir.Reverse()],
	}
	s.calls[callKey{e.Dir, c.id}] = c
	f.retries.asks(f, e, s, c, m)
	if e.Stream != 0 {
		f.scopes.asked[e.Stream] = append(f.scopes.asked[e.Stream], c)
	}
	f.gate.calls(f, c)
}

// answers takes note of a response and returns the method of its request.
func (f *Fold) answers(e store.Event, s *scope, m *transport.Message) (method string) {
	k := callKey{e.Dir.Reverse(), order.Key(m.ID)}
	c := s.calls[k]
	if c == nil {
		return ""
	}
	delete(s.calls, k)
	took := e.At - c.at
	f.tallies.add(c, took, len(m.Raw), failed(m, c.method))
	f.gate.answered(f, c, e.Seq, took)
	if c.dir == transport.ClientToServer {
		f.silence.answered(e, c, f.notices[e.Dir]-c.notices)
	}
	if c.cancelled != 0 {
		f.finds(lateAnswer, e.Dir, s.rules.Revision(), []uint64{e.Seq, c.cancelled, c.seq},
			"the %s answered %v after %v, when its cancellation (#%d) had passed", e.Dir.Sender(), c, phrase.Brief(took), c.cancelled)
	}
	f.retries.answered(f, e, s, c, m)
	if c.method == methodTools && m.Result != nil {
		f.defines(e, s, m.Result)
		f.compares(e, s, m.Result)
	}
	return c.method
}

// failed reports whether a response is an error, of the protocol or of a tool.
func failed(m *transport.Message, method string) bool {
	return m.Error != nil || method == "tools/call" && string(transport.Member(m.Result, "isError")) == "true"
}

func (f *Fold) notifies(e store.Event, s *scope, m *transport.Message) {
	if m.Method == methodCancelled {
		id := transport.Member(m.Params, "requestId")
		if c := s.calls[callKey{e.Dir, order.Key(id)}]; id != nil && c != nil {
			c.cancelled = e.Seq
		}
	}
}

// Close ends the session and returns what it was.
func (f *Fold) Close() Summary {
	for _, stream := range slices.Sorted(maps.Keys(f.scopes.exchanges)) {
		if own := f.scopes.exchanges[stream]; own != f.scopes.session {
			f.leaves(own)
		}
	}
	f.leaves(f.scopes.session)
	f.silence.tell(f)
	f.gate.close(f)
	return f.summary()
}

// leaves tells of what a scope has without an answer at its end.
func (f *Fold) leaves(s *scope) {
	l := left{revision: s.rules.Revision()}
	for _, c := range s.calls.sorted() {
		l.by[c.dir&3%3] = append(l.by[c.dir&3%3], c)
	}
	for _, list := range l.by {
		for _, c := range list {
			f.withoutAnswer(c, l)
		}
	}
	clear(s.calls)
}

// left is what a scope has without an answer.
type left struct {
	revision string
	by       [3][]*call // by direction, in their order
}

// waits reports whether a call of the client waits for good.
func (l *left) waits() bool {
	return slices.ContainsFunc(l.by[transport.ClientToServer], func(c *call) bool { return !c.lasts() })
}

// after returns the first of a direction that was asked after an event.
func (l *left) after(dir transport.Direction, seq uint64) *call {
	list := l.by[dir]
	i, _ := slices.BinarySearchFunc(list, seq+1, func(c *call, seq uint64) int { return cmp.Compare(c.seq, seq) })
	for ; i < len(list); i++ {
		if !list[i].lasts() {
			return list[i]
		}
	}
	return nil
}

// lasts reports whether a call needs no answer.
func (c *call) lasts() bool { return c.cancelled != 0 || c.method == methodListen }

// withoutAnswer tells of a call that has no answer.
func (f *Fold) withoutAnswer(c *call, l left) {
	d, why := unanswered, ""
	switch {
	case c.cancelled != 0:
		d, why = openEnd, fmt.Sprintf("it was cancelled (#%d)", c.cancelled)
	case c.method == methodListen:
		d, why = openEnd, "it is a subscription, which lasts"
	case c.hungUp && l.revision >= order.Revision2026_07_28:
		d, why = openEnd, c.ending+", which cancels it"
	case c.dir == transport.ServerToClient && !l.waits():
		d, why = openEnd, "the session ended, and nothing of the client's waits for it"
	case c.left:
		d, why = openEnd, c.ending
	case f.gaveUp != 0 && f.exited == 0 && f.ended == [3]uint64{}:
		d, why = openEnd, fmt.Sprintf("the recorder no longer read the server (#%d)", f.gaveUp)
	case !f.sealed && f.ended == [3]uint64{} && f.exited == 0 && c.ending == "":
		d, why = openEnd, "the recording goes no further"
	}
	waited := fmt.Sprintf("%v waited %v, to #%d, without an answer", c, phrase.Brief(f.at-c.at), f.seq)
	if d.Rule == openEnd.Rule {
		f.finds(d, c.dir, l.revision, []uint64{c.seq}, "%s: %s", waited, why)
		return
	}
	fault := c.dir.Reverse()
	if f.swallows(c) {
		fault = c.dir
	}
	f.finds(d, fault, l.revision, []uint64{c.seq, f.seq}, "%s: %s", waited, strings.Join(f.whoHasIt(c, l), "; "))
}

// whoHasIt says what the recording shows of where a call is.
func (f *Fold) whoHasIt(c *call, l left) (facts []string) {
	to, back := c.dir, c.dir.Reverse()
	if c.ending != "" {
		facts = append(facts, c.ending)
	}
	for _, way := range []transport.Direction{to, back} {
		if f.stopped[way] != 0 {
			facts = append(facts, f.noLongerRead(way))
		}
	}
	if n := f.notices[back] - c.notices; n > 0 && f.swallows(c) {
		facts = append(facts, fmt.Sprintf("notifications to the %s meanwhile: %d; a receive loop that waits for room to put them in does not come to the answer (mcprec replay --%s inbox:0)",
			c.dir.Sender(), n, c.dir.Sender()))
	}
	facts = append(facts, f.whoEnded(c)...)
	if o := l.after(back, c.seq); o != nil {
		facts = append(facts, fmt.Sprintf("the %s itself waits for the %s to answer %v", to.Receiver(), to.Sender(), o))
	}
	for _, way := range []transport.Direction{to, back} {
		if b := f.blocked[way]; b.seq > c.seq {
			facts = append(facts, b.said(way))
		}
	}
	return append(facts, f.lastFrames(c))
}

// blockedFor is how long a write takes at least that has blocked, as a tap counts.
const blockedFor = 10 * time.Millisecond

// swallows reports whether who waits for a call had stopped reading before: what was
// sent to it since was not taken, until it was gone.
func (f *Fold) swallows(c *call) bool {
	back := c.dir.Reverse()
	return f.stopped[back] != 0 && f.held[back] >= blockedFor && f.last[back] > c.seq
}

// noLongerRead says when a receiver had gone, and what waited for it.
func (f *Fold) noLongerRead(way transport.Direction) string {
	text := fmt.Sprintf("the %s no longer read (#%d)", way.Receiver(), f.stopped[way])
	if held := f.held[way]; held >= blockedFor && f.last[way] != 0 {
		text += fmt.Sprintf(", when #%d had waited %v to be taken", f.last[way], phrase.Brief(held))
	}
	return text
}

// said tells what its receiver is known to have taken.
func (b stall) said(way transport.Direction) string {
	took := fmt.Sprintf("the %s took #%d", way.Receiver(), b.upto)
	if b.blocked > 0 {
		took += fmt.Sprintf(" after a write had blocked for %v", phrase.Brief(b.blocked))
	}
	return fmt.Sprintf("%s (#%d)", took, b.seq)
}

// whoEnded says which end left first.
func (f *Fold) whoEnded(c *call) []string {
	client, server := f.ended[transport.ClientToServer], f.ended[transport.ServerToClient]
	gone := cmp.Or(server, f.exited)
	switch {
	case gone != 0 && (client == 0 || gone < client):
		if f.exited != 0 {
			return []string{fmt.Sprintf("the server ended first (#%d, exit %s)", gone, f.exit)}
		}
		return []string{fmt.Sprintf("the server ended first (#%d)", gone)}
	case client != 0:
		return []string{fmt.Sprintf("the client ended the session (#%d) while it was open", client)}
	}
	return nil
}

// lastFrames says who spoke last.
func (f *Fold) lastFrames(c *call) string {
	answerer := f.last[c.dir.Reverse()]
	said := fmt.Sprintf("the %s sent nothing after the request", c.dir.Receiver())
	if answerer > c.seq {
		said = fmt.Sprintf("the %s sent #%d last", c.dir.Receiver(), answerer)
	}
	return fmt.Sprintf("%s, the %s #%d", said, c.dir.Sender(), f.last[c.dir])
}
