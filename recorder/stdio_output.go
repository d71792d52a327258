package recorder

import "os"

// serverOutput is one of the server's output pipes. Another process may hold the pipe when the
// server has exited, and no end of file comes then. Then serverOutput finds out when the server's
// own bytes have been read: once the pipe has been empty, or more bytes have come than a pipe
// holds.
type serverOutput struct {
	pipe   *os.File
	fd     uintptr // of pipe
	exitFd uintptr // of a pipe at end of file once the server has exited
	state  *passState
	exited bool // the server has
	read   int  // bytes since then
}

// pipeSize is how much a pipe holds, at most, unless its owner is root.
const pipeSize = 1 << 20

func newServerOutput(pipe, exit *os.File, state *passState) *serverOutput {
	return &serverOutput{pipe: pipe, fd: pipe.Fd(), exitFd: exit.Fd(), state: state}
}

// Read reads from the pipe. The caller has passed on the bytes of the read before.
func (o *serverOutput) Read(data []byte) (int, error) {
	if !o.exited {
		o.exited = o.wait()
	}
	if o.exited && !o.state.drained.Load() && (o.read >= pipeSize || o.empty()) {
		o.state.drain()
	}
	n, err := o.pipe.Read(data)
	if o.exited {
		o.read += n
	}
	return n, err
}
