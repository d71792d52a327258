package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

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
	p := r.start(r.scripts(s), s.Capacity)
	o := Outcome{
		Verdict: Pass,
		C2S:     int(p.ends[transport.ClientToServer].offered), S2C: int(p.ends[transport.ServerToClient].offered),
	}
	if p.done() {
		return o
	}
	o.Verdict = Hang
	at := stand{p}
	k := at.knot()
	o.Category, o.Shape = k.category(), at.shape(k)
	for _, n := range k.nodes {
		o.Involved = append(o.Involved, at.involved(n)...)
	}
	slices.Sort(o.Involved)
	o.Involved = slices.Compact(o.Involved)
	return o
}

var roleNames = [...]string{"none", "writer", "reader", "thread", "queue", "call", "answer"}

// shape writes the knot: client writer (request) > server reader (request).
func (s stand) shape(k knot) string {
	list := make([]string, len(k.nodes))
	for i, n := range k.nodes {
		list[i] = n.own.Sender() + " " + roleNames[n.role]
		if kind := s.kindHeld(n); kind != "" {
			list[i] += fmt.Sprintf(" (%s)", kind)
		}
	}
	return strings.Join(list, " > ")
}

// kindHeld is what kind of message a node has in its hand; "" for none.
func (s stand) kindHeld(n node) string {
	f := s.held(n)
	if f < 0 {
		return ""
	}
	messages := s.recording.messagesOf(s.recording.frames[f])
	switch len(messages) {
	case 0:
		return "noise"
	case 1:
		return messages[0].kind.String()
	}
	return "batch"
}

// held returns the frame in a node's hand, or -1.
func (s stand) held(n node) int32 {
	e := s.ends[n.own]
	writes := n.role == roleWriter || n.role == roleThread
	switch {
	case writes && e.sending():
		return s.recording.nth(n.own, int(e.offered))
	case n.role == roleReader && e.stopped() != nil:
		return s.recording.messages[e.stopped().held].frame
	case n.role == roleReader && !e.reading() && e.given > 0:
		return s.recording.nth(n.own.Reverse(), int(e.given))
	}
	return -1
}

// involved returns the Seqs that a node's wait is about.
func (s stand) involved(n node) []uint64 {
	var list []uint64
	if f := s.held(n); f >= 0 {
		list = append(list, s.recording.frames[f].seq)
	}
	if w, _, _ := s.wait(n); w.Seq > 0 {
		list = append(list, w.Seq)
	}
	return list
}
