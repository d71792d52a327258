package probe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// clientAnswers are the answers of a client that has no roots, no model and no user.
var clientAnswers = map[string]string{
	mcp.MethodPing:      `{}`,
	mcp.MethodListRoots: `{"roots":[]}`,
	mcp.MethodElicit:    `{"action":"decline"}`,
}

const hello = `{"protocolVersion":"` + mcp.Revision2025_11_25 + `","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},` +
	`"clientInfo":{"name":"mcprec-probe","version":"1"}}`

// lists are the requests for what a server offers, by the member of the answer that has it.
var lists = []struct{ capability, method, member, noun string }{
	{"tools", mcp.MethodListTools, "tools", "tool"},
	{"prompts", mcp.MethodListPrompts, "prompts", "prompt"},
	{"resources", mcp.MethodListResources, "resources", "resource"},
}

// serverProbe plays the client to a server.
type serverProbe struct {
	bench   Bench
	options Options
	report  Report
	methods []string       // of requests that change nothing and are answered
	quick   string         // the last of methods: ping, if it is answered
	sizes   map[string]int // of the answers to methods, in bytes
	asks    *provocation   // makes the server ask, and the server goes on after the answer; nil: none is known
	later   *provocation   // the same, but not the handshake
}

// Server measures a server. Each experiment begins with a handshake.
func Server(bench Bench, options Options) (Report, error) {
	p := &serverProbe{bench: bench, options: options, report: Report{Role: "server"}, sizes: map[string]int{}}
	if err := p.plain(); err != nil {
		return Report{}, fmt.Errorf("probe the server: %w", err)
	}
	if len(p.methods) == 0 {
		return Report{}, fmt.Errorf("probe the server: %w", &Refusal{"it answers neither a list nor a ping"})
	}
	p.quick = p.methods[len(p.methods)-1]
	p.answering()
	p.order()
	p.handling()
	p.standing()
	p.asking()
	p.before()
	p.living()
	p.report.conclude()
	return p.report, nil
}

// handshake begins a session.
func handshake(t *talk) error {
	id := t.request(mcp.MethodInitialize, hello)
	if !t.await(func() bool { return t.isAnswered(id) }) {
		return &Refusal{"it does not answer initialize" + unsure(t)}
	}
	if m := t.replies[id]; m.Error != nil {
		return &Refusal{fmt.Sprintf("it refuses initialize with error %s", phrase.Clip(string(transport.Member(m.Error, "code")), 20))}
	}
	t.Send(notification(mcp.NotificationInitialized, ""))
	return nil
}

// play starts a server and begins a session.
func (p *serverProbe) play(experiment func(*talk)) error {
	var failed error
	err := p.bench.Play(func(line Line) {
		t := newTalk(line, clientAnswers)
		if failed = handshake(t); failed == nil {
			t.rest()
			experiment(t)
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

// plain asks for all that the server offers.
func (p *serverProbe) plain() error {
	return p.play(func(t *talk) {
		first := t.replies["probe-1"]
		p.report.Peer = peerOf(first.Result, mcp.MemberServerInfo)
		capabilities := p.report.Peer.Offers
		var ids []string
		for _, list := range lists {
			ids = append(ids, "")
			if slices.Contains(capabilities, list.capability) {
				ids[len(ids)-1] = t.request(list.method, "")
			}
		}
		ping := t.request(mcp.MethodPing, "")
		t.settle()
		p.report.Peer.Offers = nil
		for i, list := range lists {
			m, answered := t.replies[ids[i]]
			if !answered || m.Error != nil {
				continue
			}
			var items []json.RawMessage
			_ = json.Unmarshal(transport.Member(m.Result, list.member), &items) // of no list: none
			p.report.Peer.Offers = append(p.report.Peer.Offers, phrase.Plural(len(items), list.noun))
			p.methods = append(p.methods, list.method)
			p.sizes[list.method] = len(m.Raw)
		}
		if m, answered := t.replies[ping]; answered {
			p.methods = append(p.methods, mcp.MethodPing)
			p.sizes[mcp.MethodPing] = len(m.Raw)
		}
		for _, m := range t.asked {
			p.report.Peer.Offers = append(p.report.Peer.Offers, "and asks "+m.Method+" by itself")
		}
	})
}

// answering does not read, and finds out how many requests the server takes meanwhile.
func (p *serverProbe) answering() {
	var took, stuck []string
	for _, method := range p.methods {
		sent, untaken, lost, stand := 0, 0, 0, ""
		err := p.play(func(t *talk) {
			size, most := 0, p.options.notifications()
			batch := min(most, 32)
			if room := t.Room(); room > 0 { // a reader's own buffer may hold some hundred kilobytes of requests
				size = 1 << 10
				most += 2*room/p.sizes[method] + 256
			}
			t.Listen(0)
			var ids []string
			for ; sent < most && untaken == 0; sent += batch {
				ids = append(ids, t.burst(method, batch, size)...)
				t.await(func() bool { return t.stand.Untaken == 0 })
				untaken = t.stand.Untaken
			}
			stand = unsure(t)
			t.Listen(All)
			t.await(func() bool { return t.isAnswered(ids...) })
			lost = len(ids) - len(slices.DeleteFunc(ids, func(id string) bool { return !t.isAnswered(id) }))
		})
		if err != nil {
			p.report.open(asksAnswering, "%s: %v", method, err)
			continue
		}
		says := fmt.Sprintf("it took %d %s", sent-untaken, method)
		if lost > 0 {
			says += fmt.Sprintf(", and answered all but %d when it was read again", lost)
		}
		if untaken > 0 {
			stuck = append(stuck, says+stand)
		} else {
			took = append(took, says)
		}
	}
	switch {
	case len(stuck) > 0:
		p.report.Observed.Answering = No
		p.report.found(asksAnswering, "no", "%s, while no answer was read", strings.Join(append(stuck, took...), "; "))
	case len(took) > 0:
		p.report.Observed.Answering = Yes
		p.report.found(asksAnswering, "yes", "%s, while no answer was read", strings.Join(took, "; "))
	}
}

// order sends requests in one go, and finds out in which order they are answered.
func (p *serverProbe) order() {
	order := ""
	err := p.play(func(t *talk) {
		ids := make([]string, burstSize)
		frames := make([]transport.Frame, burstSize)
		for i := range burstSize {
			ids[i], frames[i] = t.newRequest(p.methods[i%len(p.methods)], "")
		}
		t.Send(frames...)
		if t.await(func() bool { return t.isAnswered(ids...) }) {
			order = orderOfAnswers(ids, t.order)
		}
	})
	switch {
	case err != nil:
		p.report.open(asksOrder, "%v", err)
	case order == "":
		p.report.open(asksOrder, "not all of %d requests in one go were answered", burstSize)
	default:
		p.report.found(asksOrder, order, "%d requests in one go: %s", burstSize, strings.Join(p.methods, ", "))
	}
}

// provocation makes a server work at something for a while, or ask the client.
type provocation struct {
	what    string
	atStart bool // the handshake is the provocation
	isCall  bool
	send    func(t *talk) (id string) // nil if atStart; the id is "" unless isCall
}

// provocations lists what is tried, in this order.
func (p *serverProbe) provocations() []provocation {
	list := []provocation{
		{what: mcp.NotificationInitialized, atStart: true},
		{what: mcp.NotificationRootsListChanged, send: func(t *talk) string {
			t.Send(notification(mcp.NotificationRootsListChanged, ""))
			return ""
		}},
	}
	if p.options.Call != "" {
		list = append(list, provocation{what: mcp.MethodCallTool + " " + p.options.Call, isCall: true, send: p.call})
	}
	return list
}

// call calls the tool that may be called.
func (p *serverProbe) call(t *talk) string {
	arguments := p.options.Arguments
	if arguments == "" {
		arguments = "{}"
	}
	return t.request(mcp.MethodCallTool, fmt.Sprintf(`{"name":%q,"arguments":%s}`, p.options.Call, arguments))
}

// provoke runs an experiment while requests of the server have no answer (t.kept), or while a call is open,
// whose id the experiment gets. It reports false, and runs nothing, if the provocation leads to neither.
func (p *serverProbe) provoke(by provocation, experiment func(t *talk, call string)) (isProvoked bool, err error) {
	keep := func(m transport.Message) bool { return m.Method != mcp.MethodPing }
	err = p.bench.Play(func(line Line) {
		t := newTalk(line, clientAnswers)
		if by.atStart {
			t.keeps = keep
		}
		if err = handshake(t); err != nil {
			return
		}
		call := ""
		if !by.atStart {
			t.settle()
			t.keeps = keep
			call = by.send(t)
		}
		isAnswered := func() bool { return call != "" && t.isAnswered(call) }
		if call != "" {
			t.rest() // no time passes: a slow call must stay open
		}
		if len(t.kept) == 0 && (call == "" || isAnswered()) {
			t.await(func() bool { return len(t.kept) > 0 || isAnswered() })
		}
		if isProvoked = len(t.kept) > 0 || call != "" && !isAnswered(); isProvoked {
			experiment(t, call)
		}
	})
	return isProvoked, err
}

// handling finds out, for each provocation, what the server does while its handler waits or works.
func (p *serverProbe) handling() {
	o := &p.report.Observed
	provokes := false
	for _, by := range p.provocations() {
		isProvoked, err := p.handlingOf(by)
		if err != nil {
			p.report.open(asksHandling, "%s: %v", by.what, err)
		}
		provokes = provokes || isProvoked
	}
	if o.Handling == Unknown {
		p.report.open(asksHandling, "no handler asked the client for anything; if one does, it may be blocking-handlers")
	}
	if o.Handling == No && o.ToolsBeside == Unknown {
		p.report.open(asksBeside, "of tools/call: name a slow call; if the answer is yes, the model is blocking-handlers-except-tools")
	} else if !provokes {
		p.report.open(asksBeside, "it asked nothing, and no slow call was named")
	}
}

// handlingOf sends a quick request while the handler of a provocation waits for an answer or works at a call,
// then gives the answers and sends another. It reports false if the provocation led to nothing.
func (p *serverProbe) handlingOf(by provocation) (isProvoked bool, err error) {
	during, after, asked, stand := false, false, "", ""
	isProvoked, err = p.provoke(by, func(t *talk, call string) {
		if len(t.kept) > 0 {
			asked = t.kept[0].Method
		}
		ping := t.request(p.quick, "")
		t.await(func() bool { return t.isAnswered(ping) || call != "" && t.isAnswered(call) })
		during = t.isAnswered(ping) && (call == "" || !t.isAnswered(call) || slices.Index(t.order, ping) < slices.Index(t.order, call))
		t.keeps = nil
		for _, m := range t.kept {
			t.answer(m)
		}
		next := t.request(p.quick, "")
		after = t.await(func() bool { return t.isAnswered(ping, next) })
		stand = unsure(t)
	})
	if err != nil || !isProvoked {
		return false, err
	}
	waits := "its call was open"
	if asked != "" {
		waits = asked + " had no answer"
	}
	if during {
		p.report.found(asksBeside, "yes", "after %s it answered %s while %s", by.what, p.quick, waits)
	} else {
		p.report.found(asksBeside, "no", "after %s it did not answer %s while %s%s", by.what, p.quick, waits, stand)
	}
	o := &p.report.Observed
	if by.isCall {
		o.ToolsBeside = No
		if during {
			o.ToolsBeside = Yes
		}
	}
	switch {
	case asked == "" && !after:
		p.report.open(asksHandling, "after %s it answers nothing any more%s", by.what, stand)
	case asked == "":
	case !after:
		o.Handling = No
		p.report.found(asksHandling, "no", "after %s it asked %s, and read no answer to that%s", by.what, asked, stand)
	default:
		if o.Handling == Unknown {
			o.Handling = Yes
		}
		if p.asks == nil {
			p.asks = &by
		}
		if p.later == nil && !by.atStart {
			p.later = &by
		}
		p.report.found(asksHandling, "yes", "after %s it asked %s, got the answer and went on", by.what, asked)
	}
	return true, nil
}

// asking does not read while the server asks, and finds out whether the server takes notifications.
func (p *serverProbe) asking() {
	o := &p.report.Observed
	if o.Handling == No {
		p.report.open(asksAsking, "its reader waits for the handler that asks, and takes nothing meanwhile")
		return
	}
	if p.later == nil {
		p.report.open(asksAsking, "it asks nothing when the roots have changed, and no call was named that asks")
		return
	}
	most := p.options.notifications()
	room, took, isAsked := 0, 0, false
	err := p.play(func(t *talk) {
		if room = t.Room(); room > 0 {
			return
		}
		t.settle()
		asked := len(t.asked)
		t.Listen(0)
		p.later.send(t)
		t.settle()
		t.Send(repeated(harmless, most)...)
		t.await(func() bool { return t.stand.Untaken == 0 })
		took = most - t.stand.Untaken
		t.Listen(1)
		t.rest()
		isAsked = len(t.asked) > asked
	})
	says := "it took " + phrase.Plural(took, "notification") + " while its request was not taken"
	switch {
	case err != nil:
		p.report.open(asksAsking, "%v", err)
	case room > 0:
		p.report.open(asksAsking, "a pipe takes its request; a Go test (fixtures.Probe) can keep it waiting")
	case !isAsked:
		p.report.open(asksAsking, "it does not ask each time after %s", p.later.what)
	case took == most || o.Standing == No && took > o.Stands: // its queue stops it, not its write
		o.Asking = Yes
		p.report.found(asksAsking, "yes", "%s", says)
	default:
		o.Asking = No
		p.report.found(asksAsking, "no", "%s", says)
	}
}

// harmless is a notification that the specification lets a server ignore.
var harmless = notification(mcp.NotificationProgress, `{"progressToken":"never-given","progress":1}`)

// standing finds the least number of notifications before the answer to the server's own request at
// which the server does not get the answer.
func (p *serverProbe) standing() {
	if p.asks == nil {
		why := "it asked the client for nothing"
		if p.report.Observed.Handling == No {
			why = "it reads no answer while a handler waits for one"
		}
		p.report.open(asksStanding, "%s", why)
		return
	}
	o := &p.report.Observed
	o.Stands = p.limit(asksStanding, "before the answer to its request", &o.Standing, func(experiment func(*talk)) error {
		isAsked := false
		_, err := p.provoke(*p.asks, func(t *talk, _ string) {
			if isAsked = len(t.kept) > 0; isAsked {
				experiment(t)
			}
		})
		if err == nil && !isAsked {
			err = fmt.Errorf("it does not ask each time after %s", p.asks.what)
		}
		return err
	})
}

// before finds the least number of notifications before a request at which the request gets no answer.
func (p *serverProbe) before() {
	p.limit(asksBefore, "before a request", &p.report.Observed.Idle, p.play)
}

// limit finds the least number of notifications in a place at which the server answers nothing any more, and
// returns how many it stands there; 0 if there is no limit. begin begins a session, in which the server may have
// asked something, and calls the experiment.
func (p *serverProbe) limit(question Question, place string, answer *Answer, begin func(experiment func(*talk)) error) (stands int) {
	stops, detail, err := p.least(func(count int) (goesOn bool, stand string, err error) {
		err = begin(func(t *talk) {
			t.keeps = nil
			t.Send(repeated(harmless, count)...)
			for _, m := range t.kept {
				t.answer(m)
			}
			ping := t.request(p.quick, "")
			goesOn = t.await(func() bool { return t.isAnswered(ping) })
			stand = unsure(t)
		})
		return goesOn, stand, err
	})
	switch {
	case err != nil:
		p.report.open(question, "%v", err)
		return 0
	case stops == 0:
		*answer = Yes
		p.report.found(question, "no limit", "it goes on with %s %s", phrase.Plural(p.options.notifications(), "notification"), place)
		return 0
	}
	*answer = No
	p.report.found(question, fmt.Sprint(stops-1), "with %s %s it answers nothing any more%s", phrase.Plural(stops, "notification"), place, detail)
	return stops - 1
}

// least returns the least count at which a peer does not go on, and what may still move it then; 0 if the peer
// goes on with the most that is tried.
func (p *serverProbe) least(try func(count int) (goesOn bool, stand string, err error)) (count int, stand string, err error) {
	goesOn, stand, err := try(p.options.notifications())
	if err != nil || goesOn {
		return 0, "", err
	}
	low, high := 0, p.options.notifications() // it goes on with low, and not with high
	for high-low > 1 {
		middle := (low + high) / 2
		goesOn, at, err := try(middle)
		if err != nil {
			return 0, "", err
		}
		if goesOn {
			low = middle
		} else {
			high, stand = middle, at
		}
	}
	return high, stand, nil
}

// living finds out what the server lives with.
func (p *serverProbe) living() {
	for _, s := range stimuli() {
		answer, detail := "", ""
		err := p.play(func(t *talk) {
			answer, detail = stimulate(t, s, "answer "+p.quick, func() bool {
				quick := t.request(p.quick, "")
				return t.await(func() bool { return t.isAnswered(quick) })
			})
		})
		if err != nil {
			p.report.open(s.Question, "%v", err)
			continue
		}
		p.report.found(s.Question, answer, "%s", detail)
	}
}
