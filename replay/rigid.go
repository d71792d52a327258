package replay

import "github.com/mcprec/mcprec/transport"

// rigidNeeds fixes the order of one thread's sends and reads, as far as the
// recording shows it, and lets the send come first where it does not.
//
// What a recording made between the ends shows of an end: its sends stand before
// the reads recorded after them; its answers after their requests; what it sends
// after a response was recorded, after reading that response. Notifications sent
// while a request of the peer is unanswered are caused by that request. What is
// left are an end's initiations: requests, and notifications outside any call of
// the peer. A peer's initiation recorded before one of those may have crossed it
// on the wire, and here it did.
func (r *Recording) rigidNeeds(own transport.Direction) []int32 {
	w := rigidWalk{r: r, own: own, need: make([]int32, 0, r.Frames(own)), taken: r.takings(own.Reverse())}
	for _, f := range r.ways[own] {
		w.upTo(f)
		w.send(r.frames[f])
	}
	rise(w.need)
	return w.need
}

// takings returns for each frame of direction dir the point of the recording (as
// a number of frames) before which it was not yet taken: a delivered event says
// when its last frame was, for others it is the frame's own place.
func (r *Recording) takings(dir transport.Direction) []int32 {
	taken := make([]int32, len(r.ways[dir]))
	for j, f := range r.ways[dir] {
		taken[j] = f + 1
	}
	known := int32(0)
	for _, d := range r.delivered {
		if d.dir == dir && d.upto > known {
			taken[d.upto-1] = max(taken[d.upto-1], d.at)
			known = d.upto
		}
	}
	rise(taken)
	return taken
}

// rigidWalk goes through the recording with the eyes of one end.
type rigidWalk struct {
	r       *Recording
	own     transport.Direction
	need    []int32
	taken   []int32 // see takings
	marks   int     // delivered events seen
	known   int32   // peer's frames that what comes next certainly follows
	could   int32   // peer's frames that may have been read by now
	serving int     // requests of the peer in flight
}

// upTo reads what may have been read before the frame with that index.
func (w *rigidWalk) upTo(index int32) {
	for int(w.could) < len(w.taken) && w.taken[w.could] <= index {
		w.could++
		w.read(w.r.frames[w.r.nth(w.own.Reverse(), int(w.could))])
	}
	for marks := w.r.delivered; w.marks < len(marks) && marks[w.marks].at <= index; w.marks++ {
		if d := marks[w.marks]; d.dir != w.own {
			w.known = max(w.known, d.upto)
		}
	}
}

// read takes a frame of the peer.
func (w *rigidWalk) read(f playFrame) {
	for _, m := range w.r.messagesOf(f) {
		switch {
		case m.kind == transport.Request:
			w.serving++
		case m.kind == transport.Response && m.pair >= 0:
			w.known = max(w.known, f.n)
		case m.method == methodInitialized && w.own == transport.ServerToClient:
			w.known = max(w.known, f.n)
		}
	}
}

func (w *rigidWalk) send(f playFrame) {
	need := w.known
	if !w.initiates(f) {
		answered, _ := w.r.answers(f)
		need = max(need, w.could, answered)
	}
	w.need = append(w.need, need)
}

// initiates reports whether a send may have come before reads recorded earlier,
// and counts the answers.
func (w *rigidWalk) initiates(f playFrame) bool {
	serving, answers, requests := w.serving, false, false
	for _, m := range w.r.messagesOf(f) {
		if m.kind == transport.Response && m.pair >= 0 {
			answers = true
			w.serving--
		}
		requests = requests || m.kind == transport.Request
	}
	return !answers && (requests || serving <= 0)
}
