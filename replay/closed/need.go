package closed

import (
	"fmt"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Need is the room that a transport must have for a recording and two models. The JSON form
// is stable; lists are never null.
type Need struct {
	Models Models `json:"models"`
	// Safe: some room is enough. Otherwise an end waits for itself, and Witness says how.
	Safe bool `json:"safe"`
	// Least is the least room that is enough, the same both ways.
	Least Room `json:"least"`
	// Frontier has the least pairs, with rising C2S: with less of either, and no more of
	// the other, the replay hangs. Partial says that more pairs exist.
	Frontier []Capacity `json:"frontier"`
	Partial  bool       `json:"partial,omitempty"`
	// Bound is set if an end's reader and its callers compete for the writer. Then Least
	// holds for the recorded order alone. Bound is enough in every order, and may be more
	// than needed.
	Bound *Room `json:"bound,omitempty"`
	// Witness is the hang at one less than Least, or at any room; nil if 0 is safe.
	Witness *Witness `json:"witness,omitempty"`
}

// Witness is a hang in short.
type Witness struct {
	Capacity    Capacity `json:"buffer"`
	Category    string   `json:"category"`
	Explanation string   `json:"explanation"`
	Events      []uint64 `json:"events"` // the two sends, or the held and the awaited frame
}

// frontierSteps bounds the search for a frontier, in played frames.
const frontierSteps = 20_000_000

// Need returns the room that the transport must have for two models. Every figure was
// played: at Least and at each pair of the frontier the closed replay passes.
func (r *Recording) Need(client, server Model) Need {
	both := scriptsOf(r, Setup{Client: client, Server: server}, nil)
	n := Need{Models: Models{client, server}, Frontier: []Capacity{}}
	least, safe := leastCapacity(both, Capacity{}, directions[:]...)
	n.Safe = safe
	if safe {
		n.Least = least.C2S
		n.Frontier, n.Partial = frontier(both, len(r.frames))
	}
	if safe && competes(r, n.Models) {
		bound := max(n.Least, min(maxInFlight(r, transport.ClientToServer), maxInFlight(r, transport.ServerToClient)))
		n.Bound = &bound
	}
	if safe && least.C2S == 0 {
		return n
	}
	if less := (Capacity{least.C2S - 1, least.C2S - 1}); safe {
		n.Witness = witness(r, client, server, less)
	} else {
		n.Witness = witness(r, client, server, Capacity{Unbounded, Unbounded})
	}
	return n
}

// competes reports whether the order in which frames reach a writer may matter: an end
// answers from its reader, and a request comes, and the other end does not always read.
func competes(recording *Recording, models Models) bool {
	inlines := false
	for _, own := range directions {
		kind := Setup{Client: models.Client, Server: models.Server}.model(own).kind
		waits := kind != independent
		if kind == answersInline {
			waits = false
			for _, f := range recording.byDirection[own] {
				n, _ := recording.answers(recording.frames[f])
				waits = waits || n > 0
			}
			inlines = inlines || waits
		}
		if !waits {
			return false
		}
	}
	return inlines
}

// frontier finds the least pairs, from the least room c2s upward: the least room s2c for
// that c2s, then the least c2s that needs less room s2c.
func frontier(both scripts, frames int) (list []Capacity, partial bool) {
	c, ok := leastCapacity(both, Capacity{0, Unbounded}, transport.ClientToServer)
	for steps := 0; ok; steps += 2 * (frames + 1) {
		c, ok = leastCapacity(both, Capacity{c.C2S, 0}, transport.ServerToClient)
		if !ok {
			break
		}
		list = append(list, c)
		if c.S2C == 0 {
			break
		}
		if steps > frontierSteps {
			return list, true
		}
		c, ok = leastCapacity(both, Capacity{c.C2S, c.S2C - 1}, transport.ClientToServer)
	}
	return list, false
}

// witness describes the hang at a capacity.
func witness(recording *Recording, client, server Model, capacity Capacity) *Witness {
	s := Setup{Capacity: capacity, Client: client, Server: server}
	p := blockedState{play(recording, scriptsOf(recording, s, nil), capacity, nil)}
	if p.done() {
		return nil
	}
	k := p.waitGraph()
	w := &Witness{Capacity: capacity, Category: p.category(k), Explanation: p.category(k) + ": " + p.explain(k), Events: []uint64{}}
	for _, n := range k.nodes {
		if wait, _, _ := p.wait(n); wait.Seq != 0 {
			w.Events = append(w.Events, wait.Seq)
		}
	}
	return w
}

// Debt returns the notification debt of the end that sends in direction own: the least inner
// queue that the end needs if no goroutine drains the queue during a call, whatever the room
// of the transport. With the debt for the Q of [NotificationQueue] the closed replay passes, and with one
// less the replay hangs.
//
// A notification that the end gets during its calls must be queued if a frame, or an answer
// in the same batch, follows before the calls are over: otherwise the loop would wait at the
// notification and never read further. A notification that nothing follows, as in a call
// without an answer, need not be queued.
func (r *Recording) Debt(own transport.Direction) int {
	if own != transport.ClientToServer && own != transport.ServerToClient {
		return 0
	}
	l := NewLoop[int32](NotificationQueue(len(r.messages)))
	least := 0
	for _, f := range r.frames {
		if f.dir != own {
			least = max(least, l.queued)
		}
		for index := f.lo; index < f.hi; index++ {
			m := &r.messages[index]
			switch {
			case f.dir == own && m.kind == transport.Request:
				l.Call(index, m.method)
			case f.dir == own && m.method == mcp.NotificationCancelled:
				l.End(m.pair)
			case f.dir != own && m.kind == transport.Response && l.calls[m.pair]:
				least = max(least, l.queued) // also behind a notification in the same batch
				l.End(m.pair)
			case f.dir != own && m.kind == transport.Notification:
				l.Notify()
			}
		}
	}
	return least
}

// Boundless is the slack of unbounded room.
const Boundless Room = 1 << 30

// Slack returns the surplus of room in the tighter direction of a transport: below 0 the
// transport can hang.
func (n Need) Slack(capacity Capacity) (slack Room, ok bool) {
	if !n.Safe {
		return 0, false
	}
	best := -Boundless
	for _, least := range n.Frontier {
		best = max(best, min(surplus(capacity.C2S, least.C2S), surplus(capacity.S2C, least.S2C)))
	}
	return best, true
}

// surplus returns the difference of two rooms; unbounded is more than any number.
func surplus(room, least Room) Room {
	if room < 0 {
		return Boundless
	}
	if least < 0 {
		return -Boundless
	}
	return room - least
}

// String describes the need in a few words.
func (n Need) String() string {
	if !n.Safe {
		return "no buffer is safe"
	}
	text := fmt.Sprintf("buffer %v", n.Least)
	for i, c := range n.Frontier {
		if len(n.Frontier) == 1 && c.C2S == c.S2C {
			break
		}
		text += [...]string{", or ", ", "}[min(i, 1)] + fmt.Sprintf("c2s=%v,s2c=%v", c.C2S, c.S2C)
	}
	if n.Partial {
		text += ", …"
	}
	return text
}

// capacitySearch is a closed replay that only counts, and adds room to a lane that has too
// little. Every order of steps comes to the same place, and a run with less room is possible
// with more. So one run finds the least room that is enough.
type capacitySearch struct {
	ends [3]end  // by the direction each sends in; 0 unused
	room [3]Room // of the lane in that direction
}

// leastCapacity returns the least room that lets the scripts finish if only some lanes may
// grow; false if no room is enough.
func leastCapacity(both scripts, capacity Capacity, grows ...transport.Direction) (Capacity, bool) {
	var s capacitySearch
	for _, dir := range directions {
		s.ends[dir].script, s.room[dir] = both[dir], capacity.of(dir)
	}
	for {
		for s.round() {
		}
		client, server := &s.ends[transport.ClientToServer], &s.ends[transport.ServerToClient]
		if client.sent() && server.sent() && client.read() && server.read() {
			return Capacity{s.room[transport.ClientToServer], s.room[transport.ServerToClient]}, true
		}
		grown := false
		for _, dir := range grows {
			grown = grown || s.ends[dir].sending()
		}
		if !grown {
			return capacity, false
		}
		for _, dir := range grows {
			s.room[dir]++
		}
	}
}

// round lets each end and each lane make one step of each kind, and reports whether anything
// moved.
func (s *capacitySearch) round() bool {
	moved := false
	for _, dir := range directions {
		e := &s.ends[dir]
		reader := &s.ends[dir.Reverse()]
		if e.offers() {
			e.offered++
			moved = true
		}
		if reader.wants() {
			reader.wanted++
			moved = true
		}
		held := int(e.acked - reader.given)
		// A lane with room takes a frame; one without hands the frame to the reader.
		if e.sending() && (s.room[dir] < 0 || held < int(s.room[dir]) || held == 0 && reader.reading()) {
			e.acked++
			moved = true
		}
		if reader.reading() && e.acked > reader.given {
			reader.given++
			moved = true
		}
	}
	return moved
}

// maxInFlight returns the most frames of a direction that can be on their way at one time, in
// any order in which the sender's answers and other frames reach the writer. With that much
// room the writer never waits, and two ends that wait for each other are two writers: such
// room in one direction is enough.
//
// A frame that is no answer is sent in its order, after every frame recorded before was read,
// as by an independent end. So when such a frame of the peer is read, the peer has read every frame
// recorded before. When an own request is answered, the peer has read the request and every
// frame sent before. Still on their way are the frames sent since then, and the answers to
// the frames read until then.
func maxInFlight(recording *Recording, own transport.Direction) Room {
	number := map[int32]int{}  // number of own frames that are no answers, by index
	answers := map[int32]int{} // count of own answers, by the number of the peer's frame before
	for _, f := range recording.byDirection[own] {
		if n, only := recording.answers(recording.frames[f]); n > 0 && only {
			answers[n]++
		}
	}
	sent := 0 // own frames that are no answers
	read := 0 // the part of sent that the peer has certainly read
	open := 0 // answers to read frames that are not sent
	due := 0  // open when the peer's last frame that is no answer was read
	most := 0
	for i, f := range recording.frames {
		n, only := recording.answers(f)
		isAnswer := n > 0 && only
		if f.dir != own {
			open += answers[f.n]
		}
		switch {
		case f.dir == own && isAnswer:
			open--
		case f.dir == own:
			sent++
			number[int32(i)] = sent
		case !isAnswer:
			read, due = sent, open
		default:
			for _, m := range recording.messagesOf(f) {
				read = max(read, number[recording.messages[m.pair].frame])
			}
		}
		most = max(most, sent-read+due)
	}
	return Room(most)
}
