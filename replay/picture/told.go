package picture

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// The tones of a run: those of the exit code of mcprec replay.
const (
	TonePass = "pass" // exit code 0
	ToneFail = "fail" // exit code 1
)

// tell says in a sentence what happens on each line of the steps. It needs the names of the frames.
func (r *Run) tell() {
	r.Told = []string{}
	for i := 0; i < len(r.Steps); {
		end := i + 1
		for end < len(r.Steps) && r.Steps[end].Tick == r.Steps[i].Tick {
			end++
		}
		for len(r.Told) < r.Steps[i].Tick-1 { // the steps may begin behind their first line
			r.Told = append(r.Told, "")
		}
		var said []string
		for _, moved := range movesOf(r.Steps[i:end]) {
			said = append(said, r.say(moved))
		}
		text := strings.Join(said, "; ")
		if text != "" {
			text = strings.ToUpper(text[:1]) + text[1:] + "."
		}
		r.Told = append(r.Told, text)
		i = end
	}
}

// move is what happens to one frame on one line.
type move struct {
	dir                  string
	n                    int
	offered, taken, read bool
	last                 RunStep
}

// movesOf collects the moves of the steps of one line, in their order.
func movesOf(steps []RunStep) (moves []*move) {
	for _, step := range steps {
		var of *move
		for _, m := range moves {
			if m.dir == step.Dir && m.n == step.N {
				of = m
			}
		}
		if of == nil {
			of = &move{dir: step.Dir, n: step.N}
			moves = append(moves, of)
		}
		switch step.Op {
		case "offer":
			of.offered = true
		case "take":
			of.taken = true
		case "give":
			of.read = true
		}
		of.last = step
	}
	return moves
}

// say tells of one frame on one line.
func (r *Run) say(m *move) string {
	from, to := "client", "server"
	waiting := m.last.Queue.C2S
	var inner *Inner
	if m.last.Inner != nil {
		inner = m.last.Inner.Server
	}
	if m.dir == "s2c" {
		from, to = to, from
		waiting = m.last.Queue.S2C
		if m.last.Inner != nil {
			inner = m.last.Inner.Client
		}
	}
	frame := r.Frames[fmt.Sprintf("%s.%d", m.dir, m.n)]
	name := frame.Label
	if frame.Seq > 0 {
		name = fmt.Sprintf("#%d %s", frame.Seq, frame.Label)
	}
	after := ""
	for _, held := range r.Held {
		if m.read && held.By == "reader" && held.Dir == m.dir && held.N == m.n {
			after = ", and " + held.Text
		}
	}
	if m.read && inner != nil && frame.Kind == "notification" {
		switch {
		case inner.Stuck:
			after = fmt.Sprintf(", and waits for room in its notification queue of %d: it reads no more", inner.Room)
		case inner.Size > 0:
			after = fmt.Sprintf(", and puts it into its notification queue (%d of %d)", inner.Size, inner.Room)
		}
	}
	switch {
	case m.taken && m.read:
		return fmt.Sprintf("the %s sends %s; the %s reads it%s", from, name, to, after)
	case m.taken:
		return fmt.Sprintf("the %s sends %s; it stands in the transport, with %s on the way to the %s", from, name, phrase.Plural(waiting, "message"), to)
	case m.read:
		return fmt.Sprintf("the %s reads %s%s", to, name, after)
	case m.offered && waiting > 0:
		return fmt.Sprintf("the %s writes %s, and waits: the transport has no room", from, name)
	case m.offered:
		return fmt.Sprintf("the %s writes %s, and waits until the %s reads", from, name, to)
	}
	return fmt.Sprintf("the write of %s ends", name)
}
