package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// player plays one schedule of the client's half to one server process.
type player struct {
	schedule Schedule
	patience child.Patience
	dir      string // the folder of the process
	recorded string // the path that it takes the place of, or its mark
	half     clientHalf
	events   []store.Event   // of the recorded session
	waiting  map[string]bool // what is answered when another message has come; nil: that is not known yet
	status   string          // of the recorded server when its input had ended; see [statusIn]
	process  *child.Process
	line     connection
	http     exchanges // nil: over stdio
	session  *playedSession
	requests map[*timeline.Call]*request

	number   int             // frames that the driver has returned
	ready    []sending       // the client's own
	kept     []sending       // answers that are held
	until    uint64          // nothing is read until this frame has gone out; 0: all is read
	holding  uint64          // no question is answered until this frame has gone out
	busy     uint64          // no question is answered until the server is at rest with this frame; 0: it is
	called   *request        // is cancelled when the server is at rest, before its question is answered; nil: none
	newRoots json.RawMessage // what the client has had since they changed; nil: they have not
	sips     int             // how many pages the client reads yet, each when the server is at rest; 0: it reads as others
	missed   uint64          // the client comes back to its standalone stream when this frame is answered; 0: it does not
	hasLeft  bool            // it has ended that stream
	away     uint64          // the client comes back to no stream until this frame has gone out; 0: at once
	deaf     bool            // the client ends its standalone stream when the server is at rest
	reopen   bool            // the client opens another standalone stream in the place of that
	guest    *guest          // another client; nil: there is none
	lists    int             // how many times it has asked for a list
	asked    bool            // the server has asked something since the last frame
	nudged   []*request      // had no answer when the client sent its last ping
	nudges   int             // pings so far

	manner
	play play
}

// manner is what the client does behind the frames that it has sent last, until it sends others.
type manner struct {
	reverse  bool // it answers the questions when the server is at rest, the last one first
	refuse   bool // it answers them with an error
	moves    bool // its roots change when the server has asked for them
	isInTurn bool // and it answers that question before the next one about them
	pauses   bool // it goes on when the server has no timers
	isPaced  bool // it does what it does at rest, or when it is told something, when the server has come to rest more often than steps
	steps    int
	rests    int        // how many times that has
	floods   bool       // it reads nothing as long as the server has timers
	from     int        // the first of these frames
	prompt   []*request // it goes on, and does not wait for the answers to these, when the server has told something
	prompted []*request // it has gone on, and waits for the answers to these behind its next message
	relist   bool       // it asks for what changes
	listing  *listing   // what it asks for, of all that has changed the latest; nil: nothing
}

// request is what the player knows of a call of the client beside the session.
type request struct {
	frame
	isOwed  bool // an answer, as long as the call is open
	isAhead bool // the answer is not waited for
	isRead  bool // the server has come to rest with the cancellation of the call
	isOver  bool // it is cancelled behind its answer
}

// owed returns the requests to which the server owes an answer.
func (p *player) owed() (list []*request) {
	for _, call := range p.session.Open(transport.ClientToServer) {
		if r := p.requests[call]; r != nil && r.isOwed {
			list = append(list, r)
		}
	}
	return list
}

// run plays the schedule to its end, or to the first fault.
func (p *player) run() {
	p.take(p.half.Start())
	for {
		if p.rest() {
			return
		}
		chunk := p.next()
		if len(chunk) == 0 && p.resume() {
			continue
		}
		if len(chunk) == 0 {
			p.take(p.half.giveUp())
			chunk = p.next()
		}
		if len(chunk) == 0 {
			break
		}
		p.takeTime()
		switch how := p.send(chunk); how.Kind {
		case "":
		case Term, Gone:
			p.endRoughly(how)
			return
		default:
			p.end(how.Kind)
			return
		}
	}
	p.play.met = p.process.Met()
	p.play.isDeaf = p.http != nil && p.http.outcome(standalone).isOver
	p.partWithGuest()
	p.end("")
}

// takeTime waits for a moment where the schedule has a slow client, for some seconds in all.
func (p *player) takeTime() {
	const moment, most = 250 * time.Millisecond, 20
	isSlow := slices.ContainsFunc(p.schedule, func(c Choice) bool { return c.Kind == Slow })
	if isSlow && len(p.play.frames) < most {
		p.process.Pause(moment)
	}
}

// resume reads and answers again after the last frame, and reports whether anything was held up.
func (p *player) resume() bool {
	wasHeld := p.process.Unread || p.holding != 0 || p.away != 0
	p.away = 0
	p.process.Unread = false
	p.play.trace.mute(false)
	p.until = 0
	p.release()
	for _, r := range p.owed() {
		wasHeld = wasHeld || r.isAhead // the client waits for all answers before it ends
		r.isAhead = false
	}
	return wasHeld
}

// take takes frames that the driver has returned. Answers go out at once, unless they are held.
func (p *player) take(frames []transport.Frame) {
	for _, f := range frames {
		if p.refuse && isAnswer(f) {
			f = p.refusal(f)
		}
		if p.newRoots != nil && isAnswer(f) {
			f = p.answerOfRoots(f)
		}
		s := sending{number: p.number, seq: p.half.place(p.number), frame: f}
		p.number++
		switch {
		case !isAnswer(f):
			p.ready = append(p.ready, s)
		case p.holding != 0, p.reverse, p.moves:
			p.kept = append(p.kept, s)
		default:
			p.answer(s)
		}
	}
}

// answer sends an answer.
func (p *player) answer(s sending) {
	p.play.isUnjudged = p.play.isUnjudged || slices.ContainsFunc(timeline.MessagesOf(s.frame), standin.IsMiss)
	p.session.take(transport.ClientToServer, s.frame)
	p.write([]sending{s})
}

func isAnswer(f transport.Frame) bool {
	messages := timeline.MessagesOf(f)
	return len(messages) > 0 && messages[0].Kind() == transport.Response
}

// release sends the answers that were held.
func (p *player) release() {
	p.holding, p.busy = 0, 0
	kept := p.kept
	p.kept = nil
	if p.reverse {
		slices.Reverse(kept)
	}
	for _, s := range kept {
		p.answer(s)
	}
}

// next returns the frames of the next write, and takes them from those that are ready.
func (p *player) next() (chunk []sending) {
	if len(p.ready) == 0 {
		return nil
	}
	rank := map[uint64]uint64{}
	for _, c := range p.schedule {
		switch c.Kind {
		case Order:
			for i, seq := range slices.Sorted(slices.Values(c.Frames)) {
				rank[c.Frames[i]] = seq
			}
		case Swap:
			rank[c.First], rank[c.Last] = c.Last, c.First
		}
	}
	place := func(s sending) uint64 {
		if r := rank[s.seq]; r != 0 {
			return r
		}
		return s.seq
	}
	sorted := func() []sending {
		slices.SortStableFunc(p.ready, func(a, b sending) int { return cmp.Compare(place(a), place(b)) })
		return p.ready
	}
	first := sorted()[0].seq
	last := p.half.together(first)
	isMore := last != first
	for _, c := range p.schedule {
		isBurst := slices.Contains([]Kind{Join, Quit, Leave, LastFirst, Sip, Swap}, c.Kind)
		if isBurst && min(c.First, c.Last) == place(p.ready[0]) {
			last, isMore = max(last, c.First, c.Last), true
		}
	}
	for len(p.ready) > 0 && (len(chunk) == 0 || isMore && p.ready[0].seq <= last) {
		s := p.ready[0]
		p.ready = p.ready[1:]
		chunk = append(chunk, s)
		p.take(p.half.Wrote(s.number)) // others may follow it in the same write
		sorted()
	}
	return chunk
}

// send sends frames in one write, or where the schedule splits it in two, with what the schedule has at
// them. how is the choice to end behind them, if the schedule has one.
func (p *player) send(chunk []sending) (how Choice) {
	var behind []sending
	var hangUps []*request
	var splits []int
	for _, r := range p.prompted {
		r.isAhead = false // only this goes out beside it
	}
	p.manner = manner{from: len(p.play.frames)}
	for i, s := range chunk {
		s = p.underAlias(s)
		chunk[i] = s
		about, requests := p.describe(s)
		if i == 0 {
			about.beside = []uint64{s.seq}
			for _, other := range p.ready {
				about.beside = append(about.beside, other.seq)
			}
		}
		p.play.frames = append(p.play.frames, about)
		for _, c := range p.schedule {
			if c.First != s.seq {
				continue
			}
			behind = append(behind, p.besides(c, s, requests)...)
			switch c.Kind {
			case Split:
				splits = append(splits, c.At)
			case Ahead:
				for _, request := range requests {
					request.isAhead = true
				}
			case Sip:
				p.beginSipping()
			case Step:
				p.isPaced, p.steps = true, c.At
			case Unread:
				p.process.Unread, p.until = true, c.Last
			case Hold, Busy, Alias, Withdraw, Refuse, Reverse, LastFirst, Relist, Prompt, Moved:
				p.meetQuestions(c, requests)
			case Between:
				p.callBetween(c, s.frame)
			case Rewalk:
				p.walkAgain(about.what, s.frame)
			case Cut:
				if p.http != nil {
					p.http.cut(s.seq, true)
				}
			case Away:
				if p.http != nil {
					p.http.cut(s.seq, true)
					p.away = c.Last
				}
			case Deaf, Reopen:
				p.deaf, p.reopen = c.Kind == Deaf, c.Kind == Reopen
			case Miss:
				p.missed = c.Last
			case HangUp:
				hangUps = append(hangUps, requests...)
			case Leave:
				how = Choice{Kind: LateEnd, First: c.First, Last: c.Last}
			case End, LateEnd, Term, Gone:
				how = c
			}
		}
	}
	p.asked = false
	if how.Kind == Gone { // before the server can have answered
		p.play.trace.add(Shut)
		p.line.Shut()
	}
	p.play.trace.mute(p.process.Unread)
	p.write(append(slices.Clone(chunk), behind...), splits...)
	p.guest.leave()
	for _, request := range hangUps {
		p.hangUp(request)
	}
	p.goOn(chunk)
	p.play.trace.mute(p.process.Unread)
	return how
}

// besides returns what goes out in the same write behind a frame, by a choice at that.
func (p *player) besides(c Choice, s sending, requests []*request) []sending {
	switch c.Kind {
	case Cancel:
		return p.cancel(requests)
	case Roots:
		return []sending{p.notify(mcp.NotificationRootsListChanged)}
	case Flood:
		return p.flood(c, s)
	case Meet, Visit, Part, Unsubscribe, Desert, Clash:
		p.pauses = c.Kind == Visit
		return p.invite(c, s.frame)
	}
	return nil
}

// goOn ends what the client has held up until one of some frames had gone out.
func (p *player) goOn(chunk []sending) {
	for _, s := range chunk {
		if s.seq == p.away {
			p.away = 0
		}
		if p.until != 0 && s.seq >= p.until {
			p.until = 0
			p.process.Unread = false
		}
		if p.holding != 0 && s.seq >= p.holding && p.busy == 0 {
			p.release()
		}
	}
}

// describe takes a frame that goes out, and tells what it is. It returns its requests as well.
func (p *player) describe(s sending) (about frame, requests []*request) {
	about = frame{seq: s.seq, split: splitOf(s.frame.Bytes), needs: p.half.needs(s.seq)}
	for _, m := range p.session.take(transport.ClientToServer, s.frame).Messages {
		about.what = strings.TrimSpace(m.Method + " " + timeline.TargetOf(m.Message))
		about.isHello = m.Method == mcp.MethodInitialize
		about.isPage = standin.ReadingOf(m.Message).IsPage()
		if m.Role != timeline.Asks {
			continue
		}
		r := &request{isOwed: p.half.isOwed(planned{s.seq, m.Call.Key()})}
		if r.isOwed {
			about.isRequest = true
			about.id = m.ID
		} else if m.Method != mcp.MethodListen {
			p.play.cancelled = append(p.play.cancelled, s.seq)
		}
		r.frame = about
		r.frame.id = m.ID
		p.requests[m.Call] = r
		requests = append(requests, r)
	}
	return about, requests
}

// underAlias returns a request under the id of the open question of the server, where the schedule has that.
func (p *player) underAlias(s sending) sending {
	half, isOther := p.half.(*otherIDs)
	isHere := slices.ContainsFunc(p.schedule, func(c Choice) bool { return c.Kind == Alias && c.Last == s.seq })
	messages := timeline.MessagesOf(s.frame)
	if questions := p.session.Open(transport.ServerToClient); isOther && isHere && len(questions) > 0 && len(messages) == 1 {
		s.frame = half.rename(s.frame, half.own[mcp.KeyOf(messages[0].ID)], json.RawMessage(questions[0].ID))
	}
	return s
}

// cancel returns the frame that cancels the first of some requests, to which no answer is owed from now on.
func (p *player) cancel(requests []*request) []sending {
	for _, r := range requests {
		if r.isHello {
			continue
		}
		r.isOwed = false
		s := cancellation(r.id)
		p.session.take(transport.ClientToServer, s.frame)
		return []sending{s}
	}
	return nil
}

// notify returns a notification that is not in the recording.
func (p *player) notify(method string) sending {
	s := sending{frame: transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, method)}}
	p.session.take(transport.ClientToServer, s.frame)
	return s
}

// hangUp ends the exchange of a request. The client could come back for the answer, and does not: none is owed.
func (p *player) hangUp(r *request) {
	if p.http != nil {
		p.http.cut(r.seq, false)
		r.isOwed = false
	}
}

func cancellation(id json.RawMessage) sending {
	return sending{frame: transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"requestId":%s}}`, mcp.NotificationCancelled, id)}}
}

// write hands frames over in one go, or where the first is split in several, with the server at rest between
// them.
func (p *player) write(chunk []sending, splits ...int) {
	isGuest := func(s sending) bool { return s.isGuest }
	p.play.trace.wrote(slices.DeleteFunc(slices.Clone(chunk), isGuest))
	if len(splits) > 0 {
		p.play.trace.split(splits[0])
	}
	for i := range chunk {
		for _, mark := range []string{p.recorded, child.FolderMark} {
			chunk[i].frame.Bytes = bytes.ReplaceAll(chunk[i].frame.Bytes, []byte(mark), []byte(p.dir))
		}
	}
	p.line.send(chunk, splits, func() {
		const most = 100 // of a server that speaks on and on
		isMoved := true
		for tries := 0; isMoved && tries < most; tries++ {
			_, isMoved = p.process.Settle(p.patience)
		}
	})
}

// rest waits until nothing more comes by itself: the server is at rest, and has answered what the client
// waits for. It reports whether the play ends here, with a fault.
func (p *player) rest() (isOver bool) {
	began := time.Now()
	still := stillness{}
	for {
		look, isMoved := p.process.Settle(p.patience)
		if p.hear() || p.hearGuest() || isMoved { // some was said between the parts of a write, perhaps
			still = stillness{}
			if p.isPrompted() {
				return false
			}
			continue
		}
		if still.begins(look) && p.countRest() && p.isPrompted() {
			return false
		}
		if p.line.Untaken() == 0 && !p.process.Unread { // an answer from before may lie there unread
			for _, call := range p.session.Open(transport.ClientToServer) {
				if r := p.requests[call]; r != nil {
					r.isRead = call.Cancelled != 0
				}
			}
		}
		p.play.trace.rest(len(p.owed()) > 0)
		isWorthIt := p.patience.IsWorthIt(look, time.Since(began)) || p.floods && p.patience.MayGiveUp(look, time.Since(began))
		if p.sip(isWorthIt) || p.move() || p.leaveStream() || p.cancelLate(isWorthIt) || p.clash() || p.cancelAnswered() || p.answerReversed() || p.sendGuestLate() || !isWorthIt && (p.answerLate() || p.listAgain()) {
			continue
		}
		if p.play.found != nil { // of a list
			return true
		}
		if p.http != nil && look.Activity != procfs.Ended && !p.process.Unread && p.away == 0 && p.http.proceed() {
			continue
		}
		if look.Activity == procfs.Ended {
			p.fail(Died, look, p.process.Status())
			return true
		}
		if p.isLost(look) {
			return true
		}
		if p.isNudged() {
			p.failAbout(p.nudged, Hang, look, "a ping has brought the answer")
			return true
		}
		if !p.waits() && !(isWorthIt && p.isBusy()) {
			return false
		}
		if !isWorthIt && p.mayGoWithout() {
			if p.nudge() {
				continue
			}
			p.goWithout()
			return false
		}
		if !isWorthIt && !p.play.trace.isTooShort(p.patience) {
			p.fail(Hang, look, "")
			return true
		}
		time.Sleep(500 * time.Microsecond) // until its timer, or what is outside, has moved it
	}
}

// stillness is how long a server has been at rest.
type stillness struct {
	look      procfs.Look
	since     time.Time // zero: it has just moved
	isCounted bool
}

// begins takes a look at a server at rest, and reports once of each rest that it is one: for long enough, no thread has run. The
// runtimes of some languages wake a thread of theirs once or twice when the last other thread has come to rest.
func (s *stillness) begins(look procfs.Look) bool {
	const enough = 15 * time.Millisecond
	if s.since.IsZero() || !look.IsSame(s.look) {
		*s = stillness{look: look, since: time.Now()}
	}
	if s.isCounted || time.Since(s.since) < enough {
		return false
	}
	s.isCounted = true
	return true
}

// countRest counts that the server has come to rest and owes an answer, and reports that.
func (p *player) countRest() bool {
	if len(p.owed()) == 0 {
		return false
	}
	p.rests++
	for i := range p.play.frames[p.from:] {
		p.play.frames[p.from+i].rests = p.rests
	}
	return true
}

// isEarly reports whether the server has come to rest less often than the client waits for.
func (p *player) isEarly() bool { return p.isPaced && p.rests <= p.steps }

// waits reports whether the client waits for an answer.
func (p *player) waits() bool {
	if p.process.Unread || p.away != 0 || len(p.kept) > 0 {
		return false
	}
	if slices.ContainsFunc(p.owed(), func(r *request) bool { return !r.isAhead }) {
		return true
	}
	return p.http != nil && len(p.http.owed()) > 0
}

// isLost reports whether the response to a request over HTTP has ended without the answer.
func (p *player) isLost(look procfs.Look) bool {
	if p.http == nil || p.process.Unread || p.away != 0 {
		return false
	}
	for _, r := range p.owed() {
		switch outcome := p.http.outcomeUnder(mcp.KeyOf(r.id)); {
		case !outcome.isOver:
		case outcome.isDeclined:
			r.isOwed = false
		default:
			p.failAbout([]*request{r}, Lost, look, outcome.how)
			return true
		}
	}
	return false
}

// hear takes what the server has said, and reports whether it was anything.
func (p *player) hear() (isMore bool) {
	for _, f := range p.line.Said() {
		isMore = true
		if p.process.IsInterrupted() { // these may be very many
			break
		}
		p.heard(f)
		for _, m := range p.session.take(transport.ServerToClient, f).Messages {
			switch m.Kind {
			case transport.Response:
				if m.Role == timeline.Answers {
					p.hearAnswer(&m)
				}
			case transport.Request:
				p.asked = true
				if last := len(p.play.frames) - 1; last >= 0 {
					p.play.frames[last].asksRoots = p.play.frames[last].asksRoots || m.Method == mcp.MethodListRoots
					p.play.frames[last].questions++
				}
			case transport.Notification:
				p.hearNotification(m.Message)
			}
		}
		f.Stream = 0 // the half has none
		p.take(p.half.Receive(f))
	}
	return isMore
}

// heard notes what the server has said, with the recorded folder in the place of the process's.
func (p *player) heard(f transport.Frame) {
	f.Bytes = bytes.ReplaceAll(f.Bytes, []byte(p.dir), []byte(p.recorded))
	p.play.trace.mute(p.process.Unread)
	p.play.trace.add(Heard, f.Bytes)
}

// hearAnswer takes the answer to a request.
func (p *player) hearAnswer(m *timeline.Message) {
	r := p.requests[m.Call]
	if r == nil { // a list, or it went out in one frame with an answer
		p.hearList(m)
		return
	}
	if _, isAnswered := p.play.answers[r.seq]; r.isOwed && !isAnswered { // a client takes the first
		p.play.answers[r.seq] = canonical(m.Message, p.dir)
		if at := slices.IndexFunc(p.play.frames, func(f frame) bool { return f.seq == r.seq }); at >= 0 {
			p.play.frames[at].size = len(p.play.answers[r.seq])
		}
		p.play.failed[r.seq] = m.Call.Failure != ""
		if m.Error != nil {
			if p.play.errors == nil {
				p.play.errors = map[uint64]string{}
			}
			p.play.errors[r.seq] = fmt.Sprintf("%s (#%d): %s", r.what, r.seq, canonical(m.Message, p.dir))
		}
	}
	isCut := func(c Choice) bool { return (c.Kind == Cut || c.Kind == Away) && r.seq == c.First } // the answer may have waited
	if r.isRead && !slices.ContainsFunc(p.schedule, isCut) {
		p.play.unheeded = append(p.play.unheeded, r.seq)
	}
}

// fail notes a fault of the server, which is about the requests that have no answer.
func (p *player) fail(kind Fault, look procfs.Look, detail string) {
	p.failAbout(p.owed(), kind, look, detail)
}

func (p *player) failAbout(requests []*request, kind Fault, look procfs.Look, detail string) {
	found := &fault{kind: kind, look: look, detail: detail}
	for _, r := range requests {
		found.events = append(found.events, r.seq)
	}
	if p.http != nil && kind == Hang {
		for _, seq := range p.http.owed() {
			if seq != 0 {
				found.events = append(found.events, seq)
			} else if detail == "" {
				found.detail = "a cancellation has no response"
			}
		}
	}
	slices.Sort(found.events)
	found.events = slices.Compact(found.events) // of a [Flood]
	if kind == Died {
		if text := p.process.Stderr(); text != "" {
			found.detail = strings.TrimSpace(found.detail + ": " + text)
		}
	}
	p.play.found = found
}
