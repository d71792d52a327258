package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// cancelLate cancels the requests that the schedule cancels when the server is at rest, and reports whether there was one. A server
// that may move by itself is left to do so as often as the schedule has that.
func (p *player) cancelLate(isWorthIt bool) (isCancelled bool) {
	if isWorthIt && p.isEarly() {
		return false
	}
	for _, c := range p.schedule {
		if c.Kind != LateCancel && c.Kind != Quit {
			continue
		}
		for _, r := range p.owed() {
			if r.seq == c.First {
				p.write(p.cancel([]*request{r}))
				isCancelled = true
			}
		}
	}
	return isCancelled
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

// leaveStream ends the standalone stream where the schedule does, or puts another in its place, and reports whether it did.
func (p *player) leaveStream() bool {
	if p.http == nil {
		return false
	}
	if p.deaf {
		p.deaf = false
		p.http.cut(standalone, false)
		return true
	}
	p.reopen = p.reopen && p.http.reopen(false)
	return p.reopen || p.missed != 0 && len(p.owed()) == 0 && p.miss()
}

// miss ends the standalone stream, and comes back to it when the frame has gone out of which the client is to miss something. It
// reports whether there was something to do.
func (p *player) miss() bool {
	isSent := slices.ContainsFunc(p.play.frames, func(f frame) bool { return f.seq == p.missed })
	if p.hasLeft && !isSent {
		return false
	}
	if p.hasLeft {
		p.missed, p.pauses = 0, false
		return p.http.reopen(true)
	}
	p.hasLeft = p.http.reopen(true)
	p.pauses = p.hasLeft // a server may see only at its next word on the stream that nobody is there
	if !p.hasLeft {
		p.missed = 0
	}
	return p.hasLeft
}

// answerReversed answers the questions that wait for the server to be at rest, and reports whether there were any.
func (p *player) answerReversed() bool {
	if !p.reverse || p.holding != 0 || len(p.kept) == 0 {
		return false
	}
	p.release()
	return true
}

// meetQuestions takes what the schedule has the client do with the questions and the news of the server behind some requests.
func (p *player) meetQuestions(c Choice, requests []*request) {
	switch c.Kind {
	case Hold:
		p.holding = c.Last
	case Busy, Alias:
		p.holding, p.busy = c.Last, c.Last
	case Withdraw:
		if len(requests) > 0 {
			p.holding, p.busy, p.called = c.First, c.First, requests[0]
		}
	case Refuse:
		p.refuse = true
	case Reverse, LastFirst:
		p.reverse = true
	case Relist:
		p.relist = true
	case Prompt:
		p.prompt = requests
	case Moved:
		p.moves, p.isInTurn = true, turn(c.At) == before
	}
}

// isPrompted reports whether the server has told something for which the client sends its next message at once.
func (p *player) isPrompted() bool {
	last := len(p.play.frames) - 1
	if len(p.prompt) == 0 || last < 0 || len(p.ready) == 0 {
		return false
	}
	if p.isEarly() || !p.isPaced && !p.play.frames[last].isTold {
		return false
	}
	for _, r := range p.prompt {
		r.isAhead = true
	}
	p.prompt, p.prompted = nil, p.prompt
	return true
}

// mostSips is how many pages are read in that way: a server may write for ever.
const mostSips = 1 << 14

// beginSipping makes the pipe of the server's output small, and reads nothing more of it but sips.
func (p *player) beginSipping() {
	if pipes, isPipe := p.line.(stdio); isPipe {
		pipes.Narrow()
		p.process.Unread, p.sips = true, mostSips
	}
}

// flood returns more calls like one that goes out, and begins to sip.
func (p *player) flood(c Choice, first sending) (more []sending) {
	for i := 1; i < c.At; i++ {
		s := sending{frame: transport.Frame{Bytes: sameUnder(fmt.Appendf(nil, `"mcprec-more-%d"`, i), first.frame.Bytes)}}
		for _, m := range p.session.take(transport.ClientToServer, s.frame).Messages {
			if m.Role == timeline.Asks {
				p.requests[m.Call] = &request{frame: frame{seq: first.seq, id: m.ID, what: p.play.frames[len(p.play.frames)-1].what}, isOwed: true}
			}
		}
		more = append(more, s)
	}
	p.floods = true
	p.beginSipping()
	return more
}

// sameUnder returns a request with another id, and with a progress token of its own if it has one.
func sameUnder(id json.RawMessage, request []byte) []byte {
	params := transport.Member(request, "params")
	meta := transport.Member(params, mcp.MemberMeta)
	if transport.Member(meta, mcp.MemberProgressToken) != nil {
		meta = withMember(meta, mcp.MemberProgressToken, id)
		request = withMember(request, "params", withMember(params, mcp.MemberMeta, meta))
	}
	return withID(request, id)
}

// sip reads a page of what a server at rest has written, and reports whether there was anything. When all is answered, or
// nothing more comes, the client reads as before.
func (p *player) sip(isWorthIt bool) bool {
	if p.sips == 0 || p.floods && isWorthIt {
		return false
	}
	isMore := p.line.(stdio).Sip()
	if isMore {
		p.sips--
		p.hear()
	}
	if len(p.owed()) == 0 || !isMore && !isWorthIt || p.sips == 0 {
		p.sips, p.process.Unread = 0, false
		return true
	}
	return isMore
}

// refusal returns the answer of a client whose user declines what a frame answers.
func (p *player) refusal(answer transport.Frame) transport.Frame {
	for _, m := range timeline.MessagesOf(answer) {
		for _, question := range p.session.Open(transport.ServerToClient) {
			if question.Key() == mcp.KeyOf(m.ID) && question.Method != mcp.MethodPing {
				answer.Bytes = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"the user has declined"}}`, m.ID)
			}
		}
	}
	return answer
}

// move changes the client's roots when the server has asked for them and is at rest, and gives an answer each time when it is at
// rest again. It reports whether there was something to do.
func (p *player) move() bool {
	if !p.moves {
		return false
	}
	kept := p.kept
	if p.newRoots == nil {
		for _, s := range kept {
			p.newRoots = movedRoots(timeline.MessagesOf(s.frame)[0].Result)
			if p.newRoots != nil {
				p.makeMoved()
				p.write([]sending{p.notify(mcp.NotificationRootsListChanged)})
				return true
			}
		}
	}
	if len(kept) == 0 {
		p.moves = false
		return false
	}
	next := len(kept) - 1
	if p.isInTurn {
		next = 0
	}
	p.kept = slices.Delete(slices.Clone(kept), next, next+1)
	p.answer(kept[next])
	return true
}

// movedRoot is the folder that is a root only when the roots have changed.
const movedRoot = "moved"

// makeMoved makes that folder in the server's own: one that is not there is no root for many servers.
func (p *player) makeMoved() {
	isOwn := func(mark string) bool { return mark != "" && bytes.Contains(p.newRoots, []byte(mark)) }
	if isOwn(p.recorded) || isOwn(child.FolderMark) {
		_ = os.Mkdir(filepath.Join(p.dir, movedRoot), 0o700) // then it is not there
	}
}

// movedRoots returns the roots of an answer with another behind them; nil if it has none.
func movedRoots(answer json.RawMessage) json.RawMessage {
	var roots []json.RawMessage
	_ = json.Unmarshal(transport.Member(answer, "roots"), &roots) // what cannot be read is not there
	if len(roots) == 0 {
		return nil
	}
	uri := transport.MemberText(roots[0], "uri")
	other, _ := json.Marshal(map[string]string{"uri": strings.TrimSuffix(uri, "/") + "/" + movedRoot, "name": movedRoot}) // texts
	encoded, _ := json.Marshal(map[string]any{"roots": append(roots, other)})                                             // they were read from JSON
	return encoded
}

// answerOfRoots returns the answer of a client whose roots have changed, if a frame answers a question about them.
func (p *player) answerOfRoots(answer transport.Frame) transport.Frame {
	for _, m := range timeline.MessagesOf(answer) {
		for _, question := range p.session.Open(transport.ServerToClient) {
			if question.Key() == mcp.KeyOf(m.ID) && question.Method == mcp.MethodListRoots {
				answer.Bytes = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, p.newRoots)
			}
		}
	}
	return answer
}

// answerLate answers the questions behind which the schedule has the client busy, and reports whether there were any. A
// call that the client withdraws is cancelled first. A request that got no answer before that is noted: where a person
// answers, that may take minutes.
func (p *player) answerLate() bool {
	at := slices.IndexFunc(p.play.frames, func(f frame) bool { return f.seq == p.busy })
	if p.busy == 0 || at < 0 {
		return false
	}
	if r := p.called; r != nil {
		p.called = nil
		if len(p.kept) > 0 && r.isOwed {
			p.write(p.cancel([]*request{r}))
			return true
		}
	}
	isOwed := slices.ContainsFunc(p.owed(), func(r *request) bool { return r.seq == p.busy })
	_, isAlias := p.half.(*otherIDs)                                               // which says the same as [Busy] does
	if isOwed && !isAlias && len(p.kept) > 0 && p.play.frames[at].questions == 0 { // it waits for no answer of its own
		p.play.blocked = append(p.play.blocked, p.busy)
	}
	p.release()
	return true
}

// isBusy reports whether the client will answer, ask for what has changed, read, or go on, when the server has nothing more to do.
func (p *player) isBusy() bool {
	return p.busy != 0 && len(p.kept) > 0 || p.listing != nil || p.pauses || p.floods && p.sips > 0
}

// listing is a list or a resource that the client asks for as soon as the server says that it has changed, and twice more
// when the server is at rest.
type listing struct {
	what    string          // such as "tools/list"
	request json.RawMessage // its method and params
	call    *timeline.Call  // without an answer; nil: there is none
	answers []string
}

// mostLists is how many times it is asked for: if the last two differ, each answer is another.
const mostLists = 3

// hearNotification takes a notification. The latest about a change is the one that counts.
func (p *player) hearNotification(m transport.Message) {
	p.play.told = append(p.play.told, toldText(m, p.dir))
	last := len(p.play.frames) - 1
	if last >= 0 {
		p.play.frames[last].isTold = true
	}
	l := &listing{what: standin.ChangedBy(m)}
	method, _, _ := strings.Cut(l.what, " ")
	l.request = fmt.Appendf(nil, `"method":%q`, method)
	if uri := transport.Member(m.Params, "uri"); uri != nil {
		l.request = fmt.Appendf(l.request, `,"params":{"uri":%s}`, uri)
	}
	if l.what == "" || last < 0 {
		return
	}
	p.play.frames[last].hasChange = true
	p.play.news = append(p.play.news, news{p.play.frames[last].seq, strings.TrimSpace(m.Method + " " + timeline.TargetOf(m))})
	if p.relist {
		p.listing = l
		p.askForList()
	}
}

// askForList asks for what has changed.
func (p *player) askForList() {
	p.lists++
	s := sending{frame: transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"mcprec-%d",%s}`, p.lists, p.listing.request)}}
	p.listing.call = p.session.take(transport.ClientToServer, s.frame).Messages[0].Call
	p.write([]sending{s})
}

// ask makes a request that is not in the recording, and returns its answer when the server is at rest; "": it has none.
func (p *player) ask(method string, params json.RawMessage) (answer string) {
	p.listing = &listing{request: fmt.Appendf(nil, `"method":%q,"params":%s`, method, params)}
	p.askForList()
	p.await(func() bool { return p.listing.call == nil }, func() bool { return p.http != nil && p.http.proceed() })
	if len(p.listing.answers) > 0 {
		answer = p.listing.answers[0]
	}
	p.listing = nil
	return answer
}

// walk asks for the list of a frame that asks for a page of it, from the beginning and page by page, so many pages at most. It
// calls between behind the first page if there is another, and returns the answers.
func (p *player) walk(page transport.Frame, most int, between func()) (answers []string) {
	m := timeline.MessagesOf(page)[0]
	params := map[string]json.RawMessage{}
	_ = json.Unmarshal(m.Params, &params) // it has a cursor
	delete(params, "cursor")
	for len(answers) < most {
		encoded, _ := json.Marshal(params)
		answer := p.ask(m.Method, encoded)
		if answer == "" {
			break
		}
		answers = append(answers, answer)
		params["cursor"] = transport.Member([]byte(answer), mcp.MemberNextCursor)
		if params["cursor"] == nil {
			break
		}
		if len(answers) == 1 {
			between()
		}
	}
	return answers
}

// walkAgain asks for a list from its beginning, page by page, as often as the client has with a frame that asks for a further
// page of it. The frame itself has not gone out.
func (p *player) walkAgain(what string, page transport.Frame) {
	count := 0
	for _, f := range p.play.frames {
		if f.what == what {
			count++
		}
	}
	p.walk(page, count, func() {})
}

// callBetween makes a recorded call between two pages of a list, and finds what the list leaves out then, or has twice, though it
// is there before and after.
func (p *player) callBetween(c Choice, page transport.Frame) {
	const most = 20
	call := timeline.MessagesOf(recordedFrame(p.events, c.Last))
	if len(call) != 1 {
		return
	}
	before := itemsOf(p.walk(page, most, func() {}))
	isMade := false
	pages := p.walk(page, most, func() { isMade = p.ask(call[0].Method, call[0].Params) != "" })
	after := itemsOf(p.walk(page, most, func() {}))
	if !isMade || len(before) == 0 || len(after) == 0 {
		return
	}
	counts := map[string]int{}
	for _, item := range itemsOf(pages) {
		counts[item]++
	}
	for _, item := range before {
		if count := counts[item]; count != 1 && slices.Contains(after, item) {
			how := map[bool]string{true: "leaves out", false: "has twice"}[count == 0]
			p.play.found = &fault{
				kind: Unequal, events: []uint64{c.First, c.Last}, look: procfs.Look{Activity: procfs.Ended}, at: Between, about: "between two pages",
				detail: fmt.Sprintf("the list %s %s, which is there before and after", how, item),
			}
			return
		}
	}
}

// itemsOf returns what tells the items of the pages of a list apart.
func itemsOf(pages []string) (items []string) {
	for _, page := range pages {
		var lists map[string]json.RawMessage
		_ = json.Unmarshal([]byte(page), &lists) // what cannot be read is not there
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			var list []struct{ URI, URITemplate, Name string }
			_ = json.Unmarshal(lists[name], &list)
			for _, item := range list {
				items = append(items, cmp.Or(item.URI, item.URITemplate, item.Name))
			}
		}
	}
	return items
}

// hearList takes the answer to a list or a resource.
func (p *player) hearList(m *timeline.Message) {
	if l := p.listing; l != nil && l.call == m.Call {
		l.call = nil
		l.answers = append(l.answers, canonical(m.Message, p.dir))
	}
}

// listAgain asks once more for what has changed when all is answered, and reports whether it did. The client that has asked at
// once must not be left with what is old, if it was told nothing since.
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
			detail: fmt.Sprintf("%s is answered by\n    %s\n  and when the server is at rest by\n    %s", l.what, clip(l.answers[0]), clip(l.answers[1])),
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
	p.process.Unread = false
	p.play.trace.mute(false)
	isAtOnce := how == End && p.http == nil // the pipe keeps what was written
	if !isAtOnce && !p.awaitTaken() {
		return
	}
	p.line.End()
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

// await hears the server until isDone and it is at rest, or until nothing is worth waiting for. proceed makes a request that is
// due when the server is at rest, and reports whether there was one.
func (p *player) await(isDone, proceed func() bool) {
	for began := time.Now(); ; {
		look, isMoved := p.process.Settle(p.patience)
		if p.hear() || p.hearGuest() || isMoved || proceed() {
			continue
		}
		isOver := look.Activity == procfs.Ended || p.process.IsInterrupted()
		if isOver || isDone() || !p.patience.IsWorthIt(look, time.Since(began)) {
			return
		}
		time.Sleep(500 * time.Microsecond) // until its timer, or what is outside, has moved it
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
