package explore

import (
	"net/http"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
)

// HTTP is how the peers of a plan talk Streamable HTTP. The clients use [Run.HTTPClient], the
// server is the handler of [Run.Handle]; [Run.RecordedClient] and [Run.RecordedServer] play over
// HTTP, too. Nothing touches a network. Steps are the arrival of each
// request at the handler, the head and the events and the end of each response, and the news
// that a client gave an exchange up. Exchanges have no order among each other.
//
// A plan with HTTP and without Capacities lets a response keep what its handler writes, without
// a limit, as the buffers of sockets do. With a capacity s2c of n, a handler waits in Write or
// Flush while more than n events are kept. A server that holds a mutex over the write may then
// freeze its bubble.
type HTTP struct {
	// Cuts is how many times a run may break the connection of a response that the client can
	// resume: it has read an event with an id.
	Cuts int
}

// Pair is a client of a run and its connection to the server. Pairs are sessions of their own.
type Pair struct {
	run            *Run
	pair           *gate.Pair
	client, server transport.Conn
}

// Client returns the client's end of the pair.
func (p *Pair) Client() transport.Conn { return p.client }

// Server returns the server's end of the pair.
func (p *Pair) Server() transport.Conn { return p.server }

// HTTPClient returns the client's HTTP: requests to any URL go to the handler of [Run.Handle].
// The plan must have HTTP.
func (p *Pair) HTTPClient() *http.Client {
	if p.run.plan.HTTP == nil {
		panic("explore: HTTPClient: the plan has no HTTP")
	}
	return &http.Client{Transport: p.run.gate.HTTP.Web(p.pair)}
}
