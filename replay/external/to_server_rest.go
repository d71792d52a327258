package external

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// cancelLate cancels the requests that the schedule cancels when the server is at rest.
func (p *player) cancelLate() {
	for _, c := range p.schedule {
		if c.Kind != LateCancel && c.Kind != Quit {
			continue
		}
		for _, r := range p.owed() {
			if r.seq == c.First {
				p.write(p.cancel([]*request{r}))
			}
		}
	}
}

// cancelAnswered cancels an answered request that the schedule cancels then, and reports whether there was one. Who is
// cancelled should ignore that (basic/utilities/cancellation).
func (p *player) cancelAnswered() bool {
	for _, c := range p.schedule {
		for _, r := range p.requests {
			_, isAnswered := p.play.answers[c.First]
			if c.Kind == Crossed && r.seq == c.First && isAnswered && !r.isOver {
				r.isOver = true
				s := cancellation(r.id)
				p.session.take(transport.ClientToServer, s.frame)
				p.write([]sending{s})
				return true
			}
		}
	}
	return false
}

// leaveStream ends the standalone stream where the schedule does, and reports whether it did.
func (p *player) leaveStream() bool {
	if !p.deaf || p.http == nil {
		return false
	}
	p.deaf = false
	p.http.cut(standalone, false)
	return true
}

// answerReversed answers the questions that wait for the server to be at rest, and reports whether there were any.
func (p *player) answerReversed() bool {
	if !p.reverse || p.holding != 0 || len(p.kept) == 0 {
		return false
	}
	p.release()
	return true
}

// answerLate answers the questions behind which the schedule has the client busy, and reports whether there were any. A
// request that got no answer before that is noted: where a person answers, that may take minutes.
func (p *player) answerLate() bool {
	isOut := slices.ContainsFunc(p.play.frames, func(f frame) bool { return f.seq == p.busy })
	if p.busy == 0 || !isOut {
		return false
	}
	if slices.ContainsFunc(p.owed(), func(r *request) bool { return r.seq == p.busy }) && len(p.kept) > 0 {
		p.play.blocked = append(p.play.blocked, p.busy)
	}
	p.release()
	return true
}

// isBusy reports whether the client will answer, or ask for a list, when the server has nothing more to do.
func (p *player) isBusy() bool { return p.busy != 0 && len(p.kept) > 0 || p.listing != nil }

// listing is a list that the client asks for as soon as the server says that it has changed, and twice more when the
// server is at rest.
type listing struct {
	method  string
	call    *timeline.Call // without an answer; nil: there is none
	answers []string
}

// mostLists is how many times a list is asked for: if the last two differ, each answer is another.
const mostLists = 3

// listOf is the list that a notification says has changed.
var listOf = map[string]string{
	mcp.NotificationToolListChanged:     mcp.MethodListTools,
	mcp.NotificationPromptListChanged:   mcp.MethodListPrompts,
	mcp.NotificationResourceListChanged: mcp.MethodListResources,
}

// hearChange takes a notification. The latest about a list is the one that counts.
func (p *player) hearChange(method string) {
	last := len(p.play.frames) - 1
	list := listOf[method]
	if list == "" || last < 0 {
		return
	}
	p.play.frames[last].hasChange = true
	if p.relist {
		p.listing = &listing{method: list}
		p.askForList()
	}
}

func (p *player) askForList() {
	p.lists++
	s := sending{frame: transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"mcprec-list-%d","method":%q}`, p.lists, p.listing.method)}}
	p.listing.call = p.session.take(transport.ClientToServer, s.frame).Messages[0].Call
	p.write([]sending{s})
}

// hearList takes the answer to a list.
func (p *player) hearList(m *timeline.Message) {
	if l := p.listing; l != nil && l.call == m.Call {
		l.call = nil
		l.answers = append(l.answers, p.canonical(m.Message))
	}
}

// listAgain asks for a list once more when all is answered, and reports whether it did. The client that has asked at once must
// not be left with a list that is old, if it was told nothing since.
func (p *player) listAgain() bool {
	l := p.listing
	if l == nil || l.call != nil || len(p.owed()) > 0 {
		return false
	}
	if len(l.answers) < mostLists {
		p.askForList()
		return true
	}
	p.listing = nil
	if l.answers[0] != l.answers[1] && l.answers[1] == l.answers[2] {
		p.play.found = &fault{
			kind: Unequal, events: []uint64{p.play.frames[len(p.play.frames)-1].seq}, look: procfs.Look{Activity: procfs.Ended}, at: Relist,
			detail: fmt.Sprintf("%s is answered by\n    %s\n  and when the server is at rest by\n    %s", l.method, clip(l.answers[0]), clip(l.answers[1])),
		}
	}
	return false
}

// end ends the client's output: how is the choice to do so early, and "" when all is said. Then it hears the
// server out.
func (p *player) end(how Kind) {
	if how == LateEnd {
		p.awaitRest()
	}
	isAtOnce := how == End && p.http == nil // the pipe keeps what was written
	if !isAtOnce && !p.awaitTaken() {
		return
	}
	p.line.End()
	p.process.Unread = false
	p.play.trace.mute(false)
	p.play.trace.add(Ended)
	if p.http != nil {
		p.leave()
		return
	}
	p.asked = len(p.kept) > 0
	if look := p.awaitEnd(p.patience); look.Activity != procfs.Ended {
		p.failStill(look)
		return
	}
	p.play.status = p.process.Status()
	switch {
	case p.play.status != p.status && p.play.status != "":
		p.fail(Died, procfs.Look{Activity: procfs.Ended}, p.process.Status())
	case p.asked: // a question cannot be answered any more
	case how == LateEnd && len(p.owed()) > 0:
		p.fail(Lost, procfs.Look{Activity: procfs.Ended}, "")
	case how == End:
		for _, r := range p.owed() {
			p.play.dropped = append(p.play.dropped, r.seq)
		}
	}
}

// endRoughly ends a server otherwise than by the end of its input. MCP (basic/lifecycle, Shutdown) has the client close
// the server's input, and send SIGTERM to one that goes on. So a server may go on after the signal, or when nobody reads
// what it says, as long as its input is open: when that has ended too it must end, with whatever status. It owes nothing.
func (p *player) endRoughly(how Choice) {
	if how.Kind == Term {
		p.awaitRest()
		if p.process.IsGone() { // before the signal
			if p.process.Status() != "" {
				p.fail(Died, procfs.Look{Activity: procfs.Ended}, p.process.Status())
			}
			return
		}
	}
	p.process.Unread = false
	if how.Kind == Term {
		p.play.trace.add(Signaled)
		p.process.Terminate()
	}
	if look := p.awaitEnd(child.Searching); look.Activity == procfs.Ended {
		return
	}
	p.play.trace.rest(false)
	p.play.trace.add(Ended)
	p.line.End()
	if look := p.awaitEnd(p.patience); look.Activity != procfs.Ended {
		p.failStays(look, how.Kind)
	} else if how.Kind == Term {
		p.play.outlasted = append(p.play.outlasted, how.First)
	}
}

// awaitEnd hears the server until it has ended, or is at rest and nothing is worth waiting for.
func (p *player) awaitEnd(patience child.Patience) (look procfs.Look) {
	for began := time.Now(); ; {
		look, isMoved := p.process.Settle(patience)
		isOver := look.Activity == procfs.Ended || !patience.IsWorthIt(look, time.Since(began))
		switch {
		case isMoved:
			p.hear()
		case isOver:
			p.hear()
			return look
		default:
			time.Sleep(500 * time.Microsecond) // until its timer, or what is outside, has moved it
		}
	}
}

// awaitRest waits until the server is at rest.
func (p *player) awaitRest() {
	for isMoved := true; isMoved; p.hear() {
		_, isMoved = p.process.Settle(p.patience)
	}
	p.play.trace.rest(len(p.owed()) > 0)
}

// awaitTaken waits until the server has read what was written, and reports whether it has.
func (p *player) awaitTaken() bool {
	for began := time.Now(); p.line.Untaken() > 0; {
		look, isMoved := p.process.Settle(p.patience)
		if isMoved {
			p.hear()
			continue
		}
		if look.Activity == procfs.Ended || p.line.Untaken() == 0 {
			break
		}
		if !p.patience.IsWorthIt(look, time.Since(began)) {
			p.failStill(look)
			return false
		}
	}
	return true
}

// failStill notes that a server at rest has not read all that it was sent, or goes on after its end.
func (p *player) failStill(look procfs.Look) {
	if untaken := p.line.Untaken(); untaken > 0 {
		p.fail(Hang, look, fmt.Sprintf("%d bytes that it was sent are not read", untaken))
		return
	}
	p.failStays(look, "")
}

// failStays notes that a server goes on after its end; at is how that came. One that did not get SIGTERM gets it now,
// as from a client that has lost its patience.
func (p *player) failStays(look procfs.Look, at Kind) {
	p.play.lines = p.process.Alive() // before a signal ends it
	detail := ""
	if at != Term {
		p.play.trace.add(Signaled)
		p.process.Terminate()
		detail = "SIGTERM ends it"
		if after := p.awaitEnd(child.Searching); after.Activity != procfs.Ended {
			detail = "SIGTERM does not end it either"
		}
	}
	p.fail(Lingers, look, detail)
	p.play.found.at = at
}

// leave ends a session over HTTP, whose server goes on: it must answer the end, and the beginning of another
// session, if only with a status.
func (p *player) leave() {
	for _, r := range p.owed() {
		r.isOwed = false
	}
	if isAnswered := p.awaitOwed("the end of the session has no response"); !isAnswered || p.process.IsGone() {
		return
	}
	p.play.open = p.http.open()
	if p.http.again() {
		p.awaitOwed("after the session the beginning of another one has no response")
	}
}

// awaitOwed waits until all requests have a response, if only a status, and the server is at rest.
func (p *player) awaitOwed(otherwise string) (isAnswered bool) {
	for began := time.Now(); ; {
		look, isMoved := p.process.Settle(p.patience)
		switch {
		case isMoved:
			p.line.Said() // nobody listens to it any more
		case look.Activity == procfs.Ended && p.process.Status() != "":
			p.fail(Died, look, p.process.Status())
			return false
		case look.Activity == procfs.Ended, len(p.http.owed()) == 0:
			return true
		case !p.patience.IsWorthIt(look, time.Since(began)):
			p.fail(Hang, look, otherwise)
			return false
		default:
			time.Sleep(500 * time.Microsecond) // until its timer, or what is outside, has moved it
		}
	}
}
