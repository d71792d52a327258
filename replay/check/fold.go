package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules E6 and E7.
var (
	nothingAfter = newDemand("E6", "nothing is sent after the end", order.Warning, "")
	isWhole      = newDemand("E7", "the recording is whole", order.Warning, "")
)

// Fold is the projection that gives out the findings of a session. [New] makes it.
type Fold struct {
	*reporter
	gate      Gate
	now       moment // the latest event
	protocol  transport.Protocol
	calls     map[*timeline.Call]*call // without an answer
	live      bool                     // the session goes on, and now.at is the present
	frames    uint64
	exchanges *exchanges
	last      [3]moment // the last frame of each direction
	inFlight  *inFlight
	ending    ending
	waits     why.Fold // finds the hangs
	strays    []strayAnswer
	repeated  repeated
	outcome   outcome
	http      httpRules
	retries   retries
	framings  framings
	tools     toolHistory
	tallies   tallies
	schemaErr error          // the first
	hasSchema bool           // a message was compared with a schema
	parts     [3]store.Event // of each direction, the last line, if it has no end and is no message
}

// New returns a fold; emit gets the findings.
func New(gate Gate, emit func(Finding)) *Fold {
	const maxInputs = 4096
	r := &reporter{emit: emit, counts: map[order.Severity]int{}}
	pipe := newScope()
	pipe.isSession = true
	return &Fold{
		reporter: r, gate: gate, tallies: tallies{}, calls: map[*timeline.Call]*call{},
		exchanges: &exchanges{
			reporter: r, all: map[uint64]*exchange{0: {}}, current: pipe, byID: map[string]*scope{}, sessions: []*scope{pipe},
			events: newRecent[uint64, position](1 << 17),
		},
		http: httpRules{reporter: r, sessions: map[*timeline.Scope]*httpSession{}, posts: map[uint64]*httpPost{}, refused: map[callName][]*refusedCall{}},
		retries: retries{
			reporter: r, byRequestState: newRecent[requestState, inputRequired](maxInputs),
			byRequest: newRecent[request, inputRequired](maxInputs), byState: newRecent[mcp.Key, inputRequired](maxInputs),
		},
		tools: toolHistory{reporter: r, baseline: gate.Baseline, seen: map[string]toolDefinition{}, compared: map[string]string{}},
	}
}

// Take takes the next step.
func (f *Fold) Take(step timeline.Step) error {
	f.mask = step.Mask()
	f.protocol = step.Protocol()
	f.ending.process = step.Exit
	if err := f.waits.Take(step); err != nil {
		return err
	}
	if step.Kind == store.Frame {
		return f.onFrame(step)
	}
	f.now = moment{step.Seq, step.At}
	dir := index(step.Dir)
	switch step.Kind {
	case store.Opened:
		header, err := store.ParseHeader(step.Payload)
		if err == nil && header.Transport == "memory" {
			f.inFlight = &inFlight{} // all deliveries are recorded
		}
		if header.Processes != nil {
			f.ending.pid = header.Processes.Server.PID
		}
		return err
	case store.Note:
		f.inFlight.onNote(f.reporter, step)
	case store.HTTP:
		if step.HTTP == nil {
			_, err := store.DecodePayload[store.HTTPInfo](step.Event)
			return err
		}
		if len(step.Undone) > 0 {
			f.onUndone(step, f.exchanges.get(step.Stream))
		}
		f.onHTTP(step, *step.HTTP)
		f.http.take(step, f.exchanges)
	case store.Closed:
		f.ending.sealed = true
	case store.EOF:
		info, err := store.DecodePayload[store.EOFInfo](step.Event)
		if err != nil {
			return err
		}
		f.onPartEnd(step.Dir, step.Seq, info)
		switch info.By {
		case "sender":
			f.ending.closed[dir] = f.now
		}
	case store.Exited:
		info, err := store.DecodePayload[store.ExitInfo](step.Event)
		f.ending.exit = info
		f.ending.exited = f.now
		return err
	case store.Delivered:
		info, err := store.DecodePayload[store.DeliveredInfo](step.Event)
		if err == nil {
			f.onDelivered(step, info.Upto)
		}
		return err
	case store.Lost:
		info, err := store.DecodePayload[store.LostInfo](step.Event)
		f.onLost(step, info)
		return err
	}
	return nil
}

// onFrame takes a frame.
func (f *Fold) onFrame(step timeline.Step) error {
	fromClient := step.Dir == transport.ClientToServer
	switch {
	case !fromClient && step.Dir != transport.ServerToClient:
		return fmt.Errorf("event %d: no direction", step.Seq)
	case step.Cut > 0:
		f.onCutFrame(step)
		return nil
	}
	f.now = moment{step.Seq, step.At}
	if step.Open && (step.Noise || step.Unended) { // its rest may make it a message
		return nil
	}
	f.http.take(step, f.exchanges)
	f.frames++
	f.last[step.Dir] = f.now
	if end := f.ending.closed[step.Dir].seq; end != 0 && step.Stream == 0 {
		f.report(nothingAfter, step.Dir, "", []uint64{step.Seq, end}, "the %s sent a message after the end of its stream (#%d)", step.Dir.Sender(), end)
	}
	x := f.exchanges.get(step.Stream)
	x.lanes[step.Dir].sent = step.Seq
	switch {
	case step.Stream == 0:
	case !fromClient:
		f.exchanges.onResponsePart(step, "a message")
		if x.spoken == 0 {
			x.spoken = step.Seq
		}
	case x.spoken != 0 && x.ended == 0 && !x.refused():
		f.report(requestFirst, transport.ServerToClient, "", []uint64{step.Seq, x.spoken}, "the body of the request of exchange %d stands behind a message of its response (#%d)", step.Stream, x.spoken)
	}
	isForm := f.onForm(step) && !step.Noise // the messages are there all the same
	f.inFlight.onFrame(step)
	switch {
	case step.Unended && !fromClient: // no message so far
		return nil
	case x.redelivered:
		x.redelivered = false
		return nil
	case !fromClient && x.refused() && !x.isAnswer(step.Messages):
		f.onBodyRead(step, x)
		return nil
	case step.Stream == 0 && step.Unterminated && step.Noise && f.parts[step.Dir].Seq == 0: // the end of the direction tells whose doing it is
		f.parts[step.Dir] = step.Event
		return nil
	case step.Part || step.Noise && step.Misframed != nil:
		return nil
	case !isForm && !judgeEncoding(f.reporter, step.Event, !step.Noise):
		return nil
	}
	if step.Stream != 0 && fromClient {
		x.onBody(step.Messages)
	}
	s := f.exchanges.scopeOf(step, x)
	own, hasNone := f.scopeOfStray(step)
	if own != nil {
		s = own
	}
	if s == nil || hasNone {
		f.onSessionless(step)
		return nil
	}
	f.onMessages(step, x, s)
	return f.schemaErr
}

// onSessionless takes what a client sends without a session about calls: the model knows of which client
// they are.
func (f *Fold) onSessionless(step timeline.Step) {
	for i := range step.Messages {
		m := &step.Messages[i]
		if c := f.calls[m.Call]; c != nil && m.Role == timeline.Cancels {
			f.onCancellation(step, c)
		}
		f.judgeAnswer(step, m, "", true)
	}
}

// onMessages judges the messages of a frame.
func (f *Fold) onMessages(step timeline.Step, x *exchange, scope *scope) {
	fromClient := step.Dir == transport.ClientToServer
	for i := range step.Messages {
		scope.onMessage(step, &step.Messages[i])
	}
	for _, v := range scope.rules.Observe(step) {
		if scope.isPart && (v.NeedsBeginning() || v.Rule == "P4") { // what it needs stands in another exchange
			continue
		}
		if scope.isSession && scope.beginning == middle && v.NeedsBeginning() {
			scope.reportMiddle(f.reporter)
			continue
		}
		text := phrase.Shorten(f.mask.Text(v.Text), 300)
		severity := v.Severity
		switch {
		case v.Race:
			text += "; it may have crossed it, which a recording cannot tell"
		case step.Stream != 0 && v.OneSender() && (fromClient || !f.exchanges.isSSE && len(x.calls) == 0):
			// Each frame of a client goes on a stream of its own. A response goes on the stream of
			// the request, and other messages about the request may go elsewhere.
			severity = order.Note
			text += "; over HTTP these are two streams, whose order a recording cannot tell"
		}
		found := Finding{
			Rule: v.Rule, Title: v.Title, Severity: severity, Revision: v.Revision, Section: v.Section,
			Dir: step.Dir, Events: []uint64{step.Seq}, Text: text,
		}
		if v.OtherType() {
			f.repeated.add(found, f.now)
			continue
		}
		f.give(found)
	}
	if !scope.isSession && !scope.isPart && !fromClient {
		f.exchanges.onGreeting(scope.rules.Revision())
	}
	if step.Stream != 0 && fromClient {
		frame := order.FrameOf(step)
		x.onRefusal(func() { scope.rules.Refuse(frame) })
	}
	for i := range step.Messages {
		m := &step.Messages[i]
		f.judgeAnswer(step, m, scope.rules.Revision(), !scope.isSession || scope.beginning != middle)
		f.onMessage(step, x, scope, m)
		if x.method != http.MethodGet || fromClient || m.Kind != transport.Response || x.resumes || x.refused() || f.exchanges.isSSE {
			continue
		}
		if revision := f.exchanges.revisionOf(x); string(m.ID) != "null" && mcp.Resumption.Has(revision) {
			f.report(responseStream, step.Dir, revision, []uint64{step.Seq, x.requested.seq},
				"the server sent the response to id %s on a stream that the client opened with GET (#%d)", clip(string(m.ID)), x.requested.seq)
		}
	}
	if fromClient && x.refused() { // before the body came
		f.onUndone(step, x)
		f.onRefusal(step, x, x.status)
	}
	switch {
	case step.Stream == 0:
	case !fromClient:
		f.onBodyRead(step, x)
	case len(step.Messages) == 1:
		if !f.exchanges.isSSE { // HTTP+SSE has no such headers
			judgeHeaders(f.reporter, step.Event, x.headers, scope.rules.Revision(), &step.Messages[0].Message, &f.tools)
		}
		x.headers = nil
	}
}

// onMessage judges a message and keeps the effect on the calls.
func (f *Fold) onMessage(step timeline.Step, exchange *exchange, scope *scope, message *timeline.Message) {
	if !f.protocol.IsForeign() {
		judgeMembers(f.reporter, step.Event, &message.Message, scope.rules.Revision(), f.exchanges.revisionOf(exchange))
	}
	judgeForm(f.reporter, step.Event, message, cmp.Or(scope.rules.Revision(), f.exchanges.revisionOf(exchange)), f.protocol)
	f.ending.onMessage(step, message)
	method := ""
	switch message.Kind {
	case transport.Invalid:
		return
	case transport.Request:
		f.onRequest(step, scope, message)
	case transport.Response:
		method = f.onResponse(step, message)
	case transport.Notification:
		if c := f.calls[message.Call]; c != nil && message.Method == mcp.NotificationCancelled {
			f.onCancellation(step, c)
		}
	}
	if f.gate.Schema == nil {
		return
	}
	revision := cmp.Or(scope.rules.Revision(), f.exchanges.revisionOf(exchange), metaRevision(&message.Message))
	if err := judgeSchema(f.reporter, f.gate.Schema, step.Event, &message.Message, revision, method); err != nil && f.schemaErr == nil {
		f.schemaErr = err
	}
	f.hasSchema = f.hasSchema || f.gate.Schema.Knows(revision)
}

// onBodyRead ends an exchange whose response is one body: some recordings have no event for
// its end.
func (f *Fold) onBodyRead(step timeline.Step, exchange *exchange) {
	if exchange.single && exchange.ended == 0 {
		f.exchanges.onEnd(step, store.HTTPInfo{What: store.HTTPEnd})
	}
}

// onHTTP follows an exchange around the frames.
func (f *Fold) onHTTP(step timeline.Step, info store.HTTPInfo) {
	switch info.What {
	case store.HTTPRequest:
		f.exchanges.onRequest(step, info)
	case store.HTTPResponse:
		x := f.exchanges.onHead(step, info)
		switch {
		case x.refused():
			f.onRefusal(step, x, info.Status)
		case info.Status == http.StatusAccepted || info.Status == http.StatusNoContent: // no body follows, and no end
			x.session = nil
		}
	case store.HTTPEvent:
		x := f.exchanges.onResponsePart(step, "an event")
		sse := info.SSE
		if sse == nil {
			return
		}
		if sse.Event == "endpoint" {
			f.exchanges.isSSE = true
			f.exchanges.answersOn = step.Stream
			x.sseAnswers = true
		}
		isRepeated := sse.ID != "" && f.exchanges.judgeEvent(step, x, sse.ID)
		x.redelivered = isRepeated && sse.Frame == 0
	case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
		f.exchanges.onEnd(step, info)
	}
}

func (f *Fold) onLost(step timeline.Step, info store.LostInfo) {
	f.report(isWhole, step.Dir, "", []uint64{step.Seq}, "%s with %s %s not recorded (%s): from here on nothing is certain",
		phrase.Plural(info.Frames, "event"), phrase.Plural(info.Bytes, "byte"), phrase.Agree(info.Frames, "is", "are"), clip(info.Reason))
	if f.gap == 0 {
		f.gap = step.Seq
	}
}

// onCutFrame takes a frame without a recorded end: the message is not certain.
func (f *Fold) onCutFrame(step timeline.Step) {
	f.now = moment{step.Seq, step.At}
	f.frames++
	f.last[index(step.Dir)] = f.now
	if step.Stream != 0 {
		f.onLost(step, store.LostInfo{Frames: 1, Bytes: step.Cut, Reason: "it is longer than was to be recorded of a message"})
	} else if f.gap == 0 { // the next event, lost, reports the gap
		f.gap = step.Seq
	}
}

// Close ends the session and returns the summary. For a session that goes on, now is the present
// time since its start: what is open has waited until then. Of any other it is 0.
func (f *Fold) Close(now time.Duration) Summary { return f.CloseLive(why.Live{Now: now}) }

// CloseLive is Close with more that is known of a session that goes on.
func (f *Fold) CloseLive(live why.Live) Summary {
	sum, _ := f.CloseContext(context.Background(), live) // it never ends
	return sum
}

// CloseContext is CloseLive until a context ends. Then there is no summary, and the error is the context's.
func (f *Fold) CloseContext(ctx context.Context, live why.Live) (Summary, error) {
	if f.live = live.Now > 0 && !f.ending.sealed; f.live {
		f.now.at = max(f.now.at, live.Now)
		f.ending.now = f.now.at
	}
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		f.onPartEnd(dir, 0, store.EOFInfo{})
	}
	streams := slices.Sorted(maps.Keys(f.exchanges.all))
	for _, s := range f.exchanges.sessions {
		if s.beginning == middle && !s.refused {
			s.reportMiddle(f.reporter)
		}
	}
	flag := interrupt.On(ctx)
	for _, stream := range streams {
		if flag.Raised() {
			return Summary{}, ctx.Err()
		}
		if f.ending.sealed && f.exchanges.hasStatus { // a recording without any status proves nothing
			f.exchanges.judgePost(f.exchanges.all[stream], stream, f.now, ", to the end of the recording")
		}
	}
	if f.gate.Schema != nil && !f.hasSchema && f.frames > 0 {
		f.report(schemaAsked, transport.NoDirection, "", []uint64{f.now.seq}, "no message was compared with a schema: none names a revision that has one")
	}
	f.reportStrays()
	f.reportRepeated()
	f.reportForms(f.protocol)
	revision := cmp.Or(f.exchanges.current.rules.Revision(), f.exchanges.greeted, f.exchanges.named)
	if err := f.judgeWaits(ctx, live, revision); err != nil {
		return Summary{}, err
	}
	if protocol := f.protocol; !protocol.IsForeign() {
		f.ending.judgeGreeting(f.reporter, revision)
	}
	started := f.ending.judgeServer(f.reporter, revision, f.last[transport.ServerToClient])
	if f.outcome.results == 0 && started && !f.ending.isOpen() && f.gap == 0 {
		f.outcome.judge(f.reporter, f.frames, f.now.seq)
	}
	for _, tool := range f.gate.Expect {
		f.report(expectedTool, transport.ClientToServer, "", []uint64{f.now.seq}, "the client never called the tool %s", quote(tool))
	}
	f.http.close(f.outcome.results > 0)
	f.tools.close(f.now.seq, f.live)
	exit := ""
	if f.ending.exited.seq != 0 {
		exit = f.ending.exit.String()
	}
	return Summary{
		Events: f.now.seq, Frames: f.frames, Took: f.now.at, Revision: revision,
		Errors: f.counts[order.Error], Warnings: f.counts[order.Warning], Notes: f.counts[order.Note],
		Asked: f.outcome.asked, Answered: f.outcome.answered, Results: f.outcome.results, Exit: exit,
		Tallies: f.tallies.all(),
	}, nil
}

// Summary sums up a session.
type Summary struct {
	Events   uint64        `json:"events"`
	Frames   uint64        `json:"messages"`
	Took     time.Duration `json:"took_ns"`
	Revision string        `json:"revision"` // the last settled; "": exchanges without a session
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Notes    int           `json:"notes"`
	Asked    uint64        `json:"requests"` // of the client, but for subscriptions
	Answered uint64        `json:"answered"` // of these
	Results  uint64        `json:"results"`  // answers without an error
	Exit     string        `json:"exit"`     // how the server's process ended; "": not recorded
	Tallies  []Tally       `json:"calls"`
}
