package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// dropped is an answer that a strict client drops, or does not take for the answer: it has a form that is refused
// before it looks at the id, or an id of another type. The zero dropped is none.
type dropped struct {
	moment
	call   *call
	id     string // the answer's, if it is of another type
	faults string // of the form
	gaveUp moment // the client's cancellation of the call
}

// onDropped notes whether an answer to the client is one that a strict client does not take.
func (f *Fold) onDropped(c *call, m *timeline.Message) {
	is := dropped{moment: f.now, call: c}
	if faults := schema.Envelope(&m.Message, f.protocol == transport.MCP); len(faults) > 0 {
		shown := m.Shown()
		is.faults = textOf(schema.Envelope(&shown, f.protocol == transport.MCP))
	}
	if m.Retyped {
		is.id = clip(string(m.ID))
	}
	if is.id != "" || is.faults != "" {
		f.dropped = is
	}
}

// textOf lists faults for a sentence.
func textOf(faults []schema.Fault) string {
	const most = 3
	var texts []string
	for _, fault := range faults[:min(len(faults), most)] {
		texts = append(texts, strings.TrimPrefix(fault.Path+": ", ": ")+fault.Text)
	}
	if more := len(faults) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return phrase.Shorten(strings.Join(texts, "; "), 300)
}

// takesAll notes that the client goes on behind such an answer though it waits for nothing else: it takes
// what a strict client does not.
func (f *Fold) takesAll() {
	if f.dropped.seq != 0 && f.dropped.gaveUp.seq == 0 && f.waiting == 0 {
		f.lenient = true
		f.dropped = dropped{}
	}
}

// droppedWaits finds the client that waits on behind an answer which it may not have taken.
func (j *judge) droppedWaits(r *Report) []*wait {
	u := &j.dropped
	if u.seq == 0 || j.lenient {
		return nil
	}
	w := &wait{shape: MalformedAnswer, culprit: "server", dropped: u, since: u.call.moment, until: j.endOfSession()}
	if u.id != "" {
		w.shape = WrongID
	}
	if u.gaveUp.seq != 0 {
		w.until = ending{moment: u.gaveUp, by: "client", text: "the client gave it up"}
	}
	switch {
	case w.until.at-u.at < max(j.after, Patience): // an idle client is silent too
	case u.gaveUp.seq != 0 && j.asked.seq > u.gaveUp.seq:
		r.Open = append(r.Open, Open{
			Why: GivenUp, Call: u.call.seq, Waited: w.length(), Until: u.gaveUp.seq, Culprit: "server", Of: u.call.Call,
			Text: fmt.Sprintf("%s was given up after %v (#%d), and the session went on; its answer (#%d) is one that strict clients do not take: %s",
				u.call.name(), phrase.Brief(w.length()), u.gaveUp.seq, u.seq, u.what()),
		})
	default:
		return []*wait{w}
	}
	return nil
}

// what says why a strict client does not take the answer.
func (u *dropped) what() string {
	if u.id == "" {
		return u.faults
	}
	text := fmt.Sprintf("its id is %s, and the request's is %s", u.id, clip(u.call.ID))
	if u.faults != "" {
		text += "; " + u.faults
	}
	return text
}

// sayDropped says what is wrong with the answer.
func (w *words) sayDropped() {
	u := w.first.dropped
	w.say("The client %s %v for the answer to %s.", w.tense("has waited", "waited"), phrase.Brief(w.first.length()), u.call.name())
	w.show(u.call.moment, "request %s id %s", labelOf(u.call.Call), clip(u.call.ID))
	how := "in a form that strict clients drop"
	if u.id != "" {
		how = "under an id of another type, which strict clients do not know"
	}
	w.say("An answer came %v after the request (#%d), %s: %s.", phrase.Brief(u.at-u.call.at), u.seq, how, u.what())
	w.show(u.moment, "the answer: %s", u.what())
	w.proves = "what the answer is, and that the client did not go on behind it"
	if u.gaveUp.seq != 0 {
		return
	}
	w.say("The client %s nothing since.", w.tense("has asked", "asked"))
	w.unknown = "whether the client takes it all the same: one that is idle looks the same"
}

// misfitOf returns what is wrong with the answer to initialize by the schema of its revision.
func (j *judge) misfitOf(answer frame) string {
	m := j.shown(answer)
	var schemas schema.Validator
	faults, err := schemas.Check(j.revision, &m, mcp.MethodInitialize)
	if err != nil {
		return "" // no schema says anything
	}
	return textOf(slices.DeleteFunc(faults, func(fault schema.Fault) bool { return fault.Reason != "" }))
}
