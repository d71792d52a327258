package closed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// shownUnanswered is how many requests without a response the text lists.
const shownUnanswered = 10

// Text returns the verdict for a reader: first the requests without an answer, then the
// result of the models. A pass has one line, with warnings; a hang has a report in the manner
// of Java's deadlock report.
func (v Verdict) Text() string {
	var b strings.Builder
	v.openText(&b)
	c2s := phrase.Plural(v.Frames.C2S.Read, "message")
	s2c := phrase.Plural(v.Frames.S2C.Read, "message")
	switch v.Verdict {
	case Hang:
		v.hangText(&b)
	case Nothing:
		fmt.Fprintf(&b, "%s: %s; %s from the client, %s from the server\n", v.Words(), v.Explanation, c2s, s2c)
	default:
		fmt.Fprintf(&b, "PASS buffer %v, client %s, server %s: %s from the client, %s from the server\n", v.Capacity, v.Models.Client.label(), v.Models.Server.label(), c2s, s2c)
	}
	v.warningText(&b)
	return b.String()
}

// Words returns the verdict in a few words, those of [Verdict.Text]: PASS, HANG (proved)
// with the category, UNANSWERED with the number of requests, or NOTHING TO REPLAY.
func (v Verdict) Words() string {
	switch v.Verdict {
	case Hang:
		return "HANG (proved) " + v.Category
	case Nothing:
		return "NOTHING TO REPLAY"
	case Open:
		return "UNANSWERED " + phrase.Plural(len(v.open()), "request")
	}
	return "PASS"
}

// hangText writes the summary, then the blocked parts as a table, with a mark where the cycle
// closes, and then the assumptions, the changes that would pass, and the last steps.
func (v Verdict) hangText(b *strings.Builder) {
	fmt.Fprintf(b, "%s\n\n%s, buffer %v, client %s, server %s; read %d of %d from the client, %d of %d from the server\n\n",
		v.Summary,
		v.Words(), v.Capacity, v.Models.Client.label(), v.Models.Server.label(),
		v.Frames.C2S.Read, v.Frames.C2S.Recorded, v.Frames.S2C.Read, v.Frames.S2C.Recorded)
	width := 0
	for _, w := range v.Waits {
		width = max(width, utf8.RuneCountInString(w.Who))
	}
	indent := strings.Repeat(" ", width+4)
	for i, w := range v.Waits {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(w.Who))
		fmt.Fprintf(b, "  %s%s  ", w.Who, pad)
		if w.Holds != "" {
			fmt.Fprintf(b, "holds      %s\n%s", w.Holds, indent)
		}
		fmt.Fprintf(b, "waits for  %s", w.WaitsFor)
		if len(v.Cycle) > 0 && i == len(v.Cycle)-1 {
			b.WriteString("   <- cycle")
		}
		fmt.Fprintf(b, "\n%s           %s\n", indent, w.Why)
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"assumed", v.Assumptions}, {"changes", v.Changes}, {"last steps", v.Sequence}} {
		if len(list.lines) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n  %s:\n", list.title)
		for _, line := range list.lines {
			fmt.Fprintf(b, "    %s\n", strings.TrimRight(line, " "))
		}
	}
}

func (v Verdict) warningText(b *strings.Builder) {
	for _, w := range v.Warnings {
		fmt.Fprintf(b, "warning: %s\n", w)
	}
	open := len(v.open()) > 0
	asked := slices.ContainsFunc(v.Unanswered, func(u Unanswered) bool { return u.Owes == transport.ServerToClient.Sender() })
	for n, u := range v.Unanswered {
		switch {
		case n >= shownUnanswered:
		case u.Cancelled != 0:
			reason := ""
			if u.Reason != "" {
				reason = ": " + u.Reason
			}
			fmt.Fprintf(b, "note: #%d %s was not answered: it was cancelled (#%d) after %s%s\n", u.Seq, u.Call, u.Cancelled, u.Waited, reason)
		case u.Lost != 0:
			fmt.Fprintf(b, "note: #%d %s has no answer in the log, which lacks a message of the %s behind it (#%d)\n", u.Seq, u.Call, u.Owes, u.Lost)
		case !open && asked:
			fmt.Fprintf(b, "note: #%d %s was not answered in %s\n", u.Seq, u.Call, u.Waited)
		case !open:
			fmt.Fprintf(b, "note: #%d %s was not answered in %s; nothing of the client's waits for it\n", u.Seq, u.Call, u.Waited)
		}
	}
}

// openText lists the requests that were neither answered nor cancelled, as far as is recorded.
func (v Verdict) openText(b *strings.Builder) {
	open := v.open()
	if len(open) == 0 {
		return
	}
	fmt.Fprintf(b, "UNANSWERED %s at the end of the recording\n", phrase.Plural(len(open), "request"))
	for i, u := range open {
		if i == shownUnanswered {
			fmt.Fprintf(b, "  … and %d more\n", len(open)-i)
			break
		}
		fmt.Fprintf(b, "  #%d %s: the %s owes the answer, waited %s\n", u.Seq, u.Call, u.Owes, u.Waited)
	}
	if v.Verdict != Hang {
		b.WriteString("  A transport with this buffer is not the reason, with sides of these models:\n")
	}
}

// explain returns the reason for the hang in one sentence.
func (s blockedState) explain(graph waitGraph) string {
	for _, n := range graph.nodes {
		if n.role == roleQueue {
			return s.explainQueue(n.own)
		}
	}
	for _, n := range graph.nodes {
		if n.role == roleReader && s.works(n.own) {
			return s.explainWork(graph)
		}
	}
	var ends []string
	for _, dir := range directions {
		f := s.recording.nth(dir, int(s.ends[dir].offered))
		ends = append(ends, fmt.Sprintf("the %s sends %s and does not read until it is taken", dir.Sender(), s.recording.label(f)))
	}
	return fmt.Sprintf("%s; %s; there is room in neither direction (buffer c2s=%v,s2c=%v)",
		ends[0], ends[1], s.capacity.C2S, s.capacity.S2C)
}

// explainQueue describes a receive loop that is stuck with a notification in hand.
func (s blockedState) explainQueue(own transport.Direction) string {
	e := s.ends[own]
	stop := e.stopped()
	var b strings.Builder
	m := s.recording.messages[stop.held]
	seq := s.recording.frameOf(stop.held).seq
	held := fmt.Sprintf("notification #%d (%s)", seq, m.name())
	if m.method == mcp.NotificationProgress {
		held = fmt.Sprintf("progress notification #%d", seq)
	}
	fmt.Fprintf(&b, "the %s's reader waits to hand %s to a queue of %d that nobody reads from during a call; ",
		own.Sender(), held, e.model.queue)
	w, next, ok := s.wait(node{roleCall, own})
	switch {
	case !ok:
		fmt.Fprintf(&b, "the recording has no response to %s", w.Who)
	case next.role == roleAnswer:
		at, _, _ := s.wait(next)
		fmt.Fprintf(&b, "the awaited response #%d is behind it (%s)", at.Seq, at.Why)
	default:
		fmt.Fprintf(&b, "%s ends with #%d, which is behind it", w.Who, s.recording.frames[s.recording.nth(own, int(stop.releasedBy))].seq)
	}
	return b.String()
}

// assumptions names the places where a single-threaded end sent before a read that was recorded before
// the send. A tap between the ends cannot see that order, and the hang depends on it.
func (s blockedState) assumptions() []string {
	var list []string
	for _, dir := range directions {
		e := s.ends[dir]
		if e.model.kind != singleThreaded {
			continue
		}
		for k := int(e.offered); k > 0; k-- {
			sent := s.recording.frames[s.recording.nth(dir, k)]
			if e.need[k-1] >= sent.before {
				continue
			}
			crossed := s.recording.frames[s.recording.nth(dir.Reverse(), int(e.need[k-1])+1)]
			list = append(list, fmt.Sprintf("the recording does not show that the %s had taken #%d before it sent #%d; single-threaded takes it that it had not",
				dir.Sender(), crossed.seq, sent.seq))
			break
		}
	}
	return list
}

// explainWork describes blocking receive loops that are stuck at their work.
func (s blockedState) explainWork(graph waitGraph) string {
	var parts []string
	for _, n := range graph.nodes {
		if n.role == roleCall && s.works(n.own) {
			parts = append(parts, s.work(n.own))
		}
	}
	for _, n := range graph.nodes {
		if n.role == roleReader && s.works(n.own) && len(parts) == 0 {
			parts = append(parts, s.work(n.own))
		}
	}
	return strings.Join(parts, "; ")
}

// works reports whether an end is blocking and stuck at its work.
func (s blockedState) works(own transport.Direction) bool {
	return s.ends[own].model.kind == blockingHandlers && s.ends[own].stopped() != nil
}

func (s blockedState) work(own transport.Direction) string {
	stop := s.ends[own].stopped()
	held := s.recording.messages[stop.held]
	does := fmt.Sprintf("the %s works at %s and does not read meanwhile", own.Sender(), s.recording.label(held.frame))
	if stop.call < 0 && stop.awaited < 0 {
		return does + "; the recording has no response to it"
	}
	if stop.call >= 0 {
		does += fmt.Sprintf("; its handler waits for %s, ", s.recording.callName(stop.call))
		if stop.awaited < 0 {
			w, _, _ := s.askedWait(node{roleCall, own})
			return does + w.Why
		}
		does += fmt.Sprintf("and the awaited response #%d is behind that", s.recording.frameOf(stop.awaited).seq)
	} else {
		does += fmt.Sprintf("; it ends with %s, which is behind that", s.name(node{roleAnswer, own}))
	}
	w, _, _ := s.answerWait(node{roleAnswer, own})
	return fmt.Sprintf("%s (%s)", does, w.Why)
}

// workAssumptions names the calls that the model attributes to a handler of a blocking end.
func (s blockedState) workAssumptions(graph waitGraph) []string {
	var list []string
	for _, n := range graph.nodes {
		if n.role != roleReader || !s.works(n.own) || s.ends[n.own].stopped().call < 0 {
			continue
		}
		stop := s.ends[n.own].stopped()
		list = append(list, fmt.Sprintf("the recording does not show what made the %s send #%d; blocking-handlers takes it that the handler of #%d did, and waits for the response",
			n.own.Sender(), s.recording.frameOf(stop.call).seq, s.recording.frameOf(stop.held).seq))
	}
	return list
}

var roleNames = [...]string{"none", "writer", "reader", "thread", "queue", "call", "answer"}

// shape writes the wait graph, such as client writer (request) > server reader (request).
func (s blockedState) shape(graph waitGraph) string {
	list := make([]string, len(graph.nodes))
	for i, n := range graph.nodes {
		list[i] = n.own.Sender() + " " + roleNames[n.role]
		f := s.held(n)
		if f < 0 {
			continue
		}
		switch messages := s.recording.messagesOf(s.recording.frames[f]); len(messages) {
		case 0:
			list[i] += " (stray output)"
		case 1:
			list[i] += fmt.Sprintf(" (%s)", messages[0].kind)
		default:
			list[i] += " (batch)"
		}
	}
	return strings.Join(list, " > ")
}

const (
	laneWidth  = 56 // columns between the client's line and the server's
	shownQueue = 3  // queued frames shown of each direction
)

// sequence draws the last frames that were read, then the frames in the lanes and in the
// writers' hands.
func (s blockedState) sequence() []string {
	lines := []string{timeline.Lifelines(laneWidth)}
	if skipped := s.trail.n - trailLen; skipped > 0 {
		lines = append(lines, "  "+timeline.Arrow(transport.NoDirection, true, phrase.Plural(skipped, "message")+" before", laneWidth))
	}
	for i := max(0, s.trail.n-trailLen); i < s.trail.n; i++ {
		index := s.trail.last[i%trailLen]
		f := s.recording.frames[index]
		line := "  " + timeline.Arrow(f.dir, true, s.recording.label(index), laneWidth)
		if e := s.ends[f.dir.Reverse()]; f.n == e.given && e.stopped() != nil {
			line += " held by the " + f.dir.Receiver() + " reader"
		}
		lines = append(lines, line)
	}
	for _, dir := range directions { // the offered frames that were not read
		left := func(n int32, where string) {
			lines = append(lines, "  "+timeline.Arrow(dir, false, s.recording.label(s.recording.nth(dir, int(n))), laneWidth)+" "+where)
		}
		given := s.ends[dir.Reverse()].given
		acked := s.ends[dir].acked
		offered := s.ends[dir].offered
		for n := given + 1; n <= min(acked, given+shownQueue); n++ {
			left(n, fmt.Sprintf("queued in %v, not read", dir))
		}
		if more := acked - given - shownQueue; more > 0 {
			lines = append(lines, "  "+timeline.Arrow(transport.NoDirection, true, fmt.Sprintf("%d more queued in %v", more, dir), laneWidth))
		}
		if offered > acked {
			left(offered, fmt.Sprintf("the %s is blocked writing it", dir.Sender()))
		}
	}
	return lines
}

// reactionTime is how soon an end that reads goes on after an answer. A stuck end may send
// something as well, when a timer ends or a person gives up, but hardly so soon.
const reactionTime = time.Second

// who names the sides of these models that can hang, such as "a client such as python-sdk 1.3"; ""
// if both are independent. Several is true of two sides.
func (m Models) who() (names string, several bool) {
	var sides []string
	for _, dir := range directions {
		if model := (Setup{Client: m.Client, Server: m.Server}).model(dir); model.kind != independent {
			sides = append(sides, fmt.Sprintf("a %s %s", dir.Sender(), model.like(dir)))
		}
	}
	return strings.Join(sides, " with "), len(sides) > 1
}

// Summary says in a clause which sides of these models would hang on a session that hangs under
// them, such as "a client such as python-sdk 1.3 would hang on this session". It is "" if both
// are independent.
func (m Models) Summary() string {
	who, _ := m.who()
	if who == "" {
		return ""
	}
	return who + " would hang on this session"
}

// summary says in sentences which sides hang, why, and what would mend it, and then what the
// recorded sides did. A side that reads takes no part.
func (s blockedState) summary(why, remedy string) string {
	var stuck Setup
	var recorded []string
	for _, dir := range directions {
		m := s.ends[dir].model
		if m.kind == independent || s.ends[dir].reading() {
			continue
		}
		stuck = stuck.with(dir, m)
		if fact := s.recordedEnd(dir); fact != "" {
			recorded = append(recorded, fact)
		}
	}
	who, several := Models{stuck.Client, stuck.Server}.who()
	hangs := cmp.Or(who, "the session") + " hangs here"
	if several {
		hangs = who + " hang here"
	}
	text := fmt.Sprintf("%s: %s. %s.", sentence(hangs), why, sentence(remedy))
	if len(recorded) > 0 {
		text += " " + sentence(strings.Join(recorded, "; ")) + "."
	}
	return text
}

// sentence returns a clause with a capital at its beginning, unless it begins with the name of an SDK.
func sentence(clause string) string {
	name, _, _ := strings.Cut(clause, " ")
	if slices.Contains(sdks(), name) {
		return clause
	}
	return strings.ToUpper(clause[:1]) + clause[1:]
}

// recordedEnd says whether the recorded end got past the place where the model of the end is
// stuck, or "" where the recording does not tell. A tap between the ends does not see what
// an end reads, but an end that answered an unread request has read it, and one that went
// on at once after the awaited frame was not stuck.
func (s blockedState) recordedEnd(dir transport.Direction) string {
	r := s.recording
	e := s.ends[dir]
	who := "the recorded " + dir.Sender()
	if e.given == 0 {
		return ""
	}
	from := r.frames[r.nth(dir.Reverse(), int(e.given))]
	if stop := e.stopped(); stop != nil && stop.awaited >= 0 {
		from = r.frameOf(stop.awaited)
	}
	until := r.lastAt
	fact := ""
	if dir == transport.ClientToServer && r.closed > from.at {
		until = r.closed
		fact = fmt.Sprintf("got past #%d, and closed the session right after it", from.seq)
	}
	for _, f := range r.byDirection[dir][e.offered:] {
		sent := r.frames[f]
		if answered, _ := r.answers(sent); answered > e.given {
			return fmt.Sprintf("%s did not hang: it answered #%d with #%d", who, r.frames[r.nth(dir.Reverse(), int(answered))].seq, sent.seq)
		}
	}
	for _, f := range r.byDirection[dir] { // also what the model has offered: the recorded end may have sent it later
		sent := r.frames[f]
		cancels := slices.ContainsFunc(r.messagesOf(sent), func(m recordedMessage) bool { return m.method == mcp.NotificationCancelled })
		if sent.seq > from.seq && !cancels {
			until = sent.at
			fact = fmt.Sprintf("went on right after #%d, with %s", from.seq, r.label(f))
			break
		}
	}
	silent := until - from.at
	switch {
	case silent >= reactionTime:
		return fmt.Sprintf("%s may have hung: it sent nothing for %v after #%d", who, phrase.Brief(silent), from.seq)
	case fact != "":
		return fmt.Sprintf("%s did not hang: it %s", who, fact)
	}
	return ""
}
