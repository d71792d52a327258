package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Process is a running child with blocking pipes on its standard streams. Go's
// network poller costs about 200 µs a read on pipes with a frame now and then;
// blocking reads on threads of their own cost 9 µs.
type Process struct {
	// The child reads from Stdin, and writes to Stdout and Stderr. The owner of a
	// Process closes the three.
	Stdin, Stdout, Stderr *os.File
	cmd                   *exec.Cmd
	ended                 chan struct{}
	status                ExitStatus
	err                   error // of waiting; valid, as status is, once ended is closed
}

// ExitStatus says how a process ended.
type ExitStatus struct {
	Code   int       // exit status, or -1 after a signal
	Signal os.Signal // that killed the process, or nil
	Asked  bool      // the end of input did not end the process, so Close sent a signal
}

// StartError: a command could not be started. Code is the exit status of a shell:
// 127 when there is no such command, 126 when it cannot be run.
type StartError struct {
	Command string
	Code    int
	Cause   error
}

// Error uses the shell's words.
func (e *StartError) Error() string { return e.Command + ": " + e.Reason() }

// Reason is the error without the command.
func (e *StartError) Reason() string {
	info, err := os.Stat(e.Command)
	switch {
	case errors.Is(e.Cause, exec.ErrNotFound):
		return "command not found"
	case errors.Is(e.Cause, os.ErrNotExist):
		return "No such file or directory"
	case err == nil && info.IsDir():
		return "Is a directory"
	case errors.Is(e.Cause, os.ErrPermission):
		return "Permission denied"
	}
	return e.Cause.Error()
}

// StartProcess starts argv in the current folder with the current environment.
// The child stays in this process's group, to be killed together with the group. If
// this process alone is killed, the child sees the end of its input. A command that cannot be started is a *StartError.
func StartProcess(argv ...string) (*Process, error) { return startProcess(true, nil, argv) }

// startProcess makes our ends of the pipes blocking or not. A read or write of
// a blocking one cannot be interrupted by Close. Without env the child has our environment.
func startProcess(blocking bool, env, argv []string) (*Process, error) {
	if len(argv) == 0 {
		return nil, errors.New("start process: no command")
	}
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	var opened []*os.File
	theirs := func(ours **os.File, weWrite bool) (*os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		opened = append(opened, r, w)
		mine, other := r, w
		if weWrite {
			mine, other = w, r
		}
		if blocking {
			mine.Fd() // makes it so
		}
		*ours = mine
		return other, nil
	}
	stdin, err := theirs(&p.Stdin, true)
	if err != nil {
		return nil, fmt.Errorf("start process %s: %v", argv[0], err)
	}
	stdout, err1 := theirs(&p.Stdout, false)
	stderr, err2 := theirs(&p.Stderr, false)
	if err := errors.Join(err1, err2); err != nil {
		closeAll(opened)
		return nil, fmt.Errorf("start process %s: %v", argv[0], err)
	}
	p.cmd.Stdin = stdin
	p.cmd.Stdout = stdout
	p.cmd.Stderr = stderr
	p.cmd.Env = env
	err = p.cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!, which a shell runs
		p.cmd = exec.Command("/bin/sh", append([]string{p.cmd.Path}, argv[1:]...)...)
		p.cmd.Stdin = stdin
		p.cmd.Stdout = stdout
		p.cmd.Stderr = stderr
		p.cmd.Env = env
		err = p.cmd.Start()
	}
	if err != nil {
		closeAll(opened)
		code := 126
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			code = 127
		}
		return nil, &StartError{Command: argv[0], Code: code, Cause: err}
	}
	go func() {
		defer close(p.ended)
		err := p.cmd.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.status, p.err = ExitStatus{Code: -1}, fmt.Errorf("wait for process %d: %v", p.Pid(), err)
			return
		}
		p.status = ExitStatus{Code: p.cmd.ProcessState.ExitCode(), Signal: killedBy(p.cmd.ProcessState)}
	}()
	closeAll([]*os.File{stdin, stdout, stderr})
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends sig to the process; after its end it does nothing.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %v", p.Pid(), err)
	}
	return nil
}

// Wait waits for the end of the process, not of its streams: a grandchild may
// hold those open.
func (p *Process) Wait() (ExitStatus, error) {
	<-p.ended
	return p.status, p.err
}

// Command is the transport of a child process: its stdin and stdout carry the
// frames. Each Connect starts a process of its own.
type Command struct {
	// Args is the command line.
	Args []string
	// Env is the environment of the process; nil: that of this one.
	Env []string
	// Stderr receives the child's standard error; nil discards it. It must not
	// block for ever: a child waits for it.
	Stderr io.Writer
	// Patience is how long Close waits for the process after the end of its input, and
	// again after the signal; 2 s if zero, as the official SDKs have it.
	Patience time.Duration
}

// CommandConn is the Conn of a Command.
type CommandConn struct {
	*StreamConn
	process  *Process
	patience [2]time.Duration // for the end of input, for the signal
	copied   chan struct{}    // closed when all of standard error has been passed on
	close    sync.Once
	asked    bool // to end, by a signal; valid once close has returned
}

// Connect starts the process; see StartProcess for its errors.
func (t Command) Connect(context.Context) (Conn, error) { return t.Start() }

// Start is Connect with the concrete type.
func (t Command) Start() (*CommandConn, error) {
	p, err := startProcess(false, t.Env, t.Args)
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
	return c, nil
}

// Close ends the process as the specification's stdio shutdown says: close its
// input and wait, ask it to terminate and wait, kill it. Then Close closes the
// streams; Stderr has the process's last messages, unless another process holds
// standard error open. Close returns an error only if the wait for the process fails. drive and
// serve end their servers so.
//
// Three other places end a process, each for a reason of its own. recorder/stdio.go passes the client's
// end of input and its signals on, as record must. With --strict, cmd/mcprec/internal/recording ends a server
// whose session cannot be recorded any more. replay/external kills a process with all that it has started,
// to play the next schedule.
func (c *CommandConn) Close() error {
	c.close.Do(func() {
		// "First, closing the input stream to the child process (the server)"
		c.process.Stdin.Close()
		// "Waiting for the server to exit, or sending SIGTERM if the server does
		// not exit within a reasonable time"
		if !isClosedWithin(c.process.ended, c.patience[0]) {
			c.asked = true
			c.process.Signal(terminate)
			// "Sending SIGKILL if the server does not exit within a reasonable time
			// after SIGTERM"
			if !isClosedWithin(c.process.ended, c.patience[1]) {
				c.process.cmd.Process.Kill()
				<-c.process.ended
			}
		}
		c.StreamConn.Close()
		isClosedWithin(c.copied, lastWords)
	})
	return c.process.err
}

// lastWords is how long Close waits, after the end of the process, for the rest of
// standard error, which is there already, unless a grandchild holds the stream.
const lastWords = 250 * time.Millisecond

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
