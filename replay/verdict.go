package replay

import (
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// The words of a closed replay's verdict.
const (
	Pass = "pass"
	Hang = "hang"
	// Open is the verdict of [Verdict.Judged] on a recording that passes and has a request
	// of the client that nobody answered.
	Open = "unanswered"
	// Nothing is the verdict of [Verdict.Judged] on a recording that passes and in which no
	// request of the client was answered: its explanation says what came instead.
	Nothing = "nothing"
)

// Verdict is the result of a closed replay. Its JSON form is stable; lists are
// never null.
type Verdict struct {
	Verdict string `json:"verdict"` // Pass, Hang, Open or Nothing
	// Proved: no order of steps of these two models goes on from here.
	Proved      bool     `json:"proved"`
	Category    string   `json:"category"` // of a hang; else ""
	Explanation string   `json:"explanation"`
	Capacity    Capacity `json:"capacity"`
	Models      Models   `json:"models"`
	Frames      Played   `json:"frames"`
	// Waits are the blocked parts: those of the cycle in its order, then others.
	Waits []Wait `json:"waits"`
	// Cycle names the parts that wait for each other; the last for the first.
	Cycle []string `json:"cycle"`
	// Assumptions are what a model took for granted that the recording leaves open.
	Assumptions []string `json:"assumptions"`
	// Changes say what gives another verdict; each was tried.
	Changes []string `json:"changes"`
	// Sequence shows the last frames up to the hang.
	Sequence   []string     `json:"sequence"`
	Unanswered []Unanswered `json:"unanswered"`
	Warnings   []string     `json:"warnings"`

	whyNothing string // why there is nothing to replay; "" where there is
}

// Models are the endpoint models of a replay.
type Models struct {
	Client Model `json:"client"`
	Server Model `json:"server"`
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

// Unanswered is a request that the recording has no response to. A subscription does not
// count, for it needs no response while it lasts, nor does a request that an HTTP status
// has refused.
type Unanswered struct {
	Seq       uint64 `json:"seq"`
	Call      string `json:"call"`
	Owes      string `json:"owes"`                // the end that has not answered
	Waited    string `json:"waited"`              // a Go duration, to the end of the recording or the cancellation
	Cancelled uint64 `json:"cancelled,omitempty"` // the event that cancelled it
	Reason    string `json:"reason,omitempty"`    // that it gives
}

// Judged returns the verdict on how the recorded session went: it is
// [Open] if the models pass and a request of the client was neither answered nor cancelled,
// [Nothing] if they pass and no request of the client was answered otherwise.
func (v Verdict) Judged() Verdict {
	switch {
	case v.Verdict != Pass:
	case len(v.open()) > 0:
		v.Verdict = Open
	case v.whyNothing != "":
		v.Verdict, v.Explanation = Nothing, v.whyNothing
	}
	return v
}

// open returns the requests without a response that were not cancelled. It returns none if
// all of them are the server's: no call of the client waits for those, and many a healthy
// session ends so.
func (v Verdict) open() []Unanswered {
	list := slices.DeleteFunc(slices.Clone(v.Unanswered), func(u Unanswered) bool { return u.Cancelled != 0 })
	if !slices.ContainsFunc(list, func(u Unanswered) bool { return u.Owes == transport.ServerToClient.Sender() }) {
		return nil
	}
	return list
}

// Closed plays both ends of a recording against each other under the setup. The
// verdict is exact for the recording and the two models.
func Closed(r *Recording, s Setup) Verdict {
	p := play(r, scriptsOf(r, s), s.Capacity)
	v := Verdict{
		Verdict: Pass, Capacity: s.Capacity, Models: Models{s.Client, s.Server},
		Frames:     Played{C2S: p.way(transport.ClientToServer), S2C: p.way(transport.ServerToClient)},
		Unanswered: r.unanswered(), Warnings: r.Warnings(), whyNothing: r.whyNothing(),
		Waits: []Wait{}, Cycle: []string{}, Assumptions: []string{}, Changes: []string{}, Sequence: []string{},
	}
	if p.done() {
		return v
	}
	v.Verdict, v.Proved = Hang, true
	blockedState{p}.describe(&v)
	v.Changes = changes{r, s}.all(p)
	return v
}

func (p *closedRun) way(dir transport.Direction) Way {
	return Way{
		Recorded: p.recording.Frames(dir),
		Taken:    int(p.ends[dir].acked), Read: int(p.ends[dir.Reverse()].given),
	}
}

// describe fills in what a hang looks like.
func (s blockedState) describe(v *Verdict) {
	k := s.waitGraph()
	v.Category = k.category()
	for _, n := range k.nodes {
		w, _, _ := s.wait(n)
		v.Waits = append(v.Waits, w)
		if k.closed {
			v.Cycle = append(v.Cycle, w.Who)
		}
	}
	for _, n := range k.others {
		w, _, _ := s.wait(n)
		v.Waits = append(v.Waits, w)
	}
	v.Explanation = s.explain(k)
	if v.Category == HeadOn { // other hangs do not come of an order of rigid ends
		v.Assumptions = append(v.Assumptions, s.assumptions()...)
	}
	v.Assumptions = append(v.Assumptions, s.workAssumptions(k)...)
	v.Sequence = s.sequence()
}

// Outcome is what a closed replay comes to, for programs that play many cuts of
// one session and ask whether it is still the same bug.
type Outcome struct {
	Verdict  string // Pass or Hang
	Category string // of a hang; else ""
	// Shape names the roles that wait for each other and the kinds of message in
	// their hands. It has no number, name or capacity in it.
	Shape string
	// Offered is how many frames of each direction were said at all.
	C2S, S2C int
	// Involved are the Seqs of the frames that the hang is about.
	Involved []uint64
}

// Judge plays as [Closed] does and only tells the outcome. Closed also tries what
// would change the verdict, which takes many plays.
func Judge(r *Recording, s Setup) Outcome {
	p := play(r, scriptsOf(r, s), s.Capacity)
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
	o.Category, o.Shape = k.category(), at.shape(k)
	for _, n := range k.nodes {
		if f := at.held(n); f >= 0 {
			o.Involved = append(o.Involved, r.frames[f].seq)
		}
		if w, _, _ := at.wait(n); w.Seq > 0 {
			o.Involved = append(o.Involved, w.Seq)
		}
	}
	slices.Sort(o.Involved)
	o.Involved = slices.Compact(o.Involved)
	return o
}
