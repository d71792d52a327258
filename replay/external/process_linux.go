package external

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/replay/external/sourceline"
	"github.com/mcprec/mcprec/transport/procfs"
)

// process is the end under test. One goroutine uses it.
type process struct {
	cmd     *exec.Cmd
	watcher *procfs.Watcher
	ends    ends
	output  *tail             // what it writes to its standard output; nil: that is a pipe to us
	errors  *tail             // what it writes to stderr
	means   *sourceline.Means // with which it is asked at a hang; nil: it is not
	exited  chan error

	unread    bool            // nothing is read
	stop      <-chan struct{} // see place
	isStopped bool            // it was ended because of that

	gone   bool
	exit   error  // of one that is gone
	status string // of one that is gone: "exit status 1"; "": 0

	speaks    time.Time // since it has said something and has not come to rest; zero: it is at rest
	isEndless bool      // it has spoken for too long, and is not heard any more
}

// ends are our ends of what connects us with a process. They never block.
type ends interface {
	// flush hands over what there was no room for before.
	flush()
	// read takes what the process has said, unless nothing is to be read, and reports whether there was anything.
	read(p *process) (isMore bool)
	// isStill reports whether nothing is on its way, in either direction.
	isStill() bool
	// close closes all.
	close()
}

// mostAtOnce is about how many bytes one read takes: a process that writes faster than we read must not keep us there.
const mostAtOnce = 1 << 20

// starting is held while a process starts. Until its program runs it has copies of the pipes to all others:
// a server whose input ends meanwhile would not notice, sleep on, and seem to linger.
var starting sync.RWMutex

// startServer starts a server with a folder of its own.
func startServer(server Server, at place) (*process, *pipes, error) {
	ours := &pipes{in: -1, out: -1}
	p := &process{ends: ours, exited: make(chan error, 1)}
	var theirs [2]*os.File
	defer func() {
		for _, file := range theirs {
			_ = file.Close() // fails for nil, which is as well
		}
	}()
	var err error
	if theirs[0], ours.in, err = pipe(true); err == nil {
		theirs[1], ours.out, err = pipe(false)
	}
	if err == nil {
		names := []string{procfs.Name(ours.in), procfs.Name(ours.out)}
		err = p.start(at, server.In, withMarks(server.Command, folderMark, at.dir), withMarks(server.Env, folderMark, at.dir), theirs[0], theirs[1], names...)
	}
	if err != nil {
		p.closeAll()
		return nil, nil, fmt.Errorf("start %s: %w", server.Command[0], err)
	}
	return p, ours, nil
}

// startClient starts a client with a folder of its own. The marks in its command and environment stand for
// the folder, and for the program that it starts as its server.
func startClient(client Client, at place) (_ *process, _ *pipes, err error) {
	ours := &pipes{in: -1, out: -1}
	p := &process{ends: ours, exited: make(chan error, 1)}
	if ours.listener, err = listen(client.PassOn, at.Folder); err == nil {
		p.output, err = newTail(at.Folder, 1<<20)
	}
	if err == nil {
		marks := []string{folderMark, at.dir, serverMark, ours.listener.script}
		err = p.start(at, client.In, withMarks(client.Command, marks...), withMarks(client.Env, marks...), nil, p.output.file)
	}
	if err != nil {
		p.closeAll()
		return nil, nil, fmt.Errorf("start %s: %w", client.Command[0], err)
	}
	return p, ours, nil
}

// start starts the command in a folder; "" is that of this process. ours are the names of what we hold an end of. An error leaves files open.
func (p *process) start(at place, in string, command, env []string, stdin, stdout *os.File, ours ...string) (err error) {
	most := int64(4 << 10)
	if at.means != nil {
		most = 4 << 20 // a program in Go writes its stacks there
	}
	if p.errors, err = newTail(at.Folder, most); err != nil {
		return err
	}
	p.stop = at.stop
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Dir = in
	p.cmd.Env = append(at.Environ(), env...)
	if p.means = at.means; p.means != nil {
		p.cmd.Env = p.means.Environ(p.cmd.Env)
	}
	if in != "" {
		p.cmd.Env = append(p.cmd.Env, "PWD="+in)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, p.errors.file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startAlone(p.cmd); err != nil {
		return err
	}
	go func() { p.exited <- p.cmd.Wait() }()
	p.watcher, err = procfs.Watch(p.cmd.Process.Pid, ours...)
	if err != nil && p.cmd.Process.Signal(syscall.Signal(0)) == nil {
		p.kill()
		return err
	}
	return nil // settle notices a process that has ended already
}

// startAlone starts a command, and waits until its process has no copy of our descriptors. Start waits for
// the kernel to close the copy of a descriptor of its own, and the kernel closes them by their numbers: those
// above it may be open for some time yet.
func startAlone(cmd *exec.Cmd) error {
	const high = 900 // of the 1024 descriptors that a process has at least
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return err
	}
	reader := os.NewFile(uintptr(ends[0]), "pipe")
	defer func() { _ = reader.Close() }()
	starting.Lock()
	defer starting.Unlock()
	last, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(ends[1]), syscall.F_DUPFD_CLOEXEC, high)
	_ = syscall.Close(ends[1])
	if errno != 0 {
		return errno
	}
	err := cmd.Start()
	_ = syscall.Close(int(last))
	_, _ = reader.Read(make([]byte, 1)) // returns when the last copy is closed
	return err
}

// isGone reports whether the process has ended and was waited for.
func (p *process) isGone() bool {
	if p.gone {
		return true
	}
	select {
	case err := <-p.exited:
		p.gone = true
		p.exit = err
		if err != nil {
			p.status = err.Error()
		}
	default:
	}
	return p.gone
}

// settle waits until the process is at rest, has said something, or is gone; or until the patience with one
// that runs is over. One that speaks on and on without a rest is not heard any more after twice that time, or when too much waits to
// be asked for: it runs.
func (p *process) settle(patience patience) (look procfs.Look, isMoved bool) {
	if p.endIfStopped() {
		return procfs.Look{Activity: procfs.Ended}, false
	}
	if p.isEndless {
		return procfs.Look{Activity: procfs.Busy}, false
	}
	look, isMoved = p.await(patience)
	switch {
	case !isMoved:
		p.speaks = time.Time{}
	case p.speaks.IsZero():
		p.speaks = time.Now()
	case time.Since(p.speaks) > 2*patience.running:
		p.isEndless = true
	}
	return look, isMoved
}

// await waits until the process is at rest, has said something, or is gone, or until the patience is over.
func (p *process) await(patience patience) (look procfs.Look, isMoved bool) {
	const shortest, longest = 30 * time.Microsecond, 500 * time.Microsecond
	began := time.Now()
	for pause := shortest; ; pause = min(longest, pause*3/2) {
		p.shorten()
		p.ends.flush()
		if p.ends.read(p) {
			return procfs.Look{Activity: procfs.Busy}, true
		}
		if p.isGone() {
			return procfs.Look{Activity: procfs.Ended}, p.ends.read(p)
		}
		if p.endIfStopped() {
			return procfs.Look{Activity: procfs.Ended}, false
		}
		wasStill := p.ends.isStill()
		if p.watcher != nil { // nil: it ended before it could be looked at, and exited says so soon
			look = p.watcher.Look()
		}
		// What was on its way before the look may have moved it since, and what it said may have come since.
		isQuiet := wasStill && look.Activity != procfs.Busy && look.Activity != procfs.Ended && p.ends.isStill()
		if isQuiet && p.ends.read(p) {
			return procfs.Look{Activity: procfs.Busy}, true
		}
		if isQuiet || time.Since(began) > patience.running {
			return look, false
		}
		time.Sleep(pause)
	}
}

// endIfStopped ends the process if it is to end at once, and reports whether it was ended for that.
func (p *process) endIfStopped() bool {
	if !p.isStopped && isClosed(p.stop) {
		p.isStopped = true
		p.end(ErrStopped.Error())
	}
	return p.isStopped
}

// end ends the process and all that it has started, for a reason that stands in the place of its status.
func (p *process) end(reason string) {
	p.killAll()
	p.status = reason
}

// kill ends the process and all that it has started, and frees what was opened.
func (p *process) kill() {
	p.killAll()
	p.closeAll()
}

func (p *process) killAll() {
	if p.watcher != nil && !p.isGone() { // a gateway starts its servers in groups of their own
		p.watcher.Kill()
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if !p.gone {
		<-p.exited
		p.gone = true
	}
}

func (p *process) closeAll() {
	p.ends.close()
	if p.watcher != nil {
		p.watcher.Close()
	}
	p.output.close()
	p.errors.close()
}

// shorten keeps what the process writes to files from growing as long as it lives.
func (p *process) shorten() {
	p.output.shorten()
	p.errors.shorten()
}

// stderr returns the last line that the process wrote there and that says something.
func (p *process) stderr() string { return lastWords(string(p.errors.text())) }

// lines asks a process that hangs which lines of its source hold what waits. A program in Go has ended then.
func (p *process) lines(found *fault) []string {
	const most = 3
	if p.means == nil || found == nil || found.kind != Hang || p.isGone() {
		return nil
	}
	answer, err := p.means.Ask(p.cmd.Process.Pid, p.errors.text)
	if err != nil {
		return []string{err.Error()}
	}
	return answer.Words(most)
}

// stdout returns what it wrote to its standard output, or the end of it.
func (p *process) stdout() string { return string(p.output.text()) }
