package gate

import (
	"strconv"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// Pair is a client and its end of the server. Each pair is a session of its own: ids and the
// rules of the protocol hold within the pair.
type Pair struct {
	Number int     // from 1
	Ends   [2]*End // client, server

	rules *order.Checker       // nil: the peers may send anything
	ended bool                 // the client asked by HTTP to end the session
	ids   map[string]*Exchange // by the id of an event, the exchange that brought it
}

// AddPair adds a pair.
func (g *Gate) AddPair() *Pair {
	p := &Pair{Number: len(g.Pairs) + 1, ids: map[string]*Exchange{}}
	if !g.options.Lawless {
		p.rules = order.New("")
	}
	c2s := &Lane{Dir: transport.ClientToServer, Cap: g.options.C2S, pair: p}
	s2c := &Lane{Dir: transport.ServerToClient, Cap: g.options.S2C, pair: p, Back: c2s}
	c2s.Back = s2c
	p.Ends = [2]*End{{gate: g, Out: c2s, In: s2c}, {gate: g, Out: s2c, In: c2s}}
	g.Pairs = append(g.Pairs, p)
	g.Lanes = append(g.Lanes, c2s, s2c)
	return p
}

// of names the pair in a content name; "" for the first.
func (p *Pair) of() string {
	if p == nil || p.Number == 1 {
		return ""
	}
	return " of client " + strconv.Itoa(p.Number)
}

// lane returns the pair's lane of a direction, not the response of an exchange.
func (p *Pair) lane(dir transport.Direction) *Lane { return p.Ends[dir-transport.ClientToServer].Out }
