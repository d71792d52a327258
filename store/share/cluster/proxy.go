package cluster

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy passes the connections of clients on to a node, and breaks them on demand. It is safe for
// concurrent use.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and made anew when what stands below changes
	target  string
	conns   map[net.Conn]bool // both ends of each connection
	stuck   map[net.Conn]bool // those that FreezeOpen has frozen
	cut     bool
	frozen  bool
	rate    int // bytes a second in each direction of a connection; 0: as fast as it goes
	closed  bool
	passed  int64 // bytes that clients have sent
}

func newProxy(t testing.TB) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: listener, changed: make(chan struct{}), conns: map[net.Conn]bool{}, stuck: map[net.Conn]bool{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		p.change(func() {
			p.closed = true
			p.drop()
		})
		_ = listener.Close()
		p.running.Wait()
	})
	return p
}

// Addr returns where clients connect. It stays the same.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut closes every connection, and new ones at once, until Heal.
func (p *Proxy) Cut() {
	p.change(func() {
		p.cut = true
		p.drop()
	})
}

// Freeze lets no byte through and closes nothing, as a firewall that has forgotten the connection.
// New connections are accepted and stay silent. After Heal the bytes that wait go on.
func (p *Proxy) Freeze() { p.change(func() { p.frozen = true }) }

// FreezeOpen freezes the connections that are open now, for ever. New ones are well.
func (p *Proxy) FreezeOpen() {
	p.change(func() {
		for conn := range p.conns {
			p.stuck[conn] = true
		}
	})
}

// Slow limits each connection to some bytes a second in each direction.
func (p *Proxy) Slow(bytesPerSecond int) { p.change(func() { p.rate = bytesPerSecond }) }

// Heal ends every fault.
func (p *Proxy) Heal() {
	p.change(func() {
		p.cut = false
		p.frozen = false
		p.rate = 0
	})
}

// Passed returns the number of bytes that clients have sent so far.
func (p *Proxy) Passed() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed
}

// Connections returns the number of open connections.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

func (p *Proxy) setTarget(address string) { p.change(func() { p.target = address }) }

func (p *Proxy) change(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set()
	close(p.changed)
	p.changed = make(chan struct{})
}

// drop closes every connection. The caller holds mu.
func (p *Proxy) drop() {
	for conn := range p.conns {
		_ = conn.Close()
	}
	clear(p.conns)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve connects a client with the node and passes bytes on until one of them closes.
func (p *Proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	p.mu.Lock()
	target := p.target
	refused := p.cut || p.closed
	p.mu.Unlock()
	if refused {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	p.mu.Lock()
	refused = p.cut || p.closed
	if !refused {
		p.conns[client] = true
		p.conns[server] = true
	}
	p.mu.Unlock()
	if refused {
		return
	}
	var back sync.WaitGroup
	back.Go(func() { p.pass(client, server, false) })
	p.pass(server, client, true)
	back.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	delete(p.stuck, client)
	delete(p.stuck, server)
	p.mu.Unlock()
}

// pass copies bytes one way. A closed end closes the other.
func (p *Proxy) pass(to, from net.Conn, upward bool) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		limit := len(buffer)
		p.mu.Lock()
		if p.rate > 0 {
			limit = min(limit, max(1, p.rate/20))
		}
		p.mu.Unlock()
		count, err := from.Read(buffer[:limit])
		if count > 0 {
			if !p.hold(from, count, upward) {
				return
			}
			if _, err := to.Write(buffer[:count]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				return
			}
			// A half-open connection does not tell of an end, either.
			p.hold(from, 0, upward)
			return
		}
	}
}

// hold waits as long as the link is frozen, and as long as a slow link takes for some bytes. It
// returns false when the connection was dropped meanwhile.
func (p *Proxy) hold(from net.Conn, count int, upward bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate > 0 {
		rate := p.rate
		p.mu.Unlock()
		time.Sleep(time.Duration(count) * time.Second / time.Duration(rate))
		p.mu.Lock()
	}
	for (p.frozen || p.stuck[from]) && !p.closed && p.conns[from] {
		changed := p.changed
		p.mu.Unlock()
		<-changed
		p.mu.Lock()
	}
	if upward {
		p.passed += int64(count)
	}
	return p.conns[from]
}
