package picture

import (
	"encoding/json"
	"fmt"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/transport"
)

// RunSteps is the greatest number of steps in a [Run].
const RunSteps = 3000

// Run is a closed replay as it is drawn: the verdict, and the steps up to its end. The JSON
// form is stable; lists and Frames are never null.
type Run struct {
	Verdict closed.Verdict `json:"verdict"`
	// Words is the verdict in a few words, such as HANG (proved) blocked behind a notification.
	Words string `json:"words"`
	// Tone is that of the exit code of mcprec replay: [TonePass] or [ToneFail].
	Tone string `json:"tone"`
	// Says is the verdict in sentences.
	Says string `json:"says"`
	// Means says of each side, client and server, how its model works.
	Means map[string]string `json:"means"`
	// Steps are the last RunSteps steps; Total counts all.
	Steps []RunStep `json:"steps"`
	Total int       `json:"total"`
	// Told says in a sentence what happens on each line of Steps, by Tick - 1: see [Run.Name].
	Told []string `json:"told"`
	// Frames describes the frames in Steps and Held by name, such as c2s.1.
	Frames map[string]Frame `json:"messages"`
	// Held are the frames that were not read at the end of a hang.
	Held []Held `json:"held"`
	// Parts says who waits, for each wait of Verdict.
	Parts []Part `json:"parts"`
	// Error says why there is no run; "" if there is one.
	Error string `json:"error,omitempty"`
}

// RunStep is a step of a replay, with the state after the step.
type RunStep struct {
	Op    string     `json:"op"` // offer, take, ack or give
	Dir   string     `json:"dir"`
	N     int        `json:"n"` // the frame's number in its direction, from 1
	Queue Queue      `json:"queue"`
	Inner *InnerPair `json:"inner,omitempty"` // nil if no end has an inbox model
	// Tick is the line on which the step is drawn, from 1 at the first of Steps. An offer has
	// the line of its take if the writer did not wait, otherwise the line from which on it
	// waits. The give has the line of the take if the frame never stood in a queue.
	Tick int `json:"tick"`
}

// Queue counts the frames in the transport.
type Queue struct {
	C2S int `json:"c2s"`
	S2C int `json:"s2c"`
}

// InnerPair has the inner queues of both ends; nil for an end without an inbox model.
type InnerPair struct {
	Client *Inner `json:"client,omitempty"`
	Server *Inner `json:"server,omitempty"`
}

// Inner is the state of an inbox's queue of notifications.
type Inner struct {
	Size int `json:"size"` // notifications
	Room int `json:"room"`
	// Stuck: the reader holds a notification for which the queue has no room.
	Stuck bool `json:"stuck"`
}

// Frame describes a frame in a few words.
type Frame struct {
	Seq   uint64 `json:"seq"`
	Label string `json:"label"`
	Kind  string `json:"kind"` // as of a row
	Dir   string `json:"dir"`
	Tone  string `json:"tone"` // as of a row
}

// Held is a frame that stands somewhere at the end of a hang.
type Held struct {
	Dir string `json:"dir"`
	N   int    `json:"n"`
	// By is writer or reader for a frame in the hand of that part, or queue for one in the
	// transport.
	By   string `json:"by"`
	Text string `json:"text"`
}

// Part says who waits in a wait of a verdict.
type Part struct {
	End   string `json:"end"`  // client or server; of an awaited answer, the end that owes it
	Role  string `json:"role"` // writer, reader, thread, queue, call or answer
	Cycle bool   `json:"cycle"`
	Seq   uint64 `json:"seq"` // the event of the message that the part holds, or that the wait is about; 0: none
}

// NewRun plays a recording. frame describes the frame of an event. Where it knows only the Seq,
// [Run.Name] has the rest.
func NewRun(recording *closed.Recording, setup closed.Setup, frame func(seq uint64) Frame) Run {
	verdict := closed.Replay(recording, setup).Judged()
	run := Run{
		Verdict: verdict, Words: verdict.Words(), Tone: ToneFail, Frames: map[string]Frame{}, Held: []Held{}, Parts: []Part{},
		Means: map[string]string{"client": setup.Client.Means(), "server": setup.Server.Means()},
	}
	switch verdict.Verdict {
	case closed.Hang:
		run.Says = verdict.Summary
	case closed.Pass:
		run.Tone = TonePass
		run.Says = "Both sides come to the end of the session."
	case closed.Open:
		run.Says = "Both sides come to the end of the session, and a request has no answer there: the transport is not the reason, with sides of these models."
	default:
		run.Says = verdict.Explanation
	}
	kept := keptSteps{}
	closed.Steps(recording, setup, kept.add)
	steps := offersBeforeTakes(kept.last())
	run.Total = kept.total
	run.Steps = make([]RunStep, len(steps))
	ticks := ticksOf(steps)
	for i, step := range steps {
		run.Steps[i] = RunStep{
			Op: step.Kind.String(), Dir: step.Dir.String(), N: step.N, Queue: Queue{C2S: step.C2S, S2C: step.S2C},
			Inner: innerPair(setup, step), Tick: ticks[i],
		}
	}
	for i, w := range verdict.Waits {
		part := Part{End: w.End, Role: w.Role, Cycle: i < len(verdict.Cycle), Seq: w.Seq}
		if w.N > 0 {
			part.Seq = recording.Seq(w.Dir, w.N)
		}
		run.Parts = append(run.Parts, part)
	}
	for i, w := range verdict.Waits { // what is behind a full queue is in the hand of its reader
		for k, other := range verdict.Waits {
			if run.Parts[i].Seq == 0 && other.End == w.End && other.N > 0 {
				run.Parts[i].Seq = run.Parts[k].Seq
			}
		}
	}
	if verdict.Verdict == closed.Hang {
		run.Held = heldOf(verdict, steps)
	}
	describe := func(dir string, n int) {
		key := fmt.Sprintf("%s.%d", dir, n)
		if _, ok := run.Frames[key]; ok {
			return
		}
		direction := transport.ClientToServer
		if dir == transport.ServerToClient.String() {
			direction = transport.ServerToClient
		}
		run.Frames[key] = frame(recording.Seq(direction, n))
	}
	for _, step := range run.Steps {
		describe(step.Dir, step.N)
	}
	for _, held := range run.Held {
		describe(held.Dir, held.N)
	}
	run.tell()
	return run
}

// Name describes the frames anew, and what happens on each line in these words.
func (r *Run) Name(frames map[string]Frame) {
	r.Frames = frames
	r.tell()
}

// MarshalJSON writes the run; a run without a replay has only the error.
func (r Run) MarshalJSON() ([]byte, error) {
	if r.Error != "" {
		return json.Marshal(map[string]string{"error": r.Error})
	}
	type plain Run
	return json.Marshal(plain(r))
}

// keptSteps keeps the last [RunSteps] steps, and up to as many before.
type keptSteps struct {
	steps []closed.Step
	total int
}

func (k *keptSteps) add(step closed.Step) {
	k.total++
	if len(k.steps) == 2*RunSteps {
		k.steps = append(k.steps[:0], k.steps[RunSteps:]...)
	}
	k.steps = append(k.steps, step)
}

func (k *keptSteps) last() []closed.Step { return k.steps[max(0, len(k.steps)-RunSteps):] }

func innerPair(setup closed.Setup, step closed.Step) *InnerPair {
	of := func(model closed.Model, queue closed.InnerQueue) *Inner {
		if _, ok := model.Queue(); !ok {
			return nil
		}
		return &Inner{Size: queue.Size, Room: queue.Room, Stuck: queue.Stuck}
	}
	pair := InnerPair{Client: of(setup.Client, step.Client), Server: of(setup.Server, step.Server)}
	if pair.Client == nil && pair.Server == nil {
		return nil
	}
	return &pair
}

// offersBeforeTakes moves each offer whose writer did not wait to the take of its frame, so
// that the lines of the steps rise. That is another possible order of the same steps.
func offersBeforeTakes(steps []closed.Step) []closed.Step {
	offers := map[transport.Direction]int{} // the offer of the frame in the writer's hand
	for i, step := range steps {
		switch step.Kind {
		case transport.Offer:
			offers[step.Dir] = i
		case transport.Take:
			at, ok := offers[step.Dir]
			delete(offers, step.Dir)
			if !ok || steps[at].Round != step.Round || at == i-1 {
				continue
			}
			moved := steps[i-1] // with the state before the take
			moved.Kind = transport.Offer
			moved.Dir = step.Dir
			moved.N = step.N
			copy(steps[at:], steps[at+1:i])
			steps[i-1] = moved
			if other, ok := offers[step.Dir.Reverse()]; ok && other > at {
				offers[step.Dir.Reverse()]--
			}
		}
	}
	return steps
}

// ticksOf returns the line of each step (see [RunStep]).
func ticksOf(steps []closed.Step) []int {
	ticks := make([]int, len(steps))
	offers := map[transport.Direction]int{} // the offer of the frame in the writer's hand
	var taken closed.Step                   // the last frame that moved
	tick := 0
	for i, step := range steps {
		switch step.Kind {
		case transport.Offer:
			ticks[i] = tick + 1
			offers[step.Dir] = i
			continue
		case transport.Take:
			tick++
			if offer, ok := offers[step.Dir]; ok && steps[offer].Round == step.Round {
				ticks[offer] = tick
			}
			delete(offers, step.Dir)
		case transport.Give:
			if taken.Kind != transport.Take || taken.Dir != step.Dir || taken.N != step.N {
				tick++
			}
		}
		if step.Kind != transport.Ack {
			taken = step
		}
		ticks[i] = tick
	}
	c2s, client := offers[transport.ClientToServer]
	s2c, server := offers[transport.ServerToClient]
	if client && server && ticks[c2s] == ticks[s2c] { // each frame in hand has a line of its own
		ticks[max(c2s, s2c)]++
	}
	return ticks
}

// heldOf returns the frames in the hands of the blocked parts, and the frames in the
// transport that were taken in the steps.
func heldOf(verdict closed.Verdict, steps []closed.Step) []Held {
	list := []Held{}
	for _, w := range verdict.Waits {
		if w.N == 0 {
			continue
		}
		by := "writer"
		if w.Dir.Receiver() == w.End {
			by = "reader"
		}
		list = append(list, Held{Dir: w.Dir.String(), N: w.N, By: by, Text: w.Why})
	}
	read := map[transport.Direction]int{transport.ClientToServer: verdict.Frames.C2S.Read, transport.ServerToClient: verdict.Frames.S2C.Read}
	for _, step := range steps {
		if step.Kind == transport.Take && step.N > read[step.Dir] {
			list = append(list, Held{Dir: step.Dir.String(), N: step.N, By: "queue", Text: fmt.Sprintf("queued in %v, not read", step.Dir)})
		}
	}
	return list
}

// Apart returns the index in the steps of each run at which two runs part: the first step
// that one does and the other does not, or the number of steps if the runs are alike. Where
// a Run does not keep all steps, only the steps that both kept are compared.
func Apart(a, b Run) (inA, inB int) {
	firstA := a.Total - len(a.Steps)
	firstB := b.Total - len(b.Steps)
	at := max(firstA, firstB)
	for at < a.Total && at < b.Total && a.Steps[at-firstA].same(b.Steps[at-firstB]) {
		at++
	}
	return min(at-firstA, len(a.Steps)), min(at-firstB, len(b.Steps))
}

// same reports whether two steps are the same movement of the same frame.
func (s RunStep) same(other RunStep) bool {
	return s.Op == other.Op && s.Dir == other.Dir && s.N == other.N
}
