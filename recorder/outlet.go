package recorder

import "os"

// outlet is one of the server's output pipes. A process that the server has started may
// hold the pipe when the server has exited, and no end of file comes then. So an outlet
// finds out when all that the server itself wrote has been read: once it has exited and
// the pipe has been empty, or more has come than a pipe holds.
type outlet struct {
	pipe   *os.File
	fd     uintptr // of pipe
	exitFd uintptr // of a pipe that is at its end of file once the server has exited
	flow   *flow
	exited bool // the server has
	read   int  // bytes since then
}

// pipeSize is how much a pipe holds, at most, unless its owner is root.
const pipeSize = 1 << 20

func newOutlet(pipe, exit *os.File, f *flow) *outlet {
	return &outlet{pipe: pipe, fd: pipe.Fd(), exitFd: exit.Fd(), flow: f}
}

// Read reads from the pipe. It is called when all that was read before has been passed on.
func (o *outlet) Read(b []byte) (int, error) {
	if !o.exited {
		o.exited = o.wait()
	}
	if o.exited && !o.flow.drained.Load() && (o.read >= pipeSize || o.empty()) {
		o.flow.drain()
	}
	n, err := o.pipe.Read(b)
	if o.exited {
		o.read += n
	}
	return n, err
}
