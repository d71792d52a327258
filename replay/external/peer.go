package external

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// peer is the end under test, to which the recorded other end plays.
type peer interface {
	// name is "server" or "client".
	name() string
	// recorded is the name of the end that plays to it.
	recorded() string
	// play starts a process, plays a schedule to it, and ends it. The error is [child.ErrStopped] if that was cut short.
	play(schedule Schedule, patience child.Patience) (play, error)
	// asking returns the peer with processes that are asked for lines of source at a hang.
	asking() peer
	// knowing returns the peer that knows what came of the recorded order.
	knowing(plain play) peer
	// results returns the events of the recorded requests that were answered with a result.
	results() []uint64
	// choices returns what is tried by itself, by kind, of the frames of a plain play.
	choices(frames []frame) [][]Schedule
	// joins reports whether a message of the recorded end is worth joining to its neighbour.
	joins(f frame) bool
	// whyApart says why two neighbours cannot be sent together.
	whyApart(first, second frame) string
	// words says what a choice does. name names the frame of an event.
	words(c Choice, name func(seq uint64) string) string
}

// play is what came of a schedule.
type play struct {
	found   *fault            // nil: nothing is wrong but what is broken
	broken  []*fault          // rules of the protocol, in the order in which the end under test broke them
	answers map[uint64]string // of a server, by the event of the request, without ids and folders
	errors  map[uint64]string // of a server: its answers that are errors, by the event of the request, and with its name
	failed  map[uint64]bool   // of a server: the requests that have failed, by an error of MCP or of the tool
	output  string            // of a client, without the folder
	replies map[uint64]string // of a client, by the event of the server's question, without ids and the folder
	frames  []frame           // as they went out
	changes []string          // that a client was told of and that were none, such as "notifications/tools/list_changed"
	missed  map[string]uint64 // by what a client was reading, such as tools/list: the event that told it of a change, behind which it has not read it again
	heeds   map[string]bool   // what a client has read again behind a change

	other        *otherRequest // of a client; nil: it asked for nothing that it does not ask for in the recording
	hasCancelled bool          // a client has cancelled more than the recorded one: it had no patience
	isPassed     bool          // a client asked for something else without an answer that was kept back

	patience child.Patience // it was played with

	unheeded  []uint64 // requests that a server answered after it had come to rest with their cancellation
	dropped   []uint64 // requests behind which the client ended, and which a server did not answer any more
	cancelled []uint64 // requests that the recorded client cancels, so that none of them is owed an answer
	status    string   // with which the end under test ended, a server when its input had; "": 0
	open      []uint64 // requests whose responses a server left open behind the DELETE of their session
	blocked   []uint64 // requests that a server answered only when the client had answered its question about another
	outlasted []uint64 // requests behind which a server got SIGTERM, and ended only when its input did

	news       []news   // of a server
	told       []string // its notifications, as they are compared
	toldGuest  []string // those to another client
	isDeaf     bool     // over HTTP the client had no standalone stream at last
	isUnjudged bool     // the end under test asked for what the recording does not have; of a server its answers are not compared

	trace *trace   // nil: not kept
	lines []string // of a process that was asked: which hold what waits at a hang, or keep it from its end
	met   []string // of a server that was asked: where its requests met
}

// otherRequest is a request that the recorded client does not make.
type otherRequest struct {
	wants   string   // its method and params
	instead []string // what the recorded client asks for by this method, and the one under test has not yet
	behind  int      // how many frames had gone out
}

// news is a notification of a server that something has changed.
type news struct {
	behind uint64 // the latest frame that had gone out
	what   string // such as "notifications/tools/list_changed"
}

// isWhole reports whether all was said: a server that only goes on after the end has answered everything.
func (p play) isWhole() bool { return p.found == nil || p.found.kind == Lingers }

// waiting returns the requests that a server answered only when another message had come.
func (p play) waiting() (list []uint64) {
	for _, f := range p.frames {
		if _, isAnswered := p.answers[f.seq]; f.waits && isAnswered {
			list = append(list, f.seq)
		}
	}
	return list
}

// fault is what a play has found.
type fault struct {
	kind   Fault
	events []uint64 // the requests that it is about, or of a client the frames
	look   procfs.Look
	at     Kind // the choice that brings it: [Term], [Gone] or "" (the end of the input) to Lingers, [Split], [Reverse], [Relist], [Rewalk], [Reopen], [Miss], [Part], [Unsubscribe], [Quit] or [Meet] to Unequal
	detail string
	about  string   // what tells it from other findings, in place of the names of its events; "": these do
	lines  []string // of source, that wrote what is illegal
}

// isCertain reports whether nothing else than mcprec could have moved the process.
func (f *fault) isCertain() bool {
	return f.look.Activity == procfs.Asleep || f.look.Activity == procfs.Full || f.look.Activity == procfs.Ended ||
		f.kind == NotSerial || f.kind == Different || f.kind == Unequal || f.kind == Illegal
}

// sending is a frame that the recorded end may send now.
type sending struct {
	number int    // as its half of the recording counts
	seq    uint64 // of the recorded event; 0: an unrecorded answer
	frame  transport.Frame

	isGuest bool // it is of another client over HTTP, and seq is that client's own
}

// canonical returns an answer for comparison: without its id, and with the mark of the folder of a process.
func canonical(m transport.Message, folder string) string {
	body := m.Result
	if m.Error != nil {
		body = m.Error
	}
	if value, err := mcp.Value(body); err == nil {
		if data, err := json.Marshal(value); err == nil {
			body = data
		}
	}
	return strings.ReplaceAll(string(body), folder, child.FolderMark)
}

// toldText returns a notification for comparison.
func toldText(m transport.Message, folder string) string {
	return strings.ReplaceAll(m.Method+" "+string(m.Params), folder, child.FolderMark)
}

// seeing returns the play for a confirmation of a fault. If that is a broken rule, the play has found this rule, or nothing:
// it may show other rules and other faults beside.
func (p play) seeing(sought *fault) play {
	if sought.kind != Illegal {
		return p
	}
	p.found = nil
	if i := slices.IndexFunc(p.broken, func(f *fault) bool { return f.about == sought.about }); i >= 0 {
		p.found = p.broken[i]
		p.lines = p.found.lines
	}
	return p
}

// addBroken adds a rule that is broken, once, and asks the process where it wrote the frame that breaks it.
func (p *play) addBroken(found *fault, process *child.Process, frame transport.Frame) {
	isSame := func(f *fault) bool { return f.about == found.about }
	if !slices.ContainsFunc(p.broken, isSame) {
		found.lines = process.Wrote(frame.Bytes)
		p.broken = append(p.broken, found)
	}
}

// linesOf asks a process that hangs which lines of its source hold what waits, and one that does not end which made
// what keeps it alive.
func linesOf(process *child.Process, found *fault) []string {
	switch {
	case found == nil:
		return nil
	case found.kind == Hang:
		return process.Lines()
	case found.kind == Lingers:
		return process.Alive()
	}
	return nil
}

// playedSession is the session of one play: the frames of the recorded end, in the order in which they went out, and
// those of the process, as they were heard. Its Model is the only index of open requests that a player has; what a
// player knows of a call beside, it keeps by the Call.
type playedSession struct {
	*timeline.Model
	events uint64 // so far
	rules  *check.Fold
	taken  transport.Frame // the latest
	step   timeline.Step   // of that
	// streams are those in which something about a call has come over HTTP.
	streams map[*timeline.Call]map[uint64]bool
}

// newPlayedSession returns the session of a play. The end under test sends in direction under; illegal is called with each rule
// that it breaks, and with the frame that shows it. Over HTTP frames on two streams may come in either order, and the status of
// a response is not seen: of the rules about order those count about calls of which all has come in one stream.
func newPlayedSession(under transport.Direction, isHTTP bool, illegal func(*fault, transport.Frame)) *playedSession {
	s := &playedSession{Model: timeline.NewModel(timeline.All), streams: map[*timeline.Call]map[uint64]bool{}}
	s.rules = check.New(check.Gate{}, func(f check.Finding) {
		isOfRules := f.Severity == order.Error && f.Section != "" && !f.IsWait()
		ofStreams := (order.Violation{Title: f.Title}).OneSender() && !s.isInOneStream() || f.NeedsExchange()
		if !isOfRules || f.Dir != under || isHTTP && ofStreams {
			return
		}
		illegal(&fault{
			kind: Illegal, look: procfs.Look{Activity: procfs.Ended}, about: f.Title,
			detail: fmt.Sprintf("%s (%s: %s; %s)", f.Text, f.Rule, f.Title, f.Section),
		}, s.taken)
	})
	return s
}

// isInOneStream reports whether all that has come about the call of the latest frame came in one stream.
func (s *playedSession) isInOneStream() bool {
	return !slices.ContainsFunc(s.step.Messages, func(m timeline.Message) bool { return m.Call == nil || len(s.streams[m.Call]) != 1 })
}

// take takes a frame. A play is one session of one client, so ids are unique in it, over HTTP as well. An answer
// whose id is the request's but for its type is none here: an end under test has to give the id as it got it.
func (s *playedSession) take(dir transport.Direction, frame transport.Frame) timeline.Step {
	s.events++
	step := s.Take(store.Event{Seq: s.events, Kind: store.Frame, Dir: dir, Payload: frame.Bytes})
	s.taken, s.step = frame, step
	for _, m := range step.Messages {
		if m.Call != nil && frame.Stream != 0 {
			if s.streams[m.Call] == nil {
				s.streams[m.Call] = map[uint64]bool{}
			}
			s.streams[m.Call][frame.Stream] = true
		}
	}
	_ = s.rules.Take(step) // it fails only for events that are no frames
	for i := range step.Messages {
		if m := &step.Messages[i]; m.Role == timeline.Answers && m.Retyped {
			s.Lose(step.Messages[i : i+1])
			m.Call, m.Role = nil, timeline.Unlinked
		}
	}
	return step
}

// nameOf names a call, such as "tools/call echo".
func nameOf(call *timeline.Call) string {
	return strings.TrimSpace(call.Method + " " + call.Target)
}
