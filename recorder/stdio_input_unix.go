//go:build unix

package recorder

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// serverInput writes to the server's input, and counts what the pipe has taken while the rest
// still waits for room.
type serverInput struct {
	name  string
	conn  syscall.RawConn
	state *passState
	step  func(fd uintptr) // put, made once: the path of every frame has no garbage

	// The current write.
	rest  []byte
	fault error
}

// newServerInput returns a writer to our end of the server's input, which nobody shares.
func newServerInput(pipe *os.File, state *passState) io.Writer {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return pipe
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = unix.SetNonblock(int(fd), true) }); err != nil || failed != nil {
		return pipe
	}
	w := &serverInput{name: pipe.Name(), conn: conn, state: state}
	w.step = w.put
	return w
}

// Write implements [io.Writer].
func (w *serverInput) Write(data []byte) (n int, err error) {
	w.rest = data
	w.fault = nil
	if err = w.conn.Control(w.step); err == nil {
		err = w.fault
	}
	n = len(data) - len(w.rest)
	w.rest = nil
	return n, err
}

// put writes the rest. It waits in poll: Go's network poller would cost far more.
func (w *serverInput) put(fd uintptr) {
	for len(w.rest) > 0 && w.fault == nil {
		n, err := unix.Write(int(fd), w.rest)
		switch {
		case err == nil:
			w.rest = w.rest[n:]
			w.state.passed.Add(int64(n))
		case errors.Is(err, unix.EAGAIN):
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		case !errors.Is(err, unix.EINTR):
			w.fault = &fs.PathError{Op: "write", Path: w.name, Err: err}
		}
	}
}
