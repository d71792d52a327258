package child

import (
	"bytes"
	"os"
	"syscall"
	"unsafe"

	"github.com/mcprec/mcprec/transport"
)

// Pipes are our ends of a process's standard input and output. For a client they are the ends of its server's.
type Pipes struct {
	in, out  int          // we write to in and read from out; -1: closed
	listener *listener    // takes the starts of a client's server; nil: the process is a server
	errors   *ErrorOutput // of a client's server

	waiting []byte   // to be written when the pipe has room
	ending  bool     // close in when nothing waits
	rest    []byte   // the beginning of a line
	lines   [][]byte // read, and not asked for yet
	held    int      // about how many bytes lines take
	ended   bool     // the process has closed its output
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

// Write writes bytes. Those for which the pipe has no room are written by a later [Process.Settle].
func (p *Pipes) Write(data []byte) {
	p.waiting = append(p.waiting, data...)
	p.Flush()
}

// Flush implements [Ends].
func (p *Pipes) Flush() {
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
		CloseEnd(&p.in)
	}
}

// Send writes bytes, and calls rest at each of the splits before it goes on.
func (p *Pipes) Send(data []byte, splits []int, rest func()) {
	done := 0
	for _, at := range splits {
		if at > done && at < len(data) {
			p.Write(data[done:at])
			done = at
			rest()
		}
	}
	p.Write(data[done:])
}

// Said returns the lines that the process has written since the last call.
func (p *Pipes) Said() (frames []transport.Frame) {
	for _, line := range p.lines {
		frames = append(frames, transport.Frame{Bytes: line})
	}
	p.lines = nil
	p.held = 0
	return frames
}

// End closes the input of the server, behind the bytes that wait for room.
func (p *Pipes) End() {
	p.ending = true
	p.Flush()
}

// Shut closes the output of the server: nobody reads it any more.
func (p *Pipes) Shut() { CloseEnd(&p.out) }

// Narrow makes the pipe of the server's output as small as the kernel allows, and returns its size in bytes.
func (p *Pipes) Narrow() int {
	const setSize, getSize = 1031, 1032 // F_SETPIPE_SZ, F_GETPIPE_SZ
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.out), setSize, 1)
	size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(p.out), getSize, 0)
	if errno != 0 {
		return 64 << 10
	}
	return int(size)
}

// Sip reads a page at most of what an Unread process has written, and reports whether there was anything.
func (p *Pipes) Sip() bool {
	var page [4 << 10]byte
	count, err := syscall.Read(p.out, page[:])
	p.ended = p.ended || count == 0 && err == nil
	if count > 0 {
		p.take(page[:count])
	}
	return count > 0
}

// Untaken returns how many bytes the process has not read. For a socket the number says only whether there are any.
func (p *Pipes) Untaken() int {
	if p.in < 0 {
		return 0
	}
	return len(p.waiting) + count(p.in, syscall.TIOCINQ) + count(p.in, syscall.TIOCOUTQ)
}

// Read implements [Ends].
func (p *Pipes) Read(process *Process) (isMore bool) {
	for taken := 0; taken < mostAtOnce && !process.Unread && !p.ended && p.out >= 0; {
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
func (p *Pipes) take(data []byte) {
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

// IsStill implements [Ends]. A pipe delivers at once.
func (p *Pipes) IsStill() bool { return true }

// Close implements [Ends].
func (p *Pipes) Close() {
	CloseEnd(&p.in)
	CloseEnd(&p.out)
	p.errors.close()
	p.listener.close()
}

// count asks the kernel how many bytes wait in a descriptor: those that can be read (TIOCINQ), or those of ours that
// the other end has not read (TIOCOUTQ, sockets only).
func count(fd int, what uintptr) int {
	var count int32
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), what, uintptr(unsafe.Pointer(&count)))
	return int(count)
}

// ErrorOutput returns the standard error of a client's server; nil if the client need not read there.
func (p *Pipes) ErrorOutput() *ErrorOutput { return p.errors }

// IsOpen reports whether our end of the input is open: for a client, whether its server runs.
func (p *Pipes) IsOpen() bool { return p.in >= 0 }

// IsEnded reports whether the process has closed its output.
func (p *Pipes) IsEnded() bool { return p.ended }

// CloseEnd closes a descriptor unless it is -1, and makes it -1.
func CloseEnd(fd *int) {
	if *fd < 0 {
		return
	}
	starting.RLock()
	_ = syscall.Close(*fd)
	starting.RUnlock()
	*fd = -1
}

// HangUp ends the client's server: it closes both pipes, the client's input behind the bytes that wait for room, and
// the process exits with status 0.
func (p *Pipes) HangUp() {
	p.End()
	p.errors.close()
	CloseEnd(&p.out)
	CloseEnd(&p.listener.control)
}
