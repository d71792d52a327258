package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// inputAsked is a response that asked for input: what a retry must give back.
type inputAsked struct {
	of    request
	id    string // of the request
	seq   uint64
	state string // as a key; "" where there is none
}

type request struct{ method, target string }

func (r request) String() string { return clip(strings.TrimSpace(r.method + " " + r.target)) }

// retries is rule P12: the responses that asked for input, the latest of a kind. Which
// of them a request answers is not said, so it is enough that there is one that it may.
type retries struct {
	exactly recent[stateOf, inputAsked]
	of      recent[request, inputAsked]
	states  recent[string, inputAsked]
}

type stateOf struct {
	of    request
	state string
}

// mostAsked is how many are remembered.
const mostAsked = 4096

func newRetries() retries {
	return retries{newRecent[stateOf, inputAsked](mostAsked), newRecent[request, inputAsked](mostAsked), newRecent[string, inputAsked](mostAsked)}
}

func (r *retries) keep(a inputAsked) {
	r.exactly.put(stateOf{a.of, a.state}, a)
	r.of.put(a.of, a)
	if a.state != "" {
		r.states.put(a.state, a)
	}
}

// What a request of 2026-07-28 says in its _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// asks takes note of a request of the client, and judges it where it is a retry.
func (r *retries) asks(f *Fold, e store.Event, s *scope, c *call, m *transport.Message) {
	if c.dir != transport.ClientToServer || s.rules.Revision() < order.Revision2026_07_28 {
		return
	}
	if bytes.Contains(m.Params, []byte(metaCapabilities)) {
		c.can = string(bytes.Clone(transport.Member(m.Params, "_meta", metaCapabilities)))
	}
	state := string(mcp.KeyOf(transport.Member(m.Params, "requestState")))
	responses := transport.Member(m.Params, "inputResponses")
	if state == "" && responses == nil {
		return
	}
	of := request{c.method, c.target}
	if a, ok := r.exactly.get(stateOf{of, state}); ok {
		r.sameID(f, e, s, c, a)
		return
	}
	r.judge(f, e, s, c, state)
}

// sameID is the rule of package order that a retry has a new id, where that is seen over
// several HTTP exchanges.
func (r *retries) sameID(f *Fold, e store.Event, s *scope, c *call, a inputAsked) {
	if e.Stream != 0 && a.state != "" && a.id == c.id {
		f.finds(retryAnew, e.Dir, s.rules.Revision(), []uint64{e.Seq, a.seq}, "the client sent %v with the requestState of #%d, under the id of the request that #%d answers", c, a.seq, a.seq)
	}
}

var retryAnew = func() order.Demand {
	list := order.Demands()
	return list[slices.IndexFunc(list, func(d order.Demand) bool { return strings.HasPrefix(d.Title, "a retry ") })]
}()

// judge tells of a retry that gives back what no response to such a request gave.
func (r *retries) judge(f *Fold, e store.Event, s *scope, c *call, state string) {
	own, asked := r.of.get(request{c.method, c.target})
	other, given := r.states.get(state)
	says := func(d order.Demand, seq uint64, format string, args ...any) {
		f.finds(d, e.Dir, s.rules.Revision(), []uint64{e.Seq, seq}, "the client sent %v with "+format, append([]any{c}, args...)...)
	}
	switch {
	case state == "" && asked:
		says(stateKept, own.seq, "the input that was asked for (#%d), without the requestState", own.seq)
	case state == "":
	case given:
		says(stateUnasked, other.seq, "a requestState that it had for %v (#%d)", other.of, other.seq)
	case asked && own.state == "":
		says(stateUnasked, own.seq, "a requestState, and was given none (#%d)", own.seq)
	case asked:
		says(stateKept, own.seq, "another requestState than it was given (#%d)", own.seq)
	default:
		d := stateUnasked
		d.Severity = order.Warning
		f.finds(d, e.Dir, s.rules.Revision(), []uint64{e.Seq}, "the client sent %v with a requestState that no response in the recording gave", c)
	}
}

// answered takes note of a response that asks for input.
func (r *retries) answered(f *Fold, e store.Event, s *scope, c *call, m *transport.Message) {
	if c.dir != transport.ClientToServer || s.rules.Revision() < order.Revision2026_07_28 ||
		!bytes.Contains(m.Result, []byte("input_required")) || string(transport.Member(m.Result, "resultType")) != `"input_required"` {
		return
	}
	says := func(d order.Demand, format string, args ...any) {
		f.finds(d, e.Dir, s.rules.Revision(), []uint64{e.Seq, c.seq}, format, args...)
	}
	if !slices.Contains([]string{"prompts/get", "resources/read", "tools/call"}, c.method) {
		says(inputMethod, "the server answered %v by asking for input", c)
	}
	state, requests := transport.Member(m.Result, "requestState"), transport.Member(m.Result, "inputRequests")
	if state == nil && requests == nil {
		says(inputNone, "the server answered %v by asking for input, with neither inputRequests nor a requestState", c)
	}
	var wanted map[string]struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(requests, &wanted) == nil {
		for _, name := range sortedKeys(wanted) {
			judgeInput(says, c, name, wanted[name].Method)
		}
	}
	r.keep(inputAsked{request{c.method, c.target}, c.id, e.Seq, strings.Clone(string(mcp.KeyOf(state)))})
}

// judgeInput tells of one input that must not be asked for.
func judgeInput(says func(order.Demand, string, ...any), c *call, name, method string) {
	ability, known := map[string]string{"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}[method]
	switch {
	case !known:
		says(inputKind, "the server answered %v by asking for %s (%s)", c, clip(method), clip(name))
	case c.can != "" && transport.Member(json.RawMessage(c.can), ability) == nil:
		says(inputUnable, "the server answered %v by asking for %s (%s), and the client had not declared %s", c, method, clip(name), ability)
	}
}
