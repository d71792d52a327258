package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// choices returns the choices of the client that can be made alone, by kind.
func (s serverPeer) choices(frames []frame) [][]Schedule {
	made := newChoices()
	for i, f := range frames {
		made.at(End, f)
		if f.split > 0 {
			made.add(Choice{Kind: Split, First: f.seq, Last: f.seq, At: f.split})
		}
		s.addAboutQuestions(made, frames, i)
		if f.isPage && made.isNew(Rewalk, f.what) {
			made.at(Rewalk, f)
			s.addBetween(made, frames, f)
		}
		if f.isRequest && !f.isHello {
			s.addAboutCall(made, frames, i)
		}
		if f.isResumable {
			made.at(Cut, f)
			if at := slices.IndexFunc(frames[i+1:], func(other frame) bool { return other.isRequest }); at >= 0 && !f.isHello {
				made.until(Away, f, frames[i+1+at])
			}
		}
	}
	addAllCancelled(made, frames)
	s.addMiss(made, frames)
	together := frames
	if s.URL != "" { // the answer to initialize names the session
		together = slices.DeleteFunc(slices.Clone(frames), func(f frame) bool { return f.isHello })
	}
	return append(joins(together), made.inTurn(End, LateEnd, Cancel, LateCancel, Prompt, Quit, Step, Leave, Sip, Flood, Swap, Deaf, Reopen, Miss, Split, Hold, Busy, Alias, Withdraw, Refuse, Relist, Rewalk, Between, Moved, Roots,
		Reverse, LastFirst, Unread, Cut, Away, HangUp, Meet, Visit, Part, Unsubscribe, Desert, Clash, Term, Gone, Crossed)...)
}

// addAboutQuestions adds the choices about what the server asks and tells behind a frame.
func (s serverPeer) addAboutQuestions(made choices, frames []frame, i int) {
	f := frames[i]
	if f.questions > 0 {
		made.until(Hold, f, frames[min(i+3, len(frames)-1)])
		made.at(Refuse, f)
		isOther := func(other frame) bool { return other.isRequest && other.what != f.what }
		if at := slices.IndexFunc(frames[i+1:], isOther); at >= 0 {
			made.until(Busy, f, frames[i+1+at])
			if s.URL == "" && made.isNew(Alias, f.what) {
				made.until(Alias, f, frames[i+1+at])
			}
		}
	}
	if f.questions > 0 && f.isRequest && !f.isHello {
		made.at(Withdraw, f)
	}
	if s.URL == "" { // over HTTP each answer has a connection of its own
		if f.questions > 1 {
			made.at(Reverse, f)
		}
		for _, other := range frames[i+1:] {
			asksToo := f.questions > 0 && other.questions > 0 && slices.Contains(f.beside, other.seq)
			if asksToo && f.isRequest && other.isRequest && made.isNew(LastFirst, f.what+"\n"+other.what) {
				made.until(LastFirst, f, other)
			}
		}
	}
	if f.asksRoots && s.tellsRoots() && made.isNew(Moved, "") {
		made.at(Moved, f)
	}
	if f.hasChange {
		made.at(Relist, f)
	}
}

// addAllCancelled adds of each tool that all its calls but the last are cancelled while they run: what each of them has taken must
// be there for the last one.
func addAllCancelled(made choices, frames []frame) {
	const least = 3
	for i, f := range frames {
		var calls Schedule
		for _, other := range frames[i:] {
			if other.isRequest && !other.isHello && other.what == f.what {
				calls = append(calls, Choice{Kind: LateCancel, First: other.seq, Last: other.seq})
			}
		}
		if len(calls) >= least && made.isNew(LateCancel, f.what) {
			made.byKind[LateCancel] = append([]Schedule{calls[:len(calls)-1]}, made.byKind[LateCancel]...) // it is the rarer thing to try
		}
	}
}

// addMiss adds that the client has no standalone stream at the last request behind which the server tells of a change. That is not told
// again, unless the server keeps it.
func (s serverPeer) addMiss(made choices, frames []frame) {
	for i := len(frames) - 1; i > 0 && s.URL != ""; i-- {
		if f := frames[i]; f.hasChange && f.isRequest && !f.isHello {
			made.until(Miss, frames[i-1], f)
			return
		}
	}
}

// addBetween adds the calls that are made between two pages of the list of a frame: each with other arguments, if the server asks
// nothing for it.
func (s serverPeer) addBetween(made choices, frames []frame, page frame) {
	const most = 8
	for _, f := range frames {
		messages := timeline.MessagesOf(recordedFrame(s.events, f.seq))
		if len(messages) != 1 || messages[0].Method != mcp.MethodCallTool || f.questions > 0 || len(made.byKind[Between]) == most {
			continue
		}
		if made.isNew(Between, page.what+"\n"+f.what+string(s.argumentsOf(f.seq))) {
			made.until(Between, page, f)
		}
	}
}

// addAboutCall adds the choices about a request that can be cancelled.
func (s serverPeer) addAboutCall(made choices, frames []frame, i int) {
	f := frames[i]
	isWeb := s.URL != ""
	made.at(Cancel, f)
	made.at(LateCancel, f)
	made.until(Unread, f, frames[min(i+3, len(frames)-1)])
	if len(f.beside) > 1 {
		isNext := func(other frame) bool { return other.seq == f.beside[1] && other.isRequest }
		at := slices.IndexFunc(frames, isNext)
		if at >= 0 && made.isNew(Quit, f.what+"\n"+frames[at].what) {
			made.until(Quit, f, frames[at])
			if f.what == frames[at].what { // the other waits for it, perhaps
				made.until(Quit, frames[at], f)
			}
			for _, last := range f.beside[1:min(3, len(f.beside))] { // two of three wait where two of the same are one
				if !isWeb {
					made.add(Choice{Kind: Leave, First: f.seq, Last: last})
				}
			}
		}
		if at >= 0 && (f.what != frames[at].what || !bytes.Equal(s.argumentsOf(f.seq), s.argumentsOf(frames[at].seq))) && made.isNew(Swap, f.what+"\n"+frames[at].what) {
			made.until(Swap, f, frames[at])
		}
	}
	if at := slices.IndexFunc(frames[i+1:], func(other frame) bool { return other.isRequest }); f.isTold && at >= 0 && slices.Contains(f.beside, frames[i+1+at].seq) {
		made.until(Prompt, f, frames[i+1+at])
	}
	s.addSteps(made, frames, i)
	if last, isBig := pageful(frames[i:], f.beside); isBig && !isWeb && made.isNew(Sip, f.what) {
		made.until(Sip, f, last)
	}
	isAgain := func(other frame) bool { return other.what == f.what && other.isRequest }
	if slices.ContainsFunc(frames[i+1:], isAgain) && made.isNew(Flood, f.what) { // it may be called more than once
		s.addFloods(made, frames, i)
	}
	if isWeb {
		made.at(HangUp, f)
	} else {
		made.at(LateEnd, f)
	}
	if isWeb && len(made.byKind[Deaf]) == 0 {
		made.at(Deaf, f)
		made.at(Reopen, f)
	}
	if !made.isNew(Crossed, f.what) {
		return
	}
	made.at(Crossed, f)
	if s.tellsRoots() {
		made.at(Roots, f)
	}
	if !isWeb { // a server over HTTP is there for the next client
		made.at(Term, f)
		made.at(Gone, f)
		return
	}
	made.at(Part, f)
	if strings.HasPrefix(f.what, mcp.MethodSubscribe+" ") {
		isOther := func(other frame) bool {
			return other.isRequest && !strings.HasPrefix(other.what, mcp.MethodSubscribe+" ")
		}
		if at := slices.IndexFunc(frames[i:], isOther); at >= 0 {
			made.at(Unsubscribe, frames[i+at])
		}
	}
	if f.waits { // another client would wait for what this one does
		return
	}
	if f.rests > 0 {
		made.at(Desert, f)
		made.at(Clash, f)
	}
	if meet, ok := meeting(s.events, frames, f); ok {
		made.add(meet)
		if strings.HasPrefix(f.what, mcp.MethodCallTool) {
			meet.Kind = Visit
			made.add(meet)
		}
	}
}

// copiesOf returns how many calls a [Flood] has: more than most pools have workers, and most short queues places. Of calls that take
// no time it is as many as have answers that fill the client's pipe twice, if these are not too many.
func copiesOf(f frame, isWeb bool) int {
	const least, most, room = 20, 80, 8 << 10
	if isWeb || f.rests > 0 || f.size == 0 {
		return least
	}
	return min(max(least, room/f.size), most)
}

// addFloods adds that a call goes out many times at once, and that all of these are cancelled, also those that wait for their turn.
// Over HTTP it goes out so when the client has ended its standalone stream, too: what the server tells has nowhere to go.
func (s serverPeer) addFloods(made choices, frames []frame, i int) {
	f := frames[i]
	flood := Choice{Kind: Flood, First: f.seq, Last: f.seq, At: copiesOf(f, s.URL != "")}
	made.byKind[Flood] = append(made.byKind[Flood], Schedule{flood}, Schedule{flood, {Kind: LateCancel, First: f.seq, Last: f.seq}})
	isEarlier := func(other frame) bool { return other.isRequest && !other.isHello }
	if before := slices.IndexFunc(frames[:i], isEarlier); s.URL != "" && before >= 0 {
		made.add(flood, Choice{Kind: Deaf, First: frames[before].seq, Last: frames[before].seq})
	}
}

// addSteps adds what comes in the middle of a call that takes time: once of each two tools the next message when the server sleeps,
// or between two of its steps; and once of each tool the cancellation of the call there, alone and beside another of its tool. Where
// the call changes what the client is told the changes of, and the next message is such a call, too, that must be told as well.
func (s serverPeer) addSteps(made choices, frames []frame, i int) {
	const most = 2
	f := frames[i]
	if f.rests == 0 {
		return
	}
	add := func(at int, kind Kind, last frame, more ...Choice) {
		base, step := Choice{Kind: kind, First: f.seq, Last: last.seq}, Choice{Kind: Step, First: f.seq, Last: f.seq, At: at}
		made.byKind[Step] = append(made.byKind[Step], append(Schedule{base, step}, more...))
	}
	var next *frame
	if i+1 < len(frames) && slices.Contains(f.beside, frames[i+1].seq) {
		next = &frames[i+1]
	}
	isFirst := made.isNew(Step, f.what)
	if next != nil && made.isNew(Step, f.what+"\n"+next.what) {
		for at := range min(f.rests, most+1) {
			add(at, Prompt, *next)
		}
	}
	if !isFirst {
		return
	}
	if next != nil && next.what == f.what && f.hasChange {
		add(0, Prompt, *next, Choice{Kind: Relist, First: next.seq, Last: next.seq})
	}
	isOther := func(other frame) bool {
		return other.what == f.what && slices.Contains(f.beside, other.seq) && !bytes.Equal(s.argumentsOf(f.seq), s.argumentsOf(other.seq))
	}
	other := slices.IndexFunc(frames[i+1:], isOther)
	for at := 1; at <= min(f.rests-1, most); at++ {
		add(at, LateCancel, f)
		if other >= 0 {
			add(at, Quit, frames[i+1+other])
		}
	}
}

// argumentsOf returns the arguments of a recorded call.
func (s serverPeer) argumentsOf(seq uint64) json.RawMessage {
	messages := timeline.MessagesOf(recordedFrame(s.events, seq))
	if len(messages) != 1 {
		return nil
	}
	return transport.Member(messages[0].Params, "arguments")
}

// tellsRoots reports whether the recorded client has declared that it tells of changes of its roots, and was asked for them.
func (s serverPeer) tellsRoots() bool {
	for _, e := range s.events {
		for _, m := range timeline.MessagesOf(transport.Frame{Bytes: e.Payload}) {
			if e.Kind == store.Frame && m.Method == mcp.MethodInitialize {
				declared := transport.Member(m.Params, "capabilities", "roots", "listChanged")
				return string(declared) == "true" && repliesIn(s.events)[mcp.MethodListRoots] != nil
			}
		}
	}
	return false
}

// joins implements peer: of a client the requests meet.
func (serverPeer) joins(f frame) bool { return f.isRequest }

// whyApart implements peer.
func (serverPeer) whyApart(first, second frame) string {
	if slices.Contains(second.needs, first.seq) {
		return "the second needs the answer to the first"
	}
	return "the second waits for what comes between them"
}

// pageful returns the last of some neighbours, the first of which is the first of some frames, whose answers fill more than a
// page, and reports whether there is one.
func pageful(frames []frame, neighbours []uint64) (last frame, isBig bool) {
	const page, most = 4 << 10, 12
	size := 0
	for i, f := range frames[:min(most, len(frames))] {
		if !slices.Contains(neighbours, f.seq) {
			break
		}
		size += f.size
		if i > 0 && size > page {
			return f, true
		}
	}
	return last, false
}

// words says what a choice of the client does.
func (s serverPeer) words(c Choice, name func(uint64) string) string {
	first, last := name(c.First), name(c.Last)
	isWeb := s.URL != ""
	switch c.Kind {
	case Join:
		if isWeb {
			return fmt.Sprintf("%s to %s go out at once, each on a connection of its own", first, last)
		}
		return fmt.Sprintf("%s to %s arrive together", first, last)
	case Split:
		return fmt.Sprintf("%s goes out in two writes, split at byte %d", first, c.At)
	case Ahead:
		return fmt.Sprintf("the client does not wait for the answer to %s", first)
	case Unread:
		return fmt.Sprintf("the client reads nothing from %s until %s has gone out", first, last)
	case Hold:
		return fmt.Sprintf("the client answers no question from %s until %s has gone out", first, last)
	case Alias:
		return fmt.Sprintf("the client answers no question of the server from %s until it does nothing more with %s, which has the id of such a question: each end has its own ids", first, last)
	case Busy:
		return fmt.Sprintf("the client answers no question from %s until the server sleeps with %s", first, last)
	case Withdraw:
		return fmt.Sprintf("the client cancels %s while the server waits for its answer to a question, and answers then", first)
	case Refuse:
		return fmt.Sprintf("the client answers the questions behind %s with an error, as when its user declines", first)
	case Moved:
		return fmt.Sprintf("behind %s the client's roots change when the server has asked for them, and it answers the second question before the first", first)
	case Roots:
		return fmt.Sprintf("the client says, together with %s, that its roots have changed", first)
	case Relist:
		return fmt.Sprintf("behind %s the client asks for a list or a resource as soon as the server says that it has changed, and again when the server sleeps", first)
	case Between:
		return fmt.Sprintf("the client walks through the list of %s, and makes the call of %s between two of its pages", first, last)
	case Rewalk:
		return fmt.Sprintf("the client begins the list of %s again in front of that page", first)
	case Reverse:
		return fmt.Sprintf("the client answers the questions behind %s when the server sleeps, the last one first", first)
	case LastFirst:
		return fmt.Sprintf("%s to %s arrive together, and the client answers the questions behind them when the server sleeps, the last one first", first, last)
	case Cancel:
		if isWeb {
			return fmt.Sprintf("the client cancels %s at once", first)
		}
		return fmt.Sprintf("the client cancels %s, sent together with the call", first)
	case LateCancel:
		return fmt.Sprintf("the client cancels %s while the call runs and the server sleeps", first)
	case Prompt:
		return fmt.Sprintf("the client sends %s as soon as the server tells it something behind %s", last, first)
	case Quit:
		if c.First > c.Last {
			return fmt.Sprintf("%s to %s arrive together, and the client cancels the last while they run and the server sleeps", last, first)
		}
		return fmt.Sprintf("%s to %s arrive together, and the client cancels the first while they run and the server sleeps", first, last)
	case Leave:
		return fmt.Sprintf("%s to %s arrive together, and the client ends its output while they run and the server sleeps", first, last)
	case Sip:
		return fmt.Sprintf("%s to %s arrive together, and the client reads a page of 4 KiB whenever the server can do nothing more", first, last)
	case Flood:
		if isWeb {
			return fmt.Sprintf("%s goes out %d times at once, each on a connection of its own", first, c.At)
		}
		return fmt.Sprintf("%s goes out %d times at once, and the client reads a page, through a pipe of 4 KiB, whenever the server can do nothing more", first, c.At)
	case Step:
		return stepWords(c, first)
	case Swap:
		return fmt.Sprintf("%s arrives together with %s, and in front of it", last, first)
	case Crossed:
		return fmt.Sprintf("the client cancels %s behind its answer, as if the two had crossed on the way", first)
	case End:
		if isWeb {
			return fmt.Sprintf("the client deletes its session right behind %s", first)
		}
		return fmt.Sprintf("the client ends its output right behind the write of %s", first)
	case LateEnd:
		return fmt.Sprintf("the client ends its output behind %s, while the call runs and the server sleeps", first)
	case Term:
		return fmt.Sprintf("the client sends SIGTERM behind %s, when the server sleeps, and ends its output then", first)
	case Gone:
		return fmt.Sprintf("the client closes the server's output, writes %s, and ends its own output when the server sleeps", first)
	}
	return wordsOverHTTP(c, first, last)
}

// stepWords says when that is done which the words of the choice in front say.
func stepWords(c Choice, first string) string {
	if c.At == 0 {
		return fmt.Sprintf("not then, but when the server sleeps with %s", first)
	}
	return fmt.Sprintf("not then, but when the server has moved by itself %s behind %s, and sleeps again", phrase.Plural(c.At, "time"), first)
}

// wordsOverHTTP says what a choice does that can be made over HTTP only, about two named frames.
func wordsOverHTTP(c Choice, first, last string) string {
	switch c.Kind {
	case Deaf:
		return fmt.Sprintf("the client ends its standalone stream when the server sleeps with %s, and goes on without one", first)
	case Reopen:
		return fmt.Sprintf("the client opens another standalone stream when the server sleeps with %s, and ends the first one then, as after a lost connection", first)
	case Miss:
		return fmt.Sprintf("the client ends its standalone stream when the server sleeps with %s, and comes back by the id of its last event when %s is answered", first, last)
	case Clash:
		return fmt.Sprintf("another client, with a session of its own, makes the call of %s under its id while that runs, and this client cancels its own when the server sleeps", first)
	case Desert:
		return fmt.Sprintf("another client makes the call of %s, and ends its session while that runs, when this one makes it", first)
	case Unsubscribe:
		return fmt.Sprintf("another client, with a session of its own, subscribes to what this one has subscribed to, and unsubscribes, in front of %s", first)
	case Part:
		return fmt.Sprintf("another client, with a session of its own, ends that together with %s", first)
	case Cut:
		return fmt.Sprintf("the response to %s is cut behind its first event with an id, and the client comes back for the rest", first)
	case Away:
		return fmt.Sprintf("the response to %s is cut behind its first event with an id, and the client comes back for the rest when %s has gone out", first, last)
	case HangUp:
		return fmt.Sprintf("the client hangs up on %s at once, and does not come back", first)
	case Meet:
		return fmt.Sprintf("another client, with a session of its own, asks what %s asks, together with %s and under its id", last, first)
	case Visit:
		return fmt.Sprintf("another client, with a session of its own, asks what %s asks when %s is answered, and the client goes on when the server does nothing more", last, first)
	}
	return Schedule{c}.Token()
}

// choices returns the choices of the server that can be made alone, by kind.
func (c clientPeer) choices(frames []frame) [][]Schedule {
	const times = 100
	made := newChoices()
	hello := slices.IndexFunc(frames, func(f frame) bool { return f.isHello }) // the revisions without a handshake have no ping
	for i, f := range frames {
		made.at(Close, f)
		if !c.OverHTTP() && f.isAnswer {
			made.at(End, f)
			isBeside := func(other frame) bool { return slices.Contains(other.beside, f.seq) }
			if first := slices.IndexFunc(frames[:i], isBeside); first >= 0 { // with all that may come with it
				made.add(Choice{Kind: End, First: f.seq, Last: f.seq}, Choice{Kind: Join, First: frames[first].seq, Last: f.seq})
			}
		}
		if f.split > 0 {
			made.add(Choice{Kind: Split, First: f.seq, Last: f.seq, At: f.split})
		}
		if f.isAhead {
			made.at(Early, f)
		}
		if f.isAmong || f.isTicking && f.page != "" { // what it reads may change before it has it
			made.at(Late, f)
		}
		if f.isAmong && !f.isAnswer {
			made.at(Behind, f)
		}
		if f.isAnswer && !f.isHello && !c.OverHTTP() && i+1 < len(frames) && made.isNew(Overdue, f.what) {
			made.at(Overdue, f)
		}
		isFirst, isLast := i > 0 && !frames[i-1].hasCalledOff, i == len(frames)-1 // behind a cancellation
		if f.hasCalledOff && !c.OverHTTP() && (isFirst || isLast) {
			made.at(Anyway, f)
		}
		if f.isRequest && f.isInCall {
			made.at(Namesake, f)
		}
		if f.isRequest && !c.OverHTTP() {
			made.at(Twin, f)
			made.at(Retract, f)
		}
		if f.isSubscribed {
			made.at(Gap, f)
		}
		if f.isNotice {
			made.add(Choice{Kind: Repeat, First: f.seq, Last: f.seq, At: times})
		}
		if f.canFill && f.isAnswer && !f.isHello {
			made.at(Stderr, f)
		}
		if hello >= 0 && i > hello {
			made.at(Ping, f)
		}
		if hello >= 0 && i > hello && frames[hello].changes != "" {
			made.at(Change, f)
		}
		if i+1 < len(frames) {
			made.until(Unread, f, frames[min(i+3, len(frames)-1)])
		}
		if c.OverHTTP() {
			made.addOverHTTP(f)
		}
	}
	slices.Reverse(made.byKind[End]) // behind the last answer a client can have done all
	return append(joins(frames), made.inTurn(Close, Poll, Drop, Forget, Break, EndAlone, Form, NoStream, End, Ping, Namesake, Twin, Retract, Change, Gap, Stderr, Split,
		Early, Late, Behind, Overdue, Anyway, Repeat, Unread)...)
}

// addOverHTTP adds the choices of a server over HTTP at a frame.
func (c choices) addOverHTTP(f frame) {
	if f.way.IsResumable && (f.isAnswer || f.way.IsAlone) {
		for _, times := range []int{1, 2} { // one that has come back once must not have forgotten where
			c.add(Choice{Kind: Poll, First: f.seq, Last: f.seq, At: times})
		}
	}
	if f.way.IsBeside {
		c.at(EndAlone, f)
	}
	if f.isAnswer {
		c.at(Drop, f)
		c.at(Break, f)
	}
	if f.isAnswer && f.way.IsFirst {
		c.at(Form, f)
	}
	if f.isAnswer && f.way.IsFirst && f.way.InSession && !f.isHello {
		c.at(Forget, f)
	}
	if f.isHello {
		c.at(NoStream, f)
	}
}

// joins implements peer.
func (clientPeer) joins(frame) bool { return true }

// whyApart implements peer.
func (clientPeer) whyApart(_, _ frame) string { return "it needs what the client said in between" }

// words says what a choice of the server does.
func (clientPeer) words(c Choice, name func(uint64) string) string {
	first, last := name(c.First), name(c.Last)
	switch c.Kind {
	case Join:
		return fmt.Sprintf("%s to %s arrive together", first, last)
	case Split:
		return fmt.Sprintf("%s goes out in two writes, split at byte %d", first, c.At)
	case Unread:
		return fmt.Sprintf("the server reads nothing from %s until %s has gone out", first, last)
	case Early:
		return fmt.Sprintf("the server sends %s as soon as it may", first)
	case Late:
		return fmt.Sprintf("the server keeps %s back until the client does nothing more without it", first)
	case Behind:
		return fmt.Sprintf("the server sends %s behind the next message, before it answers anything more", first)
	case Overdue:
		return fmt.Sprintf("the server keeps %s back until the client has given it up and asked for something else, and sends it in front of the answer to that", first)
	case Repeat:
		return fmt.Sprintf("the server sends %s %d times", first, c.At)
	case Ping:
		return fmt.Sprintf("the server sends a ping in front of %s, and waits for its answer", first)
	case Namesake:
		return fmt.Sprintf("the server asks %s under the id of a call of the client that has no answer: each end has its own ids", first)
	case Twin:
		return fmt.Sprintf("the server asks %s twice at once, under two ids", first)
	case Retract:
		return fmt.Sprintf("in front of %s the server asks the same under another id, and cancels that at once", first)
	case Gap:
		return fmt.Sprintf("what is told behind %s has changed in front of it: it is not told, and who reads it gets the latest", first)
	case Change:
		return fmt.Sprintf("the server says in front of %s that a list has changed", first)
	case Anyway:
		return fmt.Sprintf("in front of %s the server answers what the client has cancelled, as if the two had crossed on the way", first)
	case Stderr:
		return fmt.Sprintf("in front of %s the server writes %d KiB of lines to its standard error", first, errorLines>>10)
	case Close:
		return fmt.Sprintf("the server ends in place of %s", first)
	case End:
		return fmt.Sprintf("the server ends right behind %s", first)
	case Poll:
		return fmt.Sprintf("the response ends %s in front of %s, behind an event with an id by which the client can come back", phrase.Plural(c.At, "time"), first)
	case Drop:
		return fmt.Sprintf("the response ends in place of %s", first)
	case Break:
		return fmt.Sprintf("the connection ends in place of %s", first)
	case Forget:
		return fmt.Sprintf("the server has forgotten the session: 404 in place of %s, and for each request behind it", first)
	case Form:
		return fmt.Sprintf("%s comes as a stream of events if the recorded one was application/json, and the other way round", first)
	case EndAlone:
		return fmt.Sprintf("the standalone stream ends in front of %s", first)
	case NoStream:
		return "the server has no standalone stream: a GET gets 405"
	}
	return Schedule{c}.Token()
}
