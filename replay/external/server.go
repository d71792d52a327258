package external

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// Server says how the server under test is started.
type Server struct {
	Command []string
	Env     []string // NAME=VALUE, beside the environment of this process
	// Folder is copied for each process. The copy takes the place of its path in the client's frames.
	Folder string // "": each process has an empty folder
	In     string // the folder in which the command is started; "": that of this process
	// URL is the MCP endpoint of a server that speaks Streamable HTTP, on this machine. %PORT in it, in Command
	// and in Env stands for a port that each process has for itself.
	URL    string      // "": the server speaks on its standard input and output
	Header http.Header // goes with every request to URL
}

// portMark stands in a server's URL, command and environment for the port of the process.
const portMark = "%PORT"

// program returns what is started, with pairs of marks beside those of package child.
func (s Server) program(marks ...string) child.Program {
	return child.Program{Command: s.Command, Env: s.Env, In: s.In, Marks: marks}
}

func (s Server) hasPortMark() bool {
	return slices.ContainsFunc(slices.Concat(s.Command, s.Env, []string{s.URL}), func(text string) bool { return strings.Contains(text, portMark) })
}

// Check returns what is wrong with the server's URL, if as many processes as there are jobs run at once.
func (s Server) Check(jobs int) error {
	switch isPortInURL := strings.Contains(s.URL, portMark); {
	case s.URL == "":
		return nil
	case !isPortInURL && jobs > 1:
		return fmt.Errorf("%s: %d servers at once want a port each: put %s into the URL and the command", s.URL, jobs, portMark)
	case !isPortInURL && s.hasPortMark():
		return fmt.Errorf("%s is in the command, and not in the URL %s", portMark, s.URL)
	}
	address, err := url.Parse(strings.ReplaceAll(s.URL, portMark, "1"))
	if err != nil {
		return fmt.Errorf("%s: want a URL such as http://localhost:%s/mcp", s.URL, portMark)
	}
	_, err = loopback(address)
	return err
}

// loopback returns the addresses of this machine at which the server of a URL may listen.
func loopback(address *url.URL) (list []netip.AddrPort, err error) {
	port, err := strconv.ParseUint(cmp.Or(address.Port(), "80"), 10, 16)
	hosts := []string{address.Hostname()}
	if address.Hostname() == "localhost" {
		hosts = []string{"127.0.0.1", "::1"}
	}
	for _, host := range hosts {
		ip, hostErr := netip.ParseAddr(host)
		if err != nil || hostErr != nil || !ip.IsLoopback() || address.Scheme != "http" {
			return nil, fmt.Errorf("%s: want the URL of a server that the command starts on this machine, such as http://localhost:%s/mcp", address, portMark)
		}
		list = append(list, netip.AddrPortFrom(ip, uint16(port)))
	}
	return list, nil
}

// serverPeer is a server under test, to which the recorded client plays.
type serverPeer struct {
	Server
	events  []store.Event
	stop    <-chan struct{} // closed when a play is to end at once
	keeps   bool            // the trace of a play
	asks    bool            // for lines of source at a hang
	waiting map[string]bool // what is answered when another message has come, such as "tools/call await"; nil: that is not known yet
}

func (s serverPeer) asking() peer   { s.asks = true; return s }
func (serverPeer) name() string     { return "server" }
func (serverPeer) recorded() string { return "client" }

// knowing implements peer.
func (s serverPeer) knowing(plain play) peer {
	s.waiting = map[string]bool{}
	for _, f := range plain.frames {
		s.waiting[f.what] = s.waiting[f.what] || f.waits
	}
	return s
}

// connection carries frames between the recorded client and a server process.
type connection interface {
	// send hands frames over in one go. If it is to be split, at bytes of the first frame, it calls rest
	// between the parts.
	send(frames []sending, splits []int, rest func())
	// Said returns what the server has said since the last call.
	Said() []transport.Frame
	// Untaken returns how many bytes the server has not read.
	Untaken() int
	// End says to the server that the client has ended.
	End()
	// Shut closes the server's output. Over HTTP it does nothing.
	Shut()
}

// stdio is a connection over the pipes to a server: each frame is a line.
type stdio struct{ *child.Pipes }

// send implements connection.
func (s stdio) send(frames []sending, splits []int, rest func()) {
	var data []byte
	for _, f := range frames {
		data = append(append(data, f.frame.Bytes...), '\n')
	}
	s.Send(data, splits, rest)
}

// exchanges is what a connection over HTTP has beside: each frame of the client is a request with a response.
type exchanges interface {
	responses
	sessions
}

// responses are those to the requests of a client.
type responses interface {
	// cut cuts the response to a frame: at once and for good, or, said before the frame is sent, behind the
	// first event with an id, to come back for the rest.
	cut(seq uint64, comesBack bool)
	// proceed makes the next request that waits until the server is at rest: for a stream, or for the rest of
	// one. It reports whether there was one.
	proceed() bool
	// outcome says what became of the response to a frame, and outcomeUnder of that to the request which waits under an id: a
	// [Flood] has several requests of one frame.
	outcome(seq uint64) outcome
	outcomeUnder(id mcp.Key) outcome
	// owed returns the frames, without requests of MCP, to which the server owes a response; 0: another request.
	owed() []uint64
}

// standalone is the number of the standalone stream, which no frame has.
const standalone = math.MaxUint64

// sessions are those of a server.
type sessions interface {
	// open returns the frames with a request whose response goes on without the answer, though the session was
	// deleted.
	open() []uint64
	// again hangs up on everything and sends the first frame, as a client of a new session. It reports whether
	// that begins one.
	again() bool
	// another returns another client, whose frames go out with send, marked as a guest's.
	another() client
	// reopen goes one step on the way from one standalone stream to another: it opens that, ends the first, and opens it again
	// if the server has refused to have two. Or it leaves the first one first, and then opens another by the id of its last event, if
	// that has one. It is called when the server is at rest, and reports whether there was a step.
	reopen(leavesFirst bool) bool
	// isNamed reports whether the server has given the session an id. Without one it cannot tell two clients apart.
	isNamed() bool
}

// client is what is heard of one client of a server over HTTP.
type client interface {
	responses
	Said() []transport.Frame
	// End says to the server that this client has ended its session.
	End()
}

// outcome is what became of a response.
type outcome struct {
	isOver      bool   // nothing more will come
	how         string // it ended, if it brought no answer
	isDeclined  bool   // the server does not give the rest of a stream, which it need not
	isResumable bool   // a client can come back for a part of its frames
}

// start starts a process. The connection over HTTP is nil for other servers.
func (s serverPeer) start(at child.Place) (*child.Process, connection, exchanges, error) {
	if s.URL != "" {
		listens := len(s.events) == 0 || standin.Dial(s.events, s.URL).Listen != streamable.ListenNever // none: the session is being made
		process, web, err := startWebServer(s.Server, listens || !isOverHTTP(s.events), at)
		return process, web, web, err
	}
	process, pipes, err := child.StartServer(s.program(), at)
	return process, stdio{pipes}, nil, err
}

// isOverHTTP reports whether a session was recorded over HTTP.
func isOverHTTP(events []store.Event) bool {
	return slices.ContainsFunc(events, func(e store.Event) bool { return e.Kind == store.HTTP })
}

// results implements peer.
func (s serverPeer) results() (requests []uint64) {
	for _, c := range timeline.CallsOf(s.events).All() {
		if c.Dir == transport.ClientToServer && c.Answered() && (c.Failure == "" || c.Failure == timeline.ToolError) {
			requests = append(requests, c.Request)
		}
	}
	return requests
}

// play starts a process, plays the schedule and ends the process.
func (s serverPeer) play(schedule Schedule, patience child.Patience) (played play, err error) {
	driver := standin.NewDriver(s.events, match.Rules{By: match.ByMethod})
	driver.AllowReorder()
	var half clientHalf = recordedScript{driver, droppedIn(s.events), repliesIn(s.events), answersIn(s.events)}
	if slices.ContainsFunc(schedule, func(c Choice) bool { return c.Kind == Alias }) {
		half = newOtherIDs(half)
	}
	return s.playWith(half, schedule, patience)
}

// playWith plays a half.
func (s serverPeer) playWith(half clientHalf, schedule Schedule, patience child.Patience) (played play, err error) {
	err = child.InPlace(s.Folder, s.stop, s.asks, func(at child.Place) error {
		process, line, http, err := s.start(at)
		if err != nil {
			return err
		}
		defer process.Kill()
		p := &player{
			schedule: schedule, patience: patience, dir: at.Dir, recorded: cmp.Or(s.Folder, child.FolderMark), half: half, events: s.events, waiting: s.waiting, status: statusIn(s.events), process: process, line: line, http: http,
			requests: map[*timeline.Call]*request{}, play: play{answers: map[uint64]string{}, failed: map[uint64]bool{}, trace: newTrace(s.keeps)},
		}
		p.session = newPlayedSession(transport.ServerToClient, http != nil, func(found *fault, frame transport.Frame) {
			p.play.addBroken(found, process, frame)
		})
		p.run()
		p.play.trace.giveUp(p.play.found)
		p.play.trace.leave(process)
		if process.IsStopped() {
			return child.ErrStopped
		}
		for i := range p.play.frames {
			if f := &p.play.frames[i]; http != nil {
				f.isResumable = http.outcome(f.seq).isResumable
			}
		}
		played = p.play
		if played.lines == nil {
			played.lines = linesOf(process, played.found)
		}
		return nil
	})
	return played, err
}

// planned is a request of the recorded client.
type planned struct {
	event uint64
	id    mcp.Key
}

// droppedIn returns the requests that the recorded client gave up, or that are answered when a stream
// ends.
func droppedIn(events []store.Event) map[planned]bool {
	list := map[planned]bool{}
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		step := model.Take(e)
		for _, m := range step.Messages {
			isCancelled := m.Method == mcp.NotificationCancelled && m.Call != nil
			isListen := m.Role == timeline.Asks && m.Method == mcp.MethodListen
			if step.Dir == transport.ClientToServer && (isCancelled || isListen) {
				list[planned{m.Call.Request, m.Call.Key()}] = true
			}
		}
	}
	return list
}

// repliesIn returns the result of the first answer of the recorded client to each method that its server asks for.
func repliesIn(events []store.Event) map[string][]byte {
	list := map[string][]byte{}
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		step := model.Take(e)
		for _, m := range step.Messages {
			isReply := step.Dir == transport.ClientToServer && m.Role == timeline.Answers && m.Result != nil
			if isReply && list[m.Call.Method] == nil {
				list[m.Call.Method] = m.Result
			}
		}
	}
	return list
}

// answersIn returns the events of the answers to the recorded client's requests, by those of the requests.
func answersIn(events []store.Event) map[uint64]uint64 {
	answers := map[uint64]uint64{}
	for _, call := range timeline.CallsOf(events).All() {
		if call.Dir == transport.ClientToServer {
			answers[call.Request] = call.Response
		}
	}
	return answers
}

// withoutEndsOfHangs returns the events of a session without the cancellations of calls that hung: a client with a
// time limit cancels what hangs, and a call that is cancelled is owed no answer. Played as recorded, the hang
// would not be judged. A cancellation over HTTP goes with its exchange.
func withoutEndsOfHangs(events []store.Event) []store.Event {
	hung := hungCalls(events)
	if len(hung) == 0 {
		return events
	}
	frames, exchanges := map[uint64]bool{}, map[uint64]bool{}
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		step := model.Take(e)
		isKept := func(m timeline.Message) bool {
			return m.Method != mcp.NotificationCancelled || m.Call == nil || !hung[m.Call.Request]
		}
		if step.Dir == transport.ClientToServer && len(step.Messages) > 0 && !slices.ContainsFunc(step.Messages, isKept) {
			frames[e.Seq] = true
			exchanges[e.Stream] = e.Stream != 0
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool { return frames[e.Seq] || exchanges[e.Stream] })
}

// hungCalls returns the calls of the client that hung until it cancelled them, by their events: those that the
// server kept waiting, without progress, for as long as package why waits.
func hungCalls(events []store.Event) map[uint64]bool {
	var fold why.Fold
	_ = timeline.Project(timeline.Steps(jsonl.Each(events)), &fold) // what cannot be read shows no hang
	report := fold.Report(why.Live{}, 0)
	suspected := map[uint64]bool{}
	for _, f := range report.Findings {
		for _, seq := range f.Calls {
			suspected[seq] = suspected[seq] || f.Culprit != "client"
		}
	}
	for _, open := range report.Open { // the client went on
		suspected[open.Call] = suspected[open.Call] || open.Why == why.GivenUp && open.Culprit == "server"
	}
	at := map[uint64]time.Duration{}
	for _, e := range events {
		at[e.Seq] = e.At
	}
	hung := map[uint64]bool{}
	for _, c := range timeline.CallsOf(events).All() {
		last := c.Request
		for _, seq := range c.Progress {
			if seq < c.Cancelled {
				last = max(last, seq)
			}
		}
		isCancelled := c.Dir == transport.ClientToServer && c.Cancelled != 0 && !c.Answered()
		if isCancelled && suspected[c.Request] && at[c.Cancelled]-at[last] >= cmp.Or(report.After, why.Patience) {
			hung[c.Request] = true
		}
	}
	return hung
}

// statusIn returns the status with which the recorded server ended when its input had, in the words of
// [child.Process.Status]; "": with 0, or otherwise.
func statusIn(events []store.Event) string {
	isClosed := false
	for _, e := range events {
		switch e.Kind {
		case store.EOF:
			info, err := store.DecodePayload[store.EOFInfo](e)
			isClosed = isClosed || err == nil && e.Dir == transport.ClientToServer && info.By == "sender"
		case store.Signal:
			return ""
		case store.Exited:
			info, err := store.DecodePayload[store.ExitInfo](e)
			if err != nil || !isClosed || info.Code <= 0 || info.Signal != "" {
				return ""
			}
			return fmt.Sprintf("exit status %d", info.Code)
		}
	}
	return ""
}

// mayGoWithout reports whether the client may go on without the answers that it waits for, as the recorded one did: the server may
// wait for its next message. In another order than the recorded one it may if the server has waited so in that.
func (p *player) mayGoWithout() bool {
	if len(p.ready) == 0 || p.http != nil && len(p.http.owed()) > 0 {
		return false
	}
	next := slices.MinFunc(p.ready, func(a, b sending) int { return cmp.Compare(a.seq, b.seq) })
	isNeeded := func(r *request) bool {
		return !r.isAhead && (!p.half.wentWithout(r.seq, next.seq) || p.waiting != nil && !p.waiting[r.what])
	}
	return !slices.ContainsFunc(p.owed(), isNeeded)
}

// nudge sends a ping, once for what has no answer, and reports whether it did. A call that any message brings its answer waits for
// none: it is stuck.
func (p *player) nudge() bool {
	owed := p.owed()
	hasPing := slices.ContainsFunc(p.play.frames, func(f frame) bool { return f.isHello }) // the revisions without a handshake have none
	if p.waiting != nil || !hasPing || slices.Equal(owed, p.nudged) {
		return false
	}
	p.nudged = owed
	p.nudges++
	ping := sending{frame: transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"mcprec-ping-%d","method":%q}`, p.nudges, mcp.MethodPing)}}
	p.session.take(transport.ClientToServer, ping.frame)
	p.write([]sending{ping})
	return true
}

// isNudged reports whether a ping has brought answers.
func (p *player) isNudged() bool {
	owed := p.owed()
	return slices.ContainsFunc(p.nudged, func(r *request) bool { return !slices.Contains(owed, r) })
}

// goWithout has the client wait no more for the answers that it lacks.
func (p *player) goWithout() {
	for _, r := range p.owed() {
		r.isAhead = true
		if at := slices.IndexFunc(p.play.frames, func(f frame) bool { return f.seq == r.seq }); at >= 0 {
			p.play.frames[at].waits = true
		}
	}
	p.nudged = nil
}
