package external

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/external/webserver"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// httpPlay is the part of a play of the server's half that there is over HTTP only.
type httpPlay struct {
	*webserver.Server
	recorded       *standin.Responses
	recordedHellos int             // sessions that the recorded client has begun
	hellos         int             // those that the live one has begun
	cuts           map[uint64]int  // how often the response of a frame was ended in front of it, or in place of it
	isEndedAlone   map[uint64]bool // the standalone stream has ended in front of a frame
	isLost         bool            // the answer to a call does not come any more
	isGone         bool            // a request got 404 for its session
	isAnew         bool            // and the client has begun another session
	isUnheard      bool            // clientPlayer.isUnheard when the client was last at rest
}

func newHTTPPlay(events []store.Event, schedule Schedule, trace *trace) *httpPlay {
	h := &httpPlay{recorded: standin.ResponsesOf(events), cuts: map[uint64]int{}, isEndedAlone: map[uint64]bool{}}
	var options webserver.Options
	for _, c := range schedule {
		options.IDs = options.IDs || c.Kind == Poll
		options.NoIDs = options.NoIDs || c.Kind == Drop || c.Kind == Break
		options.NoAlone = options.NoAlone || c.Kind == NoStream
	}
	if trace != nil {
		options.Note = trace.exchanged
	}
	h.Server = webserver.New(h.recorded, options)
	for _, e := range events {
		if e.Kind == store.Frame && e.Dir == transport.ClientToServer && isHello(e.AsFrame()) {
			h.recordedHellos++
		}
	}
	return h
}

// isHello reports whether a frame begins a session.
func isHello(frame transport.Frame) bool {
	return slices.ContainsFunc(timeline.MessagesOf(frame), func(m transport.Message) bool { return m.Method == mcp.MethodInitialize })
}

// beginsAnew reports whether a frame of the client begins what the recorded client did not, so that the server's half
// is played from its beginning once more. starts is how often it was.
func (h *httpPlay) beginsAnew(frame transport.Frame, starts int) bool {
	if !isHello(frame) {
		return starts == 0
	}
	h.hellos++
	isFirstBehindGone := h.isGone && !h.isAnew
	h.isAnew = h.isGone
	return starts == 0 || h.hellos > h.recordedHellos || isFirstBehindGone
}

// httpLine is the recorded server over HTTP.
type httpLine struct {
	*child.HTTPListener
	server *webserver.Server
}

// Starts implements serverLine.
func (l *httpLine) Starts() int { return 0 }

// IsEnded implements serverLine: a client over HTTP may always say more.
func (l *httpLine) IsEnded() bool { return false }

// IsAwaited implements serverLine.
func (l *httpLine) IsAwaited() bool { return false }

// Said implements serverLine.
func (l *httpLine) Said() (frames []transport.Frame) {
	for _, x := range l.HungUp() {
		l.server.HungUp(x.Number)
	}
	for _, x := range l.Requests() {
		if frame, isFrame := l.server.Take(&webserver.Request{Request: x.Request, Number: x.Number, Body: x.Body, Response: x}); isFrame {
			frames = append(frames, frame)
		}
	}
	return frames
}

// send implements serverLine.
func (l *httpLine) send(chunk []outgoing, rest func()) {
	for _, f := range chunk {
		for range f.copies {
			l.server.Write(f.overHTTP(), func() { l.Flush(); rest() })
		}
	}
	l.Flush()
}

// onlyTicks reports whether a client at rest has done nothing for some time but to look at its watch: a program on node
// does that every half a second, for as long as five minutes, while it waits for a response. What the server keeps for
// a client that does nothing more goes out then. That such a client hangs is judged later.
func (p *clientPlayer) onlyTicks(look procfs.Look, waited time.Duration) bool {
	const tick, enough = 500 * time.Millisecond, 2500 * time.Millisecond
	return p.http != nil && look.Activity == procfs.Timed && look.Timer <= tick && waited > enough
}

// overHTTP returns a frame as a server over HTTP gets it.
func (f outgoing) overHTTP() webserver.Frame {
	return webserver.Frame{Line: f.line, Stream: f.frame.Stream, Split: f.split, Other: f.isOther, Said: f.frame.Bytes, Seq: f.seq}
}

// isTouched reports whether a frame of a choice has gone out, or was cut off. A client over HTTP may begin a session
// to see whether it can, and another one for its work: that one gets the schedule then.
func (p *clientPlayer) isTouched() bool {
	return p.isCutOff() || slices.ContainsFunc(p.schedule, func(c Choice) bool { return p.hasSent(c.First) })
}

// hasSent reports whether a frame of the recorded server has gone out.
func (p *clientPlayer) hasSent(seq uint64) bool {
	return slices.ContainsFunc(p.play.frames, func(f frame) bool { return f.seq == seq })
}

// mayGo reports whether a frame can go out now: over HTTP it needs a response.
func (p *clientPlayer) mayGo(s sending) bool { return p.http == nil || p.http.MayGo(s.frame) }

// cutOff ends the response of a frame that is next, if the schedule says so, and reports that.
func (p *clientPlayer) cutOff(at int) bool {
	s := p.ready[at]
	h := p.http
	poll, isPoll := p.chosen(Poll, s.seq)
	_, isDrop := p.chosen(Drop, s.seq)
	_, isBreak := p.chosen(Break, s.seq)
	_, isGone := p.chosen(Forget, s.seq)
	_, isEnd := p.chosen(EndAlone, s.seq)
	switch {
	case isPoll && h.cuts[s.seq] < poll.At && h.CanComeBack(s.frame):
		h.cuts[s.seq]++
		h.Cut(s.frame)
	case (isDrop || isBreak) && h.cuts[s.seq] == 0:
		h.cuts[s.seq]++
		h.isLost = true
		h.Drop(s.frame, isBreak)
		p.ready = slices.Delete(p.ready, at, at+1)
		p.take(p.server.Wrote(s.number))
	case isEnd && !h.isEndedAlone[s.seq]:
		h.isEndedAlone[s.seq] = true
		h.EndAlone()
	case isGone && !h.isGone:
		h.isGone = true
		h.cuts[s.seq]++
		h.Forget(s.frame)
		p.ready = nil // all of it is of the session that is forgotten
	default:
		return false
	}
	return true
}

// isCutOff reports whether calls have no answer because their responses were ended.
func (p *clientPlayer) isCutOff() bool {
	return p.http != nil && (p.http.isGone || len(p.http.cuts) > 0)
}

// stuckOverHTTP judges a client that does nothing more, where that is about what there is over HTTP only. What it may
// wait for, and what the server cannot say because the client has asked for no stream, is no fault of either.
func (p *clientPlayer) stuckOverHTTP(look procfs.Look) bool {
	h := p.http
	var calls []string
	for _, call := range p.calls() {
		calls = append(calls, nameOf(call))
	}
	slices.Sort(calls)
	waits := ", and it waits for the answer to " + strings.Join(calls, ", ")
	switch isWaiting := len(calls) > 0; {
	case isWaiting && h.isGone && !h.isAnew:
		p.failCutOff(look, "no new session", "it got 404 for its session, has not begun another one"+waits)
	case isWaiting && h.isLost:
		p.failCutOff(look, "no answer", "the response has ended without the answer"+waits)
	case isWaiting && len(h.cuts) > 0 && h.Returns == 0:
		p.failCutOff(look, "no return", "the response has ended behind an event with an id, it has not come back"+waits)
	case isWaiting && len(h.cuts) > 0 && h.Strays > 0:
		p.failCutOff(look, "forgotten", "it came back by the id of an event, and the next time without it"+waits)
	case isWaiting && len(h.cuts) > 0 && !h.isFollowed(p.ready):
		p.failCutOff(look, "no return any more", fmt.Sprintf("it came back %s by the id of an event, and no more", phrase.Plural(h.Returns, "time"))+waits)
	case h.IsEnded():
		p.fail(Lingers, look, endedSession)
	case h.isUnheard:
		p.play.isUnjudged = true
	default:
		return false
	}
	return true
}

// failCutOff notes a hang behind the end of a response. Which response that was does not matter.
func (p *clientPlayer) failCutOff(look procfs.Look, about, detail string) {
	p.fail(Hang, look, detail)
	if found := p.play.found; found != nil {
		found.about = about
		found.events = slices.Sorted(maps.Keys(p.http.cuts))
	}
}

// endedSession is the detail of a client that goes on behind the DELETE of its session.
const endedSession = "it has deleted its session"

// mayFail reports whether a client may end with an exit status that tells of a failure. One that got 404 for its session
// must have begun another one, and one that came back once must not have forgotten where.
func (p *clientPlayer) mayFail() bool {
	h := p.http
	return h.isLost || h.isGone && h.isAnew || h.isUnheard || h.Returns == 0 && slices.ContainsFunc(p.ready, func(s sending) bool { return h.cuts[s.seq] > 0 })
}

// isUnheard reports whether nothing can go out but what the client has no standalone stream for. It need not have one.
func (p *clientPlayer) isUnheard() bool {
	return p.next(false) < 0 && slices.ContainsFunc(p.ready, func(s sending) bool {
		return s.frame.Stream == 0 && p.heard >= p.before[s.seq] && !p.http.MayGo(s.frame)
	})
}

// isFollowed reports whether the client has a response on which one of some frames could go out.
func (h *httpPlay) isFollowed(frames []sending) bool {
	return slices.ContainsFunc(frames, func(s sending) bool { return h.MayGo(s.frame) })
}
