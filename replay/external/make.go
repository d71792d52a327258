package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/probe"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/leftover"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Maker is a client that makes up what it says while it hears the server, such as that of package workload. Its
// frames count from 0 in the order in which it returned them.
type Maker interface {
	// Start returns the first frames.
	Start() []transport.Frame
	// Receive takes a frame of the server, and returns what the client says to it.
	Receive(transport.Frame) []transport.Frame
	// Together returns the last of the frames that go out in one write with a frame.
	Together(frame int) (last int)
	// CallsOff reports whether a frame has a request that the client cancels.
	CallsOff(frame int) bool
}

// Made is a session that was made with a server.
type Made struct {
	Events []store.Event
	// Fault is how the session ended otherwise than by the client: a hang, or a server that died. Nil: it did not.
	Fault *Finding
}

// Make plays a client to a server process once, as the plain client of a search would: it waits for each answer and
// for rest. It returns the session under a header. stop, if not nil, ends that with [child.ErrStopped].
func Make(server Server, maker Maker, header store.Header, stop <-chan struct{}) (made Made, err error) {
	if err := procfs.Supported(); err != nil {
		return made, fmt.Errorf("explore a server process: %w", err)
	}
	leftover.Sweep()
	peer := serverPeer{Server: server, stop: stop, keeps: true}
	played, err := peer.playWith(clientScript{maker}, Schedule{}, child.Confirming)
	if err != nil {
		return made, err
	}
	shown := &Shown{Moves: played.trace.moves, Until: played.trace.until, from: transport.ClientToServer}
	made.Events = shown.Events(header)
	if found := played.found; found != nil {
		made.Fault = &Finding{Kind: found.kind, Peer: peer.name(), Certain: found.isCertain(), Stand: found.look.String(), Detail: found.detail}
		for _, seq := range found.events {
			for _, f := range played.frames {
				if f.seq == seq {
					made.Fault.Requests = append(made.Fault.Requests, Request{Event: seq, What: f.what})
				}
			}
		}
	}
	return made, nil
}

// says is the half of a session that a player plays: a recorded client's, or that of a [Maker].
type says interface {
	// Start, Receive and Wrote return frames that may go out now.
	Start() []transport.Frame
	Receive(transport.Frame) []transport.Frame
	Wrote(n int) []transport.Frame
	// giveUp returns the frames that go out if what they wait for may never come.
	giveUp() []transport.Frame
	// place returns the event of frame n, counted as they were returned.
	place(n int) (seq uint64)
}

// plans is what is known of the frames of a half before they go out.
type plans interface {
	// needs returns the events whose answers a frame needs.
	needs(seq uint64) []uint64
	// together returns the last of the frames that go out in one write with a frame, without any choice.
	together(seq uint64) (last uint64)
	// isOwed reports whether a request in a frame is to be answered.
	isOwed(request planned) bool
	// wentWithout reports whether the client sends a frame though a request has no answer.
	wentWithout(request, seq uint64) bool
}

// clientHalf is the client's half of a session.
type clientHalf interface {
	says
	plans
}

// recordedScript is the half of a recorded client.
type recordedScript struct {
	*standin.Driver
	dropped map[planned]bool  // requests to which no answer is owed
	replies map[string][]byte // the result of the first answer to the server's questions, by method
	answers map[uint64]uint64 // the events of the answers, by those of the requests
}

// Receive implements says. A question that has no recorded answer gets the one to the first question of its method: a server
// that has two calls at once may ask twice what it has asked once.
func (r recordedScript) Receive(frame transport.Frame) []transport.Frame {
	frames := r.Driver.Receive(frame)
	for i := range frames {
		answers := timeline.MessagesOf(frames[i])
		if len(answers) != 1 || !standin.IsMiss(answers[0]) {
			continue
		}
		for _, question := range timeline.MessagesOf(frame) {
			if reply := r.replies[question.Method]; reply != nil && mcp.Same(question.ID, answers[0].ID) {
				frames[i].Bytes = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, question.ID, reply)
			}
		}
	}
	return frames
}

func (r recordedScript) giveUp() []transport.Frame {
	if !r.Waiting() {
		return nil
	}
	return r.GiveUpWaiting()
}

func (r recordedScript) place(n int) uint64                { return r.Seq(n) }
func (r recordedScript) needs(seq uint64) []uint64         { return r.Needs(seq) }
func (r recordedScript) together(seq uint64) (last uint64) { return seq }
func (r recordedScript) isOwed(request planned) bool       { return !r.dropped[request] }

// wentWithout implements plans. A server may answer one call when another comes.
func (r recordedScript) wentWithout(request, seq uint64) bool {
	answer := r.answers[request]
	return answer == 0 || answer > seq
}

// clientScript is what a [Maker] says. The events of its frames are their numbers, from 1.
type clientScript struct{ Maker }

func (clientScript) Wrote(int) []transport.Frame         { return nil }
func (clientScript) giveUp() []transport.Frame           { return nil }
func (clientScript) place(n int) uint64                  { return uint64(n + 1) }
func (clientScript) needs(uint64) []uint64               { return nil }
func (c clientScript) together(seq uint64) (last uint64) { return uint64(c.Together(int(seq)-1) + 1) }
func (c clientScript) isOwed(request planned) bool       { return !c.CallsOff(int(request.event) - 1) }
func (clientScript) wentWithout(uint64, uint64) bool     { return true }

// otherIDs is a half whose requests have other ids than those that the half itself gives them, so that these are free.
type otherIDs struct {
	clientHalf
	own map[mcp.Key]json.RawMessage // the half's own, by the key of the other
}

func newOtherIDs(half clientHalf) *otherIDs {
	return &otherIDs{half, map[mcp.Key]json.RawMessage{}}
}

func (o *otherIDs) Start() []transport.Frame      { return o.renamed(o.clientHalf.Start()) }
func (o *otherIDs) Wrote(n int) []transport.Frame { return o.renamed(o.clientHalf.Wrote(n)) }
func (o *otherIDs) giveUp() []transport.Frame     { return o.renamed(o.clientHalf.giveUp()) }

// Receive implements says.
func (o *otherIDs) Receive(frame transport.Frame) []transport.Frame {
	if messages := timeline.MessagesOf(frame); len(messages) == 1 && messages[0].Kind() == transport.Response {
		if own := o.own[mcp.KeyOf(messages[0].ID)]; own != nil {
			frame.Bytes = withID(frame.Bytes, own)
		}
	}
	return o.renamed(o.clientHalf.Receive(frame))
}

func (o *otherIDs) isOwed(request planned) bool {
	if own := o.own[request.id]; own != nil {
		request.id = mcp.KeyOf(own)
	}
	return o.clientHalf.isOwed(request)
}

// renamed gives the requests in frames of the half their other ids.
func (o *otherIDs) renamed(frames []transport.Frame) []transport.Frame {
	for i, f := range frames {
		messages := timeline.MessagesOf(f)
		if len(messages) != 1 {
			continue
		}
		switch m := messages[0]; {
		case m.Kind() == transport.Request:
			frames[i] = o.rename(f, m.ID, otherID(m.ID))
		case m.Method == mcp.NotificationCancelled:
			if id := transport.Member(m.Params, mcp.MemberRequestID); id != nil {
				frames[i].Bytes = withMember(f.Bytes, "params", withMember(m.Params, mcp.MemberRequestID, otherID(id)))
			}
		}
	}
	return frames
}

// rename gives a request another id.
func (o *otherIDs) rename(f transport.Frame, own, other json.RawMessage) transport.Frame {
	o.own[mcp.KeyOf(other)] = own
	f.Bytes = withID(f.Bytes, other)
	return f
}

// otherID returns a high number for a low one, and a longer text for a text.
func otherID(id json.RawMessage) json.RawMessage {
	const above = 1_000_000
	if number, err := strconv.ParseInt(string(id), 10, 32); err == nil {
		return strconv.AppendInt(nil, number+above, 10)
	}
	if bytes.HasPrefix(id, []byte(`"`)) {
		return slices.Concat([]byte(`"mcprec `), id[1:])
	}
	return id
}

// Probe measures how a server reads and writes: see package probe. Each experiment has a process of its own.
// stop, if not nil, ends the probe with [child.ErrStopped]; progress is called before each experiment.
func Probe(server Server, options probe.Options, stop <-chan struct{}, progress func(experiments int)) (probe.Report, error) {
	if err := procfs.Supported(); err != nil {
		return probe.Report{}, fmt.Errorf("probe a server process: %w", err)
	}
	leftover.Sweep()
	bench := &processes{server: server, stop: stop, progress: progress}
	report, err := probe.Server(bench, options)
	report.Evidence = probe.External
	if bench.isStopped() {
		return report, child.ErrStopped
	}
	return report, err
}

// processes is a bench: each experiment has a process.
type processes struct {
	server   Server
	stop     <-chan struct{}
	progress func(experiments int)
	played   int
}

func (b *processes) isStopped() bool { return child.IsClosed(b.stop) }

// Play implements [probe.Bench].
func (b *processes) Play(experiment func(probe.Line)) error {
	if b.isStopped() { // and say nothing more of the progress
		return child.ErrStopped
	}
	if b.progress != nil {
		b.progress(b.played)
	}
	b.played++
	return child.InPlace(b.server.Folder, b.stop, false, func(at child.Place) error {
		process, pipes, err := child.StartServer(b.server.program(), at)
		if err != nil {
			return err
		}
		defer process.Kill()
		experiment(&processLine{process: process, pipes: pipes, room: pipes.Narrow(), isStopped: b.isStopped})
		return nil
	})
}

// processLine is a line to a process.
type processLine struct {
	process   *child.Process
	pipes     *child.Pipes
	room      int
	isStopped func() bool
	look      procfs.Look
	since     time.Time // of the first Pass in a row
	sent      int       // bytes
	ends      []int     // where each frame ends, in bytes sent
}

// Send writes the frames in one go.
func (l *processLine) Send(frames ...transport.Frame) {
	var data []byte
	for _, f := range frames {
		data = append(append(data, f.Bytes...), '\n')
		l.ends = append(l.ends, l.sent+len(data))
	}
	l.sent += len(data)
	l.pipes.Write(data)
}

// Listen reads everything, or nothing.
func (l *processLine) Listen(frames int) { l.process.Unread = frames == 0 }

// Rest waits until the kernel shows that every thread of the server sleeps.
func (l *processLine) Rest() probe.Stand {
	isMoved := true
	for isMoved && !l.isStopped() {
		l.look, isMoved = l.process.Settle(child.Searching)
	}
	stand := probe.Stand{Over: l.look.Activity == procfs.Ended}
	if stand.Over {
		stand.Ended = cmp.Or(l.process.Status(), "exit status 0")
	}
	stand.Heard = l.pipes.Said()
	taken := l.sent - l.pipes.Untaken()
	for i := len(l.ends) - 1; i >= 0 && l.ends[i] > taken; i-- {
		stand.Untaken++
	}
	if l.look.Activity != procfs.Asleep && l.look.Activity != procfs.Full && l.look.Activity != procfs.Ended {
		stand.Unsure = l.look.String()
	}
	return stand
}

// Pass waits a little, as long as a timer or something outside may still move the server.
func (l *processLine) Pass(tries int) bool {
	if tries == 0 {
		l.since = time.Now()
	}
	if l.isStopped() || !child.Searching.IsWorthIt(l.look, time.Since(l.since)) {
		return false
	}
	time.Sleep(500 * time.Microsecond)
	return true
}

func (l *processLine) Room() int { return l.room }
