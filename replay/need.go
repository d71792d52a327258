package replay

import (
	"fmt"

	"github.com/mcprec/mcprec/transport"
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
	both := r.scripts(Setup{Client: client, Server: server})
	n := Need{Models: Models{client, server}, Frontier: []Capacity{}}
	least, safe := stretched(both, Capacity{}, directions[:]...)
	if n.Safe = safe; safe {
		n.Least = least.C2S
		n.Frontier, n.Partial = r.frontier(both)
	}
	if safe && r.competes(n.Models) {
		bound := max(n.Least, min(r.crowd(transport.ClientToServer), r.crowd(transport.ServerToClient)))
		n.Bound = &bound
	}
	if safe && least.C2S == 0 {
		return n
	}
	if less := (Capacity{least.C2S - 1, least.C2S - 1}); safe {
		n.Witness = r.witness(client, server, less)
	} else {
		n.Witness = r.witness(client, server, Capacity{Unbounded, Unbounded})
	}
	return n
}

// competes reports whether the order in which frames get at a writer may matter: of an
// inline end that answers something, where the other end does not always read.
func (r *Recording) competes(m Models) bool {
	inlines := false
	for _, end := range [...]struct {
		own   transport.Direction
		model Model
	}{{transport.ClientToServer, m.Client}, {transport.ServerToClient, m.Server}} {
		waits := end.model.kind != free
		if end.model.kind == inline {
			waits = false
			for _, f := range r.ways[end.own] {
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
func (r *Recording) frontier(both scripts) (list []Capacity, partial bool) {
	c, ok := stretched(both, Capacity{0, Unbounded}, transport.ClientToServer)
	for steps := 0; ok; steps += 2 * (len(r.frames) + 1) {
		if c, ok = stretched(both, Capacity{c.C2S, 0}, transport.ServerToClient); !ok {
			break
		}
		list = append(list, c)
		if c.S2C == 0 {
			break
		}
		if steps > frontierSteps {
			return list, true
		}
		c, ok = stretched(both, Capacity{c.C2S, c.S2C - 1}, transport.ClientToServer)
	}
	return list, false
}

// witness tells of the hang at a capacity.
func (r *Recording) witness(client, server Model, c Capacity) *Witness {
	s := Setup{Capacity: c, Client: client, Server: server}
	p := stand{r.start(r.scripts(s), c)}
	if p.done() {
		return nil
	}
	k := p.knot()
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
	return r.debt(own)
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
		best = max(best, min(over(c.C2S, least.C2S), over(c.S2C, least.S2C)))
	}
	return best, true
}

// over is how much more one room is than another; unbounded is more than any.
func over(room, least Room) Room {
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
