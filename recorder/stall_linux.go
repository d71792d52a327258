package recorder

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeQueue tells what a pipe or a socket to a receiver holds.
type pipeQueue struct {
	conn  syscall.RawConn
	pipe  bool // not a socket
	known bool // the system tells
}

func newPipeQueue(file *os.File) (queue pipeQueue) {
	conn, err := file.SyscallConn()
	if err != nil {
		return queue
	}
	queue.conn = conn
	_ = conn.Control(func(fd uintptr) {
		var stat unix.Stat_t
		if unix.Fstat(int(fd), &stat) != nil {
			return
		}
		switch stat.Mode & unix.S_IFMT {
		case unix.S_IFIFO:
			queue.pipe = true
			queue.known = true
		case unix.S_IFSOCK:
			domain, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
			queue.known = err == nil && domain == unix.AF_UNIX
		}
	})
	return queue
}

// held returns what the receiver has not read. Of a socket the system tells the memory that the
// bytes take, which is nothing when all are read.
func (q pipeQueue) held() (held queued) {
	if !q.known {
		return held
	}
	_ = q.conn.Control(func(fd uintptr) {
		request := uint(unix.TIOCOUTQ)
		if q.pipe {
			request = unix.TIOCINQ
		}
		if n, err := unix.IoctlGetInt(int(fd), request); err == nil {
			held = queued{int64(n), q.pipe}
		}
	})
	return held
}
