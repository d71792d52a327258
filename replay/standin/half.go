package standin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// script is a recording as a Player or a Driver plays it, in recorded order.
type script struct {
	messages []*message   // of the live end
	frames   []*ownFrame  // of the played end
	noises   int          // frames of noise from the live end
	failed   []failedCall // of a Player
	hangUps  []hangUp     // of a Driver
	settled  int          // no message before this one is pending
	reorders bool         // the frames go in any order that the specification allows
	otherIDs bool         // the live end has used an id otherwise than the recorded one did
}

// settle moves settled after messages have come or were skipped.
func (s *script) settle() {
	for s.settled < len(s.messages) && !s.messages[s.settled].isPending() {
		s.settled++
	}
}

// message is a recorded message of the end that is live now, and the live message in its
// place.
type message struct {
	index    int
	seq      uint64
	at       time.Duration
	exchange uint64 // recorded HTTP exchange, for a server's message the first of a resumed stream; 0: a pipe
	packed   transport.Packed
	request  *request // of a response: the played end's request

	// Of a client's message:
	answer  *ownFrame // of a request: the response; nil: unanswered
	cancels *message  // of a cancellation: the request
	nth     int       // of a request: number among the requests of the Key, from 1

	// Of a server's message:
	answers  []*ownFrame   // of a request
	gap      time.Duration // since the frame before
	owner    *request      // the call of another message than a response
	follows  *request      // the call answered directly before
	optional bool          // waited for only until GiveUpWaiting
	afterEnd bool          // sent when the client had ended

	arrived  bool
	skipped  bool   // no longer waited for
	timedOut bool   // skipped by GiveUpWaiting
	stream   uint64 // of the live message
	live     *transport.Message

	// Of a live server's message:
	came      int      // place among the arrived messages, from 1
	alone     *request // the only call open then
	overtaken *message // the first message of the same kind and call that came earlier and was recorded later
}

func (c *message) msg() transport.Message { return c.packed.Message() }

// isPending reports whether the played end may wait for the message.
func (c *message) isPending() bool { return !c.arrived && !c.skipped }

// isStray reports whether the message is an answer to no request.
func (c *message) isStray() bool { return c.request == nil && c.msg().Kind() == transport.Response }

// what names the message in words.
func (c *message) what() string {
	switch {
	case c.request != nil:
		return "the answer to " + about(c.request.msg())
	case c.msg().Kind() == transport.Invalid:
		return noiseMethod
	case !c.isStray():
		return about(c.msg())
	case c.msg().ID == nil:
		return "an answer without an id"
	}
	return "an answer with id " + phrase.Name(string(c.msg().ID))
}

// about names the call that the message belongs to.
func (c *message) about() match.Call {
	switch {
	case c.request != nil:
		return match.CallOf(c.request.msg())
	case c.owner != nil:
		return match.CallOf(c.owner.msg())
	}
	return match.CallOf(c.msg())
}

// rulesFor returns the rules for a message.
func (h *half) rulesFor(c *message) match.Rules { return h.rules.ForCall(c.about()) }

// response returns the recorded response to a request; the zero Message if there is none.
func (c *message) response() transport.Message {
	if c.answer != nil {
		for _, m := range timeline.MessagesOf(c.answer.frame) {
			if m.Kind() == transport.Response && mcp.Same(m.ID, c.msg().ID) {
				return m
			}
		}
	}
	return transport.Message{}
}

// mayCome reports whether the client waits for the message before hanging up. The message may
// have been skipped: two HTTP streams have no order, and a message on the other stream does
// not show the end of this stream.
func (s *message) mayCome() bool { return !s.arrived && !s.timedOut }

// ownFrame is a recorded frame of the played end.
type ownFrame struct {
	index    int
	seq      uint64
	at       time.Duration
	frame    transport.Frame
	before   int        // messages of the live end recorded before it
	requests []*request // in the frame
	owners   []*message // the live end's requests that the frame belongs to
	within   []*message // those that were open when a question to a person or a model was asked, if these were several
	edits    []edit
	sent     bool
	unasked  bool // of a server's frame: recorded on a stream opened by no request

	// Of a client's frame:
	gap      time.Duration // since the frame before
	question *message      // the request of the answer or the progress
	queue    []*message    // of OneByOne: answers to earlier calls
	unheld   bool          // an answer that waits only for the question

	// Of a reordering end:
	needs   []*message  // messages to wait for
	after   []*ownFrame // frames to be written first
	written bool
}

// what names the frame in words.
func (f *ownFrame) what() string {
	messages := timeline.MessagesOf(f.frame)
	if len(messages) == 0 {
		return "(not a message)"
	}
	return about(messages[0])
}

// answers reports whether the frame has a response to a request.
func (f *ownFrame) answers() bool {
	return slices.ContainsFunc(f.owners, func(message *message) bool { return message.answer == f })
}

// isOwned reports whether every request of the frame has come.
func (f *ownFrame) isOwned() bool {
	return !slices.ContainsFunc(f.owners, func(message *message) bool { return !message.arrived })
}

// belongTo makes the frame the request's. The live id or token goes to path.
func (f *ownFrame) belongTo(message *message, token bool, path []string) {
	if !slices.Contains(f.owners, message) {
		f.owners = append(f.owners, message)
	}
	f.edits = append(f.edits, edit{path, token, message})
}

// request is a request of the played end.
type request struct {
	frame     *ownFrame
	packed    transport.Packed
	response  *message // nil: unanswered
	cancelled bool     // by the client, before any response
	done      bool     // the live end answered
}

func (r *request) msg() transport.Message { return r.packed.Message() }

// isAwaited reports whether the client goes on only after the answer.
func (r *request) isAwaited() bool { return r.response != nil && !r.response.optional }

// edit is a place in a recorded frame where the live peer's id, or progress token, of a
// request belongs.
type edit struct {
	path    []string
	token   bool
	request *message
}

// of returns the id or the token of a message.
func (e edit) of(message transport.Message) []byte {
	if e.token {
		return message.ProgressToken()
	}
	return message.ID
}

// half is the common part of a Player and a Driver. It plays the script's frames, and judges
// the messages of the live end.
type half struct {
	*script
	role
	dir       transport.Direction // of the live end's messages
	rules     match.Rules
	variables *match.Variables // made up by the live end
	out       []*ownFrame      // every frame returned; nil: an unrecorded frame
	written   int              // every earlier frame was written or is a client's answer

	findings []judged // verdicts on unrecorded messages
	reached  uint64   // Seq of the latest recorded message that came
	without  []string // messages passed over by GiveUpWaiting

	noise      int    // frames without a message, except for noise awaited by a Player
	firstNoise string // the first of these frames
	noiseAfter uint64 // Seq of the message before
}

// role is the Player or the Driver of a half.
type role interface {
	// release returns the frames ready to go.
	release() []transport.Frame
	// judge returns the verdicts on the recorded messages and frames.
	judge() []judged
}

func newHalf(script *script, dir transport.Direction, rules match.Rules) half {
	variables := match.NewVariables(func(yield func(int, transport.Frame) bool) {
		for _, f := range script.frames {
			if !yield(f.before, f.frame) {
				return
			}
		}
	})
	return half{script: script, dir: dir, rules: rules, variables: variables}
}

// Start returns the frames to send before the live end has said anything.
func (h *half) Start() []transport.Frame { return h.release() }

// Wrote says that the transport has taken frame n of all returned frames, counted from 0, and
// returns the frames to send now. It has an effect only after AllowReorder.
func (h *half) Wrote(n int) []transport.Frame {
	if !h.reorders {
		return nil
	}
	if f := h.out[n]; f != nil {
		f.written = true
	}
	return h.release()
}

// Place returns the place in recorded order of frame n, counted as for Wrote, -1 for an
// unrecorded frame, and the first place of a frame not taken yet, apart from a client's
// answers. Place is for use after AllowReorder.
func (h *half) Place(n int) (place, first int) {
	for h.written < len(h.frames) && (h.frames[h.written].written || h.frames[h.written].question != nil) {
		h.written++
	}
	if f := h.out[n]; f != nil {
		return f.index, h.written
	}
	return -1, h.written
}

// Seq returns the event number of frame n, counted as for Wrote; 0: it is not of the recording.
func (h *half) Seq(n int) uint64 {
	if f := h.out[n]; f != nil {
		return f.seq
	}
	return 0
}

// Verdicts returns the verdict on each message of the live end, as if the session ended now:
// in recorded order, extra messages where they came.
func (h *half) Verdicts() []match.StepVerdict {
	list := h.all()
	slices.SortStableFunc(list, func(a, b judged) int { return cmp.Compare(a.seq, b.seq) })
	verdicts := make([]match.StepVerdict, len(list))
	for i, j := range list {
		verdicts[i] = j.StepVerdict
	}
	return verdicts
}

// Close returns the verdicts on faults: the live end did not ask or answer as the recorded
// end did, or a live client got no recorded answer. The notifications, the content of a
// client's answers and the order of a server's messages are in Verdicts.
func (h *half) Close() []match.StepVerdict { return faults(h.all()) }

// Findings returns the final ones of the verdicts so far: on unrecorded messages of the live
// end.
func (h *half) Findings() []match.StepVerdict { return faults(h.findings) }

// Without lists the messages passed over by GiveUpWaiting: #3 (tools/list).
func (h *half) Without() []string { return slices.Clone(h.without) }

// arrive lets m stand for the recorded message.
func (h *half) arrive(c *message, m transport.Message, stream uint64) {
	c.arrived = true
	c.live = &m
	c.stream = stream
	h.reached = max(h.reached, c.seq)
	if m.Kind() != transport.Notification { // a notification may be of another call
		h.variables.Learn(c.msg(), m, c.index)
	}
}

// extra adds the verdict on an unrecorded message.
func (h *half) extra(what, text string, fault bool) {
	h.addExtra(match.StepVerdict{What: what, Text: text}, fault)
}

// addExtra is extra for a verdict with the name of the nearest recorded message.
func (h *half) addExtra(stepVerdict match.StepVerdict, fault bool) {
	stepVerdict.Result = match.Extra
	stepVerdict.Dir = h.dir
	h.findings = append(h.findings, judged{seq: h.reached, fault: fault, StepVerdict: stepVerdict})
}

// addNoise adds a frame without a message.
func (h *half) addNoise(frame transport.Frame) {
	h.noise++
	if h.noise == 1 {
		h.firstNoise = phrase.Name(string(bytes.TrimSpace(frame.Bytes)))
		h.noiseAfter = h.reached
	}
}

// all returns the verdicts on the recorded messages, on the noise if the live end said more
// than the recorded end, and on unrecorded messages.
func (h *half) all() []judged {
	list := h.judge()
	if h.noise > h.noises {
		list = append(list, judged{seq: h.noiseAfter, fault: true, StepVerdict: match.StepVerdict{
			Result: match.Extra, Dir: h.dir, What: noiseMethod,
			Text: fmt.Sprintf("%s of the %s, no JSON-RPC message each, passed over; the first: %s", phrase.Plural(h.noise, "line"), h.dir.Sender(), h.firstNoise),
		}})
	}
	return append(list, h.findings...)
}

// judged is a verdict and its place in the session.
type judged struct {
	match.StepVerdict
	seq   uint64 // of the recorded event that the verdict follows
	fault bool   // the live end asked or answered otherwise than the recorded end; false: any other difference
}

// faults returns the verdicts on which an end asked or answered otherwise.
func faults(list []judged) []match.StepVerdict {
	var verdicts []match.StepVerdict
	for _, j := range list {
		if j.fault {
			verdicts = append(verdicts, j.StepVerdict)
		}
	}
	return verdicts
}

// notSent returns the verdict on an unsent recorded frame.
func notSent(dir transport.Direction, seq uint64, what, text string) judged {
	return judged{seq: seq, fault: true, StepVerdict: match.StepVerdict{Seq: seq, Dir: dir, What: what, Result: match.NotSent, Text: text}}
}

// compared fills in how the live message of a step compares with the recorded one.
func (j *judged) compared(c match.Comparison, order string) {
	j.Result = match.Match
	j.Differences = c.Differences
	j.More = c.More
	j.Mapped = c.Mapped
	j.Order = order
	if c.Same() && order == "" {
		return
	}
	j.Result = match.Mismatch
	var parts []string
	if !c.Same() {
		parts = append(parts, c.Sentence())
	}
	if order != "" {
		parts = append(parts, order)
	}
	j.Text = fmt.Sprintf("#%d, %s, %s", j.Seq, j.What, strings.Join(parts, "; "))
}

// failedCall is a request of the recorded client without a playable answer.
type failedCall struct {
	key      match.Key
	seq      uint64
	exchange *exchange
}

// hangUp is a place where the recorded client hung up on an HTTP exchange before the end of
// the response: in revision 2026-07-28 a client cancels a call in this way, and ends a
// subscription.
type hangUp struct {
	exchange uint64
	frames   int        // frames sent before
	messages int        // messages heard before
	on       []*message // of these messages, the messages on the exchange
	resumed  bool       // the client came back to the stream
}

// MissCode is the JSON-RPC error code of the answer to a request without a recorded answer. It
// is in the range left to implementations, and has no meaning in any SDK (-32001 is a time-out
// in the TypeScript SDK).
const MissCode = -32010

// IsMiss reports whether a message says that the recording has no answer.
func IsMiss(m transport.Message) bool {
	return string(transport.Member(m.Error, "code")) == strconv.Itoa(MissCode)
}

// answerTo returns an unrecorded response.
func answerTo(id json.RawMessage, stream uint64, body []byte) transport.Frame {
	return transport.Frame{Bytes: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, id, body), Stream: stream}
}

// missBody is the error of a request without a recorded answer.
func missBody(text string) []byte {
	quoted, _ := json.Marshal("mcprec: " + text)
	return fmt.Appendf(nil, `"error":{"code":%d,"message":%s}`, MissCode, quoted)
}

// about names a request or notification and the target.
func about(message transport.Message) string {
	if name := timeline.TargetOf(message); name != "" {
		return phrase.Name(message.Method) + " " + phrase.Name(name)
	}
	return phrase.Name(message.Method)
}

// Paths to ids and tokens of a live end. Most frames share them.
var (
	idPath       = []string{"id"}
	progressPath = []string{"params", mcp.MemberProgressToken}
)

// within returns the path to message i of a frame: an index in a batch, or nothing.
func within(frame []byte, i int) []string {
	if (transport.Frame{Bytes: frame}).IsBatch() {
		return []string{strconv.Itoa(i)}
	}
	return nil
}

// below returns the path in a frame to a place in a message, which has a path itself.
func below(message, path []string) []string {
	if len(message) == 0 {
		return path
	}
	return slices.Concat(message, path)
}

// isNull reports whether the id of an error names no request.
func isNull(id json.RawMessage) bool { return len(id) == 0 || string(id) == "null" }

// strayKey is common to answers without a request: a server answers an unreadable frame with a
// null id, and a faulty peer answers twice. A replay says such answers again as recorded.
func strayKey(message transport.Message) string { return "answer " + string(mcp.KeyOf(message.ID)) }

// Noise is a frame without a message. No frame waits for noise, with an exception: a server's
// error about an unreadable frame, which names no request, belongs to the noise in front. A
// client gets the error for such noise.
//
// More noise of a live end than of the recorded end is reported once, as Extra.

// noiseMethod is the key of noise among the client messages that are not requests.
const noiseMethod = "a stray line, not JSON-RPC"

// isNoise reports whether a frame is not blank and has no message.
func isNoise(frame []byte, messages []transport.Message) bool {
	isMessage := func(message transport.Message) bool { return message.Kind() != transport.Invalid }
	return !slices.ContainsFunc(messages, isMessage) && len(transport.TrimBlanks(frame)) > 0
}

// isBlank reports whether a frame is an empty line. Most peers skip the line on stdio, because
// they read JSON and not lines: a blank line is never played.
func isBlank(event store.Event) bool { return len(transport.TrimBlanks(event.Payload)) == 0 }

// onOneLine returns a frame for a transport of lines: over HTTP a message may have newlines
// between tokens.
func onOneLine(frame transport.Frame) transport.Frame {
	if bytes.IndexByte(frame.Bytes, '\n') >= 0 {
		frame.Bytes = bytes.ReplaceAll(frame.Bytes, []byte("\n"), []byte(" "))
	}
	return frame
}

// defaultPatience is how long a live end must be silent before a shell gives up waiting for
// the next recorded message. The time runs only while a frame is held back, and costs nothing
// with a live end that acts as recorded.
const defaultPatience = 500 * time.Millisecond

// lookahead is the number of recorded messages to compare a live message with.
const lookahead = 16

// left returns a queue without the arrived messages among the first few. A missing message
// stays in front, and must not take the places of the others.
func left[E any](queue []E, arrived func(E) bool) []E {
	at := min(len(queue), lookahead)
	for i := at - 1; i >= 0; i-- {
		if !arrived(queue[i]) {
			at--
			queue[at] = queue[i]
		}
	}
	return queue[at:]
}

// firstLeft returns the first message still to come that fits, or nil. Without fits, every
// message does.
func firstLeft(queue []*message, fits func(*message) bool) *message {
	for _, c := range queue {
		if !c.arrived && (fits == nil || fits(c)) {
			return c
		}
	}
	return nil
}

func isPing(messages []transport.Message) bool {
	return len(messages) == 1 && messages[0].Method == mcp.MethodPing
}

// orderKeys names the things with an order that a message of the frame is about. Frames of one
// end with a key in common keep the recorded order.
func (f *ownFrame) orderKeys(m transport.Message) []string {
	var keys []string
	switch {
	case f.question != nil && m.Method != mcp.NotificationCancelled:
		keys = append(keys, "question "+strconv.Itoa(f.question.index))
	case m.Method == mcp.NotificationCancelled:
		keys = append(keys, "id "+string(mcp.KeyOf(timeline.CancelledID(m))))
	case m.Method == mcp.NotificationProgress:
		keys = append(keys, "progress "+string(mcp.KeyOf(m.ProgressToken())))
	case m.Method == mcp.MethodSubscribe || m.Method == mcp.MethodUnsubscribe || m.Method == mcp.NotificationResourceUpdated:
		keys = append(keys, "uri "+timeline.TargetOf(m))
	case m.Kind() == transport.Response:
		for _, c := range f.owners {
			if method := c.msg().Method; c.answer == f && (method == mcp.MethodSubscribe || method == mcp.MethodUnsubscribe) {
				keys = append(keys, "uri "+timeline.TargetOf(c.msg()))
			}
		}
	}
	if m.Kind() == transport.Request {
		keys = append(keys, "id "+string(mcp.KeyOf(m.ID)))
	}
	for _, raw := range [][]byte{m.Params, m.Result} {
		for _, handle := range match.HandlesIn(raw) {
			if handle.Kind == "task" {
				keys = append(keys, "task "+handle.Value)
			}
		}
		if id := transport.Member(raw, mcp.MemberMeta, mcp.MetaSubscriptionID); id != nil {
			keys = append(keys, "subscription "+string(mcp.KeyOf(id)))
		}
		if id := transport.Member(raw, mcp.MemberElicitationID); id != nil {
			keys = append(keys, "elicitation "+string(id))
		}
	}
	return keys
}
