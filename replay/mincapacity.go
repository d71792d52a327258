package replay

import (
	"fmt"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Need is the room that a transport must have for a recording whose ends are of two
// models. Its JSON form is stable; lists are never null.
type Need struct {
	Models Models `json:"models"`
	// Safe: some room does. Otherwise an end waits for itself, and Witness says how.
	Safe bool `json:"safe"`
	// Least is the least room that does, the same both ways.
	Least Room `json:"least"`
	// Frontier has the least pairs: with less of either, and no more of the other, it
	// hangs. They come with rising C2S; Partial says that there are further ones.
	Frontier []Capacity `json:"frontier"`
	Partial  bool       `json:"partial,omitempty"`
	// Bound is set where an end's reader and its callers compete for its writer, so that
	// Least is of the recorded order alone: this does in every order, and may be more
	// than is needed.
	Bound *Room `json:"bound,omitempty"`
	// Witness is the hang at one less than Least, or at any room; nil where 0 is safe.
	Witness *Witness `json:"witness,omitempty"`
}

// Witness is a hang in short.
type Witness struct {
	Capacity    Capacity `json:"capacity"`
	Category    string   `json:"category"`
	Explanation string   `json:"explanation"`
	Events      []uint64 `json:"events"` // the two sends; or what is held and what is awaited
}

// frontierSteps bounds the search for a frontier, in frames that are played.
const frontierSteps = 20_000_000

// Need says how much room the transport must have for these two ends. What it says was
// played: at Least and at each pair of the frontier the closed replay passes.
func (r *Recording) Need(client, server Model) Need {
	both := scriptsOf(r, Setup{Client: client, Server: server})
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

// competes reports whether the order in which frames get at a writer may matter: of an
// inline end that answers something, where the other end does not always read.
func competes(r *Recording, m Models) bool {
	inlines := false
	for _, own := range directions {
		kind := Setup{Client: m.Client, Server: m.Server}.model(own).kind
		waits := kind != free
		if kind == inline {
			waits = false
			for _, f := range r.byDirection[own] {
				n, _ := r.answers(r.frames[f])
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

// frontier finds the least pairs, from the least for the client's frames on: of each the
// least for the server's, and then the least for the client's that needs less of it.
func frontier(both scripts, frames int) (list []Capacity, partial bool) {
	c, ok := leastCapacity(both, Capacity{0, Unbounded}, transport.ClientToServer)
	for steps := 0; ok; steps += 2 * (frames + 1) {
		if c, ok = leastCapacity(both, Capacity{c.C2S, 0}, transport.ServerToClient); !ok {
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

// witness tells of the hang at a capacity.
func witness(r *Recording, client, server Model, c Capacity) *Witness {
	s := Setup{Capacity: c, Client: client, Server: server}
	p := blockedState{play(r, scriptsOf(r, s), c)}
	if p.done() {
		return nil
	}
	k := p.waitGraph()
	w := &Witness{Capacity: c, Category: k.category(), Explanation: p.explain(k), Events: []uint64{}}
	for _, n := range k.nodes {
		if wait, _, _ := p.wait(n); wait.Seq != 0 {
			w.Events = append(w.Events, wait.Seq)
		}
	}
	return w
}

// Debt is the notification debt of an end: the least inner queue that it needs where
// nobody drains that during a call, whatever the room of the transport. With it for the Q
// of [Inbox] the closed replay passes, and with one less it hangs.
func (r *Recording) Debt(own transport.Direction) int {
	if own != transport.ClientToServer && own != transport.ServerToClient {
		return 0
	}
	open := map[int32]bool{}
	least, queued := 0, 0
	for _, f := range r.frames {
		if f.dir != own {
			least = max(least, queued)
		}
		for index := f.lo; index < f.hi; index++ {
			m := &r.messages[index]
			switch {
			case f.dir == own && m.kind == transport.Request && m.method != mcp.MethodListen:
				open[index] = true
			case f.dir == own && m.method == mcp.NotificationCancelled:
				delete(open, m.pair)
			case f.dir != own && m.kind == transport.Response && open[m.pair]:
				least = max(least, queued) // also behind a notification of the same batch
				delete(open, m.pair)
			case f.dir != own && m.kind == transport.Notification && len(open) > 0:
				queued++
			}
			if len(open) == 0 {
				queued = 0
			}
		}
	}
	return least
}

// Boundless is the slack of what has no bound.
const Boundless Room = 1 << 30

// Slack is how much more room than needed a transport of that capacity has in its
// tighter direction: below 0 it can hang.
func (n Need) Slack(c Capacity) (slack Room, ok bool) {
	if !n.Safe {
		return 0, false
	}
	best := -Boundless
	for _, least := range n.Frontier {
		best = max(best, min(surplus(c.C2S, least.C2S), surplus(c.S2C, least.S2C)))
	}
	return best, true
}

// surplus is how much more one room is than another; unbounded is more than any.
func surplus(room, least Room) Room {
	if room < 0 {
		return Boundless
	}
	if least < 0 {
		return -Boundless
	}
	return room - least
}

// String tells what is needed in a few words.
func (n Need) String() string {
	if !n.Safe {
		return "no capacity is safe"
	}
	text := fmt.Sprintf("capacity %v", n.Least)
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

// capacitySearch is a closed replay that only counts, and gives its lanes room where they
// have too little: both ends in order, every order of steps comes to the same place, and
// what happens with less room can happen with more. So one run finds the least that does.
type capacitySearch struct {
	ends [3]end  // by the direction each sends in; 0 unused
	room [3]Room // of the lane in that direction
}

// leastCapacity returns the least room that lets the scripts come to their end, when only
// the lanes that may grow have more than they had; false when no room does.
func leastCapacity(both scripts, c Capacity, grows ...transport.Direction) (Capacity, bool) {
	var s capacitySearch
	for _, dir := range directions {
		s.ends[dir].script, s.room[dir] = both[dir], c.of(dir)
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
			return c, false
		}
		for _, dir := range grows {
			s.room[dir]++
		}
	}
}

// round lets each end and each lane do what it can, a step of each kind.
func (s *capacitySearch) round() bool {
	moved := false
	for _, dir := range directions {
		e, reader := &s.ends[dir], &s.ends[dir.Reverse()]
		if e.offers() {
			e.offered++
			moved = true
		}
		if reader.wants() {
			reader.wanted++
			moved = true
		}
		held := int(e.acked - reader.given)
		// A lane takes a frame when it has room, or hands it to the reader.
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

// maxInFlight returns the most frames of a direction that can be on their way at one time,
// in any order in which its sender's answers and its other frames get at the writer. With
// room for so many the writer never waits, and two ends that wait for each other are two
// writers: one direction with that room is enough.
//
// A frame that is no answer is sent in its order, after everything that was recorded before
// it was read, as by a free end. When the peer's frame of this kind is read, the peer has
// therefore read everything recorded before it. When an own request is answered, the peer
// has read the request and everything sent before it. Still on their way are the frames
// sent since then, and the answers to the frames read until then.
func maxInFlight(r *Recording, own transport.Direction) Room {
	number := map[int32]int{}  // own frames that are no answers, by index: their number
	answers := map[int32]int{} // own answers, by the number of the peer's frame that they wait for
	for _, f := range r.byDirection[own] {
		if n, only := r.answers(r.frames[f]); n > 0 && only {
			answers[n]++
		}
	}
	sent := 0 // own frames that are no answers
	read := 0 // of those, how many the peer has read for certain
	open := 0 // answers to what was read that are not sent
	due := 0  // those when the peer's last frame that is no answer was read
	most := 0
	for i, f := range r.frames {
		n, only := r.answers(f)
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
			for _, m := range r.messagesOf(f) {
				read = max(read, number[r.messages[m.pair].frame])
			}
		}
		most = max(most, sent-read+due)
	}
	return Room(most)
}
