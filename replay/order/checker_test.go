package order

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// session plays lines and returns the rules that were broken, as "P3 error: title".
// A line is an arrow, a sign and a frame:
//
//	> {…}    the client sends it, the server is given it
//	>. {…}   the client sends it
//	>!       the server is given what was sent first of what it was not
//	>~ {…}   as >, but written before the last frame that the client was given
//	>x {…}   the client's Write gave up
//	>r3 {…}  HTTP turned away exchange 3, on which the client had sent it
//
// and the same with < for the server. A number behind the sign names an HTTP exchange.
type session struct {
	c       *Checker
	model   *timeline.Model
	seq     uint64
	isHTTP  bool             // frames without a number have an exchange of their own
	sent    map[uint64]Frame // the last of each HTTP exchange
	waiting [2][]Frame
	found   []Violation
}

// newSession returns a session that is about to play lines. Over HTTP all is of one client, which names its session.
func newSession(revision string, lines []string) *session {
	s := &session{c: New(revision), model: timeline.NewModel(timeline.All), sent: map[uint64]Frame{}}
	for _, line := range lines {
		s.isHTTP = s.isHTTP || streamOf(line) != 0
	}
	return s
}

// streamOf returns the number behind a line's sign.
func streamOf(line string) (stream uint64) {
	sign, _, _ := strings.Cut(line[1:], " ")
	stream, _ = strconv.ParseUint(strings.TrimLeft(sign, ".!~xr"), 10, 64)
	return stream
}

// take gives the model the next event.
func (s *session) take(e store.Event) timeline.Step {
	s.seq++
	e.Seq = s.seq
	return s.model.Take(e)
}

func directionOf(line string) transport.Direction {
	if line[0] == '<' {
		return transport.ServerToClient
	}
	return transport.ClientToServer
}

func (s *session) play(t *testing.T, line string) {
	t.Helper()
	dir := directionOf(line)
	sign, text, _ := strings.Cut(line[1:], " ")
	sign = strings.TrimRight(sign, "0123456789")
	stream := streamOf(line)
	queue := &s.waiting[dir-transport.ClientToServer]
	frame := transport.Frame{Bytes: []byte(text), Stream: stream}
	switch sign {
	case "!":
		s.c.Give((*queue)[0])
		*queue = (*queue)[1:]
		return
	case "x":
		s.c.Withdraw(dir, timeline.MessagesOf(frame))
		return
	case "r":
		s.c.Refuse(s.sent[stream])
		s.model.Lose(s.sent[stream].Messages)
		return
	}
	if s.isHTTP && stream == 0 {
		stream = 99
	}
	if _, isKnown := s.sent[stream]; stream != 0 && !isKnown {
		s.take(store.Event{Kind: store.HTTP, Dir: transport.ClientToServer, Stream: stream, Payload: store.EncodePayload(
			store.HTTPInfo{What: store.HTTPRequest, Header: map[string][]string{mcp.HeaderSessionID: {"one"}}})})
	}
	known := s.c.Mark(dir)
	if sign == "~" {
		known--
	}
	step := s.take(store.Event{Kind: store.Frame, Dir: dir, Stream: stream, Payload: frame.Bytes})
	if step.Noise {
		t.Fatalf("line %s: not JSON", line)
	}
	s.found = append(s.found, slices.Clone(s.c.Send(step, known))...)
	s.sent[stream] = FrameOf(step)
	if sign == "." {
		*queue = append(*queue, s.sent[stream])
		return
	}
	s.c.Give(s.sent[stream])
}

const (
	initialize  = `> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	capable     = `< {"id":0,"result":{"protocolVersion":"2025-06-18"}}`
	initialized = `> {"method":"notifications/initialized"}`
	modern      = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	callModern  = `> {"id":1,"method":"tools/call","params":{` + modern + `}}`
	call        = `> {"id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}`
	refused     = `>r {"id":1,"method":"tools/call"}` // on an exchange
	result      = `< {"id":1,"result":{}}`
	progress    = `< {"method":"notifications/progress","params":{"progressToken":"t","progress":`
	toServer    = `> {"method":"notifications/progress","params":{"progressToken":"t","progress":`
	cancel      = `> {"method":"notifications/cancelled","params":{"requestId":1}}`
)

// after a handshake of 2025-06-18.
func shaken(lines ...string) []string {
	return append([]string{initialize, capable, initialized}, lines...)
}

// on returns a line of an HTTP exchange.
func on(exchange int, line string) string {
	sign, frame, _ := strings.Cut(line, " ")
	return fmt.Sprintf("%s%d %s", sign, exchange, frame)
}

func at(revision string, lines ...string) []string {
	return append([]string{"at " + revision}, lines...)
}

type ruleCase struct {
	name  string
	lines []string
	want  []string // Rule severity: title
}

func TestRules(t *testing.T) {
	for _, cases := range [][]ruleCase{responseCases, requestCases, progressCases, handshakeCases, cancelCases, batchCases,
		subscriptionCases, logCases, taskCases, agentCases} {
		for _, rule := range cases {
			t.Run(rule.name, func(t *testing.T) { rule.run(t) })
		}
	}
}

func (rule ruleCase) run(t *testing.T) {
	lines, revision := rule.lines, ""
	if known, ok := strings.CutPrefix(lines[0], "at "); ok {
		lines, revision = lines[1:], known
	}
	s := newSession(revision, lines)
	for _, line := range lines {
		s.play(t, line)
	}
	var got []string
	for _, v := range s.found {
		got = append(got, v.Rule+" "+v.Severity.String()+": "+v.Title)
		if v.Section == "" || v.Text == "" || v.Dir == transport.NoDirection {
			t.Errorf("a violation says too little: %+v", v)
		}
	}
	if !slices.Equal(got, rule.want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(rule.want, "\n  "))
	}
}

var responseCases = []ruleCase{
	{"a call and its answer", []string{call, result}, nil},
	{"answers in another order", []string{call, `> {"id":2,"method":"x"}`, `< {"id":2,"result":{}}`, result}, nil},
	{"an error is an answer", []string{call, `< {"id":1,"error":{}}`}, nil},
	{"the server's own ids", []string{call, `< {"id":1,"method":"ping"}`, `> {"id":1,"result":{}}`, result}, nil},
	{"an id in another spelling", []string{`> {"id":"a+b","method":"x"}`, `< {"id":"a\u002Bb","result":{}}`,
		`> {"id":1e2,"method":"x"}`, `< {"id":100,"result":{}}`}, nil},
	{"an error for what could not be read", []string{`< {"id":null,"error":{}}`, `< {"error":{}}`}, nil},
	{"a response to nothing", []string{`< {"id":1,"result":{}}`}, []string{"P1 error: a response answers a request"}},
	{"a response to an own request", []string{`< {"id":1,"method":"ping"}`, `< {"id":1,"result":{}}`},
		[]string{"P1 error: a response answers a request"}},
	{"a response in advance", []string{strings.Replace(call, ">", ">.", 1), result},
		[]string{"P1 error: a response comes after its request was received"}},
	{"a response written in advance", []string{call, strings.Replace(result, "<", "<~", 1)},
		[]string{"P1 error: a response comes after its request was received"}},
	{"a second response", []string{call, result, result}, []string{"P1 error: a request is answered once"}},
	{"two requests of one id, and an answer each", []string{call, call, result, result}, []string{"P2 error: the id of a request is not that of another open one", "P3 error: a progress token is unique among open requests"}},
	{"and one answer more", []string{`> {"id":1,"method":"x"}`, `> {"id":1,"method":"x"}`, result, result, result}, []string{"P2 error: the id of a request is not that of another open one", "P1 error: a request is answered once"}},
	{"two of one id on two exchanges, the first answered first", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<3 {"id":1,"error":{}}`, `<4 {"id":1,"result":{}}`}, []string{"P2 error: the id of a request is not that of another open one"}},
	{"two of one id on two exchanges, the last answered first", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<4 {"id":1,"error":{}}`, `<3 {"id":1,"result":{}}`}, []string{"P2 error: the id of a request is not that of another open one"}},
	{"an exchange that answers twice beside an open one", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<3 {"id":1,"result":{}}`, `<3 {"id":1,"result":{}}`},
		[]string{"P2 error: the id of a request is not that of another open one", "P1 error: a request is answered once"}},
	{"an answer on a stream that is taken up again", []string{`>3 {"id":1,"method":"x"}`, `<5 {"id":1,"result":{}}`}, nil},
	{"a late answer to a cancelled call", []string{call, cancel, result}, nil},
	{"an input retried under a new id", []string{callModern, `< {"id":1,"result":{"resultType":"input_required"}}`,
		`> {"id":2,"method":"tools/call","params":{` + modern + `,"inputResponses":{}}}`, `< {"id":2,"result":{}}`}, nil},
	{"an input retried under the old id", []string{callModern, `< {"id":1,"result":{"resultType":"input_required"}}`,
		`> {"id":1,"method":"tools/call","params":{` + modern + `,"inputResponses":{}}}`},
		[]string{"P1 error: a retry with the input that was asked for has a new id"}},
	{"the same again under the old id, without the input", []string{callModern, `< {"id":1,"result":{"resultType":"input_required"}}`, callModern}, nil},
	{"another method with input under the old id", []string{callModern, `< {"id":1,"result":{"resultType":"input_required"}}`,
		`> {"id":1,"method":"prompts/get","params":{` + modern + `,"inputResponses":{}}}`}, nil},
	{"input that was not asked for, under the old id", []string{callModern, result,
		`> {"id":1,"method":"tools/call","params":{` + modern + `,"inputResponses":{}}}`}, nil},
	{"input under the old id, after a handshake", shaken(call, `< {"id":1,"result":{"resultType":"input_required"}}`,
		`> {"id":1,"method":"tools/call","params":{"inputResponses":{}}}`), []string{"P2 error: the id of a request was not used before in the session"}},
	{"a second answer that is an error", []string{initialize, capable, `< {"id":0,"error":{}}`, initialized}, []string{"P1 error: a request is answered once"}},
	{"two of one id, both on their way", []string{`>. {"id":1,"method":"x"}`, `>. {"id":1,"method":"x"}`, `>!`, result}, []string{"P2 error: the id of a request is not that of another open one"}},
	{"the first answer belongs to the first of one id", []string{`> {"id":1,"method":"x"}`, `> {"id":1,"method":"x"}`, result, `> {"id":1,"method":"x"}`},
		slices.Repeat([]string{"P2 error: the id of a request is not that of another open one"}, 2)},
	{"both of one id are answered", []string{`> {"id":1,"method":"x"}`, `> {"id":1,"method":"x"}`, result, result, `> {"id":1,"method":"x"}`},
		[]string{"P2 error: the id of a request is not that of another open one"}},
	{"two answers on their way", []string{`> {"id":1,"method":"x"}`, `> {"id":1,"method":"x"}`, `<. {"id":1,"result":{}}`, `<. {"id":1,"result":{}}`, `<!`, cancel},
		[]string{"P2 error: the id of a request is not that of another open one"}},
	{"the answer on an exchange is the one to its request", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<.3 {"id":1,"result":{}}`, `<.4 {"id":1,"result":{}}`, `<!`,
		cancel}, []string{"P2 error: the id of a request is not that of another open one"}},
	{"the cancellation of two of one id is that of the open one", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<4 {"id":1,"result":{}}`, cancel},
		[]string{"P2 error: the id of a request is not that of another open one"}},
	{"an id that is open behind an answered one", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<4 {"id":1,"result":{}}`, `>5 {"id":1,"method":"x"}`},
		slices.Repeat([]string{"P2 error: the id of a request is not that of another open one"}, 2)},
	{"a second answer under an id of another type", []string{call, result, `< {"id":"1","result":{}}`}, []string{"P1 error: a request is answered once"}},
	{"both answers on exchanges are received", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<.4 {"id":1,"result":{}}`, `<.3 {"id":1,"result":{}}`, `<!`, `<!`,
		cancel},
		[]string{"P2 error: the id of a request is not that of another open one", "P6 warning: a cancellation names a request that is believed open"}},
	{"an answer on a stream taken up again is the first's", []string{`>3 {"id":1,"method":"x"}`, `>4 {"id":1,"method":"x"}`, `<.5 {"id":1,"result":{}}`, `<.6 {"id":1,"result":{}}`, `<!`,
		cancel}, []string{"P2 error: the id of a request is not that of another open one"}},
	{"a response that HTTP refused, sent again", shaken(`< {"id":7,"method":"ping"}`, `>3 {"id":7,"result":{}}`, `>r3 {"id":7,"result":{}}`, `>4 {"id":7,"result":{}}`, `>5 {"id":7,"result":{}}`),
		[]string{"P1 error: a request is answered once"}},
	{"a response beside one that HTTP refused", shaken(`< {"id":7,"method":"ping"}`, `>3 {"id":7,"result":{}}`, `>r4 {"id":7,"result":{}}`, `>4 {"id":7,"result":{}}`),
		[]string{"P1 error: a request is answered once"}},
	{"a request whose response HTTP refused is open", shaken(`< {"id":7,"method":"ping"}`, `>3 {"id":7,"result":{}}`, `>r3 {"id":7,"result":{}}`,
		`< {"method":"notifications/cancelled","params":{"requestId":7}}`), nil},
	{"a client answers nothing, 2025-06-18", shaken(`> {"id":7,"result":{}}`), []string{"P1 error: a response answers a request"}},
	{"a server answers nothing, 2026-07-28", []string{callModern, `< {"id":7,"result":{}}`}, []string{"P1 error: a response answers a request"}},
	{"a server asks, 2026-07-28", []string{callModern, `< {"id":7,"method":"ping"}`, `> {"id":7,"result":{}}`},
		[]string{"P5 error: the server sends no requests"}},
	{"a client answers nothing, 2026-07-28", []string{callModern, `> {"id":7,"result":{}}`}, []string{"P5 error: the client sends no responses"}},
	{"a ping to a client that probes", []string{`> {"id":1,"method":"server/discover","params":{` + modern + `}}`,
		`< {"id":7,"method":"ping"}`, `> {"id":7,"result":{}}`}, nil},
}

var requestCases = []ruleCase{
	{"a null id", []string{`> {"id":null,"method":"x"}`}, []string{"P2 error: the id of a request is not null"}},
	{"an id of an open request", []string{call, `> {"id":1,"method":"x"}`}, []string{"P2 error: the id of a request is not that of another open one"}},
	{"an id whose answer is on its way", []string{call, strings.Replace(result, "<", "<.", 1), `> {"id":1,"method":"x"}`},
		[]string{"P2 error: the id of a request is not that of another open one"}},
	{"an old id, no revision known", []string{call, result, call}, nil},
	{"an old id, 2025-06-18", shaken(call, result, call), []string{"P2 error: the id of a request was not used before in the session"}},
	{"an old id, 2026-07-28", []string{callModern, result, callModern}, nil},
	{"the probe's id is used in the handshake", []string{`> {"id":0,"method":"server/discover","params":{` + modern + `}}`,
		`< {"id":0,"error":{}}`, initialize, capable, initialized}, nil},
	{"the id of a cancelled request", []string{call, cancel, `> {"id":1,"method":"x"}`}, nil},
	{"the id of an initialize that failed", at("2025-06-18", initialize, `< {"id":0,"error":{}}`, initialize), nil},
	{"the id of the initialize", shaken(`> {"id":0,"method":"x"}`), []string{"P2 error: the id of a request was not used before in the session"}},
	{"an id from before another handshake", shaken(call, result, `> {"id":9,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`< {"id":9,"result":{"protocolVersion":"2025-06-18"}}`, initialized, call), []string{"P4 error: a session is initialized once"}},
	{"a token of an open request", []string{call, `> {"id":2,"method":"x","params":{"_meta":{"progressToken":"t"}}}`},
		[]string{"P3 error: a progress token is unique among open requests"}},
	{"a token of an answered request", []string{call, result, `> {"id":2,"method":"x","params":{"_meta":{"progressToken":"t"}}}`}, nil},
	{"a token of a cancelled request", []string{call, cancel, `> {"id":2,"method":"x","params":{"_meta":{"progressToken":"t"}}}`}, nil},
	{"a request that HTTP refused, sent again", shaken(on(3, call), on(3, refused), on(4, call), on(4, result)), nil},
	{"one that HTTP refused twice", shaken(on(3, call), on(3, refused), on(4, call), on(4, refused), on(5, call), on(5, result)), nil},
	{"one that HTTP refused, with an answer on another stream", shaken(on(3, call), on(3, refused), on(4, call), on(1, result), on(1, result)), []string{"P1 error: a request is answered once"}},
	{"one that HTTP refused, answered, sent again", shaken(on(3, call), on(3, refused), on(4, call), on(4, result), on(5, call)), []string{"P2 error: the id of a request was not used before in the session"}},
	{"one that HTTP refused and answered all the same", shaken(on(3, call), on(3, refused), on(1, result), on(4, call)), []string{"P2 error: the id of a request was not used before in the session"}},
	{"the id of one that HTTP refused, for another method", shaken(on(3, call), on(3, refused), `>4 {"id":1,"method":"x"}`), []string{"P2 error: the id of a request was not used before in the session"}},
	{"an id of an open request beside a refused one", shaken(on(3, call), `>4 {"id":1,"method":"tools/call"}`, on(4, refused), `>5 {"id":1,"method":"tools/call"}`, on(5, refused), `>6 {"id":1,"method":"tools/call"}`),
		slices.Repeat([]string{"P2 error: the id of a request is not that of another open one"}, 3)},
	{"another exchange than the request's is refused", shaken(on(3, call), on(9, refused), `>4 {"id":1,"method":"tools/call"}`), []string{"P2 error: the id of a request is not that of another open one"}},
}

var progressCases = []ruleCase{
	{"progress", []string{call, progress + `1}}`, progress + `1.5}}`, result}, nil},
	{"progress of two with one token is that of the open one", []string{call, `> {"id":2,"method":"x","params":{"_meta":{"progressToken":"t"}}}`, `< {"id":2,"result":{}}`, progress + `1}}`},
		[]string{"P3 error: a progress token is unique among open requests"}},
	{"progress from nothing", []string{call, progress + `0}}`, progress + `0}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress in another spelling", []string{call, progress + `1}}`, progress + `1.0}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress that stands beyond a float64", []string{call, progress + `9007199254740993}}`, progress + `9007199254740993}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress that falls beyond a float64", []string{call, progress + `1e300}}`, progress + `9007199254740993}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress below a float64", []string{call, progress + `-9007199254740993}}`, progress + `-9007199254740992}}`}, nil},
	{"progress that HTTP refused, sent again", []string{`< {"id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}`, on(2, toServer) + `4}}`,
		on(3, toServer) + `5}}`, `>r3` + toServer[1:] + `5}}`, on(4, toServer) + `5}}`}, nil},
	{"progress that HTTP refused twice", []string{`< {"id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}`, on(2, toServer) + `4}}`,
		on(3, toServer) + `7}}`, `>r3` + toServer[1:] + `7}}`, on(4, toServer) + `8}}`, `>r4` + toServer[1:] + `8}}`, on(5, toServer) + `5}}`}, nil},
	{"progress below what was before the refused", []string{`< {"id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}`, on(2, toServer) + `4}}`,
		on(3, toServer) + `5}}`, `>r3` + toServer[1:] + `5}}`, on(4, toServer) + `3}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress beside what HTTP refused", []string{`< {"id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}`,
		on(3, toServer) + `5}}`, `>r4` + toServer[1:] + `5}}`, on(4, toServer) + `5}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress of an unknown token", []string{progress + `1}}`}, []string{"P3 error: progress is of a request that was received"}},
	{"progress in advance", []string{strings.Replace(call, ">", ">.", 1), progress + `1}}`},
		[]string{"P3 error: progress is of a request that was received"}},
	{"progress to oneself", []string{call, toServer + `1}}`},
		[]string{"P3 error: progress is of a request that was received"}},
	{"progress after the response", []string{call, result, progress + `1}}`}, []string{"P3 error: progress stops when the request is answered"}},
	{"progress that stands", []string{call, progress + `1}}`, progress + `1}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress of an unknown token, that HTTP refused", []string{on(3, toServer) + `1}}`, `>r3` + toServer[1:] + `1}}`}, []string{"P3 error: progress is of a request that was received"}},
	{"progress that falls", []string{call, progress + `2}}`, progress + `1}}`}, []string{"P3 error: progress rises with each notification"}},
	{"progress beyond a float64", []string{call, progress + `9007199254740992}}`, progress + `9007199254740993}}`, progress + `9007199254740994}}`}, nil},
	{"progress that is no number", []string{call, progress + `1}}`, progress + `"half"}}`, progress + `1}}`}, nil},
	{"a token anew", []string{call, progress + `5}}`, result, `> {"id":2,"method":"x","params":{"_meta":{"progressToken":"t"}}}`, progress + `1}}`}, nil},
	{"progress of a server's request", []string{`< {"id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}`,
		toServer + `1}}`}, nil},
	{"progress of a client, 2026-07-28", []string{callModern, toServer + `1}}`},
		[]string{"P3 error: only the server sends progress"}},
	{"progress after a cancellation, 2026-07-28", []string{`> {"id":1,"method":"x","params":{"_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		cancel, progress + `1}}`, strings.Replace(progress, "<", "<~", 1) + `2}}`},
		[]string{"P6 warning: after a cancellation nothing more is sent for the request"}},
}

var handshakeCases = []ruleCase{
	{"a handshake", shaken(call, result), nil},
	{"a ping before and within it", []string{`> {"id":5,"method":"ping"}`, initialize, `> {"id":6,"method":"ping"}`, `< {"id":7,"method":"ping"}`, capable, initialized}, nil},
	{"logging within it", []string{initialize, `< {"method":"notifications/message"}`, capable, initialized}, nil},
	{"no handshake and no revision", []string{call, result}, nil},
	{"none though the revision has one", at("2025-06-18", call, result), []string{"P4 error: initialize comes first"}},
	{"a call before initialize", []string{call, initialize}, []string{"P4 error: initialize comes first"}},
	{"a call before the response to initialize", []string{initialize, call}, []string{"P4 warning: before the response to initialize the client asks only for pings"}},
	{"a call written before that response", []string{initialize, capable, strings.Replace(initialized, ">", ">~", 1)},
		[]string{"P4 error: initialized comes after the response to initialize"}},
	{"a call before initialized", []string{initialize, capable, call}, []string{"P4 warning: before initialized the client asks only for pings"}},
	{"a modern call within it", []string{initialize, callModern}, nil},
	{"a probe within it", []string{initialize, `> {"id":1,"method":"server/discover"}`}, nil},
	{"a modern call that fails before it", []string{callModern, `< {"id":1,"error":{}}`, initialize, capable, initialized}, nil},
	{"a handshake of the server", shaken(`< {"id":5,"method":"initialize"}`, `< {"method":"notifications/cancelled","params":{"requestId":5}}`), nil},
	{"initialized of a failed initialize", []string{initialize, `< {"id":0,"error":{}}`, initialized},
		[]string{"P4 error: initialized comes after the response to initialize"}},
	{"initialized alone", []string{initialized}, nil},
	{"a question of the server before initialize", []string{`< {"id":1,"method":"roots/list"}`, initialize, capable, initialized}, nil},
	{"a call before initialize, and initialize again", []string{call, initialize, capable, `> {"id":9,"method":"initialize"}`}, []string{"P4 error: initialize comes first", "P4 error: a session is initialized once"}},
	{"a probe behind the handshake", shaken(`> {"id":1,"method":"server/discover","params":{}}`, result, `< {"id":7,"method":"ping"}`), nil},
	{"a probe that is answered", []string{`> {"id":1,"method":"server/discover","params":{` + modern + `}}`, result, `< {"id":7,"method":"ping"}`}, []string{"P5 error: the server sends no requests"}},
	{"initialized twice", shaken(initialized), []string{"P4 warning: initialized is sent once"}},
	{"initialized that HTTP refused, and then twice", []string{initialize, capable, on(3, initialized), `>r3` + initialized[1:], on(4, initialized), on(5, initialized)},
		[]string{"P4 warning: initialized is sent once"}},
	{"the server asks after the first of two", shaken(initialized, `<~ {"id":1,"method":"roots/list"}`), []string{"P4 warning: initialized is sent once"}},
	{"the server asks after another notification", []string{initialize, capable, `> {"method":"notifications/x"}`, `< {"id":1,"method":"roots/list"}`},
		[]string{"P4 warning: before initialized the server asks only for pings"}},
	{"initialize again", shaken(`> {"id":9,"method":"initialize"}`), []string{"P4 error: a session is initialized once"}},
	{"initialize again after an error that was lost", []string{initialize, `<3 {"id":0,"error":{}}`, `<r3 {"id":0,"error":{}}`, `> {"id":9,"method":"initialize"}`},
		[]string{"P4 error: a session is initialized once"}},
	{"initialize again after an error", []string{initialize, `< {"id":0,"error":{}}`, `> {"id":9,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`,
		`< {"id":9,"result":{"protocolVersion":"2025-03-26"}}`, initialized}, nil},
	{"initialize in a batch", []string{`> [` + initialize[2:] + `]`}, []string{"P4 error: initialize is not part of a batch"}},
	{"the server asks too early", []string{initialize, capable, strings.Replace(initialized, ">", ">.", 1), `< {"id":1,"method":"roots/list"}`, `>!`, `< {"id":2,"method":"roots/list"}`},
		[]string{"P4 warning: before initialized the server asks only for pings"}},
	{"no handshake, 2026-07-28", []string{callModern, result}, nil},
	{"a probe, then a handshake", []string{`> {"id":"p","method":"server/discover","params":{` + modern + `}}`, `< {"id":"p","error":{}}`, initialize, capable, initialized, call, result}, nil},
	{"a probe that fails, then a ping", []string{`> {"id":"p","method":"server/discover"}`, `< {"id":"p","error":{}}`, `< {"id":7,"method":"ping"}`}, nil},
}

var cancelCases = []ruleCase{
	{"of a call", []string{call, cancel}, nil},
	{"that crosses the response", []string{call, result, `>~ {"method":"notifications/cancelled","params":{"requestId":1}}`}, nil},
	{"after the response", []string{call, result, cancel},
		[]string{"P6 warning: a cancellation names a request that is believed open"}},
	{"of nothing", []string{cancel}, []string{"P6 error: a cancellation names a request of its sender"}},
	{"of the other's request", []string{call, `< {"method":"notifications/cancelled","params":{"requestId":1}}`},
		[]string{"P6 error: a cancellation names a request of its sender"}},
	{"of a request that was withdrawn", []string{strings.Replace(call, ">", ">x", 1), cancel}, nil},
	{"of a request that was withdrawn, sent again and answered", []string{strings.Replace(call, ">", ">x", 1), call, result, cancel},
		[]string{"P6 warning: a cancellation names a request that is believed open"}},
	{"that HTTP refused", []string{call, on(3, cancel), `>r3` + cancel[1:], `> {"id":1,"method":"x"}`}, []string{"P2 error: the id of a request is not that of another open one"}},
	{"beside one that HTTP refused", []string{call, on(3, cancel), on(4, cancel), `>r4` + cancel[1:], `> {"id":1,"method":"x"}`}, nil},
	{"that HTTP refused, 2026-07-28", []string{callModern, on(3, cancel), `>r3` + cancel[1:], result}, nil},
	{"of nothing, that HTTP refused", []string{on(3, cancel), `>r3` + cancel[1:]}, []string{"P6 error: a cancellation names a request of its sender"}},
	{"twice, 2026-07-28", []string{callModern, cancel, cancel, strings.Replace(result, "<", "<~", 1)},
		[]string{"P6 warning: after a cancellation nothing more is sent for the request"}},
	{"of nothing by the server, 2026-07-28", []string{callModern, `< {"method":"notifications/cancelled","params":{"requestId":99}}`},
		[]string{"P6 error: a server cancels subscriptions alone"}},
	{"of initialize", []string{initialize, `> {"method":"notifications/cancelled","params":{"requestId":0}}`}, []string{"P4 error: initialize is not cancelled"}},
	{"of a task", []string{`> {"method":"notifications/cancelled","params":{}}`}, nil},
	{"by the server, 2026-07-28", []string{callModern, `< {"method":"notifications/cancelled","params":{"requestId":1}}`},
		[]string{"P6 error: a server cancels subscriptions alone"}},
	{"of a subscription by the server, 2026-07-28", []string{`> {"id":1,"method":"subscriptions/listen","params":{` + modern + `}}`,
		`< {"method":"notifications/cancelled","params":{"requestId":1}}`}, nil},
	{"then a response, 2026-07-28", []string{callModern, cancel, result},
		[]string{"P6 warning: after a cancellation nothing more is sent for the request"}},
	{"then a response that was on its way, 2026-07-28", []string{callModern, cancel,
		strings.Replace(result, "<", "<~", 1)}, nil},
}

var batchCases = []ruleCase{
	{"2025-03-26", at("2025-03-26", `> [`+initialize[2:]+`]`), []string{"P4 error: initialize is not part of a batch"}},
	{"answers to a batch", []string{`> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`, `< {"id":0,"result":{"protocolVersion":"2025-03-26"}}`, initialized,
		`> [{"id":1,"method":"x"},{"id":2,"method":"y"}]`, `< [{"id":2,"result":{}},{"id":1,"result":{}}]`}, nil},
	{"2025-06-18", shaken(`> [{"id":1,"method":"x"}]`), []string{"P9 error: there are no batches"}},
	{"2024-11-05", at("2024-11-05", initialize, `< {"id":0,"result":{"protocolVersion":"2024-11-05"}}`, initialized, `> [{"id":1,"method":"x"}]`),
		[]string{"P9 warning: batches are not described"}},
	{"an empty batch", []string{`> []`}, []string{"P9 error: a batch is not empty"}},
}

// TestTexts: a violation names what it is about.
func TestTexts(t *testing.T) {
	working := `< {"id":2,"result":{"taskId":"a","status":"working"}}`
	for want, lines := range map[string][]string{
		"the client sent initialize (id 0) after tools/call (id 1)":                                                  {call, `> {"id":2,"method":"x"}`, initialize},
		"the server sent a response that says task a is working, after it was completed":                             tasked(callTask, taskMade, completed, getTask, working),
		"the server sent notifications/tasks/status that says task a is working, after it was completed":             tasked(callTask, taskMade, completed, strings.Replace(completed, "completed", "working", 1)),
		"the server sent notifications/tasks/status that says task a is working, after the response to tasks/result": tasked(callTask, taskMade, resultTask, result3, strings.Replace(completed, "completed", "working", 1)),
		"the server sent progress for token (none), which no request of the client had":                              {call, `< {"method":"notifications/progress","params":{}}`},
		"the client sent a batch of 2 messages":                                                                      shaken(`> [{"id":1,"method":"x"},{"id":2,"method":"x"}]`),
		"the server sent notifications/resources/updated of \"a:c\" on subscription 4, which did not ask for it":     {listen, ack4, updateOf4("a:c")},
	} {
		s := newSession("", lines)
		for _, line := range lines {
			s.play(t, line)
		}
		if len(s.found) != 1 || s.found[0].Text != want {
			t.Errorf("found %v, want: %s", s.found, want)
		}
	}
}

// The revision is the session's own, from both ways to name it.
func TestRevision(t *testing.T) {
	for want, lines := range map[string][]string{
		"":           {call},
		"2025-06-18": shaken(),
		"2026-07-28": {callModern},
		"2025-11-25": tasked(`< {"id":1,"method":"initialize"}`, `> {"id":1,"result":{"protocolVersion":"2024-11-05"}}`),
		"2025-03-26": {initialize, `< {"id":0,"result":{"protocolVersion":"2025-03-26"}}`},
	} {
		s := newSession("", lines)
		for _, line := range lines {
			s.play(t, line)
		}
		if got := s.c.Revision(); got != want {
			t.Errorf("revision %q, want %q", got, want)
		}
	}
}

// FuzzChecker: no traffic panics, and where each frame is received at once, a tap finds what the two ends find.
func FuzzChecker(f *testing.F) {
	for _, cases := range [][]ruleCase{responseCases, requestCases, progressCases, handshakeCases, cancelCases, batchCases,
		subscriptionCases, logCases, taskCases, agentCases} {
		for _, rule := range cases {
			f.Add(strings.Join(rule.lines, "\n"))
		}
	}
	f.Add(`> {"id":{},"method":"x","params":{"_meta":{"progressToken":[1]}}}` + "\n" + `< {"id":{},"result":"\ud800"}`)
	f.Add(`> {"id":"\u0061","method":"initialize","params":{"protocolVersion":7}}` + "\n" + `< {"id":"a","result":{"protocolVersion":null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		ends, tap := New(""), New("")
		models := [2]*timeline.Model{timeline.NewModel(timeline.All), timeline.NewModel(timeline.All)}
		seq := uint64(0)
		for line := range strings.Lines(text) {
			_, body, _ := strings.Cut(line, " ")
			seq++
			e := store.Event{Seq: seq, Kind: store.Frame, Dir: directionOf(line), Payload: []byte(body)}
			step := models[0].Take(e)
			sent := slices.Clone(ends.Send(step, ends.Mark(e.Dir)))
			ends.Give(FrameOf(step))
			seen := slices.Clone(tap.Observe(models[1].Take(e)))
			for i := range seen {
				if i < len(sent) && seen[i].Race {
					seen[i].Race = false
					seen[i].Severity = sent[i].Severity
				}
			}
			if !slices.Equal(sent, seen) {
				t.Errorf("%s: sent %v, seen %v", line, sent, seen)
			}
		}
	})
}

// TestRevisionOfHandshake: a handshake is judged by a revision that has handshakes, whatever
// it asks for: by the last of those if it asks for a newer one, until the answer settles it.
func TestRevisionOfHandshake(t *testing.T) {
	for asked, want := range map[string]string{
		mcp.Revision2024_11_05: mcp.Revision2024_11_05, mcp.Revision2025_06_18: mcp.Revision2025_06_18, mcp.Revision2025_11_25: mcp.Revision2025_11_25,
		mcp.Revision2026_07_28: mcp.Revision2025_11_25, "2099-01-01": mcp.Revision2025_11_25,
	} {
		s := newSession("", nil)
		s.play(t, `> {"id":0,"method":"initialize","params":{"protocolVersion":"`+asked+`"}}`)
		if got := s.c.Revision(); got != want {
			t.Errorf("a handshake that asks for %s is judged by %s, want %s", asked, got, want)
		}
		s.play(t, `< {"id":7,"method":"ping"}`)
		if len(s.found) > 0 {
			t.Errorf("a server that pings in a handshake for %s: %v", asked, s.found)
		}
		s.play(t, `< {"id":0,"result":{"protocolVersion":"2025-06-18"}}`)
		if got := s.c.Revision(); got != mcp.Revision2025_06_18 {
			t.Errorf("the answer settles on %s, want 2025-06-18", got)
		}
	}
}
