package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// clientPlayer plays one schedule of the server's half to one client process. A client that starts its
// server again gets the plain server.
type clientPlayer struct {
	schedule Schedule
	patience child.Patience
	dir      string // the folder of the process
	recorded string // the path that it takes the place of
	events   []store.Event
	rules    match.Rules
	before   map[uint64]int // see heardBefore
	causes   standin.Causes
	versions standin.Versions
	changed  standin.Unasked
	// hasDiscover is set if the recorded client asked server/discover.
	hasDiscover bool
	mark        string // what stands for the server in the client's command
	process     *child.Process
	line        serverLine
	errors      *child.ErrorOutput // of this server; nil: the client need not read there
	http        *httpPlay          // nil: over stdio
	isClosed    bool               // the server has ended by a choice
	isOver      bool               // this server has ended
	isTicking   bool               // the client has a timer that is worth waiting for
	isTimed     bool               // the client has had nothing to do but to wait for its timer since it was sent something
	wasTimed    bool               // so it was once when the server, which had read nothing for a while, read again

	start   int  // which start of the server this is; 0: there was none
	first   int  // the start with the schedule
	isProbe bool // this start was asked server/discover alone, which is not in the recording
	isAgain bool // it is the plain one, behind that with the schedule
	server  *standin.Player
	number  int             // frames that the server has returned
	ready   []sending       // what may go out
	heard   int             // frames of the client
	total   int             // the same, over all starts
	until   uint64          // nothing is read until this frame has gone out; 0: all is read
	last    uint64          // the event of the answer that was sent last
	sent    uint64          // the highest event of a frame that was sent
	able    map[uint64]int  // of each frame that may go out: how many frames of the client had come, over all starts
	ahead   map[uint64]bool // frames that could have gone out before their recorded place

	session *playedSession                     // with this start of the server
	asked   map[*timeline.Call]uint64          // the recorded events of the server's questions
	reads   map[*timeline.Call]standin.Reading // by the client's call
	wants   map[*timeline.Call]string          // what it asks for, by the client's call
	results map[string]json.RawMessage         // the latest recorded result, by what was asked for

	renamed json.RawMessage // the recorded id of a question that has gone out under that of a call of the client; nil: there is none
	newID   json.RawMessage // that one
	pinged  *timeline.Call  // the latest ping that is not in the recording; nil: none
	twin    *timeline.Call  // a question that is asked twice, the second time; nil: none
	// calledOff are the client's calls that it has cancelled and that have no answer.
	calledOff  []*timeline.Call
	cancels    int               // how many cancellations of the recording have not come yet; below 0: others have
	unasked    map[string]int    // by its page: how many lists were asked for ahead of the recorded place, for a change that was none
	soon       map[uint64]bool   // the answers to these
	untold     map[uint64]bool   // the events of changes that the schedule has in front of their subscription
	subscribed map[string]bool   // the resources to which the client has subscribed
	listens    bool              // or it has asked for a stream of notifications (2026-07-28)
	told       map[string]uint64 // by what has changed, such as tools/list: the event that told it last
	changes    string            // what the server may say of a list, see [changeOf]
	made       map[moment]bool   // what this server has done in front of a frame
	counts     []int             // of each frame in play: how many frames of the client came before it
	play       play
}

// serverLine is what connects the recorded server with the client under test.
type serverLine interface {
	// Starts returns how many servers the client has started so far. Over HTTP the player counts.
	Starts() int
	// IsOpen reports whether the server has not ended.
	IsOpen() bool
	// IsEnded reports whether the client has ended what it writes to the server.
	IsEnded() bool
	// IsAwaited reports whether the client has started a server beside the one it has.
	IsAwaited() bool
	// Said returns the frames that have come.
	Said() []transport.Frame
	// send writes frames in one go. Where one is split it calls rest between the parts.
	send(chunk []outgoing, rest func())
	// HangUp ends the server.
	HangUp()
	// Untaken returns how many bytes the client has not read.
	Untaken() int
}

// outgoing is a frame as it goes out.
type outgoing struct {
	sending
	line    []byte // the frame, with the folder of the process in it
	copies  int
	split   int  // behind so many bytes the rest goes out by itself; 0: it does not
	isOther bool // over HTTP: in the other form
	isLast  bool // the server ends right behind it
}

// launch starts the client, and what it gets as its server.
func (p *clientPlayer) launch(client Client, at child.Place) (err error) {
	program := child.Program{Command: client.Command, Env: client.Env, In: client.In}
	if client.OverHTTP() {
		p.http = newHTTPPlay(p.events, p.schedule, p.play.trace)
		var listener *child.HTTPListener
		p.process, listener, err = child.StartHTTPClient(program, urlMark, at)
		p.line = &httpLine{listener, p.http.Server}
		return err
	}
	var pipes *child.Pipes
	p.process, pipes, err = child.StartClient(program, client.PassOn, at)
	p.line = stdioLine{pipes}
	return err
}

// stdioLine is a server that the client has started.
type stdioLine struct{ *child.Pipes }

// send implements serverLine: each frame is a line.
func (l stdioLine) send(chunk []outgoing, rest func()) {
	if chunk[len(chunk)-1].isLast {
		l.Shut() // before the client can answer
	}
	var data []byte
	done := 0
	for _, f := range chunk {
		if f.split > 0 {
			data = append(data, f.line[:f.split]...)
			l.Write(data[done:])
			done = len(data)
			rest()
			data = append(append(data, f.line[f.split:]...), '\n')
			continue
		}
		for range f.copies {
			data = append(append(data, f.line...), '\n')
		}
	}
	l.Write(data[done:])
}

// run plays the schedule to the end of the client, or to the first fault.
func (p *clientPlayer) run() error {
	since := time.Now()
	for {
		look, isMoved := p.process.Settle(p.patience)
		isMoved = p.errors.Flush() || isMoved
		if p.http == nil && p.line.Starts() != p.start {
			p.begin(p.line.Starts())
			isMoved = true
		}
		isMoved = p.hear() || isMoved // something was said between the parts of a write, perhaps
		if err := p.unrecorded(); err != nil {
			return err
		}
		if p.http != nil && !isMoved && look.Activity != procfs.Ended {
			p.http.isUnheard = p.isUnheard()
		}
		p.isTicking = look.Activity == procfs.Timed && p.patience.IsWorthIt(look, 0)
		switch isOpen := p.isOpen(); {
		case isMoved:
		case look.Activity == procfs.Ended:
			return p.judgeEnd()
		case isOpen && p.line.IsEnded():
			p.hangUp() // as servers do at the end of their input
		case isOpen && p.send(false):
		case isOpen && p.onlyTicks(look, time.Since(since)) && p.send(true):
		case p.patience.IsWorthIt(look, time.Since(since)):
			p.isTimed = true
			time.Sleep(500 * time.Microsecond) // until its timer, or what is outside, has moved it
			continue
		case isOpen && p.send(true):
		case isOpen && p.errors.Left() == 0 && len(p.questions()) == 0 && !p.isPinging() && len(p.calls()) > 0 && !p.isCutOff():
			p.hangUp() // the recording has no answer: its server can only end
		case p.play.trace.isTooShort(p.patience):
			time.Sleep(500 * time.Microsecond)
			continue
		default:
			return p.stuck(look)
		}
		since = time.Now()
	}
}

// begin is the start of a server: the first is the one with the schedule. One that a client of several revisions starts
// to ask server/discover, before it starts that of the session, does not count.
func (p *clientPlayer) begin(start int) {
	p.start = start
	if start == 1 || p.isProbe && p.first == start-1 {
		p.first = start
	}
	p.isProbe = false
	if p.start > p.first && (p.http == nil || p.isTouched()) {
		p.schedule, p.isAgain = nil, true
	}
	if p.http != nil {
		p.server = standin.NewPlayer(p.http.recorded.Events, p.rules)
	} else {
		p.server = standin.NewStreamPlayer(p.events, p.rules)
	}
	p.server.AllowReorder()
	p.number, p.heard, p.until, p.last, p.sent, p.ready = 0, 0, 0, 0, 0, nil
	p.session = newPlayedSession(transport.ClientToServer, p.http != nil, func(found *fault, frame transport.Frame) {
		p.play.addBroken(found, p.process, frame)
	})
	p.asked = map[*timeline.Call]uint64{}
	p.reads = map[*timeline.Call]standin.Reading{}
	p.wants, p.results = map[*timeline.Call]string{}, map[string]json.RawMessage{}
	p.told = map[string]uint64{}
	clear(p.play.missed)
	p.subscribed = map[string]bool{}
	p.unasked, p.soon, p.untold = map[string]int{}, map[uint64]bool{}, map[uint64]bool{}
	p.able, p.ahead = map[uint64]int{}, map[uint64]bool{}
	p.pinged, p.twin, p.isOver, p.calledOff, p.renamed = nil, nil, false, nil, nil
	p.made = map[moment]bool{}
	p.cancels = cancellations(p.events)
	if stdio, isStdio := p.line.(stdioLine); isStdio {
		p.errors = stdio.ErrorOutput()
	}
	p.take(p.server.Start())
}

// calls returns the client's calls that wait for an answer.
func (p *clientPlayer) calls() []*timeline.Call {
	isCancelled := func(call *timeline.Call) bool { return call.Cancelled != 0 }
	return slices.DeleteFunc(p.session.Open(transport.ClientToServer), isCancelled)
}

// questions returns the recorded server's requests that wait for an answer.
func (p *clientPlayer) questions() []*timeline.Call {
	isNone := func(call *timeline.Call) bool { return call.Cancelled != 0 || call == p.pinged }
	return slices.DeleteFunc(p.session.Open(transport.ServerToClient), isNone)
}

// isPinging reports whether a ping that is not in the recording has no answer yet.
func (p *clientPlayer) isPinging() bool { return p.pinged != nil && !p.pinged.Answered() }

// isAsking reports whether something that is not in the recording has no answer yet. Nothing more is sent until it has.
func (p *clientPlayer) isAsking() bool {
	return p.isPinging() || p.twin != nil && !p.twin.Answered() && p.twin.Cancelled == 0
}

// hear takes what the client has said, and reports whether it was anything.
func (p *clientPlayer) hear() (isMore bool) {
	for _, f := range p.line.Said() {
		isMore = true
		if p.process.IsInterrupted() { // these may be very many
			break
		}
		if p.recorded != "" {
			f.Bytes = bytes.ReplaceAll(f.Bytes, []byte(p.dir), []byte(p.recorded))
		}
		if p.http != nil && p.http.beginsAnew(f, p.start) {
			p.begin(p.start + 1)
		}
		p.play.trace.heard(f)
		p.heard++
		p.total++
		isOurs := false // an answer to what is not in the recording
		for _, m := range p.session.take(transport.ClientToServer, f).Messages {
			switch m.Kind {
			case transport.Response:
				isOurs = m.Call != nil && (m.Call == p.pinged || m.Call == p.twin)
				if p.renamed != nil && mcp.Same(m.ID, p.newID) {
					f.Bytes = withID(f.Bytes, p.renamed)
				}
				if seq := p.asked[m.Call]; seq != 0 && !isOurs {
					p.play.replies[seq] = canonical(m.Message, p.dir)
				}
			case transport.Request:
				p.listens = p.listens || m.Method == mcp.MethodListen
				if m.Method == mcp.MethodSubscribe {
					p.subscribed[m.Call.Target] = true
				}
				p.wants[m.Call] = wantOf(m.Message)
				reading := standin.ReadingOf(m.Message)
				p.reads[m.Call] = reading
				if !reading.IsPage() {
					p.play.heeds[reading.Subject] = p.play.heeds[reading.Subject] || p.told[reading.Subject] != 0
					delete(p.play.missed, reading.Subject)
				}
			case transport.Notification:
				if m.Method == mcp.NotificationCancelled && m.Call != nil {
					p.calledOff = append(p.calledOff, m.Call)
					if p.cancels--; p.cancels < 0 { // it is not of the recording
						p.heard--
					}
				}
			}
			p.isProbe = m.Kind == transport.Request && m.Method == mcp.MethodDiscover && !p.hasDiscover && p.heard == 1
			if p.isProbe {
				p.heard--
			}
		}
		if isOurs {
			p.heard--
			continue
		}
		p.take(p.server.Receive(f))
		if p.http != nil {
			p.http.Heard(f.Stream, p.server)
		}
	}
	return isMore
}

// take takes frames that the recorded server has returned.
func (p *clientPlayer) take(frames []transport.Frame) {
	for _, f := range frames {
		seq := p.server.Seq(p.number)
		if seq == 0 {
			f = p.answerAgain(f)
		} else {
			f = p.answerAnew(seq, f)
			p.noteResults(f)
		}
		p.ready = append(p.ready, sending{number: p.number, seq: seq, frame: f})
		p.number++
	}
	slices.SortStableFunc(p.ready, func(a, b sending) int { return cmp.Compare(a.seq, b.seq) })
	for _, s := range p.ready {
		if p.heard < p.causes[s.seq] {
			continue
		}
		if _, isKnown := p.able[s.seq]; !isKnown {
			p.able[s.seq] = p.total
		}
		if p.heard < p.before[s.seq] {
			p.ahead[s.seq] = true
		}
	}
}

// chosen returns the choice of a kind at a frame.
func (p *clientPlayer) chosen(kind Kind, seq uint64) (Choice, bool) {
	i := slices.IndexFunc(p.schedule, func(c Choice) bool { return c.Kind == kind && c.First == seq })
	if i < 0 {
		return Choice{}, false
	}
	return p.schedule[i], true
}

// next returns the place of the next frame among those that may go out, or -1: a frame goes in its recorded
// place, or at once where the schedule lets nothing else go before it. At a client that does nothing more those go as
// well that wait for more of it, and the late ones last.
func (p *clientPlayer) next(isStuck bool) int {
	is := func(kind Kind, s sending) bool { _, isChosen := p.chosen(kind, s.seq); return isChosen && s.seq != 0 }
	isLate := func(s sending) bool { return is(Late, s) || is(Behind, s) || is(Overdue, s) }
	at := slices.IndexFunc(p.ready, func(s sending) bool {
		return p.mayGo(s) && (p.made[moment{Change, s.seq}] || is(Behind, s) && p.sent > s.seq || is(Overdue, s) && p.isPassed(s))
	})
	if at < 0 {
		at = slices.IndexFunc(p.ready, func(s sending) bool {
			return p.isDue(s) && !isLate(s) && (is(Early, s) || p.soon[s.seq] || p.heard >= p.before[s.seq])
		})
	}
	if at < 0 && isStuck {
		at = slices.IndexFunc(p.ready, func(s sending) bool { return p.isDue(s) && !isLate(s) })
	}
	if at < 0 && isStuck {
		at = slices.IndexFunc(p.ready, p.isDue)
	}
	return at
}

// isPassed reports whether a client has asked for something else without the answer that is kept back, and that can be answered now.
func (p *clientPlayer) isPassed(late sending) bool {
	isPassed := slices.ContainsFunc(p.ready, func(s sending) bool { return s.seq > late.seq && p.isDue(s) && isAnswer(s.frame) })
	p.play.isPassed = p.play.isPassed || isPassed
	return isPassed
}

// gaveUp reports whether an answer is kept back by the schedule, or the server reads nothing, and the client has done by itself, on a
// timer, what it did last.
func (p *clientPlayer) gaveUp() bool {
	return p.wasTimed || p.isTimed && (p.process.Unread || slices.ContainsFunc(p.ready, func(s sending) bool {
		_, isLate := p.chosen(Late, s.seq)
		_, isOverdue := p.chosen(Overdue, s.seq)
		return s.seq != 0 && (isLate || isOverdue)
	}))
}

// isUnsubscribed reports whether a frame tells of a resource to which the client has not subscribed.
func (p *clientPlayer) isUnsubscribed(s sending) bool {
	return slices.ContainsFunc(timeline.MessagesOf(s.frame), func(m transport.Message) bool {
		return m.Method == mcp.NotificationResourceUpdated && !p.listens && !p.subscribed[timeline.TargetOf(m)]
	})
}

// isDue reports whether a frame can go out now, and tells of no change that the client has not caused yet.
func (p *clientPlayer) isDue(s sending) bool { return p.mayGo(s) && p.heard >= p.causes[s.seq] }

// send sends what is next, with what the schedule has at it, and reports whether there was something. To a
// client that is stuck it sends all that it can.
func (p *clientPlayer) send(isStuck bool) bool {
	if p.errors.Left() > 0 { // the server waits in a write
		return false
	}
	at := -1
	if !p.isAsking() {
		at = p.next(isStuck)
	}
	if at < 0 && isStuck && p.process.Unread {
		p.wasTimed = p.wasTimed || p.isTimed
		p.process.Unread = false
		p.until = 0
		return true
	}
	if at < 0 && isStuck && !p.isAsking() {
		at = slices.IndexFunc(p.ready, func(s sending) bool { return p.mayGo(s) && !p.isUnsubscribed(s) }) // a change that the client has not caused
	}
	if at < 0 && isStuck && p.server.Waiting() && len(p.questions()) == 0 && !p.isPinging() {
		p.take(p.server.GiveUpWaiting())
		at = p.next(true)
	}
	if at < 0 {
		return false
	}
	if s := p.ready[at]; p.untold[s.seq] {
		p.ready = slices.Delete(p.ready, at, at+1)
		p.take(p.server.Wrote(s.number))
		return true
	}
	first := p.ready[at].seq
	if _, isClose := p.chosen(Close, first); isClose && first != 0 {
		p.isClosed = true
		p.hangUp()
		return true
	}
	if p.http != nil && first != 0 && p.cutOff(at) {
		return true
	}
	if p.mayGo(sending{}) && p.interpose(first) {
		return true
	}
	if p.once(Stderr, first) {
		p.play.trace.add(Logged)
		p.errors.Write(errorLines)
		return true
	}
	last := first
	if c, isJoin := p.chosen(Join, first); isJoin {
		last = c.Last
	}
	var chunk []outgoing
	for at >= 0 {
		s := p.ready[at]
		p.ready = slices.Delete(p.ready, at, at+1)
		s.frame = p.namesake(s)
		if _, isFresh := p.chosen(Fresh, s.seq); isFresh {
			s.frame = p.answerAnew(s.seq, s.frame)
		}
		chunk = append(append(chunk, p.askTwice(s)...), p.compose(s))
		p.sent = max(p.sent, s.seq)
		p.take(p.server.Wrote(s.number)) // others may follow it in the same write
		at = slices.IndexFunc(p.ready, func(s sending) bool { return s.seq > first && s.seq <= last && p.isDue(s) && !p.untold[s.seq] })
	}
	p.write(chunk)
	if chunk[len(chunk)-1].isLast {
		p.isClosed = true
		p.hangUp()
	}
	if p.until != 0 && last >= p.until {
		p.until = 0
		p.process.Unread = false
	}
	return true
}

// moment is a place in front of a frame, for what is done there once.
type moment struct {
	kind Kind
	seq  uint64
}

// once reports whether the schedule has a kind of choice at a frame that was not made yet, and counts it as made.
func (p *clientPlayer) once(kind Kind, seq uint64) bool {
	_, isChosen := p.chosen(kind, seq)
	isNew := isChosen && !p.made[moment{kind, seq}]
	if isNew {
		p.made[moment{kind, seq}] = true
	}
	return isNew
}

// errorLines is how many bytes a server writes to its standard error: more than pipes and readers hold that nobody
// empties.
const errorLines = 1 << 20

// write sends frames in one go.
func (p *clientPlayer) write(chunk []outgoing) {
	if p.http == nil { // over HTTP each frame is noted with its response
		var frames []sending
		for _, f := range chunk {
			frames = append(frames, f.sending)
		}
		p.play.trace.wrote(frames)
	}
	p.isTimed = false
	p.line.send(chunk, func() { _, _ = p.process.Settle(p.patience) })
}

// isOpen reports whether the server has not ended.
func (p *clientPlayer) isOpen() bool { return !p.isOver && p.line.IsOpen() }

// hangUp ends the server.
func (p *clientPlayer) hangUp() {
	p.isOver = true
	p.play.trace.add(Ended)
	p.line.HangUp()
}

// The ids of pings and of questions that are not in the recording.
const pingID, twinID = "mcprec ping", "mcprec twin"

// describe notes what a frame of the recorded server is, what it asks, and what it answers.
func (p *clientPlayer) describe(s sending) {
	about := frame{seq: s.seq, split: splitOf(s.frame.Bytes), isAhead: p.ahead[s.seq], isAmong: len(p.ready) > 1 || len(p.calls()) > 1, isTicking: p.isTicking, isInCall: len(p.calls()) > 0, isSubscribed: len(p.changed[s.seq]) > 0, hasCalledOff: len(p.calledOff) > 0, canFill: p.errors != nil}
	if p.http != nil {
		about.way = p.http.Way(s.frame)
	}
	for _, m := range p.session.take(transport.ServerToClient, s.frame).Messages {
		about.what = strings.TrimSpace(m.Method + " " + timeline.TargetOf(m.Message))
		about.isNotice = mayRepeat(m.Method)
		if subject := standin.ChangedBy(m.Message); subject != "" && s.seq != 0 {
			p.told[subject] = s.seq
			if slices.ContainsFunc(p.calls(), func(call *timeline.Call) bool { return p.reads[call].Subject == subject }) {
				p.play.missed[subject] = s.seq
			}
		}
		switch m.Kind {
		case transport.Request:
			about.isRequest = true
			p.asked[m.Call] = s.seq
		case transport.Response:
			about.what = "the answer to "
			if m.Call != nil {
				p.calledOff = slices.DeleteFunc(p.calledOff, func(call *timeline.Call) bool { return call == m.Call })
				about.what += nameOf(m.Call)
				about.page = p.reads[m.Call].Page
				about.isHello = m.Call.Method == mcp.MethodInitialize
				if about.isHello {
					p.changes = changeOf(m.Result)
					about.changes = p.changes
				}
			}
			about.isAnswer = true
			p.last = s.seq
			if s.seq != 0 && m.Call != nil && p.once(Gap, s.seq) {
				for _, change := range p.changed[s.seq] {
					p.untold[change] = true
					p.told[standin.Resource(m.Call.Target)] = change
				}
			}
		}
	}
	if s.seq != 0 && (p.start == p.first || p.http != nil && !p.isAgain && !p.hasSent(s.seq)) {
		p.play.frames = append(p.play.frames, about)
		p.counts = append(p.counts, p.total)
	}
}

// noteNeighbours notes which frames could have gone out together: those for which nothing was needed that the client
// said in between.
func (p *clientPlayer) noteNeighbours() {
	for i := range p.play.frames {
		for j := i; j < len(p.play.frames) && p.able[p.play.frames[j].seq] <= p.counts[i]; j++ {
			p.play.frames[i].beside = append(p.play.frames[i].beside, p.play.frames[j].seq)
		}
	}
}
