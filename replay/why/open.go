package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Why a call without an answer is not stuck.
const (
	Recent      = "recent"       // it has not been open for long, and may be answered
	Works       = "works"        // it has been open for long, and its receiver has spoken of it not long ago
	Lasts       = "lasts"        // it is a subscription, which stays open
	GivenUp     = "given-up"     // its caller cancelled it, and the session went on or it had not waited for long
	Left        = "left"         // an end left before the call had waited for long
	CutOff      = "cut-off"      // its connection to the server broke, and the session ended soon: no answer can come, and its caller knows
	AsksPerson  = "asks-person"  // a person has the question
	Behind      = "behind"       // the server works on an earlier call
	NotRecorded = "not-recorded" // the log does not tell
	Repeats     = "repeats"      // no call: the same comes again and again, and nothing comes of it
	Idle        = "idle"         // no call: a client that is silent as an idle one is
)

// Open is a call without an answer that is not stuck. Each such call is in one Finding or in one Open.
type Open struct {
	Why      string        `json:"why"`
	Call     uint64        `json:"call,omitempty"` // the request; 0: no call
	Waited   time.Duration `json:"waited_ns"`
	Until    uint64        `json:"until,omitempty"`   // the event that ended the wait; 0: it goes on, or the log ends
	Culprit  string        `json:"culprit,omitempty"` // of what was given up, the end that kept the other waiting; of what was left, the end that left
	TimedOut bool          `json:"timed_out,omitempty"`
	Text     string        `json:"text"`
	Events   []uint64      `json:"events,omitempty"` // of what repeats, the first and the last request

	Of *timeline.Call `json:"-"` // nil: no call
}

// Notes returns what is told of the calls that are not stuck, each sentence once. What has just begun,
// lasts, or was soon given up is not worth one.
func (r Report) Notes() []string {
	return r.texts(func(o *Open) bool {
		return o.Why != Recent && o.Why != Lasts && (o.Why != GivenUp || o.TimedOut || o.Waited >= r.After)
	})
}

// GoesRound reports whether the same comes again and again in the session.
func (r Report) GoesRound() bool {
	return slices.ContainsFunc(r.Open, func(o Open) bool { return o.Why == Repeats })
}

// Recent returns the sentences about calls that have not been open for long enough to be stuck.
func (r Report) Recent() []string { return r.texts(func(o *Open) bool { return o.Why == Recent }) }

func (r Report) texts(which func(*Open) bool) (texts []string) {
	told := map[string]bool{}
	for i := range r.Open {
		if o := &r.Open[i]; which(o) && !told[o.Text] {
			told[o.Text] = true
			texts = append(texts, o.Text)
		}
	}
	return texts
}

// notStuck describes a wait that is not stuck.
func (j *judge) notStuck(w *wait, why, format string, args ...any) Open {
	open := Open{Why: why, Call: w.call.seq, Waited: w.length(), Until: w.until.seq, Text: fmt.Sprintf(format, args...), Of: w.call.Call}
	if (why == Left || why == CutOff) && w.until.by != "recorder" {
		open.Culprit = w.until.by
	}
	if why == Left && w.shape == ServerEnded && j.wasAskedToEnd() {
		open.Culprit = "client"
	}
	return open
}

// excuse says why a call of the client is not stuck. Its Why is "" if the call is stuck.
func (j *judge) excuse(w *wait) Open {
	c := w.call
	silent := w.until.at - w.sign.at
	isStuck := false
	switch {
	case c.Method == mcp.MethodListen && c.cancelled.seq != 0:
		return j.notStuck(w, GivenUp, "%s was ended by its client after %v (#%d)", c.name(), phrase.Brief(w.length()), c.cancelled.seq)
	case c.Method == mcp.MethodListen && (c.acknowledged || silent < j.after):
		return j.notStuck(w, Lasts, "%s is a subscription, which stays open", c.name())
	case c.cancelled.seq != 0 && j.asked.seq > c.cancelled.seq:
		return j.givenUp(w)
	case w.shape == ServerEnded && j.wasAskedToEnd():
		return j.notStuck(w, Left, "%s was open when the server ended %s", c.name(), j.howExited())
	case w.hasEnded() && w.until.of.What != store.HTTPEnd && j.endOfSession().at-w.until.at < j.after:
		return j.notStuck(w, CutOff, "%s has no answer: %s after %v (#%d)%s", c.name(), w.until.text, phrase.Brief(w.length()), w.until.seq, because(w.until.of.Fault))
	case w.shape == NotResumed && w.length() >= j.after && w.until.at-c.exchange.latest().Ended.At < j.after:
		why := Recent
		if w.until.seq != 0 {
			why = Left
		}
		return j.notStuck(w, why, "%s was open when %s (#%d), and the client may resume the stream", c.name(), c.exchange.latest().howEnded(), c.exchange.latest().Ended.Seq)
	case w.asks != nil && j.isPerson(w.asks) && w.shape == AsksClient:
		return j.notStuck(w, AsksPerson, "%s", personAsked(w.asks, w.until))
	case w.shape == NoAnswer && j.gap.seq > c.seq:
		return j.notStuck(w, NotRecorded, "%s has no answer in the log, which lacks a message of the server behind it (#%d)", c.name(), j.gap.seq)
	case j.letGo.seq != 0 && j.end.by == "recorder":
		return j.notStuck(w, NotRecorded, "%s has no answer in the log: the recorder no longer read the server (#%d)", c.name(), j.letGo.seq)
	case w.shape == NoAnswer && j.isBehind(c):
		return j.notStuck(w, Behind, "%s has been open for %v, behind a call that the server works on", c.name(), phrase.Brief(w.length()))
	case w.shape == ServerEnded, w.hasEnded():
		isStuck = true
	case w.shape == SessionStreamCut: // the client closed it
		isStuck = j.endOfSession().at-w.until.at >= j.after
	case w.shape == AsksClient:
		isStuck = w.until.at-w.asks.at >= j.after
	case w.shape == ClientNotReading:
		isStuck = silent >= j.after || w.until.at-j.stalls[s2c].since >= j.after // the server may go on
	default:
		isStuck = silent >= j.after
	}
	if isStuck || j.standsStill(w) {
		return Open{}
	}
	return j.short(w)
}

// standsStill reports whether a wait lasted until a session in memory ended, whose ends had not: its recorder
// ends it when nothing moves any more, and no time passes until then.
func (j *judge) standsStill(w *wait) bool {
	return j.header.Transport == "memory" && w.until.seq != 0 && w.until.seq == j.end.seq && j.end.sealed
}

// short describes a wait that has not been long.
func (j *judge) short(w *wait) Open {
	c := w.call
	waited := phrase.Brief(w.length())
	switch {
	case c.cancelled.seq != 0:
		return j.givenUp(w)
	case w.until.by == "recorder" && w.until.text == BrokeOff:
		return j.notStuck(w, NotRecorded, "%s was open when %s: how long it waited is not recorded", c.whose(), BrokeOff)
	case w.until.seq != 0 && w.until.seq < c.seq:
		return j.notStuck(w, Left, "%s was asked for when the session was over: %s before (#%d)", c.whose(), w.until.text, w.until.seq)
	case w.until.seq != 0 && j.now.at == 0 && j.header.Start.IsZero() && j.header.Transport != "memory": // as of a foreign file
		return j.notStuck(w, NotRecorded, "%s was open when %s (#%d): the recording has no times", c.whose(), w.until.text, w.until.seq)
	case w.until.seq != 0:
		open := j.notStuck(w, Left, "%s was open for %v when %s (#%d)", c.whose(), waited, w.until.text, w.until.seq)
		took := j.took[side(c.Dir.Reverse())]
		switch {
		case took.seq > max(c.seq, c.progress.seq) && took.seq < w.until.seq:
			open.Text += fmt.Sprintf(", %v after the %s had taken what was sent (#%d)", phrase.Brief(w.until.at-took.at), c.Dir.Sender(), took.seq)
		case c.progress.seq != 0 && c.progress.seq < w.until.seq:
			open.Text += fmt.Sprintf(", %v after its latest progress (#%d)", phrase.Brief(w.until.at-c.progress.at), c.progress.seq)
		}
		return open
	}
	if sign := c.sign(); w.length() >= j.after && sign.seq > c.seq {
		return j.notStuck(w, Works, "%s has been open for %v, and the %s spoke of it %v ago (#%d)", c.whose(), waited, c.Dir.Receiver(), phrase.Brief(w.until.at-sign.at), sign.seq)
	}
	return j.notStuck(w, Recent, "%s has been open for %v", c.whose(), waited)
}

// whose names a call, and its sender where that is the server.
func (c *call) whose() string {
	if c.Dir == s2c {
		return "the server's " + c.name()
	}
	return c.name()
}

// givenUp says that a call was cancelled, and what its receiver had done.
func (j *judge) givenUp(w *wait) Open {
	c := w.call
	text := fmt.Sprintf("%s was given up after %v (#%d)", c.whose(), phrase.Brief(w.length()), c.cancelled.seq)
	if reason := c.cancelReason(); reason != "" {
		text += ": " + reason
	}
	if c.undone.seq > c.cancelled.seq {
		text += fmt.Sprintf("; HTTP refused the cancellation with the status %d (#%d)", c.undoneBy, c.undone.seq)
	}
	other := c.Dir.Receiver()
	culprit := other
	switch last := c.heard; {
	case last.seq > c.seq:
		text += fmt.Sprintf("; the %s had sent #%d last, %v before", other, last.seq, phrase.Brief(c.cancelled.at-last.at))
	default:
		text += fmt.Sprintf("; the %s had said nothing since", other)
	}
	if w.asks != nil {
		text += fmt.Sprintf(", and waited itself for the %s to answer %s", c.Dir.Sender(), w.asks.name())
		culprit = c.Dir.Sender()
	}
	if c.late.seq != 0 {
		text += fmt.Sprintf("; its answer came %v later (#%d)", phrase.Brief(c.late.at-c.cancelled.at), c.late.seq)
	}
	if lacks := j.answerLacksNewline(c); lacks.seq != 0 {
		text += fmt.Sprintf("; its answer (#%d) has no newline", lacks.seq)
	}
	if j.asked.seq > c.cancelled.seq && c.Dir == c2s {
		text += "; the session went on"
	}
	open := j.notStuck(w, GivenUp, "%s", text)
	open.Culprit = culprit
	open.TimedOut = c.timedOut()
	return open
}

// timedOut reports whether the reason of the cancellation is a timeout.
func (c *call) timedOut() bool {
	return c.Method != mcp.MethodListen && timeoutWords().MatchString(c.reason)
}

// timeoutWords matches the words in which peers report a timeout: "McpError: MCP error -32001:
// Request timed out" (TypeScript), "context deadline exceeded" (Go), "Timed out while
// waiting for response" (Python), "Did not observe any item or terminal signal within
// 20000ms" (Java), "TimeoutError: …" (a browser). The noun alone proves little, because a
// person may mention a timeout too: the noun counts at the beginning, or behind a word for a
// cause, if only a timeout's verb follows.
var timeoutWords = phrase.Regexp(`(?i)\btime[ds][ -]?out\b|\bdeadline (was |has |had )?(been )?(exceeded|expired|passed)\b|did not observe any item` +
	`|timeout(error|exception|expired)\b|\betimedout\b|(^|error |code |[:(] ?)-32001\b` +
	`|(^|[:(] ?|\b(due to|because of|on|by|hit) )(an? |the )?(` + whatWaits + ` ){0,3}time[ -]?out([^\w ]|$| (` + whatHappened + `|after|of|error)\b)` +
	`|\btime[ -]?out (of \w+ )?((was|has|had|is) )?(been )?(` + whatHappened + `)\b`)

const (
	whatWaits    = `(mcp|client|server|request|response|tool|call|operation|read|socket|connection|session|idle)`
	whatHappened = `(exceeded|expired|reached|elapsed|occurred|waiting|while)`
)

// errorPrefix matches the prefix of an SDK before the words of an error.
var errorPrefix = phrase.Regexp(`^(\w*Error: )?(MCP error -?\d+: )?`)

// cancelReason returns the reason of a cancellation for a sentence.
func (c *call) cancelReason() string {
	return clip(strings.TrimSpace(errorPrefix().ReplaceAllString(c.reason, "")))
}

// silentSince says that the client is silent behind an answer, as one that is idle is.
func (j *judge) silentSince() Open {
	b := j.stalledAnswer
	return Open{Why: Idle, Text: fmt.Sprintf("the client said nothing after the answer to %s (#%d), which stood behind %s: an idle client looks the same; if it hangs, mcprec replay --client notification-queue=0 shows how",
		labelOf(b.call.Call), b.seq, phrase.Plural(b.notices, "notification"))}
}

// personAsked says that a person has a request of the server.
func personAsked(c *call, until ending) string {
	if until.seq != 0 {
		return fmt.Sprintf("a person was being asked for %v: %s", phrase.Brief(until.at-c.at), c.name())
	}
	return fmt.Sprintf("a person has been asked for %v: %s", phrase.Brief(until.at-c.at), c.name())
}

// personWanted says that a person has the input that a result asks for.
func (j *judge) personWanted(w *wait) Open {
	return j.notStuck(w, AsksPerson, "a person is asked for input (%s) by the answer to %s, since %v", listOf(w.input.wanted), w.call.name(), phrase.Brief(w.length()))
}

// Waited returns how long a call without an answer waited, and the event that ended the wait: 0 where it
// goes on or the log ends. ok is false for any other call.
func (r Report) Waited(call *timeline.Call) (waited time.Duration, until uint64, ok bool) {
	w := r.waited[call]
	if w == nil {
		return 0, 0, false
	}
	return w.length(), w.until.seq, true
}
