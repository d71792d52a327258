package transport

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Process is a running child with blocking pipes on its standard streams. Go's
// network poller costs about 200 µs a read on pipes that carry a frame now and
// then; blocking reads on threads of their own cost 9.
type Process struct {
	// Stdin is written by us and read by the child; Stdout and Stderr the other
	// way round. Their owner closes them.
	Stdin, Stdout, Stderr *os.File
	cmd                   *exec.Cmd
	ended                 chan struct{}
	status                ExitStatus
	err                   error // of waiting; valid, as status is, once ended is closed
}

// ExitStatus says how a process ended.
type ExitStatus struct {
	Code   int       // exit status, or -1 after a signal
	Signal os.Signal // what killed it, or nil
	Asked  bool      // it went on when its input had ended, and Close asked it to end by a signal
}

// StartError says that a command could not be started. Code is what a shell
// exits with: 127 when there is no such command, 126 when it cannot be run.
type StartError struct {
	Command string
	Code    int
	Cause   error
}

// Error uses the shell's words.
func (e *StartError) Error() string {
	switch {
	case errors.Is(e.Cause, exec.ErrNotFound):
		return e.Command + ": command not found"
	case errors.Is(e.Cause, os.ErrNotExist):
		return e.Command + ": No such file or directory"
	case isFolder(e.Command):
		return e.Command + ": Is a directory"
	case errors.Is(e.Cause, os.ErrPermission):
		return e.Command + ": Permission denied"
	}
	return e.Command + ": " + e.Cause.Error()
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// StartProcess starts argv in the current folder with the current environment.
// The child stays in this process's group: what kills the group kills it, as if
// nothing stood in between. If this process alone is killed, the child sees the
// end of its input. A command that cannot be started is a *StartError.
func StartProcess(argv ...string) (*Process, error) { return startProcess(true, argv) }

// startProcess makes our ends of the pipes blocking or not. A read or write of
// a blocking one cannot be interrupted by Close.
func startProcess(blocking bool, argv []string) (*Process, error) {
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
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	if err := p.start(); err != nil {
		closeAll(opened)
		return nil, startError(argv[0], err)
	}
	go p.await()
	closeAll([]*os.File{stdin, stdout, stderr})
	return p, nil
}

func startError(command string, err error) error {
	code := 126
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = 127
	}
	return &StartError{Command: command, Code: code, Cause: err}
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

// start starts the command.
func (p *Process) start() error {
	err := p.cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!, which a shell runs
		script := p.cmd
		p.cmd = exec.Command("/bin/sh", append([]string{script.Path}, script.Args[1:]...)...)
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = script.Stdin, script.Stdout, script.Stderr
		err = p.cmd.Start()
	}
	return err
}

// await waits for the end of the process.
func (p *Process) await() {
	defer close(p.ended)
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.status, p.err = ExitStatus{Code: -1}, fmt.Errorf("wait for process %d: %v", p.Pid(), err)
		return
	}
	p.status = ExitStatus{Code: p.cmd.ProcessState.ExitCode(), Signal: killedBy(p.cmd.ProcessState)}
}

// Wait waits for the end of the process, not of its streams: a grandchild may
// hold those open.
func (p *Process) Wait() (ExitStatus, error) {
	<-p.ended
	return p.status, p.err
}
