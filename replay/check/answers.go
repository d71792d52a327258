package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules P1 and P13, where they rest on the whole session and on the form of a message.
var (
	notAnswered  = newDemand("P1", "a notification is not answered", order.Error, "basic, Notifications")
	namesRequest = newDemand("P1", "a response names its request", order.Error, "basic, Responses")
	ownAnswer    = newDemand("P1", "an answer goes to its own request", order.Error, "basic, Responses")
	hasForm      = newDemand("P13", "the members of a message have their types", order.Error, "basic, Messages")
)

// strayAnswer is an answer in the HTTP exchange of another request, until it is known whether two are
// exchanged.
type strayAnswer struct {
	call *timeline.Call
	Finding
}

// scopeOfStray returns the scope of the request that a frame answers in the exchange of another request.
// hasNone: the request is no longer open, so that no rule of order can judge the frame.
func (f *Fold) scopeOfStray(step timeline.Step) (scope *scope, hasNone bool) {
	if len(step.Messages) != 1 || !step.Messages[0].Strays {
		return nil, false
	}
	if c := f.calls[step.Messages[0].Call]; c != nil {
		return c.scope, false
	}
	return nil, true
}

// judgeAnswer is rule P1 of a response, by what the model says that it belongs to. isWhole: the recording
// has the beginning of the session.
func (f *Fold) judgeAnswer(step timeline.Step, m *timeline.Message, revision string, isWhole bool) {
	switch {
	case m.Kind != transport.Response:
	case m.Role == timeline.AnswersNotice && step.Stream != 0 && !f.exchanges.isSSE: // rule P17
	case m.Role == timeline.AnswersNotice:
		f.repeated.add(Finding{
			Rule: notAnswered.Rule, Title: notAnswered.Title, Severity: notAnswered.Severity, Revision: revision, Section: notAnswered.Section,
			Dir: step.Dir, Events: []uint64{step.Seq, m.Notice.Seq},
			Text: fmt.Sprintf("the %s answered the notification %s (#%d) with %s under %s: a notification has no answer",
				step.Dir.Sender(), clip(m.Notice.Method), m.Notice.Seq, resultOrError(m), idOrNone(m)),
		}, moment{step.Seq, step.At})
	case m.Role == timeline.Unlinked && (len(m.ID) == 0 || string(m.ID) == "null") && isWhole:
		f.report(namesRequest, step.Dir, revision, []uint64{step.Seq}, "the %s sent a response (%s) under %s, and all that the %s had sent could be read",
			step.Dir.Sender(), resultOrError(m), idOrNone(m), step.Dir.Receiver())
	case m.Exchanged != nil:
		f.strays = slices.DeleteFunc(f.strays, func(stray strayAnswer) bool { return stray.call == m.Exchanged })
		a, b := m.Exchanged, m.Call
		how := fmt.Sprintf("#%d has a result of %s, and #%d one of %s", a.Response, nameCall(b), b.Response, nameCall(a))
		if m.Strays {
			how = fmt.Sprintf("#%d, the response to %s, came in the exchange of %s, and #%d, the response to that, in the other's", a.Response, nameCall(a), nameCall(b), b.Response)
		}
		f.report(ownAnswer, step.Dir, revision, []uint64{step.Seq, a.Response, a.Request, b.Request}, "the answers of id %s and id %s are exchanged: %s", clip(a.ID), clip(b.ID), how)
	case m.Strays:
		f.strays = append(f.strays, strayAnswer{m.Call, Finding{
			Rule: ownAnswer.Rule, Title: ownAnswer.Title, Severity: ownAnswer.Severity, Revision: revision, Section: ownAnswer.Section,
			Dir: step.Dir, Events: []uint64{step.Seq, m.Call.Request},
			Text: fmt.Sprintf("the response to %s came in the exchange of another request (exchange %d)", nameCall(m.Call), step.Stream),
		}})
	}
}

// reportStrays gives out the answers that strayed and that were exchanged with no other.
func (f *Fold) reportStrays() {
	for _, stray := range f.strays {
		f.give(stray.Finding)
	}
	f.strays = nil
}

// repeated are faults that a peer has in each of its messages, each as one finding for a direction, at the end.
type repeated []repeatedFault

type repeatedFault struct {
	first Finding
	at    moment // of the latest
	more  int
}

func (r *repeated) add(found Finding, at moment) {
	i := slices.IndexFunc(*r, func(of repeatedFault) bool { return of.first.Title == found.Title && of.first.Dir == found.Dir })
	if i < 0 {
		*r = append(*r, repeatedFault{first: found, at: at})
		return
	}
	(*r)[i].at = at
	(*r)[i].more++
}

// reportRepeated gives out the repeated faults. A strict client leaves behind a response to a notification.
func (f *Fold) reportRepeated() {
	for _, of := range f.repeated {
		if of.more > 0 {
			of.first.Text += fmt.Sprintf("; it did so %s", phrase.Plural(of.more, "more time"))
		}
		end, at := f.ending.first()
		if end == transport.ClientToServer && of.first.Title == notAnswered.Title && of.first.Dir == transport.ServerToClient &&
			f.last[end].seq < of.at.seq && at.seq > of.at.seq && at.at-of.at.at < leavesFor {
			of.first.Text += fmt.Sprintf("; the client left right behind it (#%d)", at.seq)
		}
		f.give(of.first)
	}
	f.repeated = nil
}

// leavesFor is how soon behind a message a client leaves that does so because of it.
const leavesFor = time.Second

func nameCall(c *timeline.Call) string {
	return fmt.Sprintf("%s (id %s, #%d)", clip(c.Method), clip(c.ID), c.Request)
}

func resultOrError(m *timeline.Message) string {
	if m.Error != nil {
		return errorText(m.Shown().Error)
	}
	return "a result"
}

func idOrNone(m *timeline.Message) string {
	if len(m.ID) == 0 {
		return "no id"
	}
	return "the id " + clip(string(m.ID))
}

// judgeForm is rule P13 of the members that every reader parses before it looks at the method.
func judgeForm(r *reporter, e store.Event, m *timeline.Message, revision string, protocol transport.Protocol) {
	method := m.Method
	if m.Call != nil && m.Kind == transport.Response {
		method = m.Call.Method
	}
	isMCP := revision != "" || protocol == transport.MCP
	var texts []string
	faults := schema.Envelope(&m.Message, isMCP)
	if len(faults) > 0 {
		shown := m.Shown()
		faults = schema.Envelope(&shown, isMCP)
	}
	for _, fault := range faults {
		if fault.Path == "/id" && m.Role == timeline.Answers { // the request has that fault
			continue
		}
		texts = append(texts, strings.TrimPrefix(fault.Path+": ", ": ")+fault.Text)
	}
	if len(texts) > 0 {
		r.report(hasForm, e.Dir, revision, []uint64{e.Seq}, "the %s sent %s in a form that strict %ss drop: %s",
			e.Dir.Sender(), nameOf(&m.Message, method), e.Dir.Receiver(), phrase.Shorten(strings.Join(texts, "; "), 300))
	}
}
