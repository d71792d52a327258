package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Client says how the client under test is started. It must be a program that ends by itself, such as a
// test or a script.
type Client struct {
	Command []string
	Env     []string // NAME=VALUE, beside the environment of this process
	// Folder is copied for each process. The copy takes the place of its path in the server's frames.
	Folder string // "": each process has an empty folder
	In     string // the folder in which the command is started; "": that of this process
	// PassOn is a command that calls [child.PassOn] with its last argument, which is added to it.
	PassOn []string
}

// urlMark stands in a client's command and in its environment for the URL of a server over Streamable HTTP.
const urlMark = "%URL"

// OverHTTP reports whether the client gets a URL in place of a server that it starts.
func (c Client) OverHTTP() bool { return c.has(urlMark) }

func (c Client) has(mark string) bool {
	return slices.ContainsFunc(slices.Concat(c.Command, c.Env), func(text string) bool { return strings.Contains(text, mark) })
}

// Check returns what is wrong with the client's command.
func (c Client) Check() error {
	if c.has(urlMark) && c.has(child.ServerMark) {
		return fmt.Errorf("%s is a server that the client starts, and %s one over HTTP: leave one of the two out", child.ServerMark, urlMark)
	}
	return nil
}

// mark is what stands for the client's server.
func (c Client) mark() string {
	if c.OverHTTP() {
		return urlMark
	}
	return child.ServerMark
}

// ExploreClient plays the server's half of a session to processes of a client, in many orders.
func ExploreClient(client Client, events []store.Event, options Options) (Report, error) {
	report, err := explore(clientPeer{Client: client, events: events, stop: options.Stop, keeps: options.Keep}, options)
	if unrecorded := (*unrecordedError)(nil); errors.As(err, &unrecorded) { // its params vary, perhaps
		report, err = explore(clientPeer{Client: client, events: events, rules: match.Rules{By: match.ByMethod}, stop: options.Stop, keeps: options.Keep}, options)
	}
	return report, err
}

// unrecordedError says that a client asks, in the recorded order, for what the recorded one did not.
type unrecordedError struct{ what string }

func (e *unrecordedError) Error() string {
	return fmt.Sprintf("the client asks %s, which the recording has no answer for (any more): record this client", e.what)
}

// clientPeer is a client under test, to which the recorded server plays.
type clientPeer struct {
	Client
	events []store.Event
	rules  match.Rules
	stop   <-chan struct{} // closed when a play is to end at once
	keeps  bool            // the trace of a play
	asks   bool            // for lines of source at a hang
}

func (c clientPeer) asking() peer      { c.asks = true; return c }
func (c clientPeer) knowing(play) peer { return c }
func (clientPeer) name() string        { return "client" }
func (clientPeer) recorded() string    { return "server" }

// results returns none: the answers of a client are not compared.
func (c clientPeer) results() []uint64 { return nil }

// play starts a process, plays the schedule and ends the process.
func (c clientPeer) play(schedule Schedule, patience child.Patience) (played play, err error) {
	err = child.InPlace(c.Folder, c.stop, c.asks, func(at child.Place) error {
		p := &clientPlayer{
			schedule: schedule, patience: patience, dir: at.Dir, recorded: c.Folder, events: c.events, rules: c.rules, mark: c.mark(),
			before: heardBefore(c.events), hasDiscover: hasDiscover(c.events), play: play{replies: map[uint64]string{}, missed: map[string]uint64{}, heeds: map[string]bool{}, trace: newTrace(c.keeps)},
		}
		p.causes, p.versions, p.changed = standin.Changes(c.events)
		if err := p.launch(c.Client, at); err != nil {
			return err
		}
		process := p.process
		defer process.Kill()
		err = p.run()
		p.play.trace.giveUp(p.play.found)
		p.play.trace.leave(process)
		if process.IsStopped() {
			return child.ErrStopped
		}
		if err != nil {
			return err
		}
		p.noteNeighbours()
		p.play.hasCancelled = p.cancels < 0
		p.play.output = strings.ReplaceAll(process.Stdout(), at.Dir, child.FolderMark)
		if p.play.isUnjudged || p.isCutOff() { // it was told what no recorded server has said
			p.play.broken = nil
		}
		played = p.play
		played.lines = linesOf(process, played.found)
		return nil
	})
	return played, err
}

// hasDiscover reports whether the recorded client asked server/discover.
func hasDiscover(events []store.Event) bool {
	return slices.ContainsFunc(timeline.CallsOf(events).All(), func(c *timeline.Call) bool { return c.Method == mcp.MethodDiscover })
}

// cancellations returns how many requests the recorded client cancels.
func cancellations(events []store.Event) (count int) {
	for _, call := range timeline.CallsOf(events).All() {
		if call.Dir == transport.ClientToServer && call.Cancelled != 0 {
			count++
		}
	}
	return count
}

// heardBefore returns by the event of a server's frame how many frames of the client were recorded in front
// of it.
func heardBefore(events []store.Event) map[uint64]int {
	count := 0
	before := map[uint64]int{}
	for _, e := range events {
		switch {
		case e.Kind != store.Frame:
		case e.Dir == transport.ClientToServer:
			count++
		default:
			before[e.Seq] = count
		}
	}
	return before
}

// mayRepeat reports whether a server may send a notification again when it likes. Progress must grow, and
// the others tell what has happened once.
func mayRepeat(method string) bool {
	switch method {
	case mcp.NotificationMessage, mcp.NotificationToolListChanged, mcp.NotificationPromptListChanged,
		mcp.NotificationResourceListChanged, mcp.NotificationResourceUpdated:
		return true
	}
	return false
}

// changeOf returns what a server may say of a list that it has declared in its answer to initialize; "": nothing.
func changeOf(hello json.RawMessage) string {
	type list struct {
		ListChanged bool `json:"listChanged"`
	}
	var says struct {
		Capabilities struct {
			Tools     list `json:"tools"`
			Resources list `json:"resources"`
			Prompts   list `json:"prompts"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(hello, &says) // one of another form declares nothing
	switch declared := says.Capabilities; {
	case declared.Tools.ListChanged:
		return mcp.NotificationToolListChanged
	case declared.Resources.ListChanged:
		return mcp.NotificationResourceListChanged
	case declared.Prompts.ListChanged:
		return mcp.NotificationPromptListChanged
	}
	return ""
}

// answerAnyway returns an answer to a call that was cancelled, behind progress if that was asked for.
func answerAnyway(call *timeline.Call) (lines [][]byte) {
	const progress = 1_000_000 // more than the server has told
	if call.Token != "" {
		lines = append(lines, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"progressToken":%s,"progress":%d}}`, mcp.NotificationProgress, call.Token, progress))
	}
	body := `"error":{"code":-32800,"message":"cancelled"}`
	if call.Method == mcp.MethodCallTool {
		body = `"result":{"content":[{"type":"text","text":"done all the same"}]}`
	}
	return append(lines, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, call.ID, body))
}

// stuck judges a client that does nothing more.
func (p *clientPlayer) stuck(look procfs.Look) error {
	isOpen := p.isOpen()
	switch {
	case p.start == 0 && p.http != nil:
		return fmt.Errorf("the client has not asked the server at %s: %s", p.mark, look)
	case p.start == 0:
		return fmt.Errorf("the client has not started %s as its server: %s", p.mark, look)
	case isOpen && p.line.IsAwaited():
		return fmt.Errorf("the client has started a second server beside the first; a client of one server can be explored")
	case !isOpen && (!p.isClosed || len(p.calls()) == 0):
		p.fail(Lingers, look, "its server has ended")
	case !isOpen:
		var calls []string
		for _, call := range p.calls() {
			calls = append(calls, nameOf(call))
		}
		slices.Sort(calls)
		p.fail(Hang, look, "its server has ended, and it waits for the answer to "+strings.Join(calls, ", "))
	case p.http != nil && p.stuckOverHTTP(look):
	case p.errors.Left() > 0:
		p.fail(Hang, look, fmt.Sprintf("it does not read its server's standard error, where there is room for %d KiB: the server waits in a write there", (errorLines-p.errors.Left())>>10))
	case p.isPinging():
		p.fail(Hang, look, "it does not answer a ping")
	case len(p.questions()) > 0:
		var names []string
		for _, question := range p.questions() {
			names = append(names, p.nameOf(p.asked[question]))
		}
		slices.Sort(names)
		p.fail(Hang, look, "it does not answer "+strings.Join(names, ", "))
	default:
		detail := "it says no more and does not end"
		if p.last != 0 {
			detail = "it has every answer, " + p.nameOf(p.last) + " is the last, says no more and does not end"
		}
		if p.line.Untaken() > 0 {
			detail += "; it has not read all"
		}
		p.fail(Hang, look, detail)
	}
	return nil
}

// nameOf names a frame that was sent.
func (p *clientPlayer) nameOf(seq uint64) string {
	for _, f := range p.play.frames {
		if f.seq == seq {
			return fmt.Sprintf("%s (#%d)", f.what, seq)
		}
	}
	return fmt.Sprintf("#%d", seq)
}

// judgeEnd judges the end of the client. One whose server has ended early may say that it failed, but must
// not die of a signal.
func (p *clientPlayer) judgeEnd() error {
	p.play.status = p.process.Status()
	isExit := strings.HasPrefix(p.play.status, "exit status ")
	switch {
	case p.start == 0 && p.http != nil:
		return fmt.Errorf("the client ended without asking the server at %s: %s", p.mark, cmp.Or(p.process.Status(), "exit status 0")+p.errorText())
	case p.start == 0:
		return fmt.Errorf("the client ended without starting %s as its server: %s", p.mark, cmp.Or(p.process.Status(), "exit status 0")+p.errorText())
	case p.play.status == "" || (p.isClosed || p.gaveUp()) && isExit || p.http != nil && isExit && p.mayFail():
		return nil
	}
	kind := Died
	if isExit && p.http != nil && p.http.isGone {
		kind = NoSession
	}
	p.fail(kind, procfs.Look{Activity: procfs.Ended}, p.process.Status()+p.errorText())
	return nil
}

func (p *clientPlayer) errorText() string {
	if text := p.process.Stderr(); text != "" {
		return ": " + text
	}
	return ""
}

// fail notes a fault, unless the client was told an error that no recorded server has sent.
func (p *clientPlayer) fail(kind Fault, look procfs.Look, detail string) {
	if p.play.isUnjudged {
		return
	}
	found := &fault{kind: kind, look: look, detail: detail}
	for _, question := range p.questions() {
		found.events = append(found.events, p.asked[question])
	}
	if len(found.events) == 0 && p.last != 0 {
		found.events = []uint64{p.last}
	}
	slices.Sort(found.events)
	p.play.found = found
}

// namesake returns a frame of the server: a question under the id of a call of the client that has no answer, where the schedule
// has that. Each end counts for itself (basic, Requests), so only the server must not have had that id.
func (p *clientPlayer) namesake(s sending) transport.Frame {
	if s.seq == 0 || !p.once(Namesake, s.seq) {
		return s.frame
	}
	question := timeline.MessagesOf(s.frame)[0]
	for _, call := range p.calls() {
		isUsed := func(other *timeline.Call) bool {
			return other.Dir == transport.ServerToClient && other.Key() == call.Key()
		}
		if slices.ContainsFunc(timeline.CallsOf(p.events).All(), isUsed) {
			continue
		}
		p.renamed, p.newID = question.ID, json.RawMessage(call.ID)
		s.frame.Bytes = withID(s.frame.Bytes, p.newID)
		break
	}
	return s.frame
}

// withID returns a message with another id.
func withID(message []byte, id json.RawMessage) []byte { return withMember(message, "id", id) }

// withMember returns a JSON object with another member.
func withMember(object []byte, name string, value json.RawMessage) []byte {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(object, &members) // it was read before
	members[name] = value
	encoded, _ := json.Marshal(members) // it was read from JSON
	return encoded
}

// askTwice returns the question of a frame under another id, which goes out with it where the schedule has that, and perhaps
// with its cancellation.
func (p *clientPlayer) askTwice(s sending) (chunk []outgoing) {
	isRetracted := s.seq != 0 && p.once(Retract, s.seq)
	if s.seq == 0 || !isRetracted && !p.once(Twin, s.seq) {
		return nil
	}
	say := func(line []byte) timeline.Message {
		f := transport.Frame{Bytes: line}
		chunk = append(chunk, outgoing{sending: sending{frame: f}, line: line, copies: 1})
		return p.session.take(transport.ServerToClient, f).Messages[0]
	}
	m := timeline.MessagesOf(s.frame)[0]
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q`, twinID, m.Method)
	if m.Params != nil {
		line = fmt.Appendf(line, `,"params":%s`, m.Params)
	}
	p.twin = say(append(line, '}')).Call
	p.asked[p.twin] = s.seq
	if isRetracted {
		say(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"requestId":%q}}`, mcp.NotificationCancelled, twinID))
	}
	return chunk
}

// interpose sends what the schedule has in front of a frame, and reports whether there was something.
func (p *clientPlayer) interpose(seq uint64) bool {
	var lines [][]byte
	switch {
	case p.once(Ping, seq):
		lines = append(lines, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"method":%q}`, pingID, mcp.MethodPing))
	case p.changes != "" && p.once(Change, seq):
		lines = append(lines, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, p.changes))
		p.play.changes = append(p.play.changes, p.changes)
	case len(p.calledOff) > 0 && p.once(Anyway, seq):
		lines = answerAnyway(p.calledOff[0])
		p.calledOff = p.calledOff[1:]
	default:
		return false
	}
	var chunk []outgoing
	for _, line := range lines {
		f := transport.Frame{Bytes: line}
		if m := p.session.take(transport.ServerToClient, f).Messages[0]; m.Kind == transport.Request {
			p.pinged = m.Call // nothing more is sent until it is answered
		}
		chunk = append(chunk, outgoing{sending: sending{frame: f}, line: line, copies: 1})
	}
	p.write(chunk)
	return true
}

// compose returns a frame as it goes out, with what the schedule has at it.
func (p *clientPlayer) compose(s sending) outgoing {
	p.describe(s)
	out := outgoing{sending: s, line: s.frame.Bytes, copies: 1}
	if p.recorded != "" {
		out.line = bytes.ReplaceAll(out.line, []byte(p.recorded), []byte(p.dir))
	}
	if s.seq == 0 {
		return out
	}
	if c, isSplit := p.chosen(Split, s.seq); isSplit && c.At < len(out.line) {
		out.split = c.At
	}
	if c, isRepeat := p.chosen(Repeat, s.seq); isRepeat {
		out.copies = c.At
	}
	if c, isUnread := p.chosen(Unread, s.seq); isUnread {
		p.process.Unread = true
		p.until = c.Last
	}
	_, out.isOther = p.chosen(Form, s.seq)
	_, out.isLast = p.chosen(End, s.seq)
	return out
}

// wantOf returns what a request asks for: its method and its params, but for what goes with them.
func wantOf(request transport.Message) string {
	var params map[string]any
	_ = json.Unmarshal(request.Params, &params) // of params of another form nothing is told apart
	delete(params, mcp.MemberMeta)
	encoded, _ := json.Marshal(params) // it was read from JSON
	return request.Method + " " + string(encoded)
}

// noteResults notes the results in a recorded frame, for clients that ask again.
func (p *clientPlayer) noteResults(f transport.Frame) {
	for _, m := range timeline.MessagesOf(f) {
		for _, call := range p.calls() {
			if m.Result != nil && call.Key() == mcp.KeyOf(m.ID) {
				p.results[p.wants[call]] = m.Result
			}
		}
	}
}

// hasGivenUp reports whether the client has made another call for the same that has no answer, cancelled or not.
func (p *clientPlayer) hasGivenUp(want string, other *timeline.Call) bool {
	return slices.ContainsFunc(slices.Concat(p.calls(), p.calledOff), func(call *timeline.Call) bool { return call != other && p.wants[call] == want })
}

// answerAgain returns the answer to a list that the client asks for once more, or to a call that it makes again because it was
// given no answer: the recorded one, in place of the error that the recording has none left.
func (p *clientPlayer) answerAgain(f transport.Frame) transport.Frame {
	for _, m := range timeline.MessagesOf(f) {
		for _, call := range p.calls() {
			page := p.reads[call].Page
			result := p.versions.Latest(page, p.heard)
			if want := p.wants[call]; result == nil && p.hasGivenUp(want, call) {
				result = p.results[want]
			}
			if m.Error == nil || call.Key() != mcp.KeyOf(m.ID) || result == nil {
				continue
			}
			if p.unasked[page] > 0 {
				p.unasked[page]--
			} else {
				p.heard-- // its request is not of the recording
			}
			f.Bytes = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
			return f
		}
	}
	return f
}

// answerAnew returns the answer to a list as the server has it by now. The client may have asked once where the recorded one
// asked behind each change, and it may ask more often where the schedule tells of a change that was none.
func (p *clientPlayer) answerAnew(seq uint64, f transport.Frame) transport.Frame {
	for _, m := range timeline.MessagesOf(f) {
		for _, call := range p.calls() {
			page := p.reads[call].Page
			if m.Result == nil || call.Key() != mcp.KeyOf(m.ID) || page == "" {
				continue
			}
			recorded := p.versions.At(page, seq)
			if p.heard < recorded.Place && slices.ContainsFunc(p.schedule, func(c Choice) bool { return c.Kind == Change }) {
				p.heard-- // the recorded one comes later
				p.unasked[page]++
				p.soon[seq] = true
			}
			var list json.RawMessage
			if changed := p.told[p.reads[call].Subject]; changed > seq {
				list = p.versions.Behind(page, changed)
			} else if p.heard < recorded.Cause {
				list = p.versions.Latest(page, p.heard)
			}
			if list != nil {
				f.Bytes = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, list)
			}
		}
	}
	return f
}

// unrecorded returns an error if the recording has no answer to what a client asks in the recorded order.
// In other orders it may ask more than once, and the play is not judged.
func (p *clientPlayer) unrecorded() error {
	for _, s := range p.ready {
		for _, m := range timeline.MessagesOf(s.frame) {
			if s.seq != 0 || m.Error == nil {
				continue
			}
			what, method := "", ""
			for _, call := range p.calls() {
				if call.Key() == mcp.KeyOf(m.ID) {
					what, method = nameOf(call), call.Method
				}
			}
			switch {
			case method == mcp.MethodDiscover && !p.hasDiscover: // a server of an older revision says so, too
				continue
			case len(p.schedule) == 0 && p.start == p.first:
				return &unrecordedError{what}
			}
			p.noteOther(m.ID)
			p.play.isUnjudged = true
		}
	}
	return nil
}

// asksFor begins the detail of a client that asks for something else.
const asksFor = "it asks for"

// noteOther notes the first request that the recorded client makes nowhere. One that it makes again is none: it may ask more often.
// Nor is what it asks behind a call that it has given up.
func (p *clientPlayer) noteOther(id json.RawMessage) {
	calls := p.calls()
	at := slices.IndexFunc(calls, func(call *timeline.Call) bool { return call.Key() == mcp.KeyOf(id) })
	if at < 0 || p.play.isUnjudged || p.cancels < 0 || p.rules.By == match.ByMethod {
		return
	}
	other := &otherRequest{wants: p.wants[calls[at]], behind: len(p.play.frames)}
	made := slices.Collect(maps.Values(p.wants))
	for _, e := range p.events {
		for _, m := range timeline.MessagesOf(transport.Frame{Bytes: e.Payload}) {
			want := wantOf(m)
			switch {
			case e.Kind != store.Frame || e.Dir != transport.ClientToServer || m.Kind() != transport.Request:
			case want == other.wants:
				return
			case m.Method == calls[at].Method && !slices.Contains(made, want):
				other.instead = append(other.instead, want)
			}
		}
	}
	p.play.other = other
}
