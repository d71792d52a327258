package check

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// inputAsked is a response that asked for input: what a retry must give back.
type inputAsked struct {
	method, target string
	id             string // of the request
	seq            uint64
	state          string // as a key; "" where there is none
}

// retries is rule P12: the responses that asked for input, the latest last. Which of
// them a request answers is not said, so it is enough that there is one that it may.
type retries struct{ asked []inputAsked }

// mostAsked is how many are remembered.
const mostAsked = 1024

const metaCapabilities = "io.modelcontextprotocol/clientCapabilities"

// asks takes note of a request of the client, and judges it where it is a retry.
func (r *retries) asks(f *Fold, e store.Event, s *scope, c *call, m *transport.Message) {
	if c.dir != transport.ClientToServer || s.rules.Revision() < order.Revision2026_07_28 {
		return
	}
	if bytes.Contains(m.Params, []byte(metaCapabilities)) {
		c.can = string(bytes.Clone(transport.Member(m.Params, "_meta", metaCapabilities)))
	}
	state := order.Key(transport.Member(m.Params, "requestState"))
	responses := transport.Member(m.Params, "inputResponses")
	if state == "" && responses == nil {
		return
	}
	mine := func(a inputAsked) bool { return a.method == c.method && a.target == c.target }
	gave := func(a inputAsked) bool { return a.state == state }
	for _, a := range slices.Backward(r.asked) {
		if mine(a) && gave(a) {
			r.sameID(f, e, s, c, a)
			return
		}
	}
	r.judge(f, e, s, c, state, mine, gave)
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
func (r *retries) judge(f *Fold, e store.Event, s *scope, c *call, state string, mine, gave func(inputAsked) bool) {
	revision := s.rules.Revision()
	own := latest(r.asked, mine)
	other := latest(r.asked, gave)
	switch {
	case state == "" && own != nil:
		f.finds(stateKept, e.Dir, revision, []uint64{e.Seq, own.seq}, "the client sent %v with the input that was asked for (#%d), without the requestState", c, own.seq)
	case state == "":
	case other != nil:
		f.finds(stateUnasked, e.Dir, revision, []uint64{e.Seq, other.seq}, "the client sent %v with a requestState that it had for %s (#%d)", c, clip(other.method+" "+other.target), other.seq)
	case own != nil && own.state == "":
		f.finds(stateUnasked, e.Dir, revision, []uint64{e.Seq, own.seq}, "the client sent %v with a requestState, and was given none (#%d)", c, own.seq)
	case own != nil:
		f.finds(stateKept, e.Dir, revision, []uint64{e.Seq, own.seq}, "the client sent %v with another requestState than it was given (#%d)", c, own.seq)
	default:
		d := stateUnasked
		d.Severity = order.Warning
		f.finds(d, e.Dir, revision, []uint64{e.Seq}, "the client sent %v with a requestState that no response in the recording gave", c)
	}
}

func latest(list []inputAsked, is func(inputAsked) bool) *inputAsked {
	for i := range slices.Backward(list) {
		if is(list[i]) {
			return &list[i]
		}
	}
	return nil
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
	if len(r.asked) >= mostAsked {
		r.asked = slices.Delete(r.asked, 0, mostAsked/2)
	}
	r.asked = append(r.asked, inputAsked{c.method, c.target, c.id, e.Seq, strings.Clone(order.Key(state))})
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
