package transport

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Command is the transport of a child process: its stdin and stdout carry the
// frames. Each Connect starts a process of its own.
type Command struct {
	// Args is the command line.
	Args []string
	// Stderr receives the child's standard error; nil discards it. It must not
	// block for ever: a child waits for it.
	Stderr io.Writer
	// Patience is how long Close waits on each rung of the shutdown ladder; 2 s
	// if zero, as the official SDKs have it.
	Patience time.Duration
}

// CommandConn is the Conn of a Command.
type CommandConn struct {
	*StreamConn
	process  *Process
	patience [2]time.Duration // on the first and the second rung
	copied   chan struct{}    // closed when all of standard error has been passed on
	close    func() error
	asked    bool // to end, by a signal; valid once close has returned
}

// Connect starts the process; see StartProcess for its errors.
func (t Command) Connect(context.Context) (Conn, error) { return t.Start() }

// Start is Connect with the concrete type.
func (t Command) Start() (*CommandConn, error) {
	p, err := startProcess(false, t.Args)
	if err != nil {
		return nil, err
	}
	c := &CommandConn{
		StreamConn: NewStreamConn(p.Stdout, p.Stdin), process: p,
		patience: [2]time.Duration{t.Patience, t.Patience}, copied: make(chan struct{}),
	}
	if t.Patience == 0 {
		c.patience = [2]time.Duration{2 * time.Second, 2 * time.Second}
	}
	stderr := t.Stderr
	if stderr == nil {
		stderr = io.Discard
	}
	go func() { // ends with the last holder of the child's standard error
		io.Copy(stderr, p.Stderr)
		p.Stderr.Close()
		close(c.copied)
	}()
	c.close = sync.OnceValue(c.shutdown)
	return c, nil
}

// Close ends the process as the specification's stdio shutdown says: close its
// input and wait, ask it to terminate and wait, kill it. Then it closes the
// streams, and what the process said last on standard error has been written to
// Stderr, unless another holds that open. It returns an error only if the process
// could not be waited for.
func (c *CommandConn) Close() error { return c.close() }

func (c *CommandConn) shutdown() error {
	// "First, closing the input stream to the child process (the server)"
	c.process.Stdin.Close()
	// "Waiting for the server to exit, or sending SIGTERM if the server does
	// not exit within a reasonable time"
	if !c.endsWithin(c.patience[0]) {
		c.asked = true
		c.process.Signal(terminate)
		// "Sending SIGKILL if the server does not exit within a reasonable time
		// after SIGTERM"
		if !c.endsWithin(c.patience[1]) {
			c.process.cmd.Process.Kill()
			<-c.process.ended
		}
	}
	c.StreamConn.Close()
	isClosedWithin(c.copied, lastWords)
	return c.process.err
}

// lastWords is how long Close waits, after the end of the process, for the rest of
// its standard error: it is there already, unless a grandchild holds the stream.
const lastWords = 250 * time.Millisecond

func (c *CommandConn) endsWithin(d time.Duration) bool { return isClosedWithin(c.process.ended, d) }

func isClosedWithin(done <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
		return false
	}
}

// Status returns how the process ended, after Close. It fails while the process runs.
func (c *CommandConn) Status() (ExitStatus, error) {
	select {
	case <-c.process.ended:
		status := c.process.status
		status.Asked = c.asked
		return status, c.process.err
	default:
		return ExitStatus{}, errors.New("exit status: the process still runs")
	}
}
