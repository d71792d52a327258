package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Rule P12.
var (
	stateKept    = newDemand("P12", "a retry echoes the requestState", order.Error, pageRetry+", Client Requirements", mcp.Stateless)
	stateUnasked = newDemand("P12", "a requestState is sent only where one was given", order.Error, pageRetry+", Client Requirements", mcp.Stateless)
	inputMethod  = newDemand("P12", "input is asked for only by prompts/get, resources/read and tools/call", order.Error, pageRetry+", Supported Requests", mcp.Stateless)
	inputNone    = newDemand("P12", "an InputRequiredResult has inputRequests or a requestState", order.Error, pageRetry+", Server Requirements", mcp.Stateless)
	inputKind    = newDemand("P12", "what is asked for is elicitation, sampling or roots", order.Error, pageRetry+", Server Requirements", mcp.Stateless)
	inputUnable  = newDemand("P12", "only what the client declared is asked for", order.Error, pageRetry+", Server Requirements", mcp.Stateless)
)

const pageRetry = "basic/patterns/mrtr"

// retries is rule P12. It remembers the latest responses with a demand for input. A request
// does not name the response before it: any fitting response is enough.
type retries struct {
	*reporter
	byRequestState recent[requestState, inputRequired]
	byRequest      recent[request, inputRequired]
	byState        recent[mcp.Key, inputRequired]
}

// inputRequired is a response with a demand for input.
type inputRequired struct {
	request request
	id      mcp.Key // of the request
	seq     uint64
	state   mcp.Key // for a retry to echo; "": none
}

type request struct{ method, target string }

func (r request) String() string { return clip(strings.TrimSpace(r.method + " " + r.target)) }

type requestState struct {
	request request
	state   mcp.Key
}

// onRequest notes a request of the client, and judges a retry.
func (r *retries) onRequest(c *call, message *transport.Message) {
	revision := c.scope.rules.Revision()
	if c.dir != transport.ClientToServer || !mcp.Stateless.Has(revision) {
		return
	}
	if bytes.Contains(message.Params, []byte(mcp.MetaClientCapabilities)) {
		c.capabilities = string(transport.Member(message.Params, mcp.MemberMeta, mcp.MetaClientCapabilities))
	}
	state := mcp.KeyOf(transport.Member(message.Params, mcp.MemberRequestState))
	if state == "" && transport.Member(message.Params, mcp.MemberInputResponses) == nil {
		return
	}
	report := func(d order.Demand, seq uint64, format string, args ...any) {
		r.report(d, c.dir, revision, []uint64{c.seq, seq}, "the client sent %v with "+format, append([]any{c}, args...)...)
	}
	of := request{c.method, c.target}
	if asked, ok := r.byRequestState.get(requestState{of, state}); ok {
		if c.stream != 0 && asked.state != "" && asked.id == c.id { // package order finds the same within an exchange
			report(order.RetryNewID(), asked.seq, "the requestState of #%d, under the id of the request that #%d answers", asked.seq, asked.seq)
		}
		return
	}
	own, asked := r.byRequest.get(of)
	other, given := r.byState.get(state)
	switch {
	case state == "" && asked:
		report(stateKept, own.seq, "the input that was asked for (#%d), without the requestState", own.seq)
	case state == "":
	case given:
		report(stateUnasked, other.seq, "a requestState that it had for %v (#%d)", other.request, other.seq)
	case asked && own.state == "":
		report(stateUnasked, own.seq, "a requestState, and was given none (#%d)", own.seq)
	case asked:
		report(stateKept, own.seq, "another requestState than it was given (#%d)", own.seq)
	default:
		d := stateUnasked
		d.Severity = order.Warning
		r.report(d, c.dir, revision, []uint64{c.seq}, "the client sent %v with a requestState that no response in the recording gave", c)
	}
}

// onResponse judges and remembers a response with a demand for input.
func (r *retries) onResponse(step timeline.Step, c *call, m *transport.Message) {
	revision := c.scope.rules.Revision()
	if c.dir != transport.ClientToServer || !mcp.Stateless.Has(revision) ||
		!bytes.Contains(m.Result, []byte(mcp.InputRequired)) || transport.MemberText(m.Result, mcp.MemberResultType) != mcp.InputRequired {
		return
	}
	report := func(d order.Demand, format string, args ...any) {
		r.report(d, step.Dir, revision, []uint64{step.Seq, c.seq}, "the server answered %v by asking for "+format, append([]any{c}, args...)...)
	}
	if !slices.Contains([]string{mcp.MethodGetPrompt, mcp.MethodReadResource, mcp.MethodCallTool}, c.method) {
		report(inputMethod, "input")
	}
	state := transport.Member(m.Result, mcp.MemberRequestState)
	inputs := transport.Member(m.Result, mcp.MemberInputRequests)
	if state == nil && inputs == nil {
		report(inputNone, "input, with neither inputRequests nor a requestState")
	}
	var wanted map[string]struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(inputs, &wanted) == nil {
		for _, name := range sortedKeys(wanted) {
			method := wanted[name].Method
			capability, known := map[string]string{
				mcp.MethodElicit: "elicitation", mcp.MethodCreateMessage: "sampling", mcp.MethodListRoots: "roots",
			}[method]
			switch {
			case !known:
				report(inputKind, "%s (%s)", clip(method), clip(r.mask.Text(name)))
			case c.capabilities != "" && transport.Member(json.RawMessage(c.capabilities), capability) == nil:
				report(inputUnable, "%s (%s), and the client had not declared %s", method, clip(r.mask.Text(name)), capability)
			}
		}
	}
	asked := inputRequired{request{c.method, c.target}, c.id, step.Seq, mcp.Key(strings.Clone(string(mcp.KeyOf(state))))}
	r.byRequestState.put(requestState{asked.request, asked.state}, asked)
	r.byRequest.put(asked.request, asked)
	if asked.state != "" {
		r.byState.put(asked.state, asked)
	}
}

// recent is a map of the latest entries: at least most, at most twice as many, however long
// a session is.
type recent[K comparable, V any] struct {
	most           int
	latest, before map[K]V
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, latest: map[K]V{}}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	v, ok := r.latest[key]
	if !ok {
		v, ok = r.before[key]
	}
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	if len(r.latest) >= r.most {
		r.before = r.latest
		r.latest = map[K]V{}
	}
	r.latest[key] = v
}
