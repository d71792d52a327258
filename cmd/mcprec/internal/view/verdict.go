package view

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// whyAnswer is the answer to /api/why.
type whyAnswer struct {
	Stuck    bool          `json:"stuck"`
	Now      time.Duration `json:"now"`
	Heading  string        `json:"heading"` // over the findings
	Text     []string      `json:"text"`    // as mcprec why prints it
	Findings []why.Finding `json:"findings"`
	Verdict  verdict       `json:"verdict"`
}

// verdict is how the session stands, in one line: the bar of the page.
type verdict struct {
	Tone  string `json:"tone"`  // pass, fail, wait, note or reading
	Word  string `json:"word"`  // Hung, Fine, …
	Means string `json:"means"` // what Word means
	Text  string `json:"text"`  // the rest of the line
	At    uint64 `json:"at"`    // the event that the page opens at
	Shows string `json:"shows"` // what At is: "the call", …; "": nothing in particular
	About string `json:"about"` // the tool, or the method, that the verdict is about; "": none
}

// The tones of a verdict. Those of a run are pass and fail.
const (
	toneWait    = "wait"    // something is open, and not stuck
	toneNote    = "note"    // the session may lack its end
	toneReading = "reading" // nobody knows yet
)

// meanings say what the words of verdicts mean.
var meanings = map[string]string{
	"Reading":       "the events are being read; a call that is open so far may have its answer among the others",
	"Hung":          "something waited to the end of the session, for longer than it may, and nothing came",
	"Stuck":         "something has waited for longer than it may, and still waits",
	"May be stuck":  "a side is silent where it should go on; one that has nothing to say would look the same",
	"Crashed":       "the server's process failed while a call was open",
	"No answer":     "a call has no answer in the recording",
	"Not started":   "the server's command could not be run",
	"Server failed": "the server's process ended with an error, though no call was open",
	"Cut short":     "the recording has no end: what came later is not known",
	"Open":          "a call waits for its answer, and not for long enough to be stuck",
	"Live":          "the session goes on",
	"Fine":          "nothing hangs, and nothing breaks a rule that a side must keep",
}

// why says what the session waits for, or how it stood when it ended. While the events that are there
// are read it says nothing: an open call may have its answer among the others.
func (x *index) why(ctx context.Context) (answer whyAnswer, err error) {
	x.mu.Lock()
	isRead := x.isRead
	x.mu.Unlock()
	if !isRead {
		return whyAnswer{
			Text: []string{"the session is being read"}, Findings: []why.Finding{},
			Verdict: verdict{Tone: toneReading, Word: "Reading", Means: meanings["Reading"], Text: "the session is being read"},
		}, nil
	}
	live := why.Live{Mask: x.source.masker.Of(x.source.header).Text}
	isLive := x.now() > 0
	if isLive {
		live, err = report.Live(ctx, x.source.session, x.source.header)
		if err != nil {
			return answer, err
		}
	}
	_, state, err := x.source.head(ctx)
	if err != nil {
		return answer, err
	}
	x.mu.Lock()
	waits := x.check.Waits(live, 0)
	told := report.HangsOf(x.source.session, x.source.header, waits, isLive)
	judged := x.verdict(told, state)
	judged.Means = cmp.Or(meanings[judged.Word], "mcprec check has found what breaks a rule of the protocol")
	x.mu.Unlock()
	judged.About, err = x.aboutOf(ctx, judged)
	var text bytes.Buffer
	_ = told.Text(&text) // a buffer takes everything
	return whyAnswer{
		Stuck: told.Stuck(), Now: told.Now, Heading: headingOf(judged, told.Stuck(), isLive), Text: strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"),
		Findings: append([]why.Finding{}, told.Findings...), Verdict: judged,
	}, err
}

// verdict words how a session stands: what hangs, else what was cut short, else the gravest finding, else
// what has no answer. The caller has the lock.
func (x *index) verdict(told report.Hangs, state store.State) verdict {
	isLive := state == store.Live
	switch finding, isFound := x.gravest(); {
	case told.Stuck():
		return x.verdictOn(told, isLive)
	case !isLive && state != store.Ended:
		return verdict{Tone: toneNote, Word: "Cut short", At: x.drawn.Len(), Shows: "the last event",
			Text: fmt.Sprintf("the recording stops at #%d, because its recorder died or it was cut: it may lack its last messages", x.drawn.Len())}
	case x.exit.Signal == "" && x.exit.Code != 0 && !x.exit.AskedToEnd(): // a signal ends a server that nobody waits for
		return verdict{Tone: picture.ToneFail, Word: "Server failed", At: x.exited, Shows: "the event",
			Text: fmt.Sprintf("it ended %s; every call of the client has its end", endOf(x.exit))}
	case isFound && finding.Severity == order.Error:
		return verdict{Tone: picture.ToneFail, Word: phrase.Plural(x.found, "finding"), Text: finding.Text, At: finding.Events[0], Shows: "the event"}
	}
	calls := phrase.Plural(x.drawn.CallCount(), "call")
	for _, open := range told.Open {
		if open.Call == 0 || open.Why == why.Lasts {
			continue
		}
		word := "No answer"
		if isLive && open.Why != why.GivenUp && open.Why != why.Left {
			word = "Open"
		}
		return verdict{Tone: toneWait, Word: word, Text: open.Text, At: open.Call, Shows: "the call"}
	}
	v := verdict{Tone: picture.TonePass, Word: "Fine", Text: calls + ", none left open", At: x.first}
	if isLive {
		v.Word, v.Text, v.At = "Live", calls+"; nothing is stuck", 0
	}
	if finding, isFound := x.gravest(); isFound {
		v.Text += "; " + phrase.Plural(x.found, "finding")
		v.At, v.Shows = finding.Events[0], "the event"
	}
	return v
}

// verdictOn words the oldest hang.
func (x *index) verdictOn(told report.Hangs, isLive bool) verdict {
	f := told.Findings[0]
	v := verdict{Tone: picture.ToneFail, Word: "Hung", Text: f.Lead(), Shows: "the call"}
	switch {
	case f.Shape == why.NotStarted:
		v.Word = "Not started"
	case f.Shape == why.ServerEnded && (x.exit.Signal != "" || x.exit.Code != 0):
		v.Word = "Crashed"
		said := f.Said() // the error first: the bar may have no room for the rest
		if said != "" {
			said = ": " + said
		}
		v.Text = fmt.Sprintf("The server ended %s before it answered%s. %s", endOf(x.exit), said, f.Lead())
	case f.Shape == why.ServerEnded:
		v.Word = "No answer"
	case told.Verdict() == "may be stuck":
		v.Word = "May be stuck"
	case isLive:
		v.Word = "Stuck"
	}
	if others := len(told.Findings) - 1; others > 0 {
		v.Text += fmt.Sprintf(" And %s.", phrase.Plural(others, "other hang"))
	}
	if len(f.Calls) > 0 {
		v.At = f.Calls[0]
		return v
	}
	for _, e := range f.Evidence {
		v.At = cmp.Or(v.At, e.Seq)
	}
	if x.drawn.Request(v.At) != v.At {
		v.Shows = "the event"
	}
	return v
}

// headingOf returns the heading over what waited.
func headingOf(v verdict, isStuck, isLive bool) string {
	switch {
	case !isStuck:
		return "What it waited for"
	case v.Word == "Crashed" || v.Word == "Not started" || v.Word == "No answer":
		return "What happened"
	case v.Word == "May be stuck" && !isLive:
		return "Who may have been stuck"
	case v.Word == "May be stuck":
		return "Who may be stuck"
	case isLive:
		return "Who is stuck"
	}
	return "Who was stuck"
}

// gravest returns the first of the gravest findings with an event.
func (x *index) gravest() (worst check.Finding, isFound bool) {
	for _, f := range x.findings {
		if len(f.Events) > 0 && (!isFound || f.Severity > worst.Severity) {
			worst, isFound = f, true
		}
	}
	return worst, isFound
}

// endOf says how the server's process ended.
func endOf(exit store.ExitInfo) string {
	if exit.Signal != "" {
		return "by the signal " + phrase.Clip(exit.Signal, phrase.NameLimit)
	}
	return fmt.Sprintf("with exit status %d", exit.Code)
}

// aboutOf names the tool, or else the method, of the request that a verdict shows.
func (x *index) aboutOf(ctx context.Context, v verdict) (string, error) {
	if v.Tone == picture.TonePass || v.At == 0 {
		return "", nil
	}
	for e, err := range x.source.read(ctx, v.At) {
		if err != nil {
			return "", err
		}
		var parsed session.Parsed
		parsed.Parse(&e)
		for _, m := range parsed.Messages {
			if m.Method != "" {
				return phrase.Name(cmp.Or(timeline.TargetOf(m), m.Method)), nil
			}
		}
		break
	}
	return "", nil
}

// judge puts what hung in the recorded session before a run of models that passes, as mcprec replay does.
func (a whyAnswer) judge(run *picture.Run) {
	if !a.Stuck || run.Verdict.Verdict == closed.Hang {
		return
	}
	run.Tone = picture.ToneFail
	run.Words = "HUNG: the recorded session; " + run.Words + " under these models"
	run.Says = "The recorded session hung: " + a.Findings[0].Text
}
