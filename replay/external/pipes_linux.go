package external

import (
	"bytes"
	"os"
	"syscall"
	"unsafe"

	"github.com/mcprec/mcprec/transport"
)

// pipes are our ends of a process's standard input and output. Of a client they are those of its server.
type pipes struct {
	in, out  int       // we write to in and read from out; -1: closed
	listener *listener // where a client's server comes from; nil: a server

	waiting []byte   // written, and the pipe had no room
	ending  bool     // in is closed when nothing waits
	rest    []byte   // the beginning of a line
	lines   [][]byte // what it has said
	held    int      // about how many bytes these take
	ended   bool     // what it writes to us is at its end
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
func (p *pipes) write(data []byte) {
	p.waiting = append(p.waiting, data...)
	p.flush()
}

// flush implements ends.
func (p *pipes) flush() {
	for len(p.waiting) > 0 && p.in >= 0 {
		count, err := syscall.Write(p.in, p.waiting)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.EAGAIN {
			return
		}
		if err != nil {
			p.waiting = nil // nobody reads any more
			break
		}
		p.waiting = p.waiting[count:]
	}
	if p.ending {
		closeEnd(&p.in)
	}
}

// send implements connection: each frame is a line.
func (p *pipes) send(frames []sending, splits []int, rest func()) {
	var data []byte
	for _, s := range frames {
		data = append(append(data, s.frame.Bytes...), '\n')
	}
	done := 0
	for _, at := range splits {
		if at > done && at < len(data) {
			p.write(data[done:at])
			done = at
			rest()
		}
	}
	p.write(data[done:])
}

// said implements connection.
func (p *pipes) said() (frames []transport.Frame) {
	for _, line := range p.lines {
		frames = append(frames, transport.Frame{Bytes: line})
	}
	p.lines = nil
	p.held = 0
	return frames
}

// end implements connection: it ends the input of the server, behind what there was no room for.
func (p *pipes) end() {
	p.ending = true
	p.flush()
}

// narrow makes the pipe of the server's output as small as the kernel allows, and returns its size in bytes.
func (p *pipes) narrow() int {
	const setSize, getSize = 1031, 1032 // F_SETPIPE_SZ, F_GETPIPE_SZ
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.out), setSize, 1)
	size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.out), getSize, 0)
	if errno != 0 {
		return 64 << 10
	}
	return int(size)
}

// untaken returns how many bytes the process has not read. Of a socket it is only known whether there are any.
func (p *pipes) untaken() int {
	if p.in < 0 {
		return 0
	}
	return len(p.waiting) + count(p.in, syscall.TIOCINQ) + count(p.in, syscall.TIOCOUTQ)
}

// read implements ends.
func (p *pipes) read(process *process) (isMore bool) {
	for taken := 0; taken < mostAtOnce && !process.unread && !p.ended && p.out >= 0; {
		var page [64 << 10]byte
		count, err := syscall.Read(p.out, page[:])
		if err == syscall.EINTR {
			continue
		}
		if count <= 0 {
			p.ended = err == nil
			break
		}
		isMore = true
		taken += count
		p.take(page[:count])
		if len(p.rest) > transport.MaxMessage {
			p.rest, p.ended = nil, true
			process.end(transport.TooLong("a line of its output").Error())
			return true
		}
		process.isEndless = process.isEndless || p.held > 2*transport.MaxMessage
	}
	return p.listener.answer(process, p) || isMore
}

// take takes bytes of lines.
func (p *pipes) take(data []byte) {
	for {
		piece, rest, isWhole := bytes.Cut(data, []byte("\n"))
		p.rest = append(p.rest, piece...)
		if !isWhole {
			return
		}
		const head = 48 // of a line in memory
		p.lines = append(p.lines, p.rest)
		p.held += head + len(p.rest)
		p.rest = nil
		data = rest
	}
}

// isStill implements ends. What was written to a pipe is there at once.
func (p *pipes) isStill() bool { return true }

// close implements ends.
func (p *pipes) close() {
	closeEnd(&p.in)
	closeEnd(&p.out)
	p.listener.close()
}

// count asks how many bytes wait: those that can be read from a descriptor (TIOCINQ), or those written to
// it that nobody has read (TIOCOUTQ, of a socket alone).
func count(fd int, what uintptr) int {
	var count int32
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), what, uintptr(unsafe.Pointer(&count)))
	return int(count)
}

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

// hangUp ends the client's server: both pipes, and then the process, with status 0.
func (p *pipes) hangUp() {
	closeEnd(&p.in)
	closeEnd(&p.out)
	closeEnd(&p.listener.control)
	p.waiting = nil
}
