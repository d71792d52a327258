package check

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/framing"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rule E4 for messages in another form than a line each, which are one finding and not one a line. Rule E21.
var (
	onlyNewlines = newDemand("E4", "a newline alone ends a line", order.Note, pageStdio)
	hasRules     = newDemand("E21", "check has rules for the protocol of the session", order.Note, "")
)

// framings are the forms in which the two ends wrote messages.
type framings struct {
	forms    []*form
	parts    [3][]Finding // rule E4 for lines that may be parts of messages over several lines
	returns  [3]uint64    // frames that end with CR LF
	returned [3]uint64    // the first
}

// form is the messages of an end in one form.
type form struct {
	finding Finding // of the first
	framing.Form
	detail string // of one that differs by what stands there
	dir    transport.Direction
	count  int
	last   uint64
}

// add counts a message in a form.
func (s *framings) add(step timeline.Step, found *timeline.Misframed, name string) {
	detail := found.What
	i := slices.IndexFunc(s.forms, func(f *form) bool { return f.Form == found.Form && f.dir == step.Dir && f.detail == detail })
	if i >= 0 {
		s.forms[i].count++
		s.forms[i].last = step.Seq
		return
	}
	events := []uint64{step.Seq}
	where := fmt.Sprintf("#%d", step.Seq)
	if found.From != step.Seq {
		events = []uint64{found.From, step.Seq}
		where = fmt.Sprintf("#%d to #%d", found.From, step.Seq)
	}
	text := fmt.Sprintf("the %s wrote %s %s (%s)", step.Dir.Sender(), name, found.Says(), where)
	if found.Form == framing.NotJSON {
		const before = 30
		text += ": " + excerpt(step.Payload[max(0, len(step.Payload)-len(bytes.TrimLeft(step.Payload, " \t\r"))+found.At-1-before):])
	}
	if wants := found.Wants(); wants != "" {
		text += ": " + wants
	}
	s.forms = append(s.forms, &form{
		finding: Finding{Rule: onlyMessages.Rule, Title: onlyMessages.Title, Severity: onlyMessages.Severity, Section: onlyMessages.Section, Dir: step.Dir, Events: events, Text: text},
		Form:    found.Form, detail: detail, dir: step.Dir, count: 1, last: step.Seq,
	})
}

// onForm takes the form of a frame, and reports whether it is one of a message, or may be a part of one.
func (f *Fold) onForm(step timeline.Step) bool {
	dir := index(step.Dir)
	s := &f.framings
	if step.Stream == 0 && bytes.HasSuffix(step.Payload, []byte("\r")) && !step.Noise {
		if s.returns[dir]++; s.returned[dir] == 0 {
			s.returned[dir] = step.Seq
		}
	}
	if step.Part && step.Unterminated && len(s.parts[dir]) == 0 { // the end of the direction tells whose doing it is
		return false
	}
	if step.Part {
		r := reporter{emit: func(found Finding) { s.parts[dir] = append(s.parts[dir], found) }, counts: map[order.Severity]int{}}
		judgeEncoding(&r, step.Event, false)
		return true
	}
	if step.Misframed == nil {
		f.givePartsOf(step.Dir)
		return false
	}
	s.parts[dir] = nil
	name := "a message"
	if len(step.Messages) > 0 {
		name = nameOf(&step.Messages[0].Message, "")
		if call := step.Messages[0].Call; call != nil && step.Messages[0].Kind == transport.Response {
			name = nameOf(&step.Messages[0].Message, call.Method)
		}
	}
	s.add(step, step.Misframed, name)
	return true
}

// givePartsOf gives out the findings of lines that are parts of nothing after all.
func (f *Fold) givePartsOf(dir transport.Direction) {
	for _, found := range f.framings.parts[index(dir)] {
		f.give(found)
	}
	f.framings.parts[index(dir)] = nil
}

// reportForms is rules E4 and E21 at the end of a session.
func (f *Fold) reportForms(protocol transport.Protocol) {
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if parts := f.framings.parts[dir]; len(parts) > 1 {
			first, last := parts[0].Events[0], parts[len(parts)-1].Events[0]
			f.report(onlyMessages, dir, "", []uint64{first, last}, "the %s wrote the beginning of a message over several lines (#%d to #%d), and not its end", dir.Sender(), first, last)
			f.framings.parts[dir] = nil
		}
		f.givePartsOf(dir)
	}
	for _, form := range f.framings.forms {
		if form.Form == framing.ContentLength && protocol.IsForeign() { // as its protocol wants
			continue
		}
		found := form.finding
		found.Events = slices.Clone(found.Events)
		if form.count > 1 {
			found.Text += fmt.Sprintf("; %s like this, the last #%d", phrase.Plural(form.count, "message"), form.last)
		}
		f.give(found)
	}
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if n := f.framings.returns[dir]; n > 0 && !protocol.IsForeign() {
			f.report(onlyNewlines, dir, "", []uint64{f.framings.returned[dir]}, "the %s ends %s with CR LF: some readers take the CR for a part of the message",
				dir.Sender(), phrase.Plural(n, "line"))
		}
	}
	if protocol.IsForeign() && protocol != transport.ACP {
		f.report(hasRules, transport.ClientToServer, "", []uint64{1}, "the session speaks %s, for which check has no rules: it judges only what every session of JSON-RPC has to keep", protocol)
	}
}
