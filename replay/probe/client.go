package probe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// revisionMark stands in the answer to initialize for the revision that the client asked for.
const revisionMark = "%REVISION"

// serverAnswers are the answers of a server that has one tool and nothing else.
var serverAnswers = map[string]string{
	mcp.MethodInitialize: `{"protocolVersion":"` + revisionMark + `","capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},` +
		`"resources":{"listChanged":true,"subscribe":true},"logging":{},"completions":{}},"serverInfo":{"name":"mcprec-probe","version":"1"}}`,
	mcp.MethodPing:                  `{}`,
	mcp.MethodListTools:             `{"tools":[{"name":"probe","description":"does nothing","inputSchema":{"type":"object"}}]}`,
	mcp.MethodCallTool:              `{"content":[{"type":"text","text":"probe"}]}`,
	mcp.MethodListPrompts:           `{"prompts":[]}`,
	mcp.MethodGetPrompt:             `{"messages":[]}`,
	mcp.MethodListResources:         `{"resources":[]}`,
	mcp.MethodListResourceTemplates: `{"resourceTemplates":[]}`,
	mcp.MethodReadResource:          `{"contents":[]}`,
	mcp.MethodSubscribe:             `{}`,
	mcp.MethodUnsubscribe:           `{}`,
	mcp.MethodSetLogLevel:           `{}`,
	mcp.MethodComplete:              `{"completion":{"values":[]}}`,
}

// clientProbe plays the server to a client.
type clientProbe struct {
	bench   Bench
	options Options
	answers map[string]string
	report  Report

	target    int    // the number, from 0, of the request that is answered late: of those that keepTarget counts
	method    string // of the target
	frames    int    // that the client sends before the target
	hasToken  bool   // the target asks for progress
	unlimited bool   // the client took all notifications while the target was open
	took      int    // how many it took, if not all
}

// Client measures a client. In each experiment the probe is a server that answers at once, but for the
// answer to one request: the first tools/call of the client, or without one its last request.
func Client(bench Bench, options Options) (Report, error) {
	p := &clientProbe{bench: bench, options: options, answers: maps.Clone(serverAnswers), report: Report{Role: "client"}}
	maps.Copy(p.answers, options.Answers)
	if err := p.plain(); err != nil {
		return Report{}, fmt.Errorf("probe the client: %w", err)
	}
	if p.method == "" {
		const nothing = "the client asked for nothing after initialize: call something in the function"
		for _, question := range []Question{asksStanding, asksAsking, asksAnswering, asksHandling, asksOrder} {
			p.report.open(question, nothing)
		}
		return p.report, nil
	}
	p.standing()
	p.asking()
	p.answering()
	p.handling()
	p.living()
	p.report.conclude()
	return p.report, nil
}

// plain answers everything at once, and notes what the client asks.
func (p *clientProbe) plain() error {
	var t *talk
	err := p.bench.Play(func(line Line) {
		t = newTalk(line, p.answers)
		t.await(func() bool { return t.stand.Over })
	})
	if err != nil {
		return err
	}
	var calls []transport.Message
	for _, m := range t.asked {
		switch m.Method {
		case mcp.MethodPing:
		case mcp.MethodInitialize:
			p.report.Peer = peerOf(m.Params, "clientInfo")
		default:
			calls = append(calls, m)
		}
	}
	if p.report.Peer.Name == "" {
		return fmt.Errorf("it sent no initialize request%s", unsure(t))
	}
	if t.stand.Failed {
		return fmt.Errorf("the function fails already when everything is answered at once; Options.Answers says what is answered")
	}
	if len(calls) == 0 {
		return nil
	}
	p.target = slices.IndexFunc(calls, func(m transport.Message) bool { return m.Method == mcp.MethodCallTool })
	if p.target < 0 {
		p.target = len(calls) - 1
	}
	p.method = calls[p.target].Method
	p.hasToken = calls[p.target].ProgressToken() != nil
	return p.play(func(t *talk) {
		p.frames = t.frames - 1
	})
}

// peerOf reads what a peer says of itself in the messages of initialize.
func peerOf(body json.RawMessage, info string) Peer {
	peer := Peer{
		Name: transport.MemberText(body, info, "name"), Version: transport.MemberText(body, info, "version"),
		Revision: transport.MemberText(body, mcp.MemberProtocolVersion),
	}
	var capabilities map[string]json.RawMessage
	_ = json.Unmarshal(transport.Member(body, "capabilities"), &capabilities) // of no object: none
	peer.Offers = slices.Sorted(maps.Keys(capabilities))
	return peer
}

// keepTarget makes a conversation hold back the answer to the target. It counts requests other than ping and
// initialize.
func (p *clientProbe) keepTarget(t *talk) {
	calls := 0
	t.keeps = func(m transport.Message) bool {
		if m.Method == mcp.MethodPing || m.Method == mcp.MethodInitialize {
			return false
		}
		calls++
		return calls == p.target+1
	}
}

// play starts a client and answers it until it waits for the answer to the target.
func (p *clientProbe) play(experiment func(*talk)) error {
	isReached := false
	err := p.bench.Play(func(line Line) {
		t := newTalk(line, p.answers)
		p.keepTarget(t)
		if isReached = t.await(func() bool { return len(t.kept) > 0 }); isReached {
			experiment(t)
		}
	})
	if err == nil && !isReached {
		err = fmt.Errorf("the client did not send its %s again", p.method)
	}
	return err
}

// kind is a kind of notification that a server may send during a call.
type kind struct {
	what  string
	frame func(t *talk, number int) transport.Frame
}

// kinds lists progress, if the target asks for it, and log messages.
func (p *clientProbe) kinds() []kind {
	message := kind{"log message", func(*talk, int) transport.Frame {
		return notification(mcp.NotificationMessage, `{"level":"info","data":"probe"}`)
	}}
	if !p.hasToken {
		return []kind{message}
	}
	return []kind{{"progress notification", func(t *talk, number int) transport.Frame {
		return notification(mcp.NotificationProgress, fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, t.kept[0].ProgressToken(), number))
	}}, message}
}

// standing finds the least number of notifications before the answer at which the client does not get
// the answer.
func (p *clientProbe) standing() {
	most := p.options.notifications()
	p.unlimited = true
	var limits []string
	for _, kind := range p.kinds() {
		goesOn, took, err := p.before(kind, most)
		if err != nil {
			p.report.open(asksStanding, "%s: %v", kind.what, err)
			continue
		}
		if goesOn {
			limits = append(limits, phrase.Plural(most, kind.what))
			continue
		}
		p.unlimited = false
		p.took = took
		stops := 1 + sort.Search(max(took, 1)-1, func(fewer int) bool {
			goesOn, _, failed := p.before(kind, fewer+1)
			if failed != nil {
				err = failed
			}
			return !goesOn
		})
		if err != nil {
			p.report.open(asksStanding, "%s: %v", kind.what, err)
			continue
		}
		if o := &p.report.Observed; o.Standing != No || stops-1 < o.Stands {
			o.Standing, o.Stands = No, stops-1
		}
		p.report.found(asksStanding, fmt.Sprint(stops-1), "with %s before the answer to %s it never gets the answer", phrase.Plural(stops, kind.what), p.method)
	}
	if p.report.Observed.Standing != No && len(limits) > 0 {
		p.report.Observed.Standing = Yes
		p.report.found(asksStanding, "no limit", "it went on with %s before the answer to %s", strings.Join(limits, ", "), p.method)
	}
}

// before sends count notifications and then the answer to the target. It reports whether the client
// went on, and how many notifications it took.
func (p *clientProbe) before(kind kind, count int) (goesOn bool, took int, err error) {
	err = p.play(func(t *talk) {
		frames := make([]transport.Frame, count)
		for i := range frames {
			frames[i] = kind.frame(t, i+1)
		}
		t.Send(frames...)
		t.await(func() bool { return t.stand.Untaken == 0 })
		took = count - t.stand.Untaken
		goesOn = p.finish(t)
	})
	return goesOn, took, err
}

// finish answers the target, and reports whether the client goes on.
func (p *clientProbe) finish(t *talk) bool {
	since := t.heard
	t.answer(t.kept[0])
	return t.await(func() bool { return t.goesOn(since) })
}

// asking finds out how many notifications the client takes while its target waits to be taken.
func (p *clientProbe) asking() {
	most := p.options.notifications()
	took, isNext := 0, false
	err := p.bench.Play(func(line Line) {
		t := newTalk(line, p.answers)
		p.keepTarget(t)
		t.Listen(p.frames)
		t.await(func() bool { return t.frames == p.frames })
		t.rest()
		t.Send(repeated(notification(mcp.NotificationMessage, `{"level":"info","data":"probe"}`), most)...)
		t.await(func() bool { return t.stand.Untaken == 0 })
		took = most - t.stand.Untaken
		t.Listen(1)
		t.rest()
		isNext = len(t.kept) > 0
	})
	switch {
	case err != nil:
		p.report.open(asksAsking, "%v", err)
	case !isNext:
		p.report.open(asksAsking, "the client does not send its %s at the same place each time", p.method)
	case took == most || !p.unlimited && took >= p.took:
		p.report.Observed.Asking = Yes
		p.report.found(asksAsking, "yes", "it took %s while its %s was not taken", phrase.Plural(took, "notification"), p.method)
	default:
		p.report.Observed.Asking = No
		p.report.found(asksAsking, "no", "it took %s while its %s was not taken", phrase.Plural(took, "notification"), p.method)
	}
}

// mute is why a client could not be asked.
const mute = "it answers no ping while its own request is open"

// answering finds out how many pings the client takes while its answers wait to be taken, and in which
// order it answers.
func (p *clientProbe) answering() {
	most := p.options.notifications()
	took, answered, order, lost := 0, 0, "", ""
	err := p.play(func(t *talk) {
		ids := t.burst(mcp.MethodPing, burstSize, 0)
		if t.await(func() bool { return t.isAnswered(ids...) }) {
			order = orderOfAnswers(ids, t.order)
		}
		answered = len(t.order)
		t.Listen(0)
		held := t.burst(mcp.MethodPing, most, 0)
		t.await(func() bool { return t.stand.Untaken == 0 })
		took = most - t.stand.Untaken
		t.Listen(All)
		switch {
		case answered == 0:
			lost = ", and answers none"
		case !t.await(func() bool { return t.isAnswered(held...) }):
			lost = ", and did not answer all of them later"
		}
	})
	switch {
	case err != nil:
		p.report.open(asksAnswering, "%v", err)
		p.report.open(asksOrder, "%v", err)
		return
	case answered == 0 && took < most:
		p.report.open(asksAnswering, mute)
		p.report.open(asksOrder, mute)
		return
	case took == most:
		p.report.Observed.Answering = Yes
		p.report.found(asksAnswering, "yes", "it took %s while no answer was taken%s", phrase.Plural(took, mcp.MethodPing), lost)
	default:
		p.report.Observed.Answering = No
		p.report.found(asksAnswering, "no", "it took %s while no answer was taken%s", phrase.Plural(took, mcp.MethodPing), lost)
	}
	switch {
	case answered == 0:
		p.report.open(asksOrder, mute)
		return
	case order == "":
		p.report.open(asksOrder, "it answered %d of %d pings", answered, burstSize)
		return
	}
	p.report.found(asksOrder, order, "%d pings during %s", burstSize, p.method)
}

// handling tells the client that a list has changed, and finds out whether the client gets the answer if its
// handler then asks for the list.
func (p *clientProbe) handling() {
	var goesOn, stuck []string
	var failed error
	for _, method := range []string{mcp.NotificationToolListChanged, mcp.NotificationPromptListChanged, mcp.NotificationResourceListChanged} {
		failed = p.play(func(t *talk) {
			before := len(t.asked)
			asks := func() bool {
				return slices.ContainsFunc(t.asked[before:], func(m transport.Message) bool { return m.Method != mcp.MethodPing })
			}
			t.Send(notification(method, ""))
			if !t.await(asks) { // it is answered at once
				return
			}
			reaction := fmt.Sprintf("%s after %s", t.asked[len(t.asked)-1].Method, method)
			if p.finish(t) {
				goesOn = append(goesOn, reaction)
			} else {
				stuck = append(stuck, reaction)
			}
		})
		if failed != nil {
			break
		}
	}
	switch {
	case len(stuck) > 0:
		p.report.Observed.Handling = No
		p.report.found(asksHandling, "no", "it sent %s, and did not get the answer", strings.Join(stuck, ", "))
	case failed != nil:
		p.report.open(asksHandling, "%v", failed)
	case len(goesOn) > 0:
		p.report.Observed.Handling = Yes
		p.report.found(asksHandling, "yes", "it sent %s, and went on", strings.Join(goesOn, ", "))
	default:
		p.report.open(asksHandling, "no handler of a changed list asked for anything; if one does, it may be blocking-handlers")
	}
}

// living finds out what the client lives with.
func (p *clientProbe) living() {
	for _, s := range stimuli() {
		answer, detail := "", ""
		err := p.play(func(t *talk) {
			answer, detail = stimulate(t, s, "get the answer to "+p.method, func() bool { return p.finish(t) })
		})
		if err != nil {
			p.report.open(s.Question, "%v", err)
			continue
		}
		p.report.found(s.Question, answer, "%s", detail)
	}
}
