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
)

// endProcesses kills the processes that are in a run of such a name, until there are none: one that is killed may
// have started another just before. That one shows no environment while it takes up its program, so after a kill
// several looks must find none. It never kills this process.
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
	for looks := 1; looks > 0; looks-- {
		for _, pid := range processes() {
			if slices.ContainsFunc(runsOf(pid), isKnown) && end(pid, isKnown) {
				looks = looksAfterKill
			}
		}
		if looks > 1 {
			time.Sleep(lookPause)
		}
	}
}

// How often it looks for processes after the last kill, and how long it waits in between.
const (
	looksAfterKill = 6
	lookPause      = 3 * time.Millisecond
)

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

// runsOf returns the names of the runs that a process is in; none if it has ended, or is another user's.
func runsOf(pid int) []string {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	for setting := range bytes.SplitSeq(environ, []byte{0}) {
		if value, isOurs := bytes.CutPrefix(setting, []byte(variable+"=")); isOurs {
			return strings.Fields(string(value))
		}
	}
	return nil
}

// end kills a process, waits for its end, and reports whether it has ended. The number of a process may go
// to another one at any time; a descriptor does not.
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
		return false
	}
	defer func() { _ = syscall.Close(int(fd)) }()
	if !slices.ContainsFunc(runsOf(pid), isWanted) {
		return false
	}
	if _, _, errno := syscall.Syscall6(signal, fd, uintptr(syscall.SIGKILL), 0, 0, 0, 0); errno != 0 {
		return false
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

// longest is how long the end of a killed process is waited for: a disk may keep it.
const longest = 5 * time.Second

// awaitEnd waits for the end of a process that was killed, and reports whether it has come.
func awaitEnd(pid int) bool {
	for began := time.Now(); time.Since(began) < longest; time.Sleep(time.Millisecond) {
		if len(runsOf(pid)) == 0 {
			return true
		}
	}
	return false
}
