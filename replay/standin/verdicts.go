package standin

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// judged is a verdict and its place in the session.
type judged struct {
	match.StepVerdict
	seq   uint64 // of the recorded event that the verdict follows
	fault bool   // the live end asked or answered otherwise than the recorded end; false: it only told otherwise
}

// inOrder returns the verdicts of a session in recorded order, extra messages where they
// came.
func inOrder(list []judged) []match.StepVerdict {
	slices.SortStableFunc(list, func(a, b judged) int { return cmp.Compare(a.seq, b.seq) })
	verdicts := make([]match.StepVerdict, len(list))
	for i, j := range list {
		verdicts[i] = j.StepVerdict
	}
	return verdicts
}

// faults returns the verdicts on which an end asked or answered otherwise.
func faults(list []judged) []match.StepVerdict {
	var verdicts []match.StepVerdict
	for _, j := range list {
		if j.fault {
			verdicts = append(verdicts, j.StepVerdict)
		}
	}
	return verdicts
}

// notSent returns the verdict on an unsent recorded frame.
func notSent(dir transport.Direction, seq uint64, what, text string) judged {
	return judged{seq: seq, fault: true, StepVerdict: match.StepVerdict{Seq: seq, Dir: dir, What: what, Result: match.NotSent, Text: text}}
}

// compared fills in how the live message of a step compares with the recorded one.
func (j *judged) compared(c match.Comparison, order string) {
	j.Result, j.Differences, j.More, j.Mapped, j.Order = match.Match, c.Differences, c.More, c.Mapped, order
	if c.Same() && order == "" {
		return
	}
	j.Result = match.Mismatch
	var parts []string
	if !c.Same() {
		parts = append(parts, c.Sentence())
	}
	if order != "" {
		parts = append(parts, order)
	}
	j.Text = fmt.Sprintf("#%d, %s, %s", j.Seq, j.What, strings.Join(parts, "; "))
}

// findings are the verdicts on unrecorded messages of a live end.
type findings struct {
	dir     transport.Direction // of the live end's messages
	list    []judged
	reached uint64   // Seq of the latest recorded message that came
	without []string // messages passed over by GiveUpWaiting

	recordedNoise, noise int    // frames of the recorded end and the live one, except for noise that a Player waits for
	firstNoise           string // of the live end
	noiseAfter           uint64 // Seq of the message that had come before it
}

// Findings returns the verdicts so far that cannot change any more: on messages of the live
// end that were not recorded.
func (f *findings) Findings() []match.StepVerdict { return faults(f.list) }

// Without lists the messages passed over by GiveUpWaiting: #3 (tools/list).
func (f *findings) Without() []string { return slices.Clone(f.without) }

// reach notes that a recorded message has come.
func (f *findings) reach(seq uint64) { f.reached = max(f.reached, seq) }

// extra adds an unrecorded message.
func (f *findings) extra(what, text string, fault bool) {
	f.add(match.StepVerdict{What: what, Text: text}, fault)
}

// add is extra for a verdict that names the nearest recorded message.
func (f *findings) add(v match.StepVerdict, fault bool) {
	v.Result, v.Dir = match.Extra, f.dir
	f.list = append(f.list, judged{seq: f.reached, fault: fault, StepVerdict: v})
}

// addNoise adds a frame without a message.
func (f *findings) addNoise(frame transport.Frame) {
	f.noise++
	if f.noise == 1 {
		f.firstNoise, f.noiseAfter = phrase.Name(string(bytes.TrimSpace(frame.Bytes))), f.reached
	}
}

// all returns the verdict on the noise, if the live end said more than the recorded end, and
// then the findings.
func (f *findings) all() []judged {
	if f.noise <= f.recordedNoise {
		return f.list
	}
	noise := judged{seq: f.noiseAfter, fault: true, StepVerdict: match.StepVerdict{
		Result: match.Extra, Dir: f.dir, What: noiseMethod,
		Text: fmt.Sprintf("%s of the %s, no JSON-RPC message each, passed over; the first: %s", phrase.Plural(f.noise, "line"), f.dir.Sender(), f.firstNoise),
	}}
	return append([]judged{noise}, f.list...)
}
