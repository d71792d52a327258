package external

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/mcprec/mcprec/replay/external/quiet"
)

// process is a server and our ends of its pipes, which never block. One goroutine uses it.
type process struct {
	cmd     *exec.Cmd
	watcher *quiet.Watcher
	in, out int      // -1: closed
	errors  *os.File // what it writes to stderr
	exited  chan error

	waiting []byte   // written, and the pipe had no room
	rest    []byte   // the beginning of a line
	lines   [][]byte // what it has said
	unread  bool     // nothing is read
	ended   bool     // its output is at its end
	gone    bool
	status  string // of one that is gone: "exit status 1"; "": 0
}

// starting is held while a process starts. Until its program runs it has copies of the pipes to all others:
// a server whose input ends meanwhile would not notice, sleep on, and seem to linger.
var starting sync.RWMutex

// startProcess starts the server with a folder of its own.
func startProcess(server Server, dir string) (*process, error) {
	p := &process{in: -1, out: -1, exited: make(chan error, 1)}
	if err := p.start(server, dir); err != nil {
		p.closeAll()
		return nil, fmt.Errorf("start %s: %w", server.Command[0], err)
	}
	return p, nil
}

func (p *process) start(server Server, dir string) (err error) {
	var theirs [2]*os.File
	defer func() {
		for _, file := range theirs {
			_ = file.Close() // fails for nil, which is as well
		}
	}()
	if theirs[0], p.in, err = pipe(true); err != nil {
		return err
	}
	if theirs[1], p.out, err = pipe(false); err != nil {
		return err
	}
	if p.errors, err = os.CreateTemp("", "mcprec-stderr-"); err != nil {
		return err
	}
	if err := os.Remove(p.errors.Name()); err != nil { // it lives as long as it is open
		return err
	}
	args := server.inFolder(server.Command, dir)
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Env = append(os.Environ(), server.inFolder(server.Env, dir)...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], p.errors
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	starting.Lock()
	err = p.cmd.Start()
	starting.Unlock()
	if err != nil {
		return err
	}
	go func() { p.exited <- p.cmd.Wait() }()
	p.watcher, err = quiet.Watch(p.cmd.Process.Pid, quiet.Name(p.in), quiet.Name(p.out))
	if err != nil && p.cmd.Process.Signal(syscall.Signal(0)) == nil {
		p.kill()
		return err
	}
	return nil // settle notices a server that has ended already
}

// pipe returns their end and our end, which does not block.
func pipe(weWrite bool) (theirs *os.File, ours int, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	their, ours := ends[1], ends[0]
	if weWrite {
		their, ours = ends[0], ends[1]
	}
	if err := syscall.SetNonblock(ours, true); err != nil {
		return nil, -1, err
	}
	return os.NewFile(uintptr(their), "pipe"), ours, nil
}

// write hands bytes over. What the pipe has no room for goes with a later settle.
func (p *process) write(data []byte) {
	p.waiting = append(p.waiting, data...)
	p.flush()
}

func (p *process) flush() {
	for len(p.waiting) > 0 && p.in >= 0 {
		count, err := syscall.Write(p.in, p.waiting)
		if err == syscall.EINTR {
			continue
		}
		if err != nil && err != syscall.EAGAIN {
			p.waiting = nil // nobody reads any more
		}
		if err != nil {
			return
		}
		p.waiting = p.waiting[count:]
	}
}

// narrow makes the pipe of the server's output as small as the kernel allows, and returns its size in bytes.
func (p *process) narrow() int {
	const setSize, getSize = 1031, 1032 // F_SETPIPE_SZ, F_GETPIPE_SZ
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.out), setSize, 1)
	size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.out), getSize, 0)
	if errno != 0 {
		return 64 << 10
	}
	return int(size)
}

// untaken returns how many bytes the server has not read.
func (p *process) untaken() int {
	if p.in < 0 {
		return 0
	}
	return len(p.waiting) + inPipe(p.in)
}

// read takes what the server has said, and reports whether there was anything.
func (p *process) read() (isMore bool) {
	for !p.unread && !p.ended && p.out >= 0 {
		var page [64 << 10]byte
		count, err := syscall.Read(p.out, page[:])
		if err == syscall.EINTR {
			continue
		}
		if count > 0 {
			isMore = true
			p.rest = append(p.rest, page[:count]...)
			continue
		}
		p.ended = err == nil
		break
	}
	for {
		line, rest, found := bytes.Cut(p.rest, []byte("\n"))
		if !found {
			return isMore
		}
		p.lines = append(p.lines, bytes.Clone(line))
		p.rest = rest
	}
}

// isGone reports whether the process has ended and was waited for.
func (p *process) isGone() bool {
	if p.gone {
		return true
	}
	select {
	case err := <-p.exited:
		p.gone = true
		if err != nil {
			p.status = err.Error()
		}
	default:
	}
	return p.gone
}

// settle waits until the server is at rest, has said something, or is gone; or until the patience with one
// that runs is over.
func (p *process) settle(patience patience) (look quiet.Look, isMoved bool) {
	const shortest, longest = 30 * time.Microsecond, 500 * time.Microsecond
	began := time.Now()
	for pause := shortest; ; pause = min(longest, pause*3/2) {
		p.flush()
		if p.read() {
			return quiet.Look{State: quiet.Busy}, true
		}
		if p.isGone() {
			return quiet.Look{State: quiet.Gone}, p.read()
		}
		if p.watcher != nil { // nil: it ended before it could be looked at, and exited says so soon
			look = p.watcher.Look()
		}
		isQuiet := look.State != quiet.Busy && look.State != quiet.Gone
		if isQuiet && (p.unread || p.ended || inPipe(p.out) == 0) || time.Since(began) > patience.running {
			return look, false
		}
		time.Sleep(pause)
	}
}

// inPipe returns how many bytes wait in a pipe.
func inPipe(fd int) int {
	var count int32
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TIOCINQ, uintptr(unsafe.Pointer(&count)))
	return int(count)
}

// endInput ends the server's input.
func (p *process) endInput() {
	if p.in < 0 {
		return
	}
	starting.RLock()
	_ = syscall.Close(p.in)
	starting.RUnlock()
	p.in = -1
}

// kill ends the process and all that it has started, and frees what was opened.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if !p.gone {
		<-p.exited
		p.gone = true
	}
	p.closeAll()
}

func (p *process) closeAll() {
	p.endInput()
	if p.out >= 0 {
		_ = syscall.Close(p.out)
		p.out = -1
	}
	if p.watcher != nil {
		p.watcher.Close()
	}
	if p.errors != nil {
		_ = p.errors.Close()
		p.errors = nil
	}
}

// stderr returns the last line that the server wrote there, of those that are not blank.
func (p *process) stderr() string {
	const most = 4 << 10
	size, _ := p.errors.Seek(0, 2)
	text := make([]byte, min(size, most))
	count, _ := p.errors.ReadAt(text, max(0, size-most))
	lines := bytes.Split(bytes.TrimSpace(text[:count]), []byte("\n"))
	return string(lines[len(lines)-1])
}
