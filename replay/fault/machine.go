package fault

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Machine decides the faults of one session. It is not safe for concurrent use. Times count
// from the session's start, and do not go back.
type Machine struct {
	rules  []Rule
	seed   uint64
	taken  []int // calls that each rule took
	model  *timeline.Model
	seq    uint64
	fates  map[*timeline.Call]*fate
	named  map[string]int // calls and messages so far, by name
	held   []held         // in the order in which they were to be sent
	silent bool           // nothing is sent any more
}

// fate is what happens to the messages of a call, or to one message.
type fate struct {
	rules []*bool // by rule: whether the rule takes it; nil: not asked yet
	name  string
	nth   int
	told  *Rule // the notes have this fault
	cut   bool  // its connection was cut, and is not again
}

// held is a frame that waits.
type held struct {
	frame    transport.Frame
	of       *fate
	due      time.Duration
	until    waiting
	isAnswer bool
}

// waiting is what a held frame waits for.
type waiting int

const (
	untilDue    waiting = iota // its time
	untilNext                  // the next frame, or its time
	untilAnswer                // the answer of its call
)

// StepKind is what a shell is to do.
type StepKind int

// The kinds of a Step.
const (
	Send     StepKind = iota // send the frame
	SendHalf                 // send the first half of the frame, and cut its connection unless Open
	Cut                      // cut the connection that the frame was to go out on
	End                      // end the HTTP response that the frame was to go out on, as if all was said
	Err                      // write so many bytes as Size says to standard error
	Refuse                   // answer the client's frame with the HTTP status in Code
	Note                     // nothing: Text tells the fault that the next step, or none, carries out
)

// Step is one thing that a shell is to do.
type Step struct {
	Kind  StepKind
	Frame transport.Frame
	Open  bool
	Code  int
	Size  int
	Text  string
}

// New returns the Machine of a session.
func New(rules []Rule, seed uint64) *Machine {
	return &Machine{
		rules: rules, seed: seed, taken: make([]int, len(rules)), model: timeline.NewModel(timeline.Remembered),
		fates: map[*timeline.Call]*fate{}, named: map[string]int{},
	}
}

// Unused lists the rules that took nothing.
func (m *Machine) Unused() (unused []Rule) {
	for i, r := range m.rules {
		if m.taken[i] == 0 {
			unused = append(unused, r)
		}
	}
	return unused
}

// Hear takes a frame of the client. If a step refuses it, the server does not get it.
func (m *Machine) Hear(now time.Duration, frame transport.Frame) []Step {
	entry := m.follow(now, transport.ClientToServer, frame)
	f := m.fateOf(entry)
	r := m.decide(f, entry, func(r *Rule) bool { return r.Action == Status })
	if r == nil {
		return nil
	}
	return append(m.tell(f, entry, r, fmt.Sprintf("status %d", r.Code)), Step{Kind: Refuse, Frame: frame, Code: r.Code})
}

// Say takes a frame that the server is to send now, and returns what to do in its place.
func (m *Machine) Say(now time.Duration, frame transport.Frame) (steps []Step) {
	if m.silent {
		return nil
	}
	entry := m.follow(now, transport.ServerToClient, frame)
	f := m.fateOf(entry)
	if f.cut {
		return m.send(frame, f, entry)
	}
	waits := slices.ContainsFunc(m.held, func(h held) bool { return h.until == untilNext })
	r := m.decide(f, entry, func(r *Rule) bool {
		switch r.Action {
		case Status:
			return false
		case LateProgress:
			return isProgress(entry)
		case Reorder:
			return !waits // the next frame goes first, whatever it is
		}
		return true
	})
	isHeld := slices.ContainsFunc(m.held, func(h held) bool { return h.of == f && h.until == untilDue })
	switch {
	case r == nil && isHeld:
		m.hold(held{frame: frame, of: f, due: now, isAnswer: isAnswer(entry)})
		return nil
	case r == nil:
		return m.send(frame, f, entry)
	}
	what := string(r.Action)
	if r.Action == Delay {
		what = fmt.Sprintf("delay %v", r.Wait)
	}
	if r.Silent {
		what += " silent"
	}
	if r.Action == Flood {
		what = fmt.Sprintf("%d bytes to standard error", r.Size)
	}
	steps = m.tell(f, entry, r, what)
	switch r.Action {
	case Delay:
		m.hold(held{frame: frame, of: f, due: now + r.Wait, isAnswer: isAnswer(entry)})
	case Duplicate:
		steps = append(steps, Step{Kind: Send, Frame: frame})
		steps = append(steps, m.send(frame, f, entry)...)
	case Reorder:
		m.hold(held{frame: frame, of: f, due: now + r.Wait, until: untilNext, isAnswer: isAnswer(entry)})
	case LateProgress:
		m.hold(held{frame: frame, of: f, until: untilAnswer})
	case HalfFrame:
		f.cut = true
		m.silent = r.Silent
		steps = append(steps, Step{Kind: SendHalf, Frame: frame, Open: r.Silent})
	case Disconnect:
		f.cut = true
		steps = append(steps, Step{Kind: Cut, Frame: frame})
	case EndStream:
		f.cut = true
		steps = append(steps, Step{Kind: End, Frame: frame})
	case Flood:
		if len(steps) > 0 { // once a call
			steps = append(steps, Step{Kind: Err, Size: r.Size})
		}
		steps = append(steps, m.send(frame, f, entry)...)
	case Silent:
		m.silent = true
	}
	if m.silent {
		m.held = nil
	}
	return steps
}

// send returns the steps for a frame that goes out, and for those that waited for it.
func (m *Machine) send(frame transport.Frame, f *fate, entry *timeline.Entry) []Step {
	steps := []Step{{Kind: Send, Frame: frame}}
	return append(steps, m.release(func(h held) bool {
		return h.until == untilNext || h.until == untilAnswer && h.of == f && isAnswer(entry)
	})...)
}

// hold keeps a frame back, not for less long than the frames of its call before.
func (m *Machine) hold(next held) {
	for _, h := range m.held {
		if h.of == next.of && h.until == untilDue && next.until == untilDue {
			next.due = max(next.due, h.due)
		}
	}
	m.held = append(m.held, next)
}

// release takes the held frames that are free to go, in order.
func (m *Machine) release(free func(held) bool) (steps []Step) {
	var left []held
	for _, h := range m.held {
		if free(h) {
			steps = append(steps, Step{Kind: Send, Frame: h.frame})
			continue
		}
		left = append(left, h)
	}
	m.held = left
	return steps
}

// Next returns the time of the next frame that waits for a time; false if none does.
func (m *Machine) Next() (due time.Duration, waits bool) {
	for _, h := range m.held {
		if h.until != untilAnswer && (!waits || h.due < due) {
			due = h.due
			waits = true
		}
	}
	return due, waits
}

// Due returns the frames whose time has come, the earliest first.
func (m *Machine) Due(now time.Duration) (steps []Step) {
	for {
		next, waits := m.Next()
		if !waits || next > now {
			return steps
		}
		i := slices.IndexFunc(m.held, func(h held) bool { return h.until != untilAnswer && h.due == next })
		h := m.held[i]
		m.held = slices.Delete(m.held, i, i+1)
		steps = append(steps, Step{Kind: Send, Frame: h.frame})
		steps = append(steps, m.release(func(other held) bool {
			return other.until == untilNext || other.until == untilAnswer && other.of == h.of && h.isAnswer
		})...)
	}
}

// End returns the frames that wait for another one: the server has nothing more to say.
func (m *Machine) End() []Step {
	return m.release(func(h held) bool { return h.until != untilDue })
}

// follow makes the entry of a frame.
func (m *Machine) follow(now time.Duration, dir transport.Direction, frame transport.Frame) *timeline.Entry {
	m.seq++
	e := store.Event{Seq: m.seq, At: now, Kind: store.Frame, Dir: dir, Stream: frame.Stream, Payload: frame.Bytes}
	entry := timeline.NewEntry(m.model.Take(e))
	return &entry
}

// fateOf returns the fate of the call that a frame belongs to, or of the frame.
func (m *Machine) fateOf(entry *timeline.Entry) *fate {
	name := "stray output"
	var call *timeline.Call
	for i := range entry.Messages {
		message := &entry.Messages[i]
		call = message.Call
		name = message.Method + " " + message.Target
		if call != nil {
			name = call.Method + " " + call.Target
			break
		}
	}
	if f := m.fates[call]; call != nil && f != nil {
		return f
	}
	f := &fate{name: name, nth: m.named[name], rules: make([]*bool, len(m.rules))}
	m.named[name]++
	if call != nil {
		m.fates[call] = f
	}
	return f
}

// decide returns the first rule that may fall on a frame and takes it; nil if none does.
func (m *Machine) decide(f *fate, entry *timeline.Entry, may func(*Rule) bool) *Rule {
	for i := range m.rules {
		r := &m.rules[i]
		if !may(r) || !r.fits.Selects(entry) {
			continue
		}
		if f.rules[i] == nil {
			takes := m.chance(i, f) < r.Chance && (r.First == 0 || m.taken[i] < r.First)
			f.rules[i] = &takes
			if takes {
				m.taken[i]++
			}
		}
		if *f.rules[i] {
			return r
		}
	}
	return nil
}

// chance returns a number from 0 to 1 for a rule and a call.
func (m *Machine) chance(rule int, f *fate) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q %d", rule, f.name, f.nth)
	return rand.New(rand.NewPCG(m.seed, h.Sum64())).Float64()
}

// tell returns the note of a fault, once for the messages of a call that follow each other.
func (m *Machine) tell(f *fate, entry *timeline.Entry, rule *Rule, what string) []Step {
	if f.told == rule {
		return nil
	}
	f.told = rule
	return []Step{{Kind: Note, Text: fmt.Sprintf("fault: %s: %s, by %q", what, describe(entry), rule.text)}}
}

// describe names a frame by its first message.
func describe(entry *timeline.Entry) string {
	if len(entry.Messages) == 0 {
		return "a line that is no message"
	}
	message := &entry.Messages[0]
	call := ""
	if c := message.Call; c != nil {
		call = c.Method
		if c.Target != "" {
			call += fmt.Sprintf(" %q", c.Target)
		}
		call += fmt.Sprintf(" (id %s)", c.ID)
	}
	switch {
	case message.Kind == transport.Response && call != "":
		return "the answer to " + call
	case message.Kind == transport.Request && call != "":
		return "the request " + call
	case call != "":
		return message.Method + " of " + call
	case message.Method != "":
		return message.Method
	}
	return "an answer to no request"
}

// isAnswer reports whether a frame answers a call.
func isAnswer(entry *timeline.Entry) bool {
	return slices.ContainsFunc(entry.Messages, func(message timeline.EntryMessage) bool { return message.Role == timeline.Answers })
}

// isProgress reports whether a frame reports on a call.
func isProgress(entry *timeline.Entry) bool {
	return slices.ContainsFunc(entry.Messages, func(message timeline.EntryMessage) bool { return message.Role == timeline.Reports })
}
