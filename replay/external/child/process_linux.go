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
	output  *tail             // its standard output; nil: a pipe to us
	errors  *tail             // its standard error
	means   *sourceline.Means // to ask for lines of source at a hang; nil: nothing is asked
	exited  chan error

	// Unread says that we read nothing.
	Unread bool

	stop      <-chan struct{} // of its Place
	isStopped bool            // ended because stop was closed

	gone   bool
	exit   error  // if gone: of Wait
	status string // if gone: such as "exit status 1"; "": 0

	speaks    time.Time // since when it writes without coming to rest; zero: it is at rest
	isEndless bool      // it wrote for too long, and is no longer read
}

// Ends are our ends of the connections with a process. No method blocks.
type Ends interface {
	// Flush writes the bytes for which there was no room before.
	Flush()
	// Read takes the bytes that the process has written, unless it is Unread, and reports whether there were any.
	Read(p *Process) (isMore bool)
	// IsStill reports whether nothing is on its way, in either direction.
	IsStill() bool
	// Close closes all.
	Close()
}

// mostAtOnce is about how many bytes one Read takes, so that it returns also from a process that writes faster than
// we read.
const mostAtOnce = 1 << 20

// starting is held while a process starts. Until its program runs, the process has copies of the pipes to all others:
// a server whose input is closed meanwhile would not see the end, and would seem to linger.
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

// StartQuiet starts a process without standard input, and keeps the end of its standard output for [Process.Stdout].
// marks are like those of the program.
func (p *Process) StartQuiet(program Program, at Place, marks ...string) (err error) {
	if p.output, err = newTail(at.Folder, 1<<20); err != nil {
		return err
	}
	return p.start(program.fill(at, marks...), at, nil, p.output.file)
}

// start starts a program whose marks are replaced. ours are the names of the pipes of which we hold an end. After an
// error some files are still open.
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

// startAlone starts a command, and waits until its process has no copy of our descriptors. exec.Cmd.Start waits only
// until the kernel has closed the copy of a descriptor of its own, and the kernel closes them in the order of their
// numbers: higher ones may stay open a little longer.
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

// Settle waits until the process is at rest, has written something, or is gone, but no longer than the patience with a
// running process. A process that goes on writing without a rest is no longer read after twice that time, or when
// too much lies here for the caller: it counts as running.
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

// await waits until the process is at rest, has written something, or is gone, or until the patience is over.
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
		if p.watcher != nil { // nil: it ended before the first look, and exited will say so
			look = p.watcher.Look()
		}
		// Bytes that were on their way before the look may have woken the process, and others may have come back.
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

// Look returns what the process does now, and shortens its output files as Settle does.
func (p *Process) Look() procfs.Look {
	p.shorten()
	if p.watcher == nil {
		return procfs.Look{Activity: procfs.Busy}
	}
	return p.watcher.Look()
}

// Own adds the names of pipes or sockets of which we hold an end.
func (p *Process) Own(names ...string) {
	if p.watcher != nil {
		p.watcher.Own(names...)
	}
}

// Status says how a process ended that is gone, such as "exit status 1"; "": with 0.
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

// endIfStopped ends an interrupted process, and reports whether there was one to end, now or before.
func (p *Process) endIfStopped() bool {
	if !p.isStopped && p.IsInterrupted() {
		p.isStopped = true
		p.end(ErrStopped.Error())
	}
	return p.isStopped
}

// end ends the process and all that it started. The reason becomes its status.
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

// Kill ends the process, if it was started, and all processes that it started, and closes all files.
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

// shorten keeps the output files of a long-lived process small.
func (p *Process) shorten() {
	p.output.shorten()
	p.errors.shorten()
}

// Stderr returns the line of standard error that says what went wrong, or else the last line.
func (p *Process) Stderr() string {
	lines := strings.Split(string(p.errors.text()), "\n")
	headline, last := lastwords.Find(lines)
	if headline >= 0 {
		last = headline
	}
	return strings.TrimSuffix(strings.TrimSpace(lines[last]), " {")
}

// Lines asks a hung process which lines of its source hold the waiting calls, if [InPlace] was told to ask. A program
// in Go ends by that.
func (p *Process) Lines() []string { return p.ask(sourceline.Answer.Words) }

// Alive asks as Lines does, for the lines that keep a process from its end.
func (p *Process) Alive() []string { return p.ask(sourceline.Answer.Alive) }

// Wrote asks a process in Node or Python where it has written a line of its output, if [InPlace] was told to ask.
func (p *Process) Wrote(line []byte) []string {
	return p.askOn(func(pid int) ([]string, error) { return p.means.Wrote(pid, line) })
}

// Met asks a process in Node or Python where its requests met that were under way together, if [InPlace] was told to ask.
func (p *Process) Met() []string {
	return p.askOn(func(pid int) ([]string, error) { return p.means.Met(pid, mostWords) })
}

// askOn asks what a process goes on after.
func (p *Process) askOn(ask func(pid int) ([]string, error)) []string {
	if p.means == nil || p.IsGone() {
		return nil
	}
	words, err := ask(p.cmd.Process.Pid)
	if err != nil {
		return []string{err.Error()}
	}
	return words
}

// mostWords is how many sentences are told.
const mostWords = 3

func (p *Process) ask(words func(answer sourceline.Answer, most int) []string) []string {
	if p.means == nil || p.IsGone() {
		return nil
	}
	answer, err := p.means.Ask(p.cmd.Process.Pid, p.errors.text)
	if err != nil {
		return []string{err.Error()}
	}
	return words(answer, mostWords)
}

// Stdout returns the standard output, or the end of a long one.
func (p *Process) Stdout() string { return string(p.output.text()) }
