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
	wire  *session             // what went onto the wire, for the rules: nil without them
	ended bool                 // the client asked by HTTP to end the session
	ids   map[string]*Exchange // by the id of an event, the exchange that brought it
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
