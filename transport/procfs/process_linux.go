package procfs

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
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
func of(id ID, depth int) Process {
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
	flags  uint64
	code   uint64 // the address of its program; 0: it is about to begin one
	// resident is how many pages of it are in memory.
	resident int64
	// environ and environEnd are the addresses of its environment; 0: not known.
	environ, environEnd uint64
}

// readStat reads the state of a process.
func readStat(pid int) (s stat, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, false
	}
	return parseStat(string(text))
}

// parseStat parses /proc/PID/stat. The name stands in parentheses and may hold any byte.
func parseStat(text string) (s stat, ok bool) {
	open := strings.IndexByte(text, '(')
	end := strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return s, false
	}
	const flags, start, resident, code, environ, environEnd = 9 - 3, 22 - 3, 24 - 3, 26 - 3, 50 - 3, 51 - 3 // of proc_pid_stat(5), behind the name
	fields := strings.Fields(text[end+1:])
	if len(fields) <= code {
		return s, false
	}
	number := func(field int) (n uint64) {
		if field < len(fields) {
			n, _ = strconv.ParseUint(fields[field], 10, 64) // a field that is not told counts as 0
		}
		return n
	}
	parent, err := strconv.Atoi(fields[1])
	s = stat{name: text[open+1 : end], state: fields[0][0], parent: parent, start: fields[start]}
	s.flags, s.code, s.environ, s.environEnd = number(flags), number(code), number(environ), number(environEnd)
	s.resident = int64(number(resident))
	return s, err == nil
}

// ticks are the clock ticks a second in which /proc tells times, on every machine.
const ticks = 100

// ageSince returns how long ago a process was started, in ticks since the boot; 0 if that is not known.
func ageSince(start string) time.Duration {
	n, err := strconv.ParseInt(start, 10, 32+16) // as many years as any machine runs
	if err != nil {
		return 0
	}
	return max(uptime()-time.Duration(n)*(time.Second/ticks), 0) // a container may have an uptime of its own
}

// uptime is the monotonic clock, as far as /proc tells it.
func uptime() time.Duration {
	data, _ := os.ReadFile("/proc/uptime")
	text, _, _ := strings.Cut(string(data), " ")
	seconds, _ := strconv.ParseFloat(text, 64)
	return time.Duration(seconds * float64(time.Second))
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
		p.Files[fd] = nameOf(pid, fd)
	}
	p.Age = ageSince(stat.start)
	threads := tasks(pid)
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

// tasks returns the folders of a process's threads.
func tasks(pid int) []string {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	entries, _ := os.ReadDir(dir)
	list := make([]string, len(entries))
	for i, entry := range entries {
		list[i] = dir + "/" + entry.Name()
	}
	return list
}

// nameOf returns the name of a descriptor of a process, such as "pipe:[4711]". One that stands for a process is
// "process 4711", by the number of that process.
func nameOf(pid, fd int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if name == "anon_inode:[pidfd]" || strings.HasPrefix(name, "pidfd:") {
		info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
		_, rest, _ := strings.Cut(string(info), "\nPid:")
		if fields := strings.Fields(rest); len(fields) > 0 {
			return "process " + fields[0]
		}
	}
	return name
}

func has(pid int, file string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		name, _ := os.Readlink(dir + "/" + e.Name())
		return name == file
	})
}

// callOf returns the system call in which a thread waits; ok is false if it waits in none, or
// the system does not tell.
func callOf(pid int, thread string) (call Call, ok bool) {
	call.FD = -1
	text, err := os.ReadFile(thread + "/syscall")
	if err == nil {
		numbers := parseSyscall(string(text))
		if len(numbers) < 2 { // it runs, or it is not in a system call
			return call, false
		}
		kind := calls[numbers[0]]
		if call.Name = kind.word(); call.Name == "" {
			call.Name = fmt.Sprintf("system call %d", numbers[0])
		}
		if kind.hasDescriptor() {
			call.FD = int(uint32(numbers[1]))
			call.File = nameOf(pid, call.FD)
		}
		return call, true
	}
	function, _ := os.ReadFile(thread + "/wchan")
	call.Name = callIn(string(bytes.TrimSpace(function)))
	return call, call.Name != ""
}

// parseSyscall parses /proc/PID/task/TID/syscall: the number of the system call in which the thread sleeps, and
// its arguments. A thread that runs, or that is in no system call, has none.
func parseSyscall(text string) (numbers []uint64) {
	for _, field := range strings.Fields(text) {
		value, err := strconv.ParseUint(field, 0, 64)
		if err != nil {
			break // "running", or -1
		}
		numbers = append(numbers, value)
	}
	return numbers
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
