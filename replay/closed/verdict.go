package closed

import (
	"context"
	"slices"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/transport"
)

// The words of a closed replay's verdict.
const (
	Pass = "pass"
	Hang = "hang"
	// Open is the verdict of [Verdict.Judged] on a recording that passes: a request of the
	// client has no answer, and no recording gap could explain it.
	Open = "unanswered"
	// Nothing is the verdict of [Verdict.Judged] on a recording that passes, without an
	// answer to any request of the client. The explanation names what came instead.
	Nothing = "nothing"
)

// Verdict is the result of a closed replay. The JSON form is stable; lists are never null.
type Verdict struct {
	Verdict string `json:"verdict"` // Pass, Hang, Open or Nothing
	// Proved: no order of steps of these two models could go on.
	Proved      bool   `json:"proved"`
	Category    string `json:"category"` // of a hang; else ""
	Explanation string `json:"explanation"`
	// Summary says of a hang which sides hang, why, and what mends it, and whether the recorded
	// sides hung.
	Summary  string   `json:"summary"`
	Capacity Capacity `json:"buffer"`
	Models   Models   `json:"models"`
	Frames   Played   `json:"messages"`
	// Waits are the blocked parts: first the cycle in its order, then others.
	Waits []Wait `json:"waits"`
	// Cycle names the parts that wait for each other; the last waits for the first.
	Cycle []string `json:"cycle"`
	// Assumptions are facts that a model assumed and the recording leaves open.
	Assumptions []string `json:"assumptions"`
	// Changes are setups with another verdict; each was tried.
	Changes []string `json:"changes"`
	// Sequence shows the last frames up to the hang.
	Sequence   []string     `json:"sequence"`
	Unanswered []Unanswered `json:"unanswered"`
	Warnings   []string     `json:"warnings"`

	whyNothing string // why nothing can be replayed; "" otherwise
}

// Models are the endpoint models of a replay.
type Models struct {
	Client Model `json:"client"`
	Server Model `json:"server"`
}

// Flags returns the flags of the command mcprec that name the models, without those of independent
// ends.
func (m Models) Flags() []string {
	var list []string
	if m.Client != Independent {
		list = append(list, "--client", m.Client.String())
	}
	if m.Server != Independent {
		list = append(list, "--server", m.Server.String())
	}
	return list
}

// Played counts frames by direction.
type Played struct {
	C2S Way `json:"c2s"`
	S2C Way `json:"s2c"`
}

// Way counts the frames of one direction.
type Way struct {
	Recorded int `json:"recorded"`
	Taken    int `json:"taken"` // left their writer's hand
	Read     int `json:"read"`
}

// Unanswered is a request without a response in the recording. A subscription, which needs
// no response while it lasts, does not count, nor does a request that an HTTP status refused.
type Unanswered struct {
	Seq       uint64 `json:"seq"`
	Call      string `json:"call"`
	Owes      string `json:"owes"`                // the end that should answer
	Waited    string `json:"waited"`              // a Go duration, to the end, the cancellation, or now (GoesOn)
	Cancelled uint64 `json:"cancelled,omitempty"` // the event of the cancellation
	Reason    string `json:"reason,omitempty"`    // of the cancellation
	// Lost is the event behind the request that says that messages of the end that owes the
	// answer are missing: the answer may be one of them. 0: none is missing.
	Lost uint64 `json:"lost,omitempty"`
}

// Judged returns the verdict on the recorded session itself: if the models pass, [Open] for a
// request of the client that was neither answered nor cancelled, or else [Nothing] if no
// request of the client was answered. A request whose answer may be lost is not open.
func (v Verdict) Judged() Verdict {
	switch {
	case v.Verdict != Pass:
	case len(v.open()) > 0:
		v.Verdict = Open
	case v.whyNothing != "":
		v.Verdict = Nothing
		v.Explanation = v.whyNothing
	}
	return v
}

// open returns the requests without a response that were not cancelled, and whose response is
// not among messages that the recording lacks; nil if only the
// server has such requests, as at the end of many a healthy session.
func (v Verdict) open() []Unanswered {
	list := slices.DeleteFunc(slices.Clone(v.Unanswered), func(u Unanswered) bool { return u.Cancelled != 0 || u.Lost != 0 })
	if !slices.ContainsFunc(list, func(u Unanswered) bool { return u.Owes == transport.ServerToClient.Sender() }) {
		return nil
	}
	return list
}

// Replay plays both ends of a recording against each other. The verdict is exact for the
// recording and the setup.
func Replay(recording *Recording, setup Setup) Verdict {
	v, _ := ReplayContext(context.Background(), recording, setup) // it never ends
	return v
}

// ReplayContext is Replay until a context ends. Then there is no verdict, and the error is the context's.
func ReplayContext(ctx context.Context, recording *Recording, setup Setup) (Verdict, error) {
	flag := interrupt.On(ctx)
	p := play(recording, scriptsOf(recording, setup, flag), setup.Capacity, flag)
	if err := flag.Err(); err != nil {
		return Verdict{}, err
	}
	v := Verdict{
		Verdict: Pass, Capacity: setup.Capacity, Models: Models{setup.Client, setup.Server},
		Frames:     Played{C2S: p.way(transport.ClientToServer), S2C: p.way(transport.ServerToClient)},
		Unanswered: recording.unanswered(), Warnings: recording.Warnings(), whyNothing: recording.WhyNothing(),
		Waits: []Wait{}, Cycle: []string{}, Assumptions: []string{}, Changes: []string{}, Sequence: []string{},
	}
	if p.done() {
		return v, nil
	}
	v.Verdict = Hang
	v.Proved = true
	others := changes{recording, setup, flag}
	blockedState{p}.describe(&v, others.remedy(p))
	v.Changes = others.all(p)
	if err := flag.Err(); err != nil {
		return Verdict{}, err
	}
	return v, nil
}

func (p *closedRun) way(dir transport.Direction) Way {
	return Way{
		Recorded: p.recording.Frames(dir),
		Taken:    int(p.ends[dir].acked), Read: int(p.ends[dir.Reverse()].given),
	}
}

// describe writes the description of a hang into a verdict, with what mends it.
func (s blockedState) describe(verdict *Verdict, remedy string) {
	k := s.waitGraph()
	verdict.Category = s.category(k)
	for _, n := range k.nodes {
		w, _, _ := s.wait(n)
		verdict.Waits = append(verdict.Waits, w)
		if k.closed {
			verdict.Cycle = append(verdict.Cycle, w.Who)
		}
	}
	for _, n := range k.others {
		w, _, _ := s.wait(n)
		verdict.Waits = append(verdict.Waits, w)
	}
	why := s.explain(k)
	verdict.Explanation = verdict.Category + ": " + why
	verdict.Summary = s.summary(why, remedy)
	if verdict.Category == BothWrite { // only these come from the order of a single-threaded end
		verdict.Assumptions = append(verdict.Assumptions, s.assumptions()...)
	}
	verdict.Assumptions = append(verdict.Assumptions, s.workAssumptions(k)...)
	verdict.Sequence = s.sequence()
}

// Outcome is the result of a closed replay in short, for programs that play many cuts of a
// session and compare the bugs.
type Outcome struct {
	Verdict  string // Pass or Hang
	Category string // of a hang; else ""
	// Shape names the roles that wait for each other and the kinds of message in hand,
	// without numbers, names or capacities.
	Shape string
	// C2S and S2C are the numbers of offered frames.
	C2S, S2C int
	// Involved are the Seqs of the frames that take part in the hang.
	Involved []uint64
}

// Judge plays as [Replay] does and returns only the outcome. Replay also searches for
// changes, which takes many runs.
func Judge(recording *Recording, setup Setup) Outcome {
	p := play(recording, scriptsOf(recording, setup, nil), setup.Capacity, nil)
	o := Outcome{
		Verdict: Pass,
		C2S:     int(p.ends[transport.ClientToServer].offered), S2C: int(p.ends[transport.ServerToClient].offered),
	}
	if p.done() {
		return o
	}
	o.Verdict = Hang
	at := blockedState{p}
	k := at.waitGraph()
	o.Category, o.Shape = at.category(k), at.shape(k)
	for _, n := range k.nodes {
		if f := at.held(n); f >= 0 {
			o.Involved = append(o.Involved, recording.frames[f].seq)
		}
		if w, _, _ := at.wait(n); w.Seq > 0 {
			o.Involved = append(o.Involved, w.Seq)
		}
	}
	slices.Sort(o.Involved)
	o.Involved = slices.Compact(o.Involved)
	return o
}
