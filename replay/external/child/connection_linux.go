package child

import (
	"net/netip"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

// Connection is our end of a TCP connection with a process on this machine. Its methods do not block.
type Connection struct {
	fd           int            // -1: closed
	ours, theirs netip.AddrPort // ours is the zero one if we could not connect

	waiting []byte // to be written when there is room
	isLast  bool   // it is closed behind waiting

	isKnown   bool // the watcher knows their end
	isSettled bool // it is closed, and their kernel knows
}

// Dial connects with an address of this machine. The kernel answers, and if a server has no room for more connections, not
// at once: Dial waits up to 5 s.
func Dial(to netip.AddrPort) (c Connection, err error) {
	c = Connection{fd: -1, theirs: to}
	family, address := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() {
		family, address = syscall.AF_INET, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	if c.fd, err = syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return c, err
	}
	defer func() {
		if err != nil {
			CloseEnd(&c.fd)
		}
	}()
	if err = syscall.SetNonblock(c.fd, true); err != nil {
		return c, err
	}
	const longest = 5 * time.Second
	began := time.Now()
	for {
		err = syscall.Connect(c.fd, address)
		if err == nil || err == syscall.EISCONN {
			break
		}
		isUnderWay := err == syscall.EINPROGRESS || err == syscall.EALREADY || err == syscall.EINTR
		if !isUnderWay || time.Since(began) > longest {
			return c, err
		}
		time.Sleep(20 * time.Microsecond)
	}
	_ = syscall.SetsockoptInt(c.fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	name, err := syscall.Getsockname(c.fd)
	if err != nil {
		return c, err
	}
	c.ours = addressOf(name)
	return c, nil
}

// addressOf returns the address in a name of a TCP socket; the zero one: it has none.
func addressOf(name syscall.Sockaddr) netip.AddrPort {
	switch name := name.(type) {
	case *syscall.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(name.Addr), uint16(name.Port))
	case *syscall.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), uint16(name.Port))
	}
	return netip.AddrPort{}
}

// IsOpen reports whether we have not closed our end.
func (c *Connection) IsOpen() bool { return c.fd >= 0 }

// Write writes bytes. Those for which there is no room are written by a later Flush.
func (c *Connection) Write(data []byte) {
	c.waiting = append(c.waiting, data...)
	c.Flush()
}

// Flush writes the bytes that wait and for which there is room.
func (c *Connection) Flush() {
	for len(c.waiting) > 0 && c.fd >= 0 {
		count, err := syscall.SendmsgN(c.fd, c.waiting, nil, nil, syscall.MSG_NOSIGNAL)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return
		case err != nil: // nobody reads any more; Read takes what they say instead
			c.waiting = nil
			return
		}
		c.waiting = c.waiting[count:]
	}
	if c.isLast {
		CloseEnd(&c.fd)
	}
}

// Read calls take with what has come, unless nothing is to be read, until take closes the connection or enough was
// taken. At the end there are no data. It reports whether anything has come.
func (c *Connection) Read(process *Process, take func(data []byte, isEnd bool)) (isMore bool) {
	for taken := 0; taken < mostAtOnce && !process.Unread && c.fd >= 0 && !c.isLast; {
		var page [64 << 10]byte
		count, err := syscall.Read(c.fd, page[:])
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.EAGAIN {
			break
		}
		isMore = true
		taken += max(count, 0)
		take(page[:max(count, 0)], count <= 0)
	}
	return isMore
}

// IsStill reports whether what either side has sent has arrived, and the process's watcher knows their end.
func (c *Connection) IsStill(tcp *procfs.TCP, process *Process) bool {
	if c.isSettled || !c.ours.IsValid() {
		return true
	}
	if c.fd >= 0 { // what has come is acknowledged now, and not with what we write next
		_ = syscall.SetsockoptInt(c.fd, syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
	}
	ours, _, err := tcp.Find(c.ours, c.theirs)
	theirs, isThere, err2 := tcp.Find(c.theirs, c.ours)
	isThere = isThere && !theirs.IsListen
	if err != nil || err2 != nil || ours.InFlight && !ours.IsListen || isThere && theirs.InFlight {
		return false
	}
	if isThere && !c.isKnown && theirs.Name != "" {
		process.Own(theirs.Name)
		c.isKnown = true
	}
	c.isSettled = c.fd < 0 && (c.isKnown || !isThere)
	return true
}

// Untaken returns how many bytes the process has not read.
func (c *Connection) Untaken(tcp *procfs.TCP) int {
	if c.fd < 0 {
		return 0
	}
	bytes := len(c.waiting) + count(c.fd, syscall.TIOCOUTQ)
	if socket, isThere, err := tcp.Find(c.theirs, c.ours); err == nil && isThere {
		bytes += socket.Unread
	}
	return bytes
}

// Close closes our end.
func (c *Connection) Close() {
	CloseEnd(&c.fd)
	c.waiting = nil
}
