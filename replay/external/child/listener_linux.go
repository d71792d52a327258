package child

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/mcprec/mcprec/replay/external/sourceline"
	"github.com/mcprec/mcprec/transport/procfs"
)

// listener takes the starts of a client's server. The client starts [PassOn], which hands its standard input and
// output over and waits for its end. The listener takes one start at a time: a second server beside the first waits.
type listener struct {
	socket  int
	script  string // its path; it starts a PassOn
	control int    // to the PassOn, which ends when control is closed; -1: none
	began   bool   // its descriptors have come
	starts  int
}

// listen makes a listener, with its script in a folder. passOn is a command that calls PassOn with its last argument,
// the name of the socket, which listen adds.
func listen(passOn []string, folder string) (_ *listener, err error) {
	l := &listener{control: -1}
	if l.socket, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if err := syscall.Bind(l.socket, &syscall.SockaddrUnix{}); err != nil { // the kernel finds a name
		return nil, err
	}
	if err := syscall.Listen(l.socket, 8); err != nil {
		return nil, err
	}
	address, err := syscall.Getsockname(l.socket)
	if err != nil {
		return nil, err
	}
	unix, isUnix := address.(*syscall.SockaddrUnix)
	if !isUnix {
		return nil, fmt.Errorf("a socket has the address %v", address)
	}
	words := make([]string, 0, len(passOn)+1)
	for _, word := range append(append(words, passOn...), unix.Name) {
		words = append(words, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
	}
	starting.RLock() // a process that starts meanwhile would keep the script open for writing, and nobody could run it
	defer starting.RUnlock()
	file, err := os.CreateTemp(folder, "server-")
	if err != nil {
		return nil, err
	}
	l.script = file.Name()
	_, err = fmt.Fprintf(file, "#!/bin/sh\nunset %s\nexec %s\n", sourceline.Variable, strings.Join(words, " ")) // PassOn is ours: nobody asks it for lines
	if err == nil {
		err = file.Chmod(0o700)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return l, err
}

// answer takes the descriptors of a server that the client has started, or notes that the client has ended its server.
// It reports whether either has happened.
func (l *listener) answer(process *Process, p *Pipes) (isMore bool) {
	if l == nil {
		return false
	}
	if l.control < 0 {
		if l.control, _, _ = syscall.Accept4(l.socket, syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK); l.control < 0 {
			return false
		}
		other, err := syscall.GetsockoptUcred(l.control, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if err != nil || int(other.Uid) != os.Getuid() { // any user of the machine may connect
			CloseEnd(&l.control)
			return false
		}
		l.began = false
	}
	var page [1]byte
	rights := make([]byte, syscall.CmsgSpace(3*4))
	size, rightsSize, _, _, err := syscall.Recvmsg(l.control, page[:], rights, syscall.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return false // nothing has come
	case size == 0: // it was killed
		p.waiting = nil
		p.HangUp()
		return l.began
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:rightsSize])
	if err != nil || len(messages) == 0 {
		return false
	}
	ends, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(ends) != 3 {
		return false
	}
	p.errors.close()
	p.errors = newErrorOutput(ends[2])
	ends = ends[:2]
	CloseEnd(&p.in)                // of the server before it, whose last bytes nobody reads
	p.out, p.in = ends[0], ends[1] // the client writes to its server's standard input, and we read there
	for _, end := range ends {
		_ = syscall.SetNonblock(end, true) // a pipe and a socket can
	}
	process.Own(procfs.Name(p.in), procfs.Name(p.out), procfs.Name(l.control))
	if p.errors != nil {
		process.Own(procfs.Name(p.errors.fd))
	}
	p.rest, p.lines, p.waiting, p.held = nil, nil, nil, 0
	p.ending, p.ended, process.Unread = false, false, false
	l.began = true
	l.starts++
	return true
}

// Starts returns how often the client has started its server. The pipes are those to the latest.
func (p *Pipes) Starts() int { return p.listener.starts }

// IsAwaited reports whether the client has started a server beside the one it has.
func (p *Pipes) IsAwaited() bool {
	l := p.listener
	if l.control < 0 {
		return false
	}
	other, _, _ := syscall.Accept4(l.socket, syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK)
	isThere := other >= 0
	CloseEnd(&other)
	return isThere
}

// close closes the listener, and ends what it has taken.
func (l *listener) close() {
	if l == nil {
		return
	}
	CloseEnd(&l.control)
	CloseEnd(&l.socket)
	if l.script != "" {
		_ = os.Remove(l.script)
	}
}

// PassOn runs in the process that a client under test starts as its server. It passes its standard input, output and error
// to the mcprec that listens at a name, and becomes a shell that waits until mcprec closes the connection: a Go program
// would stay among the client's processes, with the timers of its runtime. PassOn returns only if it fails.
func PassOn(name string) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: name})
	}
	if err == nil { // Go opens those of the three that are closed
		err = syscall.Sendmsg(fd, []byte{0}, syscall.UnixRights(0, 1, 2), nil, 0)
	}
	if err == nil {
		err = syscall.Dup3(fd, 0, 0)
	}
	if err == nil {
		err = syscall.Close(1) // the other end must not see this copy as open
	}
	if err == nil {
		err = syscall.Exec("/bin/sh", []string{"sh", "-c", "read -r end; exit 0"}, os.Environ())
	}
	return fmt.Errorf("pass standard input and output to %s: %w", name, err)
}
