package leftover

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/mcprec/mcprec/transport/procfs"
)

// endProcesses kills the processes of such runs until none is left: a process may start another just before its end,
// so after each kill it looks again. It never kills this process.
func endProcesses(isWanted func(name string) bool) {
	known := map[string]bool{}
	isKnown := func(name string) bool {
		is, seen := known[name]
		if !seen {
			is = isWanted(name)
			known[name] = is
		}
		return is
	}
	gone := map[int]bool{} // before it was known of what run they were
	for isOver := false; !isOver; {
		isOver = true
		for _, pid := range slices.Backward(processes()) { // the newest first: it may start another and end any moment
			names, ended := runsOf(pid)
			switch {
			case slices.ContainsFunc(names, isKnown) && end(pid, isKnown):
				isOver = false
			case ended && !gone[pid] && len(gone) < mostGone:
				gone[pid] = true
				isOver = false
			}
		}
	}
}

// mostGone is how many processes may end during a look before endProcesses stops looking again: on a busy machine
// some always do.
const mostGone = 1000

// processes returns the numbers of all processes but this one.
func processes() (list []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != os.Getpid() {
			list = append(list, pid)
		}
	}
	return list
}

// runsOf returns the names of the runs that a process is in; none if it is another user's, or has ended.
func runsOf(pid int) (names []string, ended bool) {
	environ, ended := procfs.Environ(pid)
	for setting := range bytes.SplitSeq(environ, []byte{0}) {
		if value, isOurs := bytes.CutPrefix(setting, []byte(variable+"=")); isOurs {
			return strings.Fields(string(value)), ended
		}
	}
	return nil, ended
}

// end kills a process that is in such a run, waits for its end, and reports whether it has ended or left the run.
// The number of a process may go to another one at any time; a descriptor does not.
func end(pid int, isWanted func(name string) bool) bool {
	const (
		open, signal = 434, 424 // pidfd_open and pidfd_send_signal, on every architecture
		readable     = 1        // POLLIN: it has ended
	)
	fd, _, errno := syscall.Syscall(open, uintptr(pid), 0, 0)
	if errno == syscall.ENOSYS || errno == syscall.EPERM { // before Linux 5.3, or in an old container
		return syscall.Kill(pid, syscall.SIGKILL) == nil && awaitEnd(pid)
	}
	if errno != 0 {
		return errno == syscall.ESRCH
	}
	defer func() { _ = syscall.Close(int(fd)) }()
	if names, _ := runsOf(pid); !slices.ContainsFunc(names, isWanted) {
		return true
	}
	if _, _, errno := syscall.Syscall6(signal, fd, uintptr(syscall.SIGKILL), 0, 0, 0, 0); errno != 0 {
		return errno == syscall.ESRCH
	}
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd), events: readable}
	wait := syscall.NsecToTimespec(int64(longest))
	for {
		count, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0 && count == 1
		}
	}
}

// longest is how long to wait for the end of a killed process, which a disk may delay.
const longest = 5 * time.Second

// awaitEnd waits for the end of a process that was killed, and reports whether it has come.
func awaitEnd(pid int) bool {
	for began := time.Now(); time.Since(began) < longest; time.Sleep(time.Millisecond) {
		if names, _ := runsOf(pid); len(names) == 0 {
			return true
		}
	}
	return false
}
