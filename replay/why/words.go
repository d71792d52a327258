package why

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/framing"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// textLimit is how many bytes of a peer's text stand in a report.
const textLimit = 120

func clip(s string) string  { return phrase.Clip(s, textLimit) }
func quote(s string) string { return strconv.Quote(phrase.Shorten(s, textLimit)) }

// upper begins a sentence.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// text quotes a peer's text, masked.
func (j *judge) text(b []byte) string {
	s := string(b)
	if j.live.Mask != nil {
		s = j.live.Mask(s)
	}
	return quote(strings.TrimSpace(s))
}

// words collects the parts of a finding.
type words struct {
	*judge
	first     *wait
	goesOn    bool // the wait goes on
	sentences []string
	evidence  []Evidence
	proves    string
	suggests  string
	unknown   string
	next      string
	model     string // of a client, in next
	headline  string // the line of standard error that is told first, in quotes
}

func (w *words) say(format string, args ...any) {
	w.sentences = append(w.sentences, fmt.Sprintf(format, args...))
}

func (w *words) show(at moment, format string, args ...any) {
	w.evidence = append(w.evidence, Evidence{at.seq, fmt.Sprintf(format, args...)})
}

// tense returns a verb of a wait that goes on, or of one that is over.
func (w *words) tense(present, past string) string {
	if w.goesOn {
		return present
	}
	return past
}

// ago says how long before the end of the wait something was.
func (w *words) ago(at time.Duration) string {
	d := phrase.Brief(max(w.first.until.at-at, 0)).String()
	return d + w.tense(" ago", " before")
}

// name names a call by its label, its id and its event.
func (c *call) name() string {
	return fmt.Sprintf("%s (id %s, #%d)", labelOf(c.Call), clip(string(c.message().ID)), c.seq)
}

// describe makes a finding of the waits with one cause, the oldest first.
func (j *judge) describe(group []*wait) Finding {
	first := group[0]
	w := &words{judge: j, first: first, goesOn: first.until.seq == 0,
		next: fmt.Sprintf("show SESSION --from %d", max(first.since.seq, 1)),
	}
	f := Finding{Shape: first.shape, Culprit: first.culprit, Waited: first.length(), since: first.since, Calls: []uint64{}}
	for _, one := range group {
		if one.call != nil {
			f.Calls = append(f.Calls, one.call.seq)
		}
	}
	w.lead(group)
	w.cause()
	process := map[string]Process{"server": j.live.Server, "client": j.live.Client}[first.culprit]
	if w.launcher.Seq != 0 || first.shape == StderrNotRead { // another one goes on, or both are named
		process = Process{}
	}
	if w.goesOn && process.State != "" && first.shape != ServerStopped && first.dropped == nil { // that server has answered
		whose := "Its"
		if first.culprit == "server" && w.reader.PID != 0 {
			whose = "The server's"
		}
		w.say("%s process %v.", whose, process)
		if process.Needs != "" {
			w.say("%s", process.Needs)
		}
	}
	for _, dir := range []transport.Direction{c2s, s2c} {
		if took := j.took[dir]; first.call != nil && took.seq > first.call.seq {
			w.say("The %s took #%d after a write had blocked for %v (#%d).", dir.Receiver(), took.info.Upto, phrase.Brief(took.info.Blocked), took.seq)
		}
	}
	if !w.goesOn {
		how := first.until.text
		if first.until.by == "server" && first.until.seq == j.end.seq && j.exited.seq != 0 {
			how = "the server ended, " + j.howExited()
		}
		w.say("This lasted until %s (#%d).", how, first.until.seq)
		w.show(first.until.moment, "%s", how)
	}
	if j.lost > 0 {
		w.unknown = strings.TrimSuffix("whether the answer is among the events that are missing in the log; "+w.unknown, "; ")
	}
	f.Text, f.Evidence = strings.Join(w.sentences, " "), w.evidence
	f.Proves, f.Suggests, f.Unknown, f.Next, f.Client = w.proves, w.suggests, w.unknown, w.next, w.model
	leading := 1
	if slices.Contains([]string{ServerEnded, StreamCut, SessionStreamCut, NotTaken}, first.shape) {
		leading = 2 // no answer can come, and why
	}
	f.lead = strings.Join(w.sentences[:min(leading, len(w.sentences))], " ")
	f.said = w.headline
	return f
}

// lead says who waits for whom, for what and since when.
func (w *words) lead(group []*wait) {
	first, c := w.first, w.first.call
	waited := phrase.Brief(first.length())
	switch {
	case first.task != nil:
		w.leadTask()
	case first.shape == InputMissing:
		w.say("The server %s %v for the client to supply the input that it asked for with its answer to %s: %s (#%d).",
			w.tense("has waited", "waited"), waited, c.name(), listOf(first.input.wanted), first.input.seq)
		w.show(first.input.moment, "the answer to #%d: input_required (%s)", c.seq, listOf(first.input.wanted))
	case first.post != nil && first.shape == HalfBody:
		w.say("The server %s %v for the rest of a POST of the client (exchange %d, #%d).", w.tense("has waited", "waited"), waited, first.post.Number, first.post.Asked.Seq)
	case first.post != nil:
		w.say("The client %s %v for the server to answer its POST of %s (exchange %d, #%d).",
			w.tense("has waited", "waited"), waited, first.post.posted, first.post.Number, first.post.Asked.Seq)
		w.show(momentOf(first.post.Asked), "POST of %s", first.post.posted)
	case c == nil:
		return
	case first.shape == ServerEnded || first.shape == StreamCut || first.shape == SessionStreamCut:
		w.say("The client asked for %s, and no answer can come any more.", c.name())
		w.show(c.moment, "request %s id %s", labelOf(c.Call), clip(string(c.message().ID)))
	case first.shape == NotTaken:
		w.say("The client asked for %s, and was answered in a form that clients do not take.", c.name())
		w.show(c.moment, "request %s id %s", labelOf(c.Call), clip(string(c.message().ID)))
	case first.shape == NotAcknowledged:
		w.say("The client %s %v for the server to acknowledge %s.", w.tense("has waited", "waited"), waited, c.name())
		w.show(c.moment, "request %s id %s", labelOf(c.Call), clip(string(c.message().ID)))
	default:
		w.say("The %s %s %v for the %s to answer %s.", c.Dir.Sender(), w.tense("has waited", "waited"), waited, c.Dir.Receiver(), c.name())
		w.show(c.moment, "request %s id %s", labelOf(c.Call), clip(string(c.message().ID)))
	}
	if n := len(group) - 1; n > 0 {
		w.say("%s as well, the latest since #%d.", upper(phrase.Plural(n, "other request"))+phrase.Agree(n, " waits", " wait"), group[n].since.seq)
	}
}

// serverDid says what the server did behind a call, which may be nil.
func (w *words) serverDid(c *call) {
	since := w.first.since
	switch last := w.last[s2c]; {
	case last.seq > since.seq && (c == nil || last.seq != c.progress.seq):
		w.say("Its last message is %s, %s (#%d).", w.said(last), w.ago(last.at), last.seq)
		w.show(last.moment, "the server's last message: %s", w.said(last))
	case w.noise[s2c].seq > since.seq && w.first.shape != StrayText:
		w.say("The server %s no message since, only other text: %s, %s (#%d).", w.tense("has sent", "sent"), w.text(w.noise[s2c].text), w.ago(w.noise[s2c].at), w.noise[s2c].seq)
		w.show(w.noise[s2c].moment, "no message: %s", w.text(w.noise[s2c].text))
	case last.seq <= since.seq:
		w.say("The server %s nothing since.", w.tense("has sent", "sent"))
	}
	w.hasRead(c2s)
	if c != nil && c.Either != 0 {
		w.say("Several open requests have this id, and one of them was answered (#%d): the answer does not say which.", c.Either)
		w.show(moment{seq: c.Either}, "the answer to one of the requests under this id")
	} else if c != nil && w.answersOut > c.answers {
		w.say("It answered %s meanwhile: the server is there, this call is not.", phrase.Plural(w.answersOut-c.answers, "other request"))
	}
	w.sayLauncher()
	w.sayNeighbours(c)
	w.sayStderr(w.stderr.between(since.seq, w.end.seq))
}

// explore makes the next command one that plays the session to the recorded server, where the recording has
// its command: it says whether the server hangs again, and in which order.
func (w *words) explore() {
	if len(w.header.Command) > 0 && w.header.URL == "" {
		w.next = "explore SESSION -- COMMAND"
	}
}

// sayNeighbours tells what happened right before a request, which may be nil: a server may lose the call
// to it.
func (w *words) sayNeighbours(c *call) {
	if c == nil {
		return
	}
	if n := c.behind[0]; n.seq != 0 {
		what := "a call that was answered"
		if n.call != nil {
			what = n.call.name()
		}
		w.say("Right before the request (#%d) the client had cancelled %s.", n.seq, what)
		w.show(n.moment, "the client cancels %s", what)
		w.suggests = "the server stops with the cancelled call what the next one needs"
	}
	if n := c.behind[1]; n.seq != 0 {
		w.say("The answer before the request (#%d) was an error, to %s: %s.", n.seq, n.call.name(), clip(strings.TrimPrefix(n.said, "error ")))
		w.show(n.moment, "the answer before: %s", clip(n.said))
	}
}

func (w *words) asksClient() {
	asks, who := w.first.asks, "It"
	if asks == nil {
		asks, who = w.first.call, "The client"
	} else {
		w.say("During the call the server asked the client for %s, and the client %s in %v.",
			asks.name(), w.tense("has not answered", "did not answer"), phrase.Brief(max(w.first.until.at-asks.at, 0)))
		w.show(asks.moment, "request %s id %s of the server", labelOf(asks.Call), clip(string(asks.message().ID)))
	}
	capability := map[string]string{mcp.MethodListRoots: "roots", mcp.MethodCreateMessage: "sampling", mcp.MethodElicit: "elicitation"}[asks.Method]
	if capability != "" && w.client != nil && !w.declares(asks, capability) {
		w.say("The client had not declared %s: it should not have been asked, and should have answered with an error.", capability)
	}
	if asks.Method == mcp.MethodCreateMessage {
		w.unknown = "whether a model or a person was at it"
	}
	if asks.undone.seq != 0 {
		w.say("The client answered, and HTTP refused the answer with the status %d, %s (#%d).", asks.undoneBy, w.ago(asks.undone.at), asks.undone.seq)
		w.show(asks.undone, "HTTP status %d for the client's answer", asks.undoneBy)
		w.proves = "that the question passed the recorder and no answer to it was taken"
		return
	}
	if last := w.last[c2s]; last.seq > asks.seq {
		w.say("%s %s other messages since, the last %s (#%d): it %s the client's turn.",
			who, w.tense("has sent", "sent"), w.said(last), last.seq, w.tense("is", "was"))
		w.show(last.moment, "the client's last message: %s", w.said(last))
	} else {
		w.say("%s %s nothing since: it %s the client's turn.", who, w.tense("has sent", "sent"), w.tense("is", "was"))
		if len(w.calls[c2s]) > 0 {
			w.suggests = "the client reads nothing, or answers nothing, while it waits for its own call"
		}
	}
	w.hasRead(s2c)
	w.proves = "that the question passed the recorder and no answer to it came"
}

// hasRead says that an end has read the last frame to it, where the recorder can see that.
func (w *words) hasRead(dir transport.Direction) {
	p := w.header.Processes
	if p == nil || !slices.Contains(p.Watched, dir.String()) || w.stalls[dir].seq != 0 || w.first.until.at-w.last[dir].at < surelyRead {
		return
	}
	if dir != c2s || !w.sayReader() {
		w.say("All that was sent to it has been read.")
	}
}

// surelyRead is how long after a frame a recorder that watches its pipe has noted that nobody
// reads it.
const surelyRead = time.Second

func (w *words) halfFrame() {
	text, at, when := w.lineOf()
	who := "server"
	if w.first.half.seq != 0 || w.first.line != nil && w.first.line.Pipe == c2s.String() {
		who = "client"
	}
	w.say("The %s %s the beginning of a message and not its end: %s%s.", who, w.tense("has written", "had written"), text, when)
	w.show(at, "half a message: %s", text)
	w.proves = "that the rest did not leave the " + who
}

// lineOf quotes the text of the open line, or of the last bytes that are no message, and says when it was
// written. A line that has no end when its pipe ends stands in the log at that end: then only its place is
// known.
func (w *words) lineOf() (text string, at moment, when string) {
	if l := w.first.line; l != nil {
		return w.text(l.Text), moment{0, l.At}, ", written " + w.ago(l.At)
	}
	n := w.noise[s2c]
	if w.first.half.seq != 0 {
		n = w.first.half
	}
	if w.goesOn {
		return w.text(n.text), n.moment, fmt.Sprintf(", written %s (#%d)", w.ago(n.at), n.seq)
	}
	return w.text(n.text), n.moment, fmt.Sprintf(" (#%d)", n.seq)
}

func (w *words) notReading() {
	dir := s2c
	if w.first.shape == ServerNotReading {
		dir = c2s
	}
	s := w.stalls[dir]
	if w.first.shape == NeitherReads {
		w.say("Both sides write, and neither reads: each write waits for room that the other does not make.")
		w.show(s.moment, "a write to the client blocks")
		w.show(w.stalls[c2s].moment, "a write to the server blocks")
		w.suggests = "each side reads and writes in one loop"
		return
	}
	receiver := dir.Receiver()
	switch {
	case s.closed && s.info.For == 0:
		w.say("The %s has closed its input (#%d).", receiver, s.seq)
		w.show(s.moment, "the %s no longer reads", receiver)
	default:
		how := "it lies in the pipe"
		if s.info.Blocked {
			how = "a write to it blocks"
		}
		w.say("The %s has read nothing for %v, though something waits for it: %s.", receiver, phrase.Brief(w.first.until.at-s.since), how)
		w.show(s.moment, "the %s reads nothing", receiver)
	}
	if s.first != 0 && s.before > 0 {
		w.say("It stopped in the middle of #%d, behind %d of its %d bytes.", s.first, s.before, s.size)
	} else if s.first != 0 && s.info.Unread < 0 {
		w.say("It has not read #%d.", s.first)
	} else if s.first != 0 {
		w.say("The first that it has not read is #%d.", s.first)
	} else if s.info.Passed > 0 && s.before >= 0 {
		w.say("It stopped in the middle of a message, behind %s.", phrase.Plural(int(s.before), "byte"))
	}
	if s.info.Unread > 0 {
		w.say("%s unread.", upper(phrase.Plural(int(s.info.Unread), "byte"))+phrase.Agree(int(s.info.Unread), " is", " are"))
	}
	if dir == s2c && w.first.call != nil && w.notices > w.first.call.notices {
		w.say("Notifications to it since the request: %d.", w.notices-w.first.call.notices)
		w.suggests = "a receive loop that hands notifications to a full queue does not come to the answer"
		w.replayUnder("notification-queue=0")
	}
	if dir == c2s {
		w.serverDid(w.first.call)
		w.explore()
	}
	w.proves = "that the bytes left the recorder and were not taken"
}

// apart says how long behind the first moment the second is, or before it: a server may end before a request reaches it.
func apart(first, second time.Duration) string {
	if second < first {
		return phrase.Brief(first-second).String() + " before"
	}
	return phrase.Brief(second-first).String() + " after"
}

func (w *words) serverEnded() {
	c := w.first.call
	w.goesOn = true // how it ended is said here
	w.proves = "that the server ended before it answered"
	switch {
	case w.exited.seq != 0:
		w.say("The server ended %s the request (#%d), %s.", apart(c.at, w.exited.at), w.exited.seq, w.howExited())
		w.show(w.exited, "the server ended %s", w.howExited())
		if w.exit.Killed() {
			w.suggests = "the system killed it because memory was short, or somebody did (kill -9): no process can catch that"
		}
	default:
		w.say("The server closed its output %s the request (#%d).", apart(c.at, w.end.at), w.end.seq)
		w.show(w.end.moment, "%s", w.end.text)
	}
	if part := w.noise[s2c]; c.exchange == nil && part.half && part.seq > c.seq && looksLikeMessage(part.text) {
		w.say("It had written %s of a message, without its end (#%d): %s.", phrase.Plural(len(part.text), "byte"), part.seq, w.text(part.text))
		w.show(part.moment, "the beginning of a message, %s", phrase.Plural(len(part.text), "byte"))
		w.proves = "that the server ended before the whole answer was written"
		w.suggests = strings.TrimPrefix(w.suggests+"; the work was done, and the process ended before its output was written (node: process.exit() right after a large write)", "; ")
	}
	w.sayNeighbours(c)
	w.sayStderr(w.stderr.between(0, 0))
	if lacks := w.lacks(w.first); lacks.seq != 0 {
		w.sayLacking(lacks)
		w.proves = "that the server ended and the newline did not come"
	}
}

// before is how many bytes are quoted before the place where JSON breaks.
const before = 40

// brokenAnswer tells bytes of the server that are no message, in the place of an answer.
func (w *words) brokenAnswer() {
	n := w.noise[s2c]
	if form := framing.InLine(n.text); form.Form == framing.NotJSON {
		w.say("The server wrote a message %s (#%d) %s: %s.", w.ago(n.at), n.seq, form.Says(), w.text(n.text[max(0, form.At-1-before):]))
	} else {
		w.say("The server sent %s that are no message %s (#%d): %s.", phrase.Plural(len(n.text), "byte"), w.ago(n.at), n.seq, w.text(n.text))
	}
	w.show(n.moment, "bytes that are no message: %s", w.text(n.text))
	w.suggests = "they were meant as the answer"
	if textBefore(n.text) > 0 {
		w.suggests = "the server prints to its standard output, which belongs to the protocol, and the message stands behind that in the same line; logs go to standard error"
	}
}

func (w *words) clientSilent() {
	b := w.stalledAnswer
	w.unknown = "whether the client has anything more to say: one that is idle looks the same"
	if w.goesOn {
		w.say("The answer to %s was sent %s (#%d), and the client has been silent since.", labelOf(b.call.Call), w.ago(b.at), b.seq)
	} else {
		w.say("The answer to %s was sent (#%d), and the client was silent for %v.", labelOf(b.call.Call), b.seq, phrase.Brief(w.first.length()))
	}
	w.say("%s stood before it.", upper(phrase.Plural(b.notices, "notification")))
	w.show(b.call.moment, "request %s id %s", labelOf(b.call.Call), clip(string(b.call.message().ID)))
	w.show(b.moment, "the answer, behind %s", phrase.Plural(b.notices, "notification"))
	w.hasRead(s2c)
	if w.abandoned.seq != 0 {
		w.say("The client then gave up the call that was answered (#%d): it had not come to the answer.", w.abandoned.seq)
		w.unknown = ""
		w.show(w.abandoned, "the client cancels the answered call")
	}
	for _, c := range w.calls[s2c] {
		if c.seq > b.seq {
			w.say("It has not answered %s either, as one that is idle would.", c.name())
			w.unknown = ""
			w.show(c.moment, "request %s of the server", labelOf(c.Call))
			break
		}
	}
	w.proves = "that the answer passed the recorder, behind notifications, and nothing came back"
	w.suggests = "a client whose receive loop hands notifications to a queue that nobody reads from during a call stops exactly here (python-sdk before 1.6.0)"
	w.replayUnder("python-sdk@1.3")
}

// replayUnder names the model of a client under which a replay shows the hang.
func (w *words) replayUnder(model string) {
	w.model = model
	w.next = "replay SESSION --client " + model
}

// lastOf says what an end said last.
func (w *words) lastOf(dir transport.Direction) {
	if last := w.last[dir]; last.seq != 0 {
		w.say("The %s's last message is %s, %s (#%d).", dir.Sender(), w.said(last), w.ago(last.at), last.seq)
	}
}

// lastWords says what each end sent last.
func (j *judge) lastWords() string {
	var parts []string
	for _, dir := range []transport.Direction{c2s, s2c} {
		if last := j.final[dir]; last.seq != 0 {
			parts = append(parts, fmt.Sprintf("the %s's last message is %s (#%d)", dir.Sender(), j.said(last), last.seq))
		}
	}
	return strings.Join(parts, "; ")
}

// said names a frame by its first message.
func (j *judge) said(f frame) string {
	m := j.shown(f)
	answer := "the answer"
	if m.Error != nil {
		answer = "an error"
	}
	switch {
	case m.Method != "":
		return label(m, timeline.TargetOf(m))
	case m.Kind() == transport.Invalid:
		return "JSON that is no message"
	case m.ID == nil || string(m.ID) == "null":
		return strings.Replace(answer, "the", "an", 1) + " without an id"
	case m.Error != nil:
		return answer + " for id " + clip(string(m.ID))
	}
	return answer + " to id " + clip(string(m.ID))
}

// progressOf is the latest progress of a call: "3 of 10 "indexing"".
func (j *judge) progressOf(c *call) string {
	p := j.shown(c.progress).Params
	text := clip(string(transport.Member(p, "progress")))
	if total := transport.Member(p, "total"); total != nil {
		text += " of " + clip(string(total))
	}
	if said := transport.MemberText(p, "message"); said != "" {
		text += " " + j.text([]byte(said))
	}
	return text
}

func listOf(names []string) string {
	if len(names) == 0 {
		return "nothing but a requestState"
	}
	return clip(strings.Join(names, ", "))
}

// because appends the cause of a fault.
func because(fault string) string {
	if fault == "" {
		return ""
	}
	return ": " + clip(fault)
}

// Stuck reports whether something is stuck.
func (r Report) Stuck() bool { return len(r.Findings) > 0 }
