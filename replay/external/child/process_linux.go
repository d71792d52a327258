package child

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/replay/external/sourceline"
	"github.com/mcprec/mcprec/transport/lastwords"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Process is the end under test. One goroutine uses it.
type Process struct {
	cmd     *exec.Cmd
	watcher *procfs.Watcher
	ends    Ends
	output  *tail             // what it writes to its standard output; nil: that is a pipe to us
	errors  *tail             // what it writes to stderr
	means   *sourceline.Means // with which it is asked at a hang; nil: it is not
	exited  chan error

	// Unread says that nothing is read of what the process writes.
	Unread bool

	stop      <-chan struct{} // of its Place
	isStopped bool            // it was ended because of that

	gone   bool
	exit   error  // of one that is gone
	status string // of one that is gone: "exit status 1"; "": 0

	speaks    time.Time // since it has said something and has not come to rest; zero: it is at rest
	isEndless bool      // it has spoken for too long, and is not heard any more
}

// Ends are our ends of what connects us with a process. They never block.
type Ends interface {
	// Flush hands over what there was no room for before.
	Flush()
	// Read takes what the process has said, unless nothing is to be read, and reports whether there was anything.
	Read(p *Process) (isMore bool)
	// IsStill reports whether nothing is on its way, in either direction.
	IsStill() bool
	// Close closes all.
	Close()
}

// MostAtOnce is about how many bytes one read takes: a process that writes faster than we read must not keep us there.
const MostAtOnce = 1 << 20

// starting is held while a process starts. Until its program runs it has copies of the pipes to all others:
// a server whose input ends meanwhile would not notice, sleep on, and seem to linger.
var starting sync.RWMutex

// StartServer starts a server.
func StartServer(program Program, at Place) (*Process, *Pipes, error) {
	ours := &Pipes{in: -1, out: -1}
	p := New(ours)
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
		err = p.start(program.fill(at), at, theirs[0], theirs[1], procfs.Name(ours.in), procfs.Name(ours.out))
	}
	if err != nil {
		p.Kill()
		return nil, nil, fmt.Errorf("start %s: %w", program.Command[0], err)
	}
	return p, ours, nil
}

// StartClient starts a client. [ServerMark] in its command and environment stands for the program that it starts as
// its server. passOn is a command that calls [PassOn] with its last argument, which is added to it.
func StartClient(program Program, passOn []string, at Place) (_ *Process, _ *Pipes, err error) {
	ours := &Pipes{in: -1, out: -1}
	p := New(ours)
	if ours.listener, err = listen(passOn, at.Folder); err == nil {
		err = p.StartQuiet(program, at, ServerMark, ours.listener.script)
	}
	if err != nil {
		p.Kill()
		return nil, nil, fmt.Errorf("start %s: %w", program.Command[0], err)
	}
	return p, ours, nil
}

// New returns a process that is not started yet.
func New(ours Ends) *Process { return &Process{ends: ours, exited: make(chan error, 1)} }

// StartQuiet starts a process without standard input, and whose standard output is kept and not read. marks are
// like those of the program.
func (p *Process) StartQuiet(program Program, at Place, marks ...string) (err error) {
	if p.output, err = newTail(at.Folder, 1<<20); err != nil {
		return err
	}
	return p.start(program.fill(at, marks...), at, nil, p.output.file)
}

// start starts a program without marks. ours are the names of what we hold an end of. An error leaves files open.
func (p *Process) start(program Program, at Place, stdin, stdout *os.File, ours ...string) (err error) {
	most := int64(4 << 10)
	if at.means != nil {
		most = 4 << 20 // a program in Go writes its stacks there
	}
	if p.errors, err = newTail(at.Folder, most); err != nil {
		return err
	}
	p.stop = at.stop
	p.cmd = exec.Command(program.Command[0], program.Command[1:]...)
	p.cmd.Dir = program.In
	p.cmd.Env = append(at.Environ(), program.Env...)
	if p.means = at.means; p.means != nil {
		p.cmd.Env = p.means.Environ(p.cmd.Env)
	}
	if program.In != "" {
		p.cmd.Env = append(p.cmd.Env, "PWD="+program.In)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, p.errors.file
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startAlone(p.cmd); err != nil {
		return err
	}
	go func() { p.exited <- p.cmd.Wait() }()
	p.watcher, err = procfs.Watch(p.cmd.Process.Pid, ours...)
	if err != nil && p.cmd.Process.Signal(syscall.Signal(0)) == nil {
		return err
	}
	return nil // Settle notices a process that has ended already
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

// IsGone reports whether the process has ended and was waited for.
func (p *Process) IsGone() bool {
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

// Settle waits until the process is at rest, has said something, or is gone; or until the patience with one
// that runs is over. One that speaks on and on without a rest is not heard any more after twice that time, or when too much waits to
// be asked for: it runs.
func (p *Process) Settle(patience Patience) (look procfs.Look, isMoved bool) {
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
	case time.Since(p.speaks) > 2*patience.Running:
		p.isEndless = true
	}
	return look, isMoved
}

// await waits until the process is at rest, has said something, or is gone, or until the patience is over.
func (p *Process) await(patience Patience) (look procfs.Look, isMoved bool) {
	const shortest, longest = 30 * time.Microsecond, 500 * time.Microsecond
	began := time.Now()
	for pause := shortest; ; pause = min(longest, pause*3/2) {
		p.shorten()
		p.ends.Flush()
		if p.ends.Read(p) {
			return procfs.Look{Activity: procfs.Busy}, true
		}
		if p.IsGone() {
			return procfs.Look{Activity: procfs.Ended}, p.ends.Read(p)
		}
		if p.endIfStopped() {
			return procfs.Look{Activity: procfs.Ended}, false
		}
		wasStill := p.ends.IsStill()
		if p.watcher != nil { // nil: it ended before it could be looked at, and exited says so soon
			look = p.watcher.Look()
		}
		// What was on its way before the look may have moved it since, and what it said may have come since.
		isQuiet := wasStill && look.Activity != procfs.Busy && look.Activity != procfs.Ended && p.ends.IsStill()
		if isQuiet && p.ends.Read(p) {
			return procfs.Look{Activity: procfs.Busy}, true
		}
		if isQuiet || time.Since(began) > patience.Running {
			return look, false
		}
		time.Sleep(pause)
	}
}

// Look returns what the process does now. It keeps what the process writes to files short, as Settle does.
func (p *Process) Look() procfs.Look {
	p.shorten()
	if p.watcher == nil {
		return procfs.Look{Activity: procfs.Busy}
	}
	return p.watcher.Look()
}

// Own notes the names of what we hold an end of, beside those from its start.
func (p *Process) Own(names ...string) {
	if p.watcher != nil {
		p.watcher.Own(names...)
	}
}

// Status says how a process that is gone ended, such as "exit status 1"; "": with 0.
func (p *Process) Status() string { return p.status }

// Exit returns the error with which a process ended that is gone; nil: status 0.
func (p *Process) Exit() error { return p.exit }

// IsInterrupted reports whether the process is to end at once.
func (p *Process) IsInterrupted() bool { return IsClosed(p.stop) }

// IsStopped reports whether the process was ended because it was to end at once.
func (p *Process) IsStopped() bool { return p.isStopped }

// Pause waits, and reports whether the process may go on: it is not to end at once.
func (p *Process) Pause(pause time.Duration) bool {
	select {
	case <-p.stop:
		return false
	case <-time.After(pause):
		return true
	}
}

// endIfStopped ends the process if it is to end at once, and reports whether it was ended for that.
func (p *Process) endIfStopped() bool {
	if !p.isStopped && p.IsInterrupted() {
		p.isStopped = true
		p.end(ErrStopped.Error())
	}
	return p.isStopped
}

// end ends the process and all that it has started, for a reason that stands in the place of its status.
func (p *Process) end(reason string) {
	p.killAll()
	p.status = reason
}

// Terminate sends SIGTERM to the process that was started, and to no other, as clients do.
func (p *Process) Terminate() {
	if !p.IsGone() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
}

// Kill ends the process and all that it has started, and frees what was opened. It may not have started.
func (p *Process) Kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		p.killAll()
	}
	p.closeAll()
}

func (p *Process) killAll() {
	if p.watcher != nil && !p.IsGone() { // a gateway starts its servers in groups of their own
		p.watcher.Kill()
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if !p.gone {
		<-p.exited
		p.gone = true
	}
}

func (p *Process) closeAll() {
	p.ends.Close()
	if p.watcher != nil {
		p.watcher.Close()
	}
	p.output.close()
	p.errors.close()
}

// shorten keeps what the process writes to files from growing as long as it lives.
func (p *Process) shorten() {
	p.output.shorten()
	p.errors.shorten()
}

// Stderr returns the line that the process wrote there which says what went wrong, or else the last one.
func (p *Process) Stderr() string {
	lines := strings.Split(string(p.errors.text()), "\n")
	headline, last := lastwords.Find(lines)
	if headline >= 0 {
		last = headline
	}
	return strings.TrimSuffix(strings.TrimSpace(lines[last]), " {")
}

// Lines asks a process that hangs which lines of its source hold what waits, if it was started for that. A program in
// Go has ended then.
func (p *Process) Lines() []string {
	const most = 3
	if p.means == nil || p.IsGone() {
		return nil
	}
	answer, err := p.means.Ask(p.cmd.Process.Pid, p.errors.text)
	if err != nil {
		return []string{err.Error()}
	}
	return answer.Words(most)
}

// Stdout returns what it wrote to its standard output, or the end of it.
func (p *Process) Stdout() string { return string(p.output.text()) }
