package replay

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// explain says in one sentence why the replay hangs.
func (s stand) explain(k knot) string {
	for _, n := range k.nodes {
		if n.role == roleQueue {
			return k.category() + ": " + s.explainQueue(n.own)
		}
	}
	for _, n := range k.nodes {
		if n.role == roleReader && s.works(n.own) {
			return s.explainWork(k)
		}
	}
	var ends []string
	for _, dir := range directions {
		f := s.recording.nth(dir, int(s.ends[dir].offered))
		ends = append(ends, fmt.Sprintf("the %s sends %s and does not read until it is taken", dir.Sender(), s.recording.label(f)))
	}
	return fmt.Sprintf("%s: %s; %s; neither c2s (capacity %v) nor s2c (capacity %v) has room",
		k.category(), ends[0], ends[1], s.capacity.C2S, s.capacity.S2C)
}

// explainQueue tells of a receive loop that stands with a notification in hand.
func (s stand) explainQueue(own transport.Direction) string {
	e := s.ends[own]
	stop := e.stopped()
	var b strings.Builder
	fmt.Fprintf(&b, "the %s's receive loop holds %s, handed to the inner queue (capacity %d) that nobody drains during a call; ",
		own.Sender(), s.notification(stop.held), e.model.queue)
	w, next, ok := s.wait(node{roleCall, own})
	switch {
	case !ok:
		fmt.Fprintf(&b, "the recording has no response to %s", w.Who)
	case next.role == roleAnswer:
		at, _, _ := s.wait(next)
		fmt.Fprintf(&b, "the awaited response #%d is behind it (%s)", at.Seq, at.Why)
	default:
		fmt.Fprintf(&b, "%s ends with #%d, which is behind it", w.Who, s.recording.frames[s.recording.nth(own, int(stop.ends))].seq)
	}
	return b.String()
}

// notification names a held notification: progress notification #8.
func (s stand) notification(index int32) string {
	m, seq := s.recording.messages[index], s.recording.seqOf(index)
	if m.method == methodProgress {
		return fmt.Sprintf("progress notification #%d", seq)
	}
	return fmt.Sprintf("notification #%d (%s)", seq, m.name())
}

// assumptions says where a rigid end sent before a read that was recorded before
// the send: what a tap between the ends cannot tell, and what the hang hangs on.
func (s stand) assumptions() []string {
	var list []string
	for _, dir := range directions {
		e := s.ends[dir]
		if e.model.kind != rigid {
			continue
		}
		for k := int(e.offered); k > 0; k-- {
			sent := s.recording.frames[s.recording.nth(dir, k)]
			if e.need[k-1] >= sent.before {
				continue
			}
			crossed := s.recording.frames[s.recording.nth(dir.Reverse(), int(e.need[k-1])+1)]
			list = append(list, fmt.Sprintf("the recording does not show that the %s had taken #%d before it sent #%d; rigid takes it that it had not",
				dir.Sender(), crossed.seq, sent.seq))
			break
		}
	}
	return list
}
