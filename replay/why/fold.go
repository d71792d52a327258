package why

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

const (
	c2s = transport.ClientToServer
	s2c = transport.ServerToClient
)

// moment is an event and its time; the zero moment is none.
type moment struct {
	seq uint64
	at  time.Duration
}

// Fold keeps the facts about a session. The zero Fold is ready.
type Fold struct {
	header  store.Header
	now     moment                   // the latest event
	before  moment                   // the one before
	mask    timeline.Mask            // of what is quoted of the messages that are kept
	pending map[*timeline.Call]*call // without an answer that its end has seen

	spoke   moment   // the first frame of the server
	last    [3]frame // the last frame of each direction
	final   [3]frame // the same, also after the session ended
	noise   [3]frame // the last frame that is no JSON
	orphan  frame    // the last response of the server to no request
	stderr  stderrLines
	lost    uint64   // events that could not be recorded
	gap     moment   // the last place where messages of the server are missing
	stalls  [3]stall // what the receiver of a direction does not take
	took    [3]taken // the last write to the receiver of a direction that had blocked
	exit    *timeline.Exit
	letGo   moment // where the recorder no longer read the server
	end     ending // the first event that ended the session, but for the end of the server's process
	untaken uint64 // the first event that a client which no longer reads has not taken

	protocol  transport.Protocol
	client    json.RawMessage // the params of initialize
	revision  string
	greeted   frame // the answer to initialize
	ready     bool  // the client has said that it is initialized
	inputs    []input
	tasks     map[*timeline.Task]*call      // that are not over, each with a call of the end that waits for it; nil: none yet
	repeats   repeats                       // what comes again and again
	exchanges map[uint64]*exchange          // HTTP; kept at their end only by calls
	unheard   []*exchange                   // POSTs without a request that ended without a response
	isSSE     bool                          // HTTP+SSE: answers come on another exchange
	streams   map[*timeline.Scope]*exchange // HTTP+SSE: the exchange with the answers
	tolerates map[timeline.Form]bool        // forms of answers that the client takes, though others do not
	deleted   map[*timeline.Scope]moment    // where the client ended its session over HTTP

	notices       int           // notifications of the server
	run           int           // of these, the latest without another frame of the server between them
	dropped       dropped       // the latest answer that a strict client does not take
	lenient       bool          // the client has gone on behind such an answer
	cancelling    neighbour     // the client's cancellation, until its next request
	failing       neighbour     // the server's error, until its next answer
	stalledAnswer answer        // the client's last answer behind notifications, until the client goes on
	wentOn        bool          // the client has gone on behind such an answer
	waiting       int           // calls of the client without an answer
	pause         time.Duration // the longest time that the client took to go on
	slowest       time.Duration // the longest wait of the client for an answer, but for the handshake's
	asked         moment        // the client's last frame but for cancellations and responses
	hasAsked      bool          // the client has asked for more than the handshake
	abandoned     moment        // the client's cancellation of a call that had been answered

	givenUpCalls []*call // after long, and answered then
	answered     moment  // the last answer to the client
	answersOut   int     // answers to the client
	offsets      store.FrameOffsets

	proved moment // the note of an exploration
	proof  string // what it says

	misframed  *timeline.Misframed // the present frame, if it is in another form than a line of JSON
	parts      [3]frame            // the first line of messages over several lines that have begun
	headed     [3]bool             // the direction has messages behind Content-Length headers
	newest     [3]pipeFrame        // the latest frame of each pipe
	joined     [3]uint64           // the frame without a newline on whose line the next frame of the pipe begins
	unseen     int                 // calls whose answers have no newline, and which are open again
	readsOn    bool                // an end goes on behind an answer without a newline
	isParallel bool                // the client has had two calls open at a time
}

// frame is an event that is kept with its text.
type frame struct {
	moment
	text []byte
	half bool // without an end
}

// shown returns the first message of a frame that has one, without its secrets.
func (f *Fold) shown(frame frame) (m transport.Message) {
	if messages, _ := (transport.Frame{Bytes: frame.text}).Messages(); len(messages) > 0 {
		m = f.mask.Message(&messages[0])
	}
	return m
}

// call is a request without an answer.
type call struct {
	*timeline.Call
	moment
	raw      json.RawMessage // the request
	exchange *exchange       // over HTTP

	reports      uint64
	progress     frame        // the latest
	logged       frame        // the latest log message that came on its stream, or while it alone was open
	cancelled    moment       // the latest cancellation
	reason       string       // of it
	heard        moment       // the last message of the receiver before it
	acknowledged bool         // of a subscription
	refused      bool         // an HTTP status is the answer
	unended      unread       // the answer, which has no newline
	unasked      unread       // the request, which has no newline
	late         moment       // the answer, which came behind the end of the session
	undone       moment       // HTTP refused the answer, or the cancellation, of the client
	undoneBy     int          // the status
	notices      int          // notifications of the server before the request
	answers      int          // answers to the client before the request
	behind       [2]neighbour // what happened right before the request: a cancellation, an error
}

// message returns the request as it was recorded. [labelOf] tells it.
func (c *call) message() transport.Message { return transport.Pack(c.raw).Message() }

// sign returns the last sign that the receiver works on the call, at least the request itself.
func (c *call) sign() moment {
	sign := c.moment
	signs := []moment{c.progress.moment, c.logged.moment}
	if c.Method == mcp.MethodTaskResult && c.Task != nil { // it is answered when the task is over
		signs = append(signs, moment{c.Task.Told.Seq, c.Task.Told.At})
	}
	for _, at := range signs {
		if at.seq > sign.seq {
			sign = at
		}
	}
	return sign
}

// neighbour is what happened right before a request, such as the cancellation of another call.
type neighbour struct {
	moment
	call *call // that is cancelled, or failed; nil: it was answered before
	said string
}

// stall is a direction whose receiver takes nothing.
type stall struct {
	moment
	since  time.Duration
	info   store.StalledInfo
	closed bool   // the receiver has closed its end
	first  uint64 // the first frame that it has not read whole; 0: not known, or an open line
	before int64  // how many of its bytes are read; below 0: not known
	size   int64
}

// taken is a write that had blocked until its receiver took it.
type taken struct {
	moment
	info store.DeliveredInfo
}

// answer is an answer to the client behind notifications.
type answer struct {
	moment
	call    *call
	notices int
}

// input is a response that asks the client for input (2026-07-28).
type input struct {
	moment
	call   *call
	state  mcp.Key
	wanted []string // methods
}

// Take takes the next step. An unreadable payload is skipped, except in the header.
func (f *Fold) Take(step timeline.Step) (err error) {
	e := step.Event
	f.mask = step.Mask()
	f.before = f.now
	f.now = moment{e.Seq, max(e.At, f.now.at)}
	f.offsets.Apply(e)
	f.exit = step.Exit
	switch e.Kind {
	case store.Opened:
		f.header, err = store.ParseHeader(e.Payload)
	case store.Frame:
		f.onFrame(step)
	case store.Stderr:
		f.stderr.add(f.now, step.Payload)
	case store.HTTP:
		f.onHTTP(step)
	case store.Note:
		f.onNote(step)
		f.onProof(step)
	case store.Delivered:
		f.stalls[side(e.Dir)] = stall{}
		if info, err := store.DecodePayload[store.DeliveredInfo](e); err == nil && info.Blocked >= Patience {
			f.took[side(e.Dir)] = taken{f.now, info}
		}
	case store.Stalled:
		f.onStalled(step)
	case store.EOF:
		f.onEOF(step)
	case store.Signal:
		if info, err := store.DecodePayload[store.SignalInfo](e); err == nil {
			f.endAt("recorder", "the recorder got the signal "+clip(info.Signal))
		}
	case store.Closed:
		f.endAt("recorder", "the recording ended")
		f.end.sealed = f.end.seq == f.now.seq
	case store.Lost:
		f.lost++
		info, err := store.DecodePayload[store.LostInfo](e)
		if err == nil && info.LacksFrames(s2c) {
			f.gap = f.now
		}
	}
	f.onRefusal(step)
	return err
}

// side returns the index of a direction, 0 of a direction that is none.
func side(dir transport.Direction) int {
	if dir != c2s && dir != s2c {
		return 0
	}
	return int(dir)
}

// onStalled notes that a receiver takes nothing; see [store.StalledInfo].
func (f *Fold) onStalled(step timeline.Step) {
	info, err := store.DecodePayload[store.StalledInfo](step.Event)
	if err != nil || f.end.seq != 0 || f.exit.Seq != 0 && step.Dir == c2s && f.stalls[c2s].seq != 0 {
		return
	}
	f.stalls[side(step.Dir)] = stall{}
	if info.Over {
		return
	}
	s := stall{moment: f.now, since: step.At - info.For, info: info, first: info.Frame}
	if info.Passed > 0 {
		if info.Unread < 0 { // of a socket it is only known that its last bytes are not read
			s.first, _, _ = f.offsets.At(step.Dir, info.Passed-1)
		} else {
			s.first, s.before, s.size = f.offsets.At(step.Dir, info.Passed-info.Unread)
		}
	}
	f.stalls[side(step.Dir)] = s
}

// onFrame takes a frame and its messages.
func (f *Fold) onFrame(step timeline.Step) {
	e := step.Event
	messages := step.Messages
	f.protocol = step.Protocol()
	heard := frame{f.now, step.MessageBytes(), e.Unterminated}
	if e.Dir == s2c && f.spoke.seq == 0 {
		f.spoke = f.now
	}
	if e.Stream == 0 {
		f.onPipeFrame(step)
	}
	if step.Noise && timeline.IsUnended(e) { // the exchange has it
		return
	}
	if f.onForm(step, heard); step.Noise {
		return
	}
	if len(messages) == 0 {
		return
	}
	if e.Dir == c2s && (f.end.seq == 0 || e.Stream != 0) {
		f.onClientFrame(&messages[0].Message)
	}
	isNotice := true
	for i := range messages {
		m := &messages[i]
		isNotice = isNotice && m.Kind == transport.Notification
		switch m.Kind {
		case transport.Request:
			f.onRequest(step, m)
		case transport.Response:
			f.onResponse(step, m)
		case transport.Notification:
			f.onNotification(step, m)
		}
		if m.Kind != transport.Response {
			f.onTask(m.Task, f.pending[m.Call])
		}
	}
	if last := &f.newest[side(e.Dir)]; e.Stream == 0 && (last.joinedTo != 0 || last.form != nil) {
		f.reopen(last)
	}
	f.final[side(e.Dir)] = heard
	if f.end.seq != 0 && e.Stream == 0 {
		return
	}
	if x := f.exchanges[e.Stream]; x != nil && e.Dir == c2s && x.calls == 0 {
		x.posted = label(messages[0].Message, messages[0].ShownTarget())
	} else if x != nil {
		x.heard = f.now
	}
	switch {
	case e.Dir == c2s:
	case isNotice:
		f.run += len(messages)
		f.notices += len(messages)
	default:
		f.run = 0
	}
	f.last[side(e.Dir)] = heard
}

// onClientFrame notes that the client goes on.
func (f *Fold) onClientFrame(m *transport.Message) {
	if f.last[s2c].at > f.last[c2s].at || f.waiting == 0 {
		f.pause = max(f.pause, f.now.at-max(f.last[s2c].at, f.last[c2s].at))
	}
	if m.Method == mcp.NotificationCancelled {
		return
	}
	f.wentOn = f.wentOn || f.stalledAnswer.seq != 0
	f.stalledAnswer = answer{}
	if m.Method != "" {
		f.asked = f.now
		f.takesAll()
	}
}

func (f *Fold) onRequest(step timeline.Step, m *timeline.Message) {
	c := &call{Call: m.Call, moment: f.now, raw: m.Raw, notices: f.notices, answers: f.answersOut}
	if step.Stream != 0 {
		if c.exchange = f.exchanges[step.Stream]; c.exchange != nil {
			c.exchange.calls++
			c.refused = c.exchange.Status >= 300 // before its body came
			if c.refused {
				f.repeats.onFailure(c, refusedByStatus, fmt.Sprintf("HTTP %d", c.exchange.Status), f.now)
			}
		}
	}
	if f.pending == nil {
		f.pending = map[*timeline.Call]*call{}
	}
	f.pending[c.Call] = c
	if step.Stream == 0 {
		f.newest[side(step.Dir)].asks = append(f.newest[side(step.Dir)].asks, c)
	}
	f.repeats.onRequest(c, &m.Message)
	if step.Dir != c2s {
		return
	}
	c.behind = [2]neighbour{f.cancelling, f.failing}
	f.cancelling = neighbour{}
	f.asksOn()
	f.waiting++
	f.hasAsked = f.hasAsked || !mcp.Greets(m.Method)
	if m.Method == mcp.MethodInitialize {
		f.client = m.Params
		f.ready = false
		f.greeted = frame{}
	}
	if len(f.inputs) > 0 {
		f.supplyInput(m)
	}
}

// supplyInput drops the demand for input that a request answers.
func (f *Fold) supplyInput(m *timeline.Message) {
	state := mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestState))
	if state == "" && transport.Member(m.Params, mcp.MemberInputResponses) == nil {
		return
	}
	target := m.ShownTarget()
	i := slices.IndexFunc(f.inputs, func(in input) bool {
		return in.state == state && in.call.Method == m.Method && in.call.Target == target
	})
	if i >= 0 {
		f.inputs = slices.Delete(f.inputs, i, i+1)
	}
}

func (f *Fold) onResponse(step timeline.Step, m *timeline.Message) {
	c := f.pending[m.Call]
	f.onTask(m.Task, c)
	switch {
	case c == nil:
		if step.Dir == s2c {
			f.orphan = frame{moment: f.now, text: m.Raw}
			if x := f.exchanges[step.Stream]; x != nil {
				x.orphan = f.orphan
			}
		}
		return
	case step.Stream == 0 && step.Unterminated:
		c.unended = unread{moment: f.now, form: f.misframed}
		return
	case step.Stream == 0 && f.end.seq != 0, c.exchange != nil && c.exchange.Number == step.Stream && c.exchange.What == store.HTTPAbort:
		c.late = f.now
		return
	}
	if c.cancelled.seq != 0 {
		c.late = f.now
		f.keepGivenUp(c)
	}
	delete(f.pending, m.Call)
	if c.unended.seq != 0 { // it is answered again
		c.unended = unread{}
		f.unseen--
	}
	if step.Stream == 0 {
		f.newest[side(step.Dir)].answers = append(f.newest[side(step.Dir)].answers, c)
	}
	f.repeats.onAnswer(c, &m.Message)
	if c.Dir == c2s {
		f.onAnswer(c, m)
	} else if x := f.exchanges[step.Stream]; x != nil {
		x.answers = append(x.answers, c)
	}
}

// keepGivenUp keeps a call that was given up, and was then answered all the same, if it had waited for long.
func (f *Fold) keepGivenUp(c *call) {
	if c.timedOut() || c.cancelled.at-c.at >= Patience {
		f.givenUpCalls = append(f.givenUpCalls, c)
	}
}

// onAnswer notes an answer to the client.
func (f *Fold) onAnswer(c *call, m *timeline.Message) {
	f.answered = f.now
	if c.Method != mcp.MethodInitialize && c.Method != mcp.MethodListen {
		f.slowest = max(f.slowest, f.now.at-c.at)
	}
	f.answersOut++
	f.waiting--
	f.onDropped(c, m)
	f.failing = neighbour{}
	if m.Error != nil {
		f.failing = neighbour{f.now, c, c.Failure}
	}
	f.stalledAnswer = answer{}
	if n := min(f.run, f.notices-c.notices); n > 0 {
		f.stalledAnswer = answer{f.now, c, n}
	}
	if c.Method == mcp.MethodInitialize && m.Result != nil {
		f.greeted = frame{moment: f.now, text: m.Raw}
		f.revision = transport.MemberText(m.Result, mcp.MemberProtocolVersion)
	}
	if isInputRequired(&m.Message) {
		f.inputs = append(f.inputs, input{
			moment: f.now, call: c, state: mcp.KeyOf(transport.Member(m.Result, mcp.MemberRequestState)), wanted: timeline.InputsWanted(m.Result),
		})
	}
}

// isInputRequired reports whether a response asks the client for input.
func isInputRequired(m *transport.Message) bool {
	return bytes.Contains(m.Result, []byte(mcp.InputRequired)) && transport.MemberText(m.Result, mcp.MemberResultType) == mcp.InputRequired
}

func (f *Fold) onNotification(step timeline.Step, m *timeline.Message) {
	e := step.Event
	f.repeats.onNotice(m)
	switch m.Method {
	case mcp.NotificationInitialized:
		f.ready = true
		f.onInitialized(step.Scope)
		if f.unseen > 0 {
			f.goOn()
		}
	case mcp.NotificationProgress:
		if c := f.pending[m.Call]; c != nil && f.end.seq == 0 {
			c.reports++
			c.progress = frame{moment: f.now, text: m.Raw}
		}
	case mcp.NotificationMessage:
		if c := f.only(step); c != nil && f.end.seq == 0 {
			c.logged = frame{moment: f.now, text: m.Raw}
		}
	case mcp.NotificationCancelled:
		c := f.pending[m.Call]
		if e.Dir == c2s && m.Call != nil {
			f.cancelling = neighbour{moment: f.now, call: c}
		}
		if m.Call != nil && f.dropped.seq != 0 && f.dropped.call.Call == m.Call {
			f.dropped.gaveUp = f.now
		}
		if c != nil {
			f.repeats.onFailure(c, gaveUp, "", f.now)
			c.cancelled = f.now
			c.reason = transport.MemberText(m.Shown().Params, "reason")
			c.heard = f.last[side(e.Dir.Reverse())].moment
			return
		}
		id := mcp.KeyOf(timeline.CancelledID(m.Message))
		f.cancelAnswered(step, id)
		if e.Dir == c2s && f.stalledAnswer.seq != 0 && f.stalledAnswer.call.Key() == id {
			f.abandoned = f.now
		}
	case mcp.NotificationAcknowledged:
		if c := f.pending[m.Subscription]; c != nil {
			c.acknowledged = true
		}
	default:
		if step.Protocol().IsForeign() { // whatever it tells, the server is at work
			if c := f.only(step); c != nil && f.end.seq == 0 {
				c.logged = frame{moment: f.now, text: m.Raw}
			}
		}
	}
}

// only returns the call that a log message is about: the only open one, over HTTP of its
// exchange. It is nil if there are several.
func (f *Fold) only(step timeline.Step) (only *call) {
	if step.Dir != s2c {
		return nil
	}
	if step.Stream != 0 {
		if open := step.OpenCalls(); len(open) == 1 {
			return f.pending[open[0]]
		}
		return nil
	}
	n := 0
	for _, c := range f.pending {
		if c.Dir == c2s && c.Method != mcp.MethodListen && c.cancelled.seq == 0 {
			n++
			only = c
		}
		if n > 1 {
			return nil
		}
	}
	return only
}
