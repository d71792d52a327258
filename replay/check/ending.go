package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Close ends the session and returns what it was.
func (f *Fold) Close() Summary {
	for _, stream := range slices.Sorted(maps.Keys(f.scopes.exchanges)) {
		if own := f.scopes.exchanges[stream]; !own.kept {
			f.leaves(own)
		}
	}
	for _, own := range f.scopes.kept {
		f.leaves(own)
	}
	f.leavesPosts()
	f.judgeEnding()
	f.silence.tell(f)
	for _, tool := range f.gate.Expect {
		f.finds(expected, transport.ClientToServer, "", []uint64{f.seq}, "the client never called the tool %s", quote(tool))
	}
	f.missing()
	return f.summary()
}

// leaves reports the calls of a scope that have no answer at its end.
func (f *Fold) leaves(s *scope) {
	if s.kept && s.begun == middle && !s.refused {
		f.headless(s)
	}
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
	clear(s.tokens)
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
func (c *call) lasts() bool { return c.cancelled.seq != 0 || c.method == mcp.MethodListen }

// withoutAnswer tells of a call that has no answer. One that timed out was told of when
// it was cancelled.
func (f *Fold) withoutAnswer(c *call, l left) {
	until := f.waitedTo(c)
	waited := until.at - c.at
	one := f.tallies.count(c, waited)
	if c.cancelled.seq != 0 {
		one.Cancelled++
	} else {
		one.Open++
	}
	f.gate.waits(f, c, until.seq, waited)
	if c.timedOut {
		return
	}
	head := fmt.Sprintf("%v waited %v, to #%d, without an answer", c, phrase.Brief(waited), until.seq)
	if c.refusal != "" {
		head += " that was taken: " + c.refusal
	}
	if why := f.needsNone(c, l); why != "" {
		f.finds(openEnd, c.dir, l.revision, []uint64{c.seq}, "%s: %s", head, why)
		return
	}
	if why := f.leftBehind(c, l); why != "" {
		told := append(f.whoEnded(), c.ending)
		facts := slices.DeleteFunc(f.whoHasIt(c, l), func(fact string) bool { return slices.Contains(told, fact) })
		f.finds(openEnd, transport.ClientToServer, l.revision, []uint64{c.seq}, "%s: %s; %s", head, why, strings.Join(facts, "; "))
		return
	}
	fault := c.dir.Reverse()
	if f.swallows(c) || l.after(c.dir.Reverse(), c.seq) != nil {
		fault = c.dir
	}
	f.finds(unanswered, fault, l.revision, []uint64{c.seq, until.seq}, "%s: %s", head, strings.Join(f.whoHasIt(c, l), "; "))
}

// waitedTo returns the event that ended the wait for an answer: the cancellation, the end
// of its exchange, or the first end of either side.
func (f *Fold) waitedTo(c *call) moment {
	switch _, gone := f.end.first(); {
	case c.cancelled.seq != 0:
		return c.cancelled
	case c.ended.seq != 0 && !c.again:
		return c.ended
	case c.in.deleted.seq > c.seq:
		return c.in.deleted
	case gone.seq > c.seq:
		return gone
	}
	return moment{f.seq, f.at}
}

// needsNone says why a call needs no answer, or why the recording cannot have it; "" where
// neither is so.
func (f *Fold) needsNone(c *call, l left) string {
	switch {
	case c.cancelled.seq != 0 && c.reason != "":
		return fmt.Sprintf("it was cancelled (#%d): %s", c.cancelled.seq, c.why())
	case c.cancelled.seq != 0:
		return fmt.Sprintf("it was cancelled (#%d)", c.cancelled.seq)
	case c.method == mcp.MethodListen:
		return "it is a subscription, which lasts"
	case c.hungUp && l.revision >= mcp.Revision2026_07_28:
		return c.ending + ", which cancels it"
	case c.dir == transport.ServerToClient && !l.waits():
		return "the session ended, and nothing of the client's waits for it"
	case c.left:
		return c.ending
	case f.end.gaveUp != 0 && f.end.exited.seq == 0 && f.end.closed == [3]moment{}:
		return fmt.Sprintf("the recorder no longer read the server (#%d)", f.end.gaveUp)
	case f.end.live() && c.ending == "":
		return "the recording goes no further"
	}
	return ""
}

// A client that goes away leaves its open calls behind. That is nobody's fault, unless it
// went because it had waited in vain. It has waited in vain for a call if nothing came of
// the call for leftFor, and for leftTimes as long as any answer took before, or if nothing
// came for leftLong.
const (
	leftFor   = time.Second
	leftTimes = 10
	leftLong  = 10 * time.Second
)

// leftBehind says how the client left a call behind, or the server one of its own; ""
// where that is not all that there is to say.
func (f *Fold) leftBehind(c *call, l left) string {
	who, gone := f.end.first()
	said := fmt.Sprintf("the client closed its end (#%d)", gone.seq)
	switch {
	case c.hungUp:
		who, gone, said = transport.ClientToServer, c.ended, c.ending
	case c.ending != "" && !c.again:
		return ""
	case c.in.deleted.seq > c.seq:
		who, gone, said = transport.ClientToServer, c.in.deleted, fmt.Sprintf("the client ended its session with DELETE (#%d)", c.in.deleted.seq)
	case who == transport.ServerToClient && c.dir == who:
		return fmt.Sprintf("the server ended first (#%d)", gone.seq)
	case who == transport.ClientToServer && f.end.closed[who] != gone:
		said = fmt.Sprintf("the server was asked to end (#%d, exit %s)", gone.seq, clip(f.end.exit.String()))
	}
	if who != transport.ClientToServer || gone.seq < c.seq {
		return ""
	}
	if open := l.after(transport.ServerToClient, c.seq); c.dir == transport.ClientToServer && open != nil && (open.asksSomebody() || gone.at-open.at < leftFor) {
		return said // whoHasIt says which answer it owed
	}
	if c.dir == transport.ServerToClient && c.asksSomebody() {
		return said + " and had not answered"
	}
	since := moment{c.seq, c.at}
	for _, sign := range []moment{c.progress, f.blocked[c.dir.Reverse()].moment} {
		if sign.seq > since.seq && sign.seq < gone.seq {
			since = sign
		}
	}
	quiet := gone.at - since.at
	if quiet >= leftLong || quiet >= leftFor && quiet >= leftTimes*f.slowest || f.swallows(c) && f.held[c.dir.Reverse()] >= leftFor {
		return ""
	}
	switch {
	case since.seq == c.seq:
		return said
	case since == c.progress:
		return fmt.Sprintf("%s %v after progress of it (#%d)", said, phrase.Brief(quiet), since.seq)
	}
	return fmt.Sprintf("%s %v after it had taken what the server sent (#%d)", said, phrase.Brief(quiet), since.seq)
}

// asksSomebody reports whether a person or a model answers a call, which takes as long as
// it takes.
func (c *call) asksSomebody() bool {
	return c.method == mcp.MethodElicit || c.method == mcp.MethodCreateMessage
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
	facts = append(facts, f.whoEnded()...)
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

// swallows reports whether the end that waits for a call had stopped reading before it went
// away: it did not take what was sent to it after the request.
func (f *Fold) swallows(c *call) bool {
	back := c.dir.Reverse()
	return f.stopped[back] != 0 && f.held[back] >= blockedFor && f.last[back].seq > c.seq
}

// noLongerRead says when a receiver had gone, and what waited for it.
func (f *Fold) noLongerRead(way transport.Direction) string {
	text := fmt.Sprintf("the %s no longer read (#%d)", way.Receiver(), f.stopped[way])
	if held := f.held[way]; held >= blockedFor && f.last[way].seq != 0 {
		text += fmt.Sprintf(", when #%d had waited %v to be taken", f.last[way].seq, phrase.Brief(held))
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
func (f *Fold) whoEnded() []string {
	switch who, gone := f.end.first(); {
	case who == transport.ServerToClient && f.end.exited.seq != 0:
		return []string{fmt.Sprintf("the server ended first (#%d, exit %s)", gone.seq, clip(f.end.exit.String()))}
	case who == transport.ServerToClient:
		return []string{fmt.Sprintf("the server ended first (#%d)", gone.seq)}
	case who == transport.ClientToServer && f.end.closed[who] != gone:
		return []string{fmt.Sprintf("the server was asked to end (#%d, exit %s)", gone.seq, clip(f.end.exit.String()))}
	case who == transport.ClientToServer:
		return []string{fmt.Sprintf("the client ended the session (#%d) while it was open", gone.seq)}
	}
	return nil
}

// lastFrames says who spoke last.
func (f *Fold) lastFrames(c *call) string {
	last := f.lastOf(c)
	answerer := last[c.dir.Reverse()].seq
	said := fmt.Sprintf("the %s sent nothing after the request", c.dir.Receiver())
	if answerer > c.seq {
		said = fmt.Sprintf("the %s sent #%d last", c.dir.Receiver(), answerer)
	}
	return fmt.Sprintf("%s, the %s #%d", said, c.dir.Sender(), last[c.dir].seq)
}

// lastOf returns the last frames of both directions: over HTTP those of the call's scope,
// as others may be of another client.
func (f *Fold) lastOf(c *call) [3]moment {
	if c.stream != 0 {
		return c.in.last
	}
	return f.last
}

// A client is taken for silent behind an answer when it says nothing for silentFor and
// for silentTimes as long as it ever took before to go on.
const (
	silentFor   = time.Second
	silentTimes = 10
)

// silence watches for a client that does not go on behind an answer before which
// notifications stood: what a hang looks like where pipes hold all that is not read.
type silence struct {
	call    string // the last of the client's that was answered behind notifications
	notices int
	seq, at uint64        // its answer, and what ended the silence
	since   time.Duration // of the answer
	until   time.Duration
	thought time.Duration // the longest that the client took before
}

// speaks takes note of a frame of the client.
func (s *silence) speaks(f *Fold, e store.Event) {
	if behind := f.last[transport.ServerToClient].at; behind > f.last[transport.ClientToServer].at {
		s.thought = max(s.thought, e.At-behind)
	}
	s.seq = 0
}

// answered takes note of an answer to the client.
func (s *silence) answered(e store.Event, c *call, notices int) {
	if s.seq = 0; notices > 0 && e.Stream == 0 {
		*s = silence{call: c.String(), notices: notices, seq: e.Seq, since: e.At, thought: s.thought}
	}
}

// ends takes note of the first event that ends the wait.
func (s *silence) ends(e store.Event) {
	if s.at == 0 {
		s.at, s.until = e.Seq, e.At
	}
}

// tell says what there was, at the end of a session in which nothing else waits.
func (s *silence) tell(f *Fold) {
	if s.seq == 0 || s.at == 0 || f.hangs {
		return
	}
	if took := s.until - s.since; took >= silentFor && took >= silentTimes*s.thought {
		f.finds(silent, transport.ClientToServer, f.scopes.session.rules.Revision(), []uint64{s.seq, s.at},
			"the client said nothing for %v after it was sent the answer to %s, until #%d; notifications before that answer: %d; a receive loop that waits for room to put them in does not come to the answer (mcprec replay --client inbox:0)",
			phrase.Brief(took), s.call, s.at, s.notices)
	}
}

// ending is how a session on a pipe ended, as far as it has come.
type ending struct {
	closed [3]moment // of each direction, by its sender
	exit   store.ExitInfo
	exited moment // of the server's process
	gaveUp uint64 // the event at which the recorder no longer read the server
	sealed bool   // the recording came to its end
}

// live reports whether nothing says that the session ended.
func (n *ending) live() bool {
	return !n.sealed && n.exited.seq == 0 && n.closed == [3]moment{}
}

// server returns where the server's end shows first.
func (n *ending) server() moment {
	end := n.closed[transport.ServerToClient]
	if x := n.exited; end.seq == 0 || x.seq != 0 && x.seq < end.seq {
		end = x
	}
	return end
}

// first returns which end left first and where, the client as ClientToServer; no
// direction where none left. A server that ends by a signal that asks it to was asked by
// its client, which closes its end that way.
func (n *ending) first() (who transport.Direction, at moment) {
	client, server := n.closed[transport.ClientToServer], n.server()
	switch {
	case server.seq == 0 && client.seq == 0:
		return transport.NoDirection, moment{}
	case client.seq != 0 && (server.seq == 0 || client.seq < server.seq):
		return transport.ClientToServer, client
	case n.exited.seq != 0 && askedToEnd(n.exit):
		return transport.ClientToServer, server
	}
	return transport.ServerToClient, server
}

// askedToEnd reports whether a process ended by SIGHUP, SIGINT or SIGTERM, or with the
// status that a shell gives to one that did.
func askedToEnd(exit store.ExitInfo) bool {
	return slices.Contains([]string{"hangup", "interrupt", "terminated"}, exit.Signal) ||
		exit.Signal == "" && slices.Contains([]int{128 + 1, 128 + 2, 128 + 15}, exit.Code)
}

// endedWith says how a process ended.
func endedWith(exit store.ExitInfo) string {
	if exit.Signal != "" {
		return "by the signal " + clip(exit.Signal)
	}
	return fmt.Sprintf("with exit status %d", exit.Code)
}

// outlivesFor is how long a server may go on without a word when its input has ended.
const outlivesFor = time.Second

// judgeEnding applies the rules E12, E13 and E15 at the end of a session: how the server
// ended, and whether anything was answered.
func (f *Fold) judgeEnding() {
	n := &f.end
	who, _ := n.first()
	failed := n.exited.seq != 0 && (n.exit.Code != 0 || n.exit.Signal != "")
	served := f.results > 0
	switch x := n.exited; {
	case failed && !askedToEnd(n.exit) && f.last[transport.ServerToClient].seq == 0:
		f.finds(notStarted, transport.ServerToClient, "", []uint64{x.seq}, "the server ended %s and had sent nothing", endedWith(n.exit))
		served = true // the finding above says it
	case failed && who == transport.ServerToClient:
		f.finds(ranOut, transport.ServerToClient, f.scopes.session.rules.Revision(), []uint64{x.seq}, "the server ended %s before the client had closed its end", endedWith(n.exit))
	}
	if eof := n.closed[transport.ClientToServer]; eof.seq != 0 && n.exited.seq > eof.seq && f.last[transport.ServerToClient].seq != 0 {
		quiet := max(eof.at, f.last[transport.ServerToClient].at)
		if took := n.exited.at - quiet; took >= outlivesFor {
			f.finds(outlives, transport.ServerToClient, f.scopes.session.rules.Revision(), []uint64{n.exited.seq, eof.seq},
				"the server ended %v after the client had closed its end (#%d), %s; meanwhile it sent nothing", phrase.Brief(took), eof.seq, endedWith(n.exit))
		}
	}
	if served || n.live() || f.lost != 0 {
		return
	}
	switch {
	case f.frames == 0:
		f.finds(unavailing, transport.ClientToServer, "", []uint64{f.seq}, "nothing was said: there is no frame in the recording")
	case f.asked == 0 && !f.listens:
		f.finds(unavailing, transport.ClientToServer, "", []uint64{f.seq}, "the client asked for nothing")
	case f.asked > 0 && f.came.probes == f.asked:
		d := unavailing
		d.Severity = order.Note
		f.finds(d, transport.ServerToClient, "", []uint64{f.seq}, "the client asked which revisions the server knows (%s), and nothing else: %s", mcp.MethodDiscover, f.came.list(f.asked))
	case f.asked > 0 && f.came.count == 0:
		f.finds(unavailing, transport.ServerToClient, "", []uint64{f.seq}, "%s of the client, and no answer", phrase.Plural(f.asked, "request"))
	case f.asked > 0:
		f.finds(unavailing, transport.ServerToClient, "", []uint64{f.seq}, "%s of the client, and no result: %s", phrase.Plural(f.asked, "request"), f.came.list(f.asked))
	}
}

// failures counts what came instead of results to the requests of the client, but for
// subscriptions.
type failures struct {
	count  uint64
	probes uint64   // of these, probes for revisions that were refused as an unknown method is
	said   []string // what came, in its order, each once
	times  []uint64 // how often each came
}

// mostFailures is how many kinds of failures are told apart; the others are one.
const mostFailures = 5

// add counts what came to a call. unknown is whether a server that does not know its method
// may say so.
func (n *failures) add(c *call, said string, unknown bool) {
	if c.dir != transport.ClientToServer || c.method == mcp.MethodListen {
		return
	}
	n.count++
	if unknown && c.method == mcp.MethodDiscover {
		n.probes++
	}
	i := slices.Index(n.said, said)
	if i < 0 && len(n.said) == mostFailures {
		i, n.said[mostFailures-1] = mostFailures-1, "others"
	} else if i < 0 {
		i, n.said, n.times = len(n.said), append(n.said, said), append(n.times, 0)
	}
	n.times[i]++
}

// list names what came to so many requests, and how often where that is not plain.
func (n *failures) list(asked uint64) string {
	said, times := slices.Clone(n.said), slices.Clone(n.times)
	if none := asked - min(n.count, asked); none > 0 {
		said, times = append(said, "no answer"), append(times, none)
	}
	if len(said) > 1 {
		for i := range said {
			said[i] = fmt.Sprintf("%s (%d)", said[i], times[i])
		}
	}
	return strings.Join(said, ", ")
}

// errorSaid names the error of a response.
func errorSaid(m *transport.Message) string {
	said := "error " + clip(string(transport.Member(m.Error, "code")))
	var words string
	if json.Unmarshal(transport.Member(m.Error, "message"), &words) == nil && words != "" {
		said += " (" + clip(words) + ")"
	}
	return said
}
