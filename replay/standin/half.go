package standin

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// half is the common part of a Player and a Driver. It plays the script's frames, and judges
// the messages of the live end.
type half struct {
	*script
	role
	dir       transport.Direction // of the live end's messages
	rules     match.Rules
	variables *match.Variables // made up by the live end
	out       []*ownFrame      // every frame returned; nil: an unrecorded frame
	written   int              // every earlier frame was written or is a client's answer

	findings []judged // verdicts on unrecorded messages
	reached  uint64   // Seq of the latest recorded message that came
	without  []string // messages passed over by GiveUpWaiting

	noise      int    // frames without a message, except for noise awaited by a Player
	firstNoise string // the first of these frames
	noiseAfter uint64 // Seq of the message before
}

// role is the Player or the Driver of a half.
type role interface {
	// release returns the frames ready to go.
	release() []transport.Frame
	// judge returns the verdicts on the recorded messages and frames.
	judge() []judged
}

func newHalf(s *script, dir transport.Direction, rules match.Rules) half {
	variables := match.NewVariables(func(yield func(int, transport.Frame) bool) {
		for _, f := range s.frames {
			if !yield(f.before, f.frame) {
				return
			}
		}
	})
	return half{script: s, dir: dir, rules: rules, variables: variables}
}

// Start returns the frames to send before the live end has said anything.
func (h *half) Start() []transport.Frame { return h.release() }

// Gap returns the recorded time between a frame and its cause. The frame is number n of all
// returned frames, counted from 0. The cause of a client's frame is the frame before; of a
// server's frame, the latest of the earlier recorded messages that have come and frames that
// were sent. Gap is 0 for an unrecorded frame.
func (h *half) Gap(n int) time.Duration {
	if f := h.out[n]; f != nil {
		return f.gap
	}
	return 0
}

// Wrote says that the transport has taken frame n, counted as for Gap, and returns the frames
// to send now. It has an effect only after AllowReorder.
func (h *half) Wrote(n int) []transport.Frame {
	if !h.reorders {
		return nil
	}
	if f := h.out[n]; f != nil {
		f.written = true
	}
	return h.release()
}

// Place returns the place in recorded order of frame n, counted as for Gap, -1 for an
// unrecorded frame, and the first place of a frame not taken yet, apart from a client's
// answers. Place is for use after AllowReorder.
func (h *half) Place(n int) (place, first int) {
	for h.written < len(h.frames) && (h.frames[h.written].written || h.frames[h.written].question != nil) {
		h.written++
	}
	if f := h.out[n]; f != nil {
		return f.index, h.written
	}
	return -1, h.written
}

// Verdicts returns the verdict on each message of the live end, as if the session ended now:
// in recorded order, extra messages where they came.
func (h *half) Verdicts() []match.StepVerdict {
	list := h.all()
	slices.SortStableFunc(list, func(a, b judged) int { return cmp.Compare(a.seq, b.seq) })
	verdicts := make([]match.StepVerdict, len(list))
	for i, j := range list {
		verdicts[i] = j.StepVerdict
	}
	return verdicts
}

// Close returns the verdicts on faults: the live end did not ask or answer as the recorded
// end did, or a live client got no recorded answer. The notifications, the content of a
// client's answers and the order of a server's messages are in Verdicts.
func (h *half) Close() []match.StepVerdict { return faults(h.all()) }

// Findings returns the final ones of the verdicts so far: on unrecorded messages of the live
// end.
func (h *half) Findings() []match.StepVerdict { return faults(h.findings) }

// Without lists the messages passed over by GiveUpWaiting: #3 (tools/list).
func (h *half) Without() []string { return slices.Clone(h.without) }

// arrive lets m stand for the recorded message.
func (h *half) arrive(c *message, m transport.Message, stream uint64) {
	c.arrived, c.live, c.stream = true, &m, stream
	h.reached = max(h.reached, c.seq)
	if m.Kind() != transport.Notification { // a notification may be of another call
		h.variables.Learn(c.msg(), m, c.index)
	}
}

// extra adds the verdict on an unrecorded message.
func (h *half) extra(what, text string, fault bool) {
	h.addExtra(match.StepVerdict{What: what, Text: text}, fault)
}

// addExtra is extra for a verdict with the name of the nearest recorded message.
func (h *half) addExtra(v match.StepVerdict, fault bool) {
	v.Result, v.Dir = match.Extra, h.dir
	h.findings = append(h.findings, judged{seq: h.reached, fault: fault, StepVerdict: v})
}

// addNoise adds a frame without a message.
func (h *half) addNoise(f transport.Frame) {
	h.noise++
	if h.noise == 1 {
		h.firstNoise, h.noiseAfter = phrase.Name(string(bytes.TrimSpace(f.Bytes))), h.reached
	}
}

// all returns the verdicts on the recorded messages, on the noise if the live end said more
// than the recorded end, and on unrecorded messages.
func (h *half) all() []judged {
	list := h.judge()
	if h.noise > h.noises {
		list = append(list, judged{seq: h.noiseAfter, fault: true, StepVerdict: match.StepVerdict{
			Result: match.Extra, Dir: h.dir, What: noiseMethod,
			Text: fmt.Sprintf("%s of the %s, no JSON-RPC message each, passed over; the first: %s", phrase.Plural(h.noise, "line"), h.dir.Sender(), h.firstNoise),
		}})
	}
	return append(list, h.findings...)
}

// judged is a verdict and its place in the session.
type judged struct {
	match.StepVerdict
	seq   uint64 // of the recorded event that the verdict follows
	fault bool   // the live end asked or answered otherwise than the recorded end; false: any other difference
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
