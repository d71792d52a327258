package closed

import "github.com/mcprec/mcprec/transport"

// Step is a step of a closed replay, with the state after the step.
type Step struct {
	Kind transport.StepKind // Offer, Take, Ack or Give
	Dir  transport.Direction
	N    int // the frame's number in its direction, from 1
	// Round counts from 1. In a round both ends begin what they can, and then the lanes move:
	// a frame that is offered and taken in the same round did not make its writer wait.
	Round int
	// C2S and S2C count the frames in the lanes.
	C2S, S2C int
	// Client and Server are the notification queues of the ends that have one, otherwise zero.
	Client, Server InnerQueue
}

// InnerQueue is the state of a notification queue, see [NotificationQueue].
type InnerQueue struct {
	Size int // notifications in the queue
	Room int // the Q of [NotificationQueue]
	// Stuck: the receive loop holds a notification for which the queue has no room.
	Stuck bool
}

// Steps plays as [Replay] does and calls visit for every step, in order. The steps end where
// the verdict of [Replay] says. They are one possible order: every order ends in the same place.
func Steps(recording *Recording, setup Setup, visit func(Step)) {
	p := newRun(recording, scriptsOf(recording, setup, nil), setup.Capacity)
	step := Step{Round: 1}
	lanes := [3]*int{transport.ClientToServer: &step.C2S, transport.ServerToClient: &step.S2C}
	queues := [3]*InnerQueue{transport.ClientToServer: &step.Client, transport.ServerToClient: &step.Server}
	var levels [3][]innerLevel // by the direction of sending; nil without a notification queue
	for _, dir := range directions {
		if room, ok := setup.model(dir).Queue(); ok {
			queues[dir].Room = room
			levels[dir] = innerLevels(recording, p.ends[dir].script)
		}
	}
	p.watch = func(kind transport.StepKind, dir transport.Direction, n int) {
		step.Kind = kind
		step.Dir = dir
		step.N = n
		switch kind {
		case transport.Take:
			*lanes[dir]++
		case transport.Give:
			*lanes[dir]--
		}
		for _, own := range directions {
			if levels[own] != nil {
				e := p.ends[own]
				queues[own].Size, queues[own].Stuck = levels[own][e.given].after(e.acked)
			}
		}
		visit(step)
	}
	for p.round() {
		step.Round++
	}
}

// innerLevel is the state of a notification queue when its end has read a number of frames. The
// recording fixes it, as it fixes the stops (see fillQueue).
type innerLevel struct {
	size    int32
	drained int32 // number of the own frame that drains the queue, because it ends the last call; 0: none
	stuck   bool
}

// after returns the state when a number of the own frames were acknowledged.
func (l innerLevel) after(acked int32) (size int, stuck bool) {
	if l.drained > 0 && acked >= l.drained {
		return 0, false
	}
	return int(l.size), l.stuck
}

// innerLevels returns the levels of an end with a notification queue, by the number of frames read.
func innerLevels(recording *Recording, played *script) []innerLevel {
	copied := &script{own: played.own, model: played.model, hold: make([]int32, len(played.hold))}
	w := inboxWalk{r: recording, s: copied, loop: NewLoop[int32](played.model), levels: make([]innerLevel, 1, len(played.hold))}
	w.walk()
	return w.levels
}
