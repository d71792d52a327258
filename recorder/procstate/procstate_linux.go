package procstate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/store"
)

const maxThreads = 64 // of a process that are looked at

// machine names this boot and the namespace in which process numbers count; "" if unknown.
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, bad := os.Readlink("/proc/self/ns/pid")
	space = strings.TrimSuffix(strings.TrimPrefix(space, "pid:["), "]")
	if err != nil || bad != nil || len(boot) < 8 {
		return ""
	}
	return string(boot[:8]) + "." + space
}

// birth returns the machine and the start of a process, in clock ticks since the boot.
func birth(pid int) string {
	here := machine()
	s := stat{}
	ok := false
	if here != "" {
		s, ok = readStat(pid)
	}
	if !ok {
		return ""
	}
	return here + "." + s.start
}

// of returns the state of a process and of its descendants, down to a depth.
func of(id store.ProcessID, depth int) Process {
	here := machine()
	begun := strings.LastIndexByte(id.Birth, '.')
	if here == "" || id.PID <= 0 || begun < 0 || id.Birth[:begun] != here {
		return Process{PID: id.PID, State: Unknown}
	}
	s, ok := readStat(id.PID)
	if !ok || s.start != id.Birth[begun+1:] {
		return Process{PID: id.PID, State: Gone}
	}
	return describe(id.PID, s, depth)
}

// stat is what /proc/PID/stat tells.
type stat struct {
	name   string
	state  byte
	parent int
	start  string
}

// readStat reads the state of a process. The name stands in parentheses and may hold any byte.
func readStat(pid int) (s stat, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open := bytes.IndexByte(b, '(')
	end := bytes.LastIndexByte(b, ')')
	if err != nil || open < 0 || end < open {
		return s, false
	}
	const startField = 22 - 3 // of proc_pid_stat(5), behind the name
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) <= startField {
		return s, false
	}
	parent, err := strconv.Atoi(fields[1])
	return stat{string(b[open+1 : end]), fields[0][0], parent, fields[startField]}, err == nil
}

// parent returns the parent of a process; 0: there is none, or it is in another namespace.
func parent(pid int) int {
	s, _ := readStat(pid)
	return s.parent
}

func stateOf(letter byte) State {
	switch letter {
	case 'R':
		return Running
	case 'S', 'I':
		return Sleeping
	case 'D':
		return Disk
	case 'T', 't':
		return Stopped
	case 'Z':
		return Zombie
	case 'X', 'x':
		return Gone
	}
	return Unknown
}

func describe(pid int, stat stat, depth int) Process {
	p := Process{PID: pid, Name: stat.name, State: stateOf(stat.state)}
	if p.State == Zombie || p.State == Gone {
		return p
	}
	for fd := range p.Files {
		p.Files[fd] = file(pid, fd)
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	main := fmt.Sprintf("/proc/%d/task/%d", pid, pid)
	if i := slices.Index(threads, main); i > 0 {
		threads = slices.Insert(slices.Delete(threads, i, i+1), 0, main)
	}
	for i, thread := range threads {
		if c, ok := callOf(pid, thread); ok && i < maxThreads && !slices.Contains(p.Calls, c) {
			p.Calls = append(p.Calls, c)
		}
		if depth == 0 {
			continue
		}
		children, _ := os.ReadFile(thread + "/children")
		for _, text := range strings.Fields(string(children)) {
			child, err := strconv.Atoi(text)
			if err != nil {
				continue
			}
			if s, ok := readStat(child); ok {
				p.Children = append(p.Children, describe(child, s, depth-1))
			}
		}
	}
	return p
}

// file returns what a descriptor is.
func file(pid, fd int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	return name
}

// callOf returns the system call in which a thread waits; ok is false if it waits in none, or
// the system does not tell.
func callOf(pid int, thread string) (call Call, ok bool) {
	call.FD = -1
	text, err := os.ReadFile(thread + "/syscall")
	fields := strings.Fields(string(text))
	if err == nil && len(fields) >= 2 {
		number, err := strconv.Atoi(fields[0])
		if err != nil || number < 0 { // it runs, or it is not in a system call
			return call, false
		}
		if call.Name = callNames[number]; call.Name == "" {
			call.Name = "system call " + fields[0]
		}
		fd, err := strconv.ParseUint(strings.TrimPrefix(fields[1], "0x"), 16, 64)
		if err == nil && (call.Name == "read" || call.Name == "write" || call.Name == "accept" || call.Name == "connect") {
			call.FD = int(uint32(fd))
			call.File = file(pid, call.FD)
		}
		return call, true
	}
	if err == nil { // "running"
		return call, false
	}
	function, _ := os.ReadFile(thread + "/wchan")
	call.Name = callIn(string(bytes.TrimSpace(function)))
	return call, call.Name != ""
}

// callIn returns the system call of a kernel function in which a thread waits.
func callIn(function string) string {
	if function == "0" || function == "" {
		return ""
	}
	for _, known := range []struct{ part, call string }{
		{"pipe_read", "read"}, {"pipe_write", "write"}, {"read_generic", "read"}, {"n_tty_read", "read"}, {"wait_for_wmem", "write"},
		{"recvmsg", "read"}, {"wait_for_packet", "read"}, {"sk_wait_data", "read"},
		{"poll", "poll"}, {"select", "poll"}, {"futex", "futex"}, {"do_wait", "wait"}, {"nanosleep", "sleep"}, {"accept", "accept"},
	} {
		if strings.Contains(function, known.part) {
			return known.call
		}
	}
	return function
}
