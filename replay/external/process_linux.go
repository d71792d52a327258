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

// process is the end under test and our ends of its pipes, which never block. One goroutine uses it.
type process struct {
	cmd     *exec.Cmd
	watcher *quiet.Watcher
	in, out int      // we write to in and read from out; -1: closed
	output  *os.File // what a client writes to its standard output; nil: a server
	errors  *os.File // what it writes to stderr
	door    *door    // where a client's server comes from; nil: a server
	exited  chan error

	waiting []byte   // written, and the pipe had no room
	rest    []byte   // the beginning of a line
	lines   [][]byte // what it has said
	unread  bool     // nothing is read
	ended   bool     // what it writes to us is at its end
	gone    bool
	status  string // of one that is gone: "exit status 1"; "": 0
}

// starting is held while a process starts. Until its program runs it has copies of the pipes to all others:
// a server whose input ends meanwhile would not notice, sleep on, and seem to linger.
var starting sync.RWMutex

// startServer starts a server with a folder of its own.
func startServer(server Server, dir string) (*process, error) {
	p := &process{in: -1, out: -1, exited: make(chan error, 1)}
	var theirs [2]*os.File
	defer func() {
		for _, file := range theirs {
			_ = file.Close() // fails for nil, which is as well
		}
	}()
	var err error
	if theirs[0], p.in, err = pipe(true); err == nil {
		theirs[1], p.out, err = pipe(false)
	}
	if err == nil {
		err = p.start(withMarks(server.Command, folderMark, dir), withMarks(server.Env, folderMark, dir), theirs[0], theirs[1])
	}
	if err != nil {
		p.closeAll()
		return nil, fmt.Errorf("start %s: %w", server.Command[0], err)
	}
	return p, nil
}

// startClient starts a client with a folder of its own. The marks in its command and environment stand for
// the folder, and for the program that it starts as its server.
func startClient(client Client, dir string) (p *process, err error) {
	p = &process{in: -1, out: -1, exited: make(chan error, 1)}
	if p.door, err = openDoor(client.PassOn); err == nil {
		p.output, err = unnamedFile()
	}
	if err == nil {
		marks := []string{folderMark, dir, serverMark, p.door.script}
		err = p.start(withMarks(client.Command, marks...), withMarks(client.Env, marks...), nil, p.output)
	}
	if err != nil {
		p.closeAll()
		return nil, fmt.Errorf("start %s: %w", client.Command[0], err)
	}
	return p, nil
}

// start starts the command. An error leaves files open.
func (p *process) start(command, env []string, stdin, stdout *os.File) (err error) {
	if p.errors, err = unnamedFile(); err != nil {
		return err
	}
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, p.errors
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
	return nil // settle notices a process that has ended already
}

// unnamedFile returns a file that lives as long as it is open.
func unnamedFile() (*os.File, error) {
	file, err := os.CreateTemp("", "mcprec-output-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
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

// untaken returns how many bytes the process has not read. Of a socket it is only known whether there are any.
func (p *process) untaken() int {
	if p.in < 0 {
		return 0
	}
	return len(p.waiting) + count(p.in, syscall.TIOCINQ) + count(p.in, syscall.TIOCOUTQ)
}

// read takes what the process has said, and reports whether there was anything.
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

// settle waits until the process is at rest, has said something, or is gone; or until the patience with one
// that runs is over.
func (p *process) settle(patience patience) (look quiet.Look, isMoved bool) {
	const shortest, longest = 30 * time.Microsecond, 500 * time.Microsecond
	began := time.Now()
	for pause := shortest; ; pause = min(longest, pause*3/2) {
		p.flush()
		if p.read() || p.door.answer(p) {
			return quiet.Look{State: quiet.Busy}, true
		}
		if p.isGone() {
			return quiet.Look{State: quiet.Gone}, p.read()
		}
		if p.watcher != nil { // nil: it ended before it could be looked at, and exited says so soon
			look = p.watcher.Look()
		}
		isQuiet := look.State != quiet.Busy && look.State != quiet.Gone
		if isQuiet && p.door.answer(p) { // it came between the two
			return quiet.Look{State: quiet.Busy}, true
		}
		if isQuiet && (p.unread || p.ended || count(p.out, syscall.TIOCINQ) == 0) || time.Since(began) > patience.running {
			return look, false
		}
		time.Sleep(pause)
	}
}

// count asks how many bytes wait: those that can be read from a descriptor (TIOCINQ), or those written to
// it that nobody has read (TIOCOUTQ, of a socket alone).
func count(fd int, what uintptr) int {
	var count int32
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), what, uintptr(unsafe.Pointer(&count)))
	return int(count)
}

// endInput ends the input of a server.
func (p *process) endInput() { closeEnd(&p.in) }

// closeEnd closes a descriptor, and notes that.
func closeEnd(fd *int) {
	if *fd < 0 {
		return
	}
	starting.RLock()
	_ = syscall.Close(*fd)
	starting.RUnlock()
	*fd = -1
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
	closeEnd(&p.in)
	closeEnd(&p.out)
	p.door.close()
	if p.watcher != nil {
		p.watcher.Close()
	}
	for _, file := range []*os.File{p.output, p.errors} {
		_ = file.Close() // fails for nil, which is as well
	}
}

// stderr returns the last line that the process wrote there, of those that are not blank.
func (p *process) stderr() string {
	lines := bytes.Split(bytes.TrimSpace(endOf(p.errors, 4<<10)), []byte("\n"))
	return string(lines[len(lines)-1])
}

// stdout returns what a client wrote to its standard output, or the end of it.
func (p *process) stdout() string { return string(endOf(p.output, 1<<20)) }

// endOf returns at most so many bytes of the end of a file that a process writes to.
func endOf(file *os.File, most int64) []byte {
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	text := make([]byte, min(info.Size(), most))
	count, _ := file.ReadAt(text, max(0, info.Size()-most))
	return text[:count]
}
