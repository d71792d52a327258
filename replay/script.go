package replay

import "github.com/mcprec/mcprec/transport"

// never is a hold that no number of own frames ends.
const never = int32(1<<31 - 1)

// script is one end's half of a recording under a model: what each send and
// each read waits for. Both lists rise, so one counter each way says all.
type script struct {
	own   transport.Direction // the direction this end sends in
	model Model
	need  []int32 // need[k]: frames read before own frame k+1 is offered
	hold  []int32 // hold[j]: own frames acked before reading on after j frames
	stuck []stop  // inbox, serial: where the receive loop stands
	debt  int     // inbox: notifications a queue must take for no such stop
	spare int32   // serial: last frames that may stay unread, behind such a stop
}

// script returns the half of the end that sends in direction own.
func (r *Recording) script(own transport.Direction, m Model) *script {
	s := &script{own: own, model: m}
	if m.kind == rigid {
		s.need = r.rigidNeeds(own)
		s.hold = holdsOf(s.need, r.Frames(own.Reverse()))
		return s
	}
	s.need = r.freeNeeds(own)
	s.hold = make([]int32, r.Frames(own.Reverse())+1)
	switch m.kind {
	case inline:
		r.answerInline(s)
	case inbox:
		r.fillInbox(s)
	case serial:
		r.workSerially(s)
	}
	return s
}

// freeNeeds makes each send wait for all that was recorded before it.
func (r *Recording) freeNeeds(own transport.Direction) []int32 {
	need := make([]int32, r.Frames(own))
	for k, f := range r.ways[own] {
		need[k] = r.frames[f].before
	}
	return need
}

// answerInline lets the reader stop after each request until the frames that
// answer it are taken. An answer waits for nothing but its request and its turn.
// Where the turn itself waits for a later frame, the recording shows that this
// end did read on before it answered, and nothing is held.
func (r *Recording) answerInline(s *script) {
	for k, f := range r.ways[s.own] {
		if n, only := r.answers(r.frames[f]); n > 0 && only {
			s.need[k] = n
		}
	}
	rise(s.need)
	for j, f := range r.ways[s.own.Reverse()] {
		k := r.answeredBy(r.frames[f])
		if k > 0 && s.need[k-1] <= int32(j+1) {
			s.hold[j+1] = k
		}
	}
	rise(s.hold)
}

// answers returns the number of the last request frame that f responds to, 0
// when it responds to none, and whether f is made of such responses alone.
func (r *Recording) answers(f playFrame) (last int32, only bool) {
	only = true
	for _, m := range r.messagesOf(f) {
		if m.kind != transport.Response || m.pair < 0 {
			only = false
			continue
		}
		last = max(last, r.frames[r.messages[m.pair].frame].n)
	}
	return last, only
}

// answeredBy returns the number of the last frame that answers a request of f;
// 0 when none does.
func (r *Recording) answeredBy(f playFrame) int32 {
	last := int32(0)
	for _, m := range r.messagesOf(f) {
		if m.kind == transport.Request && m.pair >= 0 {
			last = max(last, r.frames[r.messages[m.pair].frame].n)
		}
	}
	return last
}

// holdsOf turns one thread's needs into its holds: a read waits for every send
// that stands before it.
func holdsOf(need []int32, reads int) []int32 {
	hold := make([]int32, reads+1)
	k := 0
	for j := range hold {
		for k < len(need) && need[k] <= int32(j) {
			k++
		}
		hold[j] = int32(k)
	}
	return hold
}

// rise raises each number to the greatest before it.
func rise(list []int32) {
	for i := 1; i < len(list); i++ {
		list[i] = max(list[i], list[i-1])
	}
}
