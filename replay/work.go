package replay

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// workWait says what a serial reader that does not read waits for.
func (s stand) workWait(n node) (Wait, node, bool) {
	e := s.ends[n.own]
	stop := e.stopped()
	if stop == nil { // what the work sends is not taken
		held := s.recording.nth(n.own.Reverse(), int(e.given))
		w := Wait{Holds: s.recording.label(held), Seq: s.recording.frames[held].seq, Why: "works at it, and reads on when that is done"}
		return w, s.writer(n.own), true
	}
	held := s.recording.messages[stop.held]
	w := Wait{Holds: s.recording.label(held.frame), Seq: s.recording.seqOf(stop.held), Why: "runs its handler to the end before it reads on"}
	switch {
	case stop.call >= 0:
		return w, node{roleCall, n.own}, true
	case stop.awaited >= 0:
		w.Why = "works at it until it is cancelled, and does not read meanwhile"
		return w, node{roleAnswer, n.own}, true
	}
	w.WaitsFor, w.Why = "its own answer", "works at it, and reads on when it was answered; the recording has no response to it"
	return w, node{}, false
}

// askedWait is of a handler's call that the recording has no response to: it may be
// seen why there is none.
func (s stand) askedWait(n node) (Wait, node, bool) {
	call := s.ends[n.own].stopped().call
	f, peer := s.recording.frameOf(call), s.ends[n.own.Reverse()]
	w := Wait{Why: fmt.Sprintf("sent as #%d", f.seq), Seq: f.seq}
	switch {
	case peer.model.kind == serial && f.n > peer.given:
		w.Why += fmt.Sprintf("; the %s has not read it", n.own.Receiver())
	case peer.stopped() != nil && peer.model.kind == serial && f.n == peer.given:
		w.Why += fmt.Sprintf("; the %s is at it", n.own.Receiver())
	default:
		w.WaitsFor, w.Why = "a response", w.Why+"; the recording has no response to it"
		return w, node{}, false
	}
	return w, s.reader(n.own.Reverse()), true
}

// explainWork tells of serial receive loops that stand at their work.
func (s stand) explainWork(k knot) string {
	var parts []string
	for _, n := range k.nodes {
		if n.role == roleCall && s.works(n.own) {
			parts = append(parts, s.work(n.own))
		}
	}
	for _, n := range k.nodes {
		if n.role == roleReader && s.works(n.own) && len(parts) == 0 {
			parts = append(parts, s.work(n.own))
		}
	}
	return k.category() + ": " + strings.Join(parts, "; ")
}

// works reports whether an end is serial and stands at its work.
func (s stand) works(own transport.Direction) bool {
	return s.ends[own].model.kind == serial && s.ends[own].stopped() != nil
}

func (s stand) work(own transport.Direction) string {
	stop := s.ends[own].stopped()
	held := s.recording.messages[stop.held]
	does := fmt.Sprintf("the %s works at %s and does not read meanwhile", own.Sender(), s.recording.label(held.frame))
	if stop.call < 0 && stop.awaited < 0 {
		return does + "; the recording has no response to it"
	}
	if stop.call >= 0 {
		does += fmt.Sprintf("; its handler waits for %s, ", s.recording.callName(stop.call))
		if stop.awaited < 0 {
			w, _, _ := s.askedWait(node{roleCall, own})
			return does + w.Why
		}
		does += fmt.Sprintf("and the awaited response #%d is behind that", s.recording.seqOf(stop.awaited))
	} else {
		does += fmt.Sprintf("; it ends with %s, which is behind that", s.name(node{roleAnswer, own}))
	}
	w, _, _ := s.answerWait(node{roleAnswer, own})
	return fmt.Sprintf("%s (%s)", does, w.Why)
}

// workAssumptions says which calls a serial end was taken to make in a handler.
func (s stand) workAssumptions(k knot) []string {
	var list []string
	for _, n := range k.nodes {
		if n.role != roleReader || !s.works(n.own) || s.ends[n.own].stopped().call < 0 {
			continue
		}
		stop := s.ends[n.own].stopped()
		list = append(list, fmt.Sprintf("the recording does not show what made the %s send #%d; serial takes it that the handler of #%d did, and waits for the response",
			n.own.Sender(), s.recording.seqOf(stop.call), s.recording.seqOf(stop.held)))
	}
	return list
}
