package replay

import "github.com/mcprec/mcprec/transport"

// crowd returns the most frames of a direction that can be on their way at one time, in
// any order in which its sender's answers and its other frames get at the writer. With
// room for so many the writer never waits, and two ends that wait for each other are two
// writers: one direction with that room is enough.
//
// What is no answer is sent in its order, when all that was recorded before it was read,
// as by a free end. So when such a frame of the peer was read, the peer had read all that
// was recorded before that; and when one of the own requests was answered, it and what
// was sent before it. What is left are the frames since then, and the answers to what
// was read until then.
func (r *Recording) crowd(own transport.Direction) Room {
	w := crowdWalk{r: r, number: map[int32]int{}, answers: map[int32]int{}}
	for _, f := range r.ways[own] {
		if n, only := r.answers(r.frames[f]); n > 0 && only {
			w.answers[n]++
		}
	}
	for i, f := range r.frames {
		if f.dir == own {
			w.sends(int32(i), f)
		} else {
			w.reads(f)
		}
		w.most = max(w.most, w.sent-w.read+w.due)
	}
	return Room(w.most)
}

// crowdWalk goes through the recording with the eyes of one end.
type crowdWalk struct {
	r       *Recording
	number  map[int32]int // own frames that are no answers, by index: their number
	answers map[int32]int // own answers, by the number of the peer's frame that they wait for
	sent    int           // own frames that are no answers
	read    int           // of those, how many the peer has read for certain
	open    int           // answers to what was read that are not sent
	due     int           // those when the peer's last frame that is no answer was read
	most    int
}

func (w *crowdWalk) sends(index int32, f playFrame) {
	if n, only := w.r.answers(f); n > 0 && only {
		w.open--
		return
	}
	w.sent++
	w.number[index] = w.sent
}

func (w *crowdWalk) reads(f playFrame) {
	w.open += w.answers[f.n]
	if n, only := w.r.answers(f); n == 0 || !only {
		w.read, w.due = w.sent, w.open
		return
	}
	for _, m := range w.r.messagesOf(f) {
		w.read = max(w.read, w.number[w.r.messages[m.pair].frame])
	}
}
