package recording

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/workload"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Making makes a session with a server that nobody has recorded.
type Making struct {
	Server   external.Server
	Wishes   workload.Wishes
	Recorder string // the name and version in the header
	// Say prints a text on standard error. What is called is said before the first call.
	Say  func(text string)
	Stop <-chan struct{}
}

// longestCall is how long a call may take that nobody named: each order makes it again.
const longestCall = 2 * time.Second

// Make makes the session. A call that is too slow for a search is left out, and the session made again, and so it is where an
// answer names other arguments.
func (m Making) Make() (events []store.Event, err error) {
	header := store.Header{ID: recorder.NewID(), Start: time.Now(), Transport: "stdio", Command: m.Server.Command, Recorder: m.Recorder}
	if m.Server.URL != "" {
		header.Transport, header.URL = "http", m.Server.URL
	}
	if m.Wishes.Without == nil {
		m.Wishes.Without = map[string]string{}
	}
	const tries = 8
	waits := waits{say: m.Say}
	again := "" // why it is made again
	hasSeen := false
	var agenda workload.Agenda
	for try := 1; ; try++ {
		var unknown error
		caller := workload.NewCaller(func(offer workload.Offer) workload.Agenda {
			before := agenda.Text()
			agenda = workload.Choose(offer, m.Wishes)
			if unknown = notOffered(offer, m.Wishes, agenda); unknown != nil {
				return workload.Agenda{}
			}
			if again == "" {
				m.Say(planText(offer, agenda))
			} else {
				m.Say("the session is made again " + again + newLines(before, agenda.Text()))
			}
			return agenda
		})
		made, err := external.Make(m.Server, caller, header, m.Stop)
		if err == nil {
			err = unknown
		}
		if err != nil {
			return nil, err
		}
		if made.Fault != nil && len(timeline.CallsOf(made.Events).All()) == 0 {
			return nil, fmt.Errorf("make a session: the server ended before it was asked for anything: %s", made.Fault.Detail)
		}
		if try < tries && m.leaveOutSlow(made) {
			again = "without what is too slow"
			continue
		}
		if try < tries {
			var why string
			if made, why = waits.learn(&m.Wishes, made, caller.Offer()); why != "" {
				again = why
				continue
			}
		}
		if try < tries && !hasSeen {
			hasSeen = true
			if m.Wishes.Seen, err = m.look(made, caller.Offer(), header); err != nil {
				return nil, err
			}
			if !reflect.DeepEqual(workload.Choose(caller.Offer(), m.Wishes), agenda) {
				again = "with what the server has named in its answers"
				continue
			}
		}
		m.Say(madeText(made))
		return made.Events, nil
	}
}

// look returns what a session has seen of a server. Where calls of a tool have failed, others are tried with another process.
func (m *Making) look(made external.Made, offer workload.Offer, header store.Header) (workload.Seen, error) {
	wishes := m.Wishes
	wishes.Seen = workload.See(made.Events)
	trial := workload.NewTrial(offer, wishes)
	if len(trial.Tools()) == 0 {
		return trial.Close(), nil
	}
	var names []string
	for _, tool := range trial.Tools() {
		names = append(names, phrase.Name(tool))
	}
	m.Say("calls have failed of " + strings.Join(names, ", ") + ": they are called with what the server has named, in a session that is not kept")
	_, err := external.Make(m.Server, trial, header, m.Stop)
	return trial.Close(), err
}

// notOffered is the error of a call that a user names and that cannot be made.
func notOffered(offer workload.Offer, wishes workload.Wishes, agenda workload.Agenda) error {
	for _, call := range wishes.Calls {
		for _, omitted := range agenda.Omitted {
			if omitted.Tool != call.Tool {
				continue
			}
			if slices.ContainsFunc(offer.Tools, func(t workload.OfferedTool) bool { return t.Name == call.Tool }) {
				return cli.Usagef("--call %s: %s; give them: --call '%s {…}'", phrase.ShellWord(call.Tool), omitted.Why, call.Tool)
			}
			var names []string
			for _, t := range offer.Tools {
				names = append(names, phrase.Name(t.Name))
			}
			return cli.Usagef("--call %s: the server offers no such tool; it offers %s", phrase.ShellWord(call.Tool), phrase.Shorten(strings.Join(names, ", "), 400))
		}
	}
	return nil
}

// newLines returns the lines of a text that were not there before, each behind a newline.
func newLines(before, text string) (lines string) {
	for line := range strings.Lines(text) {
		if !slices.Contains(strings.Split(before, "\n"), strings.TrimSuffix(line, "\n")) {
			lines += "\n" + strings.TrimSuffix(line, "\n")
		}
	}
	return lines
}

// planText says what will be called.
func planText(offer workload.Offer, agenda workload.Agenda) string {
	var has []string
	for _, kind := range []struct {
		count int
		noun  string
	}{{len(offer.Tools), "tool"}, {len(offer.Prompts), "prompt"}, {len(offer.Resources), "resource"}} {
		if kind.count > 0 {
			has = append(has, phrase.Plural(kind.count, kind.noun))
		}
	}
	offers := strings.Join(has, ", ")
	if offers == "" {
		offers = "no tools, prompts or resources"
	}
	advice := ""
	isCall := func(item workload.AgendaItem) bool { return item.Method == mcp.MethodCallTool }
	if len(offer.Tools) > 0 && !slices.ContainsFunc(agenda.Items, isCall) {
		advice = "\n  no tool is called: --call names one, and --all-tools calls them all, whatever they change"
	}
	return fmt.Sprintf("no session was named, so one is made: %s, revision %s, offers %s. Beside its lists it is asked for\n%s",
		phrase.Name(offer.Server), phrase.Name(offer.Revision), offers, strings.TrimRight(agenda.Text(), "\n")+advice)
}

// leaveOutSlow notes the tools whose calls take too long, or single calls of a tool that answers others in time, and reports whether
// there are any. A call without an answer stays, unless a timer of the server may still bring it: it is what a search looks for.
func (m *Making) leaveOutSlow(made external.Made) (isAny bool) {
	calls := timeline.CallsOf(made.Events).All()
	isNamed := func(tool string) bool {
		return slices.ContainsFunc(m.Wishes.Calls, func(call workload.NamedCall) bool { return call.Tool == tool })
	}
	mayStillCome := made.Fault != nil && made.Fault.Kind == external.Hang && !made.Fault.Certain
	for _, call := range calls {
		if call.Method != mcp.MethodCallTool || isNamed(call.Target) || m.Wishes.Without[call.Target] != "" {
			continue
		}
		why := ""
		switch own := ownTime(call, calls); {
		case own > longestCall:
			why = fmt.Sprintf("it took %v, and each order would make the call again; --call names it all the same", phrase.Brief(own))
		case !call.Answered() && call.Cancelled == 0 && mayStillCome:
			why = "it had no answer for a long time, and " + made.Fault.Stand + "; --call names it all the same"
		default:
			continue
		}
		this := callIn(made.Events, call.Request)
		isThis := func(known workload.NamedCall) bool { return this != nil && this.Equal(known) }
		if slices.ContainsFunc(m.Wishes.TooSlow, isThis) {
			continue
		}
		isAny = true
		isQuick := func(other *timeline.Call) bool {
			isLike := other.Method == call.Method && other.Target == call.Target && other.Cancelled == 0 && other.Failure == ""
			named := callIn(made.Events, other.Request)
			return isLike && other.Answered() && ownTime(other, calls) <= longestCall && named != nil && !isThis(*named)
		}
		if this != nil && slices.ContainsFunc(calls, isQuick) {
			m.Wishes.TooSlow = append(m.Wishes.TooSlow, *this)
			m.Say(fmt.Sprintf("not called: %s: %s", this, why))
			continue
		}
		m.Wishes.Without[call.Target] = why
		m.Say(fmt.Sprintf("not called: %s: %s", phrase.Name(call.Target), why))
	}
	return isAny
}

// ownTime returns how long a call took since its server had answered the last one of those that were there before it, which it may
// have waited for; 0: it has no answer.
func ownTime(call *timeline.Call, calls []*timeline.Call) time.Duration {
	if !call.Answered() {
		return 0
	}
	own := call.Latency
	for _, other := range calls {
		if since := call.At + call.Latency - (other.At + other.Latency); other.Request < call.Request && other.Answered() && since >= 0 {
			own = min(own, since)
		}
	}
	return own
}

// madeText says what came of the calls.
func madeText(made external.Made) string {
	requests, failed, first := 0, 0, ""
	for _, call := range timeline.CallsOf(made.Events).All() {
		if call.Dir != transport.ClientToServer { // the server's questions are its own
			continue
		}
		requests++
		if call.Failure == "" {
			continue
		}
		if failed++; first == "" {
			first = strings.TrimSpace(call.Method + " " + phrase.Name(call.Target))
		}
	}
	text := fmt.Sprintf("the session has %s", phrase.Plural(requests, "request"))
	if failed > 0 {
		text += fmt.Sprintf("; %d answered with an error, the first is %s: --call 'TOOL {…}' gives better arguments", failed, first)
	}
	return text
}
