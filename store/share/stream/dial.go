package stream

import (
	"context"
	"net"
	"sync"
	"time"
)

// dialer dials for a connection of NATS, whose own dialing takes no context. The first dialing ends with a
// context, also while a server says nothing. Later ones, after a connection was lost, have only the timeout.
type dialer struct {
	timeout time.Duration // for one server
	refuse  func(error)   // is told why a connection is ended whose server announces too much

	mu     sync.Mutex
	first  context.Context // nil: the first dialing is over
	closes []func() bool   // stop what closes the first dialing's connections with the context
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.first
	d.mu.Unlock()
	if ctx == nil {
		ctx = context.Background()
	}
	conn, err := (&net.Dialer{Timeout: d.timeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first != nil {
		d.closes = append(d.closes, context.AfterFunc(d.first, func() { _ = conn.Close() }))
	}
	return &limitedConn{Conn: conn, refuse: d.refuse}, nil
}

// established ends the first dialing: its connection no longer ends with the context.
func (d *dialer) established() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.first = nil
	for _, stop := range d.closes {
		stop()
	}
	d.closes = nil
}
