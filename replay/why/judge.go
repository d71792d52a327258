package why

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/framing"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Patience is how long something waits before it counts as stuck; MostPatience in a session whose answers
// take long.
const (
	Patience     = 5 * time.Second
	MostPatience = 10 * time.Second
)

// Live is what is known of a live session beside its log. The zero Live is that of a session
// that is over.
type Live struct {
	Now    time.Duration    // since the start of the session
	Lines  []store.OpenLine // lines of the pipes without an end so far
	Server Process          // that was started
	Below  []Process        // that it has started, and that have its input; each behind its parent
	Client Process
	// Muted is a process of the server's that waits in a write to standard error, while the recorder waits in
	// a write of that to the client.
	Muted Process
	Mask  func(string) string // masks a text of a peer; nil: it stays as it is
}

// Process is how a process stands now. The zero Process is not known.
type Process struct {
	Name  string // of its program
	PID   int
	State string // "running", "sleeping", "stopped", "gone", …
	Doing string // where it waits: "in a read of its input"; "": not known
	// Asleep is set if all its threads sleep, and no timer wakes them.
	Asleep bool
	Needs  string        // a sentence: all its threads sleep, and what can wake them; "": not known
	Age    time.Duration // since it was started; 0: not known
	Reads  bool          // it waits in a read of the server's input
	Writes bool          // it has the server's output
}

// String describes the process for a sentence.
func (p Process) String() string {
	s := fmt.Sprintf("(%s, %d) is %s", clip(p.Name), p.PID, p.State)
	if p.Name == "" { // a process that is gone
		s = fmt.Sprintf("(%d) is %s", p.PID, p.State)
	}
	if p.Doing != "" {
		s += ", " + p.Doing
	}
	return s
}

// The shapes of a hang.
const (
	NoAnswer         = "no-answer"               // the server does not answer
	ProgressStopped  = "progress-stopped"        // progress came, and then nothing
	AsksClient       = "asks-client"             // the server waits for the client to answer
	HalfFrame        = "half-message"            // an end has written the beginning of a message
	StrayText        = "stray-text"              // the server's output stands in a line that is no message
	NoNewline        = "no-newline"              // a whole message lacks its newline
	OtherFraming     = "other-framing"           // a whole message is not a line of JSON: pretty-printed, in UTF-16, …
	BrokenAnswer     = "broken-answer"           // the server sent bytes that are no message
	BrokenRequest    = "broken-request"          // the client sent a request that is not JSON
	WrongID          = "wrong-id"                // the server answered under an id that nobody asked with
	MalformedAnswer  = "malformed-answer"        // the answer has a form that strict clients drop
	LateAnswer       = "late-answer"             // the answer came only when the session ended
	ClientNotReading = "client-stopped-reading"  // the client does not take what is sent
	ServerNotReading = "server-stopped-reading"  // the server does not take what is sent
	NeitherReads     = "neither-reads"           // both ends write, and neither reads
	ServerEnded      = "server-ended"            // the server has ended
	NotStarted       = "not-started"             // the server's command could not be started
	ServerStopped    = "server-process-stopped"  // the server's process is stopped by a signal
	StderrNotRead    = "stderr-not-read"         // the server writes to standard error, and the client does not read that
	NoResponse       = "no-http-response"        // a POST has no response
	Accepted         = "accepted-and-no-answer"  // a request was answered with 202, and nothing else
	StreamSilent     = "silent-stream"           // the stream of a response is open without an event
	StreamCut        = "stream-without-answer"   // the response ended without the answer
	NotTaken         = "answer-not-taken"        // the answer came in a form that clients do not take
	HalfBody         = "half-body"               // an end has sent the beginning of an HTTP body
	SessionStreamCut = "session-stream-ended"    // the stream of HTTP+SSE ended that the answers come on
	NotResumed       = "stream-not-resumed"      // the response ended, and the client did not resume it
	ClientSilent     = "client-silent"           // the client says nothing behind an answer
	NotInitialized   = "handshake-not-finished"  // the client does not say that it is initialized
	InputMissing     = "input-not-supplied"      // the client does not supply the input that was asked for
	NotAcknowledged  = "listen-not-acknowledged" // the server does not acknowledge a subscription
	TaskNotPolled    = "task-not-polled"         // the client does not ask for a task that is not over
	Explored         = "explored"                // an exploration proved that it hangs, and kept this run of it
	NotEnding        = "server-does-not-end"     // the client has closed its end, and the server goes on
)

// Report says what is stuck.
type Report struct {
	Now      time.Duration `json:"now_ns"`         // of the question, or the end of the session
	After    time.Duration `json:"after_ns"`       // how long something waits at least to be stuck
	Ended    string        `json:"ended"`          // how the session ended; "": it is live
	Findings []Finding     `json:"findings"`       // what is stuck, the oldest first
	Open     []Open        `json:"open,omitempty"` // what else has no answer: no call is in both lists
	Last     string        `json:"last"`           // what each side said last
	Asked    bool          `json:"-"`              // the client has asked for more than the handshake

	waited map[*timeline.Call]*wait
}

// Finding is one hang.
type Finding struct {
	Shape    string        `json:"shape"`
	Culprit  string        `json:"culprit"` // the end that has to move: client, server, or both; "" of Explored
	Waited   time.Duration `json:"waited_ns"`
	Calls    []uint64      `json:"calls"` // the requests that wait
	Text     string        `json:"text"`
	Evidence []Evidence    `json:"evidence"`
	Proves   string        `json:"proves"`             // by the log
	Suggests string        `json:"suggests,omitempty"` // what the log does not prove
	Unknown  string        `json:"unknown,omitempty"`  // what no log can tell
	Next     string        `json:"next"`               // the arguments of a command, with SESSION, COMMAND and URL

	// Client is the model of a client under which a replay of the session shows the hang; "": none is known.
	Client string `json:"-"`

	lead  string
	said  string
	since moment
}

// Lead returns the beginning of Text that says who waits for whom, and of what can have no answer the reason.
func (f Finding) Lead() string { return cmp.Or(f.lead, f.Text) }

// Said returns the line of standard error that says what went wrong, in quotes; "" if none does.
func (f Finding) Said() string { return f.said }

// Evidence is an event that a finding rests on.
type Evidence struct {
	Seq  uint64 `json:"seq"` // 0: an open line
	Text string `json:"text"`
}

// wait is something that an end waits for.
type wait struct {
	shape   string
	culprit string
	call    *call // nil: it waits for something else than an answer
	input   *input
	task    *timeline.Task
	post    *exchange
	since   moment // the beginning
	sign    moment // the latest sign of life
	until   ending // how and when the wait ended; until.seq is 0 if it goes on
	asks    *call  // the request that the server waits for
	line    *store.OpenLine
	half    frame // of the client, behind the end of the session
	dropped *dropped
	misfit  string // what is wrong with the answer to initialize
}

// hasEnded reports whether no answer can come any more, however short the wait was.
func (w *wait) hasEnded() bool {
	return w.until.of != nil && w.until.by == "server" && (w.shape == StreamCut || w.shape == SessionStreamCut || w.shape == NotTaken)
}

func (w *wait) length() time.Duration { return max(0, w.until.at-w.since.at) }

// judge is a question about a Fold: what is stuck at a moment.
type judge struct {
	*Fold
	live  Live
	after time.Duration
	flag  *interrupt.Flag // its loops end when it is raised, and the report is thrown away
	calls [3][]*call      // without an answer, by direction, in order
	noise [3]frame        // the last bytes of each direction that are no message; half of one that has begun

	end      ending // how the session ended
	exit     store.ExitInfo
	exited   moment        // the end of the server's process, if it ended what the server says
	launcher timeline.Exit // the end of the server's process, if another one had its output and went on
	reader   Process       // another process than the server that waits in a read of its input
	sharer   Process       // another process than the server that has its input
	stalls   [3]stall      // those of the Fold, but for what is no stall

	openAsks, openAnswers map[*call]unread // calls whose request or answer is in a line that has no newline so far

	asks asks  // the open requests of the server
	busy *call // the first call of the client that the server works on; nil: none
}

// patience is how long something waits in this session before it counts as stuck: [Patience], and in one
// whose answers take long twice the longest wait for an answer, up to [MostPatience].
func (f *Fold) patience() time.Duration { return min(max(Patience, 2*f.slowest), MostPatience) }

// Report says what has been stuck for longer than after, at the end of the session or, of a live
// one, now. An after of 0 is the patience that fits the session. Report leaves the Fold as it is: more
// events may follow.
func (f *Fold) Report(live Live, after time.Duration) Report {
	r, _ := f.ReportContext(context.Background(), live, after) // it never ends
	return r
}

// ReportContext is Report until a context ends. Then there is no report, and the error is the context's.
func (f *Fold) ReportContext(ctx context.Context, live Live, after time.Duration) (Report, error) {
	flag := interrupt.On(ctx)
	if f.mask != nil {
		live.Mask = f.mask.Text
	}
	j := &judge{Fold: f, live: live, flag: flag, after: cmp.Or(after, f.patience()), noise: f.noise, openAsks: map[*call]unread{}, openAnswers: map[*call]unread{}}
	for dir, begun := range f.parts {
		if begun.seq > f.noise[dir].seq {
			begun.half = true
			j.noise[dir] = begun
		}
	}
	j.setEnd()
	j.setProcesses()
	r := Report{Now: max(live.Now, f.now.at), After: j.after, Findings: []Finding{}, Asked: f.hasAsked, waited: map[*timeline.Call]*wait{}}
	j.openCalls(&r)
	j.withoutNewline()
	for _, list := range j.calls {
		slices.SortFunc(list, func(a, b *call) int { return cmp.Compare(a.Number(), b.Number()) })
	}
	j.asks = newAsks(j.calls[s2c])
	j.busy = j.firstBusy()
	if live.Now == 0 || j.end.seq != 0 {
		r.Ended = cmp.Or(j.end.text, BrokeOff)
	}
	waits := j.waits(&r)
	r.Open = append(r.Open, j.goesRound()...)
	r.Findings = append(r.Findings, j.explored()...)
	r.Findings = append(r.Findings, j.findings(waits)...)
	if j.exit.NotStarted != "" {
		r.Findings = append(r.Findings, j.notStarted())
	}
	r.Last = j.lastWords()
	r.mask(live.Mask, flag)
	if err := flag.Err(); err != nil {
		return Report{}, err
	}
	return r, nil
}

// mask masks the sentences of a report: what an end wrote may be a secret only together with the words before it.
func (r *Report) mask(mask func(string) string, flag *interrupt.Flag) {
	if mask == nil {
		return
	}
	r.Last = mask(r.Last)
	for i := range r.Open {
		if flag.Raised() {
			return
		}
		r.Open[i].Text = mask(r.Open[i].Text)
	}
	for i := range r.Findings {
		if flag.Raised() {
			return
		}
		f := &r.Findings[i]
		f.Text = mask(f.Text)
		for k := range f.Evidence {
			f.Evidence[k].Text = mask(f.Evidence[k].Text)
		}
	}
}

// waits lists what is stuck, and adds to the report what is open and is not.
func (j *judge) waits(r *Report) (waits []*wait) {
	for _, c := range j.givenUpCalls {
		if j.flag.Raised() {
			return nil
		}
		r.Open = append(r.Open, j.givenUp(&wait{call: c, since: c.moment, until: ending{moment: c.cancelled, by: c.Dir.Sender()}}))
	}
	waits, behind := j.clientWaits(r)
	waits = slices.Concat(waits, j.serverWaits(r, behind), j.inputWaits(r), j.taskWaits(r), j.responseWaits(), j.droppedWaits(r))
	if len(waits) > 0 {
		return waits
	}
	if silence := j.silence(); silence != nil {
		return []*wait{silence}
	}
	if j.mayBeSilent(j.endOfSession()) {
		r.Open = append(r.Open, j.silentSince())
	}
	return nil
}

// clientWaits lists the calls of the client that are stuck. behind are the server's requests that stand
// behind a call of the client; true where that call is stuck.
func (j *judge) clientWaits(r *Report) (waits []*wait, behind map[*call]bool) {
	behind = map[*call]bool{}
	for _, c := range j.calls[c2s] {
		if j.flag.Raised() {
			return nil, behind
		}
		w := &wait{call: c, since: c.moment, sign: c.sign(), until: j.endOf(c)}
		if took := j.took[s2c]; took.seq > c.seq && (w.until.seq == 0 || took.seq < w.until.seq) { // no answer could pass before
			w.sign.at = max(w.sign.at, took.at)
		}
		r.waited[c.Call] = w
		if j.answerLacksNewline(c).seq == 0 {
			w.asks = j.firstAsk(c)
		}
		j.blame(w)
		excuse := j.excuse(w)
		if w.asks != nil {
			behind[w.asks] = behind[w.asks] || excuse.Why == ""
		}
		if excuse.Why == "" {
			waits = append(waits, w)
		} else {
			r.Open = append(r.Open, excuse)
		}
	}
	return waits, behind
}

// serverWaits lists the requests of the server that are stuck and stand behind no call.
func (j *judge) serverWaits(r *Report, behind map[*call]bool) (waits []*wait) {
	for _, c := range j.calls[s2c] {
		if j.flag.Raised() {
			return nil
		}
		w := &wait{call: c, since: c.moment, sign: c.moment, until: j.endOf(c), shape: AsksClient, culprit: c.owes()}
		r.waited[c.Call] = w
		if s := j.stalls[s2c]; s.seq != 0 {
			w.shape = ClientNotReading
		} else {
			j.setNoNewline(w)
		}
		isStuck, isBehind := behind[c]
		switch {
		case isStuck: // that is told with the call
		case c.cancelled.seq != 0:
			r.Open = append(r.Open, j.givenUp(w))
		case w.shape == AsksClient && j.isPerson(c):
			r.Open = append(r.Open, j.notStuck(w, AsksPerson, "%s", personAsked(c, w.until)))
		case isBehind || w.length() < j.after && !j.standsStill(w):
			r.Open = append(r.Open, j.short(w))
		case j.stalledAnswer.seq != 0 && j.stalledAnswer.seq < c.seq && w.shape == AsksClient:
			waits = append(waits, &wait{shape: ClientSilent, culprit: "client", since: j.stalledAnswer.moment, until: w.until})
		default:
			waits = append(waits, w)
		}
	}
	return waits
}

// inputWaits lists the calls that the client has to repeat with an input, and has not.
func (j *judge) inputWaits(r *Report) (waits []*wait) {
	for i := range j.inputs {
		if j.flag.Raised() {
			return nil
		}
		in := &j.inputs[i]
		w := &wait{shape: InputMissing, culprit: "client", call: in.call, input: in, since: in.moment, until: j.endOfSession()}
		switch {
		case slices.Contains(in.wanted, mcp.MethodElicit) && j.declares(in.call, "elicitation"):
			r.Open = append(r.Open, j.personWanted(w))
		case w.length() >= j.after:
			waits = append(waits, w)
		}
	}
	return waits
}

// BrokeOff is how a session ends whose recorder died, or which was cut.
const BrokeOff = "the recording broke off"

// asks are the open requests of the server that were not cancelled, in order: there may be thousands.
type asks struct {
	all      []*call
	onStream map[uint64][]*call // by the number of the exchange
	ofNone   []*call            // on a stream that belongs to no call
}

func newAsks(calls []*call) asks {
	a := asks{onStream: map[uint64][]*call{}}
	for _, c := range calls {
		if c.cancelled.seq != 0 {
			continue
		}
		a.all = append(a.all, c)
		a.onStream[c.Stream] = append(a.onStream[c.Stream], c)
		if c.exchange != nil && c.exchange.Method == "GET" {
			a.ofNone = append(a.ofNone, c)
		}
	}
	return a
}

// firstBehind returns the first call of a list behind an event; nil if there is none.
func firstBehind(list []*call, seq uint64) *call {
	i := sort.Search(len(list), func(i int) bool { return list[i].seq > seq })
	if i == len(list) {
		return nil
	}
	return list[i]
}

// firstAsk returns the request of the server that stands behind a call, over HTTP in its exchange
// or on the stream that belongs to no call, and is not answered.
func (j *judge) firstAsk(c *call) *call {
	if c.Stream == 0 || j.isSSE {
		return firstBehind(j.asks.all, c.seq)
	}
	own, other := firstBehind(j.asks.onStream[c.Stream], c.seq), firstBehind(j.asks.ofNone, c.seq)
	if own == nil || other != nil && other.seq < own.seq {
		return other
	}
	return own
}

// owes returns the end that has to move for a request of the server to be answered.
func (c *call) owes() string {
	if c.undone.seq != 0 { // the client has answered, and HTTP refused that
		return "server"
	}
	return "client"
}

// isPerson reports whether a person answers a request of the server, who may take any time.
func (j *judge) isPerson(c *call) bool {
	if j.stalls[s2c].seq != 0 {
		return false
	}
	return c.Method == mcp.MethodElicit && j.declares(c, "elicitation") || j.protocol.AsksPerson(c.Method)
}

// declares reports whether the client has declared a capability, with a call or in the handshake.
func (j *judge) declares(c *call, capability string) bool {
	own := transport.Member(c.message().Params, mcp.MemberMeta, mcp.MetaClientCapabilities)
	return transport.Member(own, capability) != nil || transport.Member(j.client, "capabilities", capability) != nil
}

// isBehind reports whether a server that takes one call after the other works on an earlier
// one: its progress still comes, or a person is being asked.
func (j *judge) isBehind(c *call) bool { return j.busy != nil && j.busy.seq < c.seq }

// firstBusy returns the first call that the server works on.
func (j *judge) firstBusy() *call {
	for _, c := range j.calls[c2s] {
		if j.flag.Raised() {
			return nil
		}
		sign, asks := c.sign(), j.firstAsk(c)
		if sign.seq > c.seq && j.endOf(c).at-sign.at < j.after || asks != nil && j.isPerson(asks) {
			return c
		}
	}
	return nil
}

// blame finds the shape of a wait for the server's answer, and the culprit.
func (j *judge) blame(w *wait) {
	c := w.call
	silent := w.until.at - w.sign.at
	in, out := j.stalls[s2c], j.stalls[c2s]
	x := c.exchange.latest()
	w.culprit = "server"
	switch {
	case c.Untaken != nil:
		w.shape = NotTaken
	case w.until.of != nil && w.until.of == j.streams[c.Scope] && (silent < j.after || w.until.seq < c.seq):
		w.shape = SessionStreamCut
		if w.until.by == "client" {
			w.culprit = "client"
		}
	case w.until.by == "server" && (x == nil || x.Ended.Seq != 0) && (silent < j.after || x == nil && w.asks == nil && in.seq == 0 && j.leftByItself()):
		w.shape = ServerEnded
		if x != nil {
			w.shape = StreamCut
		}
	case in.info.Blocked && out.info.Blocked:
		w.shape = NeitherReads
		w.culprit = "both"
	case in.seq != 0:
		w.shape = ClientNotReading
		w.culprit = "client"
	case j.setNoNewline(w):
	case w.asks != nil:
		w.shape = AsksClient
		w.culprit = w.asks.owes()
	case j.live.Server.State == "stopped":
		w.shape = ServerStopped
	case j.stderrFull(w):
		w.shape = StderrNotRead
		w.culprit = "client"
	case out.seq != 0:
		w.shape = ServerNotReading
	case j.openLine(w):
	case x != nil && x.Request.Open && x.Head.Seq == 0:
		w.shape = HalfBody
		w.culprit = "client"
	case x != nil && x.Response.Open:
		w.shape = HalfBody
	case c.late.seq != 0:
		w.shape = LateAnswer
	case j.parts[s2c].seq > c.seq:
		w.shape = HalfFrame
	case x != nil && x.Ended.Seq != 0 && j.mayResume(x) && x.canResume():
		w.shape = NotResumed
		w.culprit = "client"
	case j.noise[s2c].seq > c.seq && (looksLikeMessage(j.noise[s2c].text) || textBefore(j.noise[s2c].text) > 0):
		w.shape = BrokenAnswer
		if n := j.noise[s2c]; n.half && j.end.seq != 0 {
			w.shape = HalfFrame
		}
	case j.noise[s2c].seq > c.seq && j.noise[s2c].half:
		w.shape = StrayText
	case j.orphan.seq > c.seq && j.answersOut == c.answers:
		w.shape = WrongID
	case c.reports > 0:
		w.shape = ProgressStopped
	case c.Method == mcp.MethodListen:
		w.shape = NotAcknowledged
	case x == nil || j.isSSE || x.resumes:
		w.shape = NoAnswer
	case x.Head.Seq == 0:
		w.shape = NoResponse
	case x.Status == 202:
		w.shape = Accepted
	case x.IsStream() && x.heard.seq <= x.Head.Seq:
		w.shape = StreamSilent
	default:
		w.shape = NoAnswer
	}
}

// openLine finds the shape of a line of the server that is open behind a call.
func (j *judge) openLine(w *wait) bool {
	for i := range j.live.Lines {
		l := &j.live.Lines[i]
		if l.Pipe != s2c.String() || l.Frame != 0 || l.At < w.since.at {
			continue
		}
		w.line = l
		switch {
		case json.Valid(l.Text):
			w.shape = NoNewline
		case looksLikeMessage(l.Text):
			w.shape = HalfFrame
		default:
			w.shape = StrayText
		}
		return true
	}
	return false
}

// silence finds a session in which nothing is open, and an end owes something.
func (j *judge) silence() *wait {
	until := j.endOfSession()
	for _, dir := range []transport.Direction{s2c, c2s} {
		s := j.stalls[dir]
		isOwed := s.info.Blocked || s.closed && j.noise[c2s].seq > s.seq || s.first != 0 && dir == s2c && (j.answered.seq >= s.first || j.answered.at >= s.since)
		if s.seq == 0 || !isOwed || until.at-s.since < j.after {
			continue
		}
		w := &wait{shape: ClientNotReading, culprit: "client", since: moment{s.seq, s.since}, until: until}
		if dir == c2s {
			w.shape = ServerNotReading
			w.culprit = "server"
		}
		return w
	}
	if n := j.noise[c2s]; n.seq > j.last[c2s].seq && isBrokenRequest(n.text) && until.at-n.at >= j.after {
		return &wait{shape: BrokenRequest, culprit: "client", since: n.moment, until: until}
	}
	if n := j.noise[c2s]; n.half && (looksLikeMessage(n.text) || j.parts[c2s].seq != 0) {
		if until.seq != 0 && n.seq > until.seq { // a line without an end has its event behind the end
			n.at = until.before.at
		}
		if until.at-n.at >= j.after {
			return &wait{shape: HalfFrame, culprit: "client", half: n, since: n.moment, until: until}
		}
	}
	for i := range j.live.Lines {
		l := &j.live.Lines[i]
		w := &wait{shape: HalfFrame, culprit: "client", line: l, since: moment{0, l.At}, until: until}
		if json.Valid(l.Text) {
			w.shape = NoNewline
		}
		if l.Pipe == c2s.String() && looksLikeMessage(l.Text) && w.length() >= j.after {
			return w
		}
	}
	if j.greeted.seq != 0 && !j.protocol.IsForeign() && !j.ready && j.asked.seq < j.greeted.seq && until.at-j.greeted.at >= j.after {
		w := &wait{shape: NotInitialized, culprit: "client", since: j.greeted.moment, until: until, misfit: j.misfitOf(j.greeted)}
		if w.misfit != "" {
			w.culprit = "server"
		}
		return w
	}
	if w := j.silentClient(until); w != nil {
		return w
	}
	if j.end.by == "client" && j.live.Now > 0 && j.Fold.exit.Seq == 0 && j.live.Now-j.end.at >= j.after && j.header.Transport == "stdio" {
		return &wait{shape: NotEnding, culprit: "server", since: j.end.moment, until: ending{moment: moment{0, j.live.Now}}}
	}
	return nil
}

// silentTimes is how much longer than any pause before a client must be silent.
const silentTimes = 10

// silentClient finds a client that stopped at an answer behind notifications. A client that
// hands notifications to a queue that nobody reads from during a call stops at the first such
// answer. A client that is idle looks the same in the log, so more must hold: the client gives
// up a call that was answered; or it speaks a revision of the releases that are known to stop
// so, and see [judge.mayBeSilent].
func (j *judge) silentClient(until ending) *wait {
	gaveUp := j.stalledAnswer.seq != 0 && until.at-j.stalledAnswer.at >= j.after && j.abandoned.seq != 0
	isKnown := j.revision == mcp.Revision2024_11_05
	if !gaveUp && !(isKnown && j.mayBeSilent(until)) {
		return nil
	}
	return &wait{shape: ClientSilent, culprit: "client", since: j.stalledAnswer.moment, until: until}
}

// mayBeSilent reports whether the client may have stopped at an answer behind notifications: it
// has never gone on behind such an answer, nor from a pause as long as --after, which a person
// makes, and it is silent for much longer than it ever was.
func (j *judge) mayBeSilent(until ending) bool {
	silent := until.at - j.stalledAnswer.at
	return j.stalledAnswer.seq != 0 && silent >= j.after && silent >= silentTimes*j.pause && !j.wentOn && j.pause < j.after
}

// findings makes one finding of the waits with one cause.
func (j *judge) findings(waits []*wait) (list []Finding) {
	type cause struct {
		shape  string
		asks   *call
		task   *timeline.Task
		stream uint64
	}
	isQuiet := func(w *wait) bool { // the server has answered nothing since
		return w.call != nil && w.input == nil && w.call.Dir == c2s && w.call.answers == j.answersOut &&
			slices.Contains([]string{NoAnswer, ProgressStopped, NoResponse, StreamSilent, NotAcknowledged}, w.shape)
	}
	waitsForClient := func(first, w *wait) bool { // and the server has answered nothing between
		return first.shape == AsksClient && first.call.answers == w.call.answers && first.until.seq == w.until.seq
	}
	slices.SortStableFunc(waits, func(a, b *wait) int { return cmp.Compare(a.since.at, b.since.at) })
	var causes []cause
	groups := map[cause][]*wait{}
	for _, w := range waits {
		if j.flag.Raised() {
			return nil
		}
		key := cause{shape: w.shape, asks: w.asks, task: w.task}
		switch {
		case isQuiet(w) && len(causes) > 0 && waitsForClient(groups[causes[0]][0], w):
			key = causes[0] // the server waits for the client, and does nothing else
		case w.shape == AsksClient && w.asks == nil && len(causes) > 0 && waitsForClient(groups[causes[0]][0], w):
			key = causes[0]
		case isQuiet(w):
			key = cause{shape: NoAnswer}
		case w.shape == ClientNotReading || w.shape == ServerEnded:
			key.asks = nil
		case w.call != nil && w.input == nil && w.call.exchange != nil:
			key.stream = w.call.Stream
		}
		if groups[key] == nil {
			causes = append(causes, key)
		}
		groups[key] = append(groups[key], w)
	}
	for _, key := range causes {
		if j.flag.Raised() {
			return nil
		}
		list = append(list, j.describe(groups[key]))
	}
	return list
}

// isBrokenRequest reports whether a line was meant as a request, and is not JSON.
func isBrokenRequest(line []byte) bool {
	return framing.InLine(line).Form == framing.NotJSON && bytes.Contains(line, []byte("method")) && bytes.Contains(line, []byte(`id`))
}

// looksLikeMessage reports whether bytes begin as JSON does.
func looksLikeMessage(b []byte) bool {
	for _, c := range b {
		switch c {
		case ' ', '\t', '\r':
		case '{', '[':
			return true
		default:
			return false
		}
	}
	return false
}

// textBefore returns how many bytes of text stand before the message at the end of a line, or 0.
func textBefore(line []byte) int {
	if i := bytes.IndexByte(line, '{'); i > 0 && json.Valid(line[i:]) {
		return i
	}
	return 0
}

// label names a message: its method and target.
func label(m transport.Message, target string) string {
	switch {
	case m.Method == "":
		return "the response to id " + clip(string(m.ID))
	case target == "":
		return clip(m.Method)
	}
	return clip(m.Method) + " " + quote(target)
}
