//go:build amd64 || arm64

package procfs

import (
	"debug/buildinfo"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Watcher looks at a process and at all that it has started. It is not safe for concurrent use.
type Watcher struct {
	pid  int
	only bool                // what it has started is left out
	ours map[string]bool     // names of descriptors that the caller holds an end of
	open map[string]*os.File // of /proc, by path
	page []byte
	isGo map[string]bool // by the file of a program: whether it is a Go program

	otherEnds map[string]string // of connected Unix sockets, both by name
}

// Supported returns nil: this system shows what threads wait for.
func Supported() error { return nil }

// Watch returns a Watcher of the process pid. ours are the names of the pipes and sockets that the caller
// holds an end of, as [Name] returns them.
func Watch(pid int, ours ...string) (*Watcher, error) {
	w := &Watcher{
		pid: pid, ours: map[string]bool{}, open: map[string]*os.File{}, page: make([]byte, 16<<10), isGo: map[string]bool{},
		otherEnds: map[string]string{},
	}
	w.Own(ours...)
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%[1]d/syscall", pid)); err != nil {
		return nil, fmt.Errorf("look at process %d: the kernel does not show its system calls: %w", pid, err)
	}
	return w, nil
}

// WatchOnly is Watch without what the process has started: of a client, whose servers are its children.
func WatchOnly(pid int, ours ...string) (*Watcher, error) {
	w, err := Watch(pid, ours...)
	if err == nil {
		w.only = true
	}
	return w, err
}

// Own adds names of pipes and sockets that the caller holds an end of to those given to Watch.
func (w *Watcher) Own(names ...string) {
	for _, name := range names {
		w.ours[name] = name != ""
	}
}

// Name returns the name of a descriptor of this process, such as "pipe:[4711]". Both ends of a pipe have
// the same.
func Name(fd int) string { return nameOf(os.Getpid(), fd) }

// Close closes the open files.
func (w *Watcher) Close() {
	for path, file := range w.open {
		_ = file.Close()
		delete(w.open, path)
	}
}

// Look looks at every thread twice.
func (w *Watcher) Look() Look {
	first := w.pass()
	if first.Activity == Busy {
		return first.Look
	}
	second := w.pass()
	if !first.IsSame(second.Look) {
		second.Activity = Busy
	}
	return second.Look
}

// pass is one look at every thread.
type pass struct {
	Look
	full bool
}

func (w *Watcher) pass() *pass {
	p := &pass{Look: Look{Timer: -1}}
	tree := w.tree()
	for _, pid := range tree {
		list := tasks(pid)
		if len(list) == 0 && pid != w.pid { // It ended a moment ago, and may have woken its parent, which was looked at before.
			p.Activity = Busy
			return p
		}
		for _, dir := range list {
			t := w.thread(dir)
			switch t.state {
			case 'X': // The same.
				p.Activity = Busy
				return p
			case 'Z': // If it is not there in the other pass it has ended in between.
				p.signatures = append(p.signatures, dir)
				continue
			}
			p.Threads++
			if t.state != 'S' || len(t.args) < 7 {
				p.Activity = Busy
				return p
			}
			p.signatures = append(p.signatures, t.signature)
			w.judge(p, tree, pid, t.args)
		}
	}
	slices.Sort(p.Outside)
	p.Outside = slices.Compact(p.Outside)
	switch {
	case p.Threads == 0:
		p.Activity = Ended
	case p.full:
		p.Activity = Full
	case len(p.Outside) > 0:
		p.Activity = Outside
	case p.Timer >= 0:
		p.Activity = Timed
	default:
		p.Activity = Asleep
	}
	return p
}

// judge notes what can wake a thread that sleeps in a call: args are its number and its arguments.
func (w *Watcher) judge(p *pass, tree []int, pid int, args []uint64) {
	timer := func(left time.Duration) {
		if left >= 0 && (p.Timer < 0 || left < p.Timer) {
			p.Timer = left
		}
	}
	milliseconds := func(value uint64) { timer(time.Duration(int32(value)) * time.Millisecond) }
	outside := func(names ...string) {
		for _, name := range names {
			switch {
			case w.isOurs(name):
				p.Ours = true
			case !w.isInside(tree, name):
				p.Outside = append(p.Outside, name)
			}
		}
	}
	switch kind := calls[args[0]]; kind {
	case epoll, epoll2:
		if kind == epoll {
			milliseconds(args[4])
		} else {
			timer(timeout(pid, args[4], false))
		}
		outside(watchedBy(pid, int(args[1]))...)
	case poll, ppoll:
		if kind == poll {
			milliseconds(args[3])
		} else {
			timer(timeout(pid, args[3], false))
		}
		outside(polled(pid, args[1], args[2])...)
	case futex:
		if w.runsGo(pid) {
			break // Ignore it: Go's runtime wakes itself every minute. A Go program's real timers show in its epoll call.
		}
		const operation, waitBitset, lockPI = 0x7f, 9, 6
		isAbsolute := args[2]&operation == waitBitset || args[2]&operation == lockPI
		timer(timeout(pid, args[4], isAbsolute))
	case sleep:
		timer(timeout(pid, args[1], false))
	case clock:
		timer(timeout(pid, args[3], args[2] != 0))
	case read, accept:
		outside(nameOf(pid, int(args[1])))
	case write:
		if name := nameOf(pid, int(args[1])); w.isOurs(name) {
			p.full = true
		} else {
			outside(name)
		}
	case child, signal:
	default:
		p.Outside = append(p.Outside, fmt.Sprintf("system call %d", args[0]))
	}
}

// runsGo reports whether a process is a Go program.
func (w *Watcher) runsGo(pid int) bool {
	link := fmt.Sprintf("/proc/%d/exe", pid)
	program, _ := os.Readlink(link) // another one since a launcher has replaced itself
	known, isKnown := w.isGo[program]
	if !isKnown {
		_, err := buildinfo.ReadFile(link)
		known = err == nil
		w.isGo[program] = known
	}
	return known
}

// thread is what /proc tells of a thread.
type thread struct {
	state     byte
	args      []uint64 // the number of the system call and its six arguments
	signature string
}

func (w *Watcher) thread(dir string) thread {
	stat, ok := parseStat(w.read(dir + "/stat"))
	if !ok {
		return thread{state: 'X'}
	}
	sleeping := w.read(dir + "/syscall")
	return thread{stat.state, parseSyscall(sleeping), dir + " " + sleeping + w.read(dir+"/schedstat")}
}

// Kill kills the process and all that it has started, whatever group or session they are in. It does not find
// a process whose parent has ended.
func (w *Watcher) Kill() {
	for _, pid := range w.tree() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// tree returns the process and all that it has started.
func (w *Watcher) tree() []int {
	list := []int{w.pid}
	for i := 0; !w.only && i < len(list); i++ {
		for _, dir := range tasks(list[i]) {
			for _, field := range strings.Fields(w.read(dir + "/children")) {
				if pid, err := strconv.Atoi(field); err == nil {
					list = append(list, pid)
				}
			}
		}
	}
	return list
}

// read returns what a file of /proc has now, and keeps it open.
func (w *Watcher) read(path string) string {
	for range 2 { // the number of a thread may have gone to another one
		file := w.open[path]
		if file == nil {
			var err error
			if file, err = os.Open(path); err != nil {
				return ""
			}
			w.open[path] = file
		}
		count, err := file.ReadAt(w.page, 0)
		if err == nil || errors.Is(err, io.EOF) {
			return string(w.page[:count])
		}
		_ = file.Close()
		delete(w.open, path)
	}
	return ""
}

// watchedBy returns the names of what an epoll instance watches.
func watchedBy(pid, fd int) (names []string) {
	info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	for line := range strings.Lines(string(info)) {
		rest, found := strings.CutPrefix(line, "tfd:")
		fields := strings.Fields(rest)
		if !found || len(fields) == 0 {
			continue
		}
		if watched, err := strconv.Atoi(fields[0]); err == nil {
			names = append(names, nameOf(pid, watched))
		}
	}
	return names
}

// polled returns the names of what a thread polls: an array of struct pollfd.
func polled(pid int, address, count uint64) (names []string) {
	const size = 8
	data := memory(pid, address, int(min(count, 1024))*size)
	for ; len(data) >= size; data = data[size:] {
		if fd := int32(binary.NativeEndian.Uint32(data)); fd >= 0 {
			names = append(names, nameOf(pid, int(fd)))
		}
	}
	return names
}

// isOurs reports whether a descriptor is an end of something whose other end is the caller's. The two ends
// of a pair of sockets have names of their own.
func (w *Watcher) isOurs(name string) bool { return w.ours[name] || w.ours[w.otherEnd(name)] }

// otherEnd returns the name of the other end of a connected Unix socket, or "".
func (w *Watcher) otherEnd(name string) string {
	if !strings.HasPrefix(name, "socket:") {
		return ""
	}
	other, isKnown := w.otherEnds[name]
	if !isKnown {
		if other = otherEnd(name); other != "" {
			w.otherEnds[name] = other
		}
	}
	return other
}

// isInside reports whether all that a descriptor waits for is in the tree: both ends of a pipe or of a
// pair of sockets, or a process.
func (w *Watcher) isInside(tree []int, name string) bool {
	kind, _, _ := strings.Cut(name, ":")
	switch {
	case strings.HasPrefix(name, "anon_inode:[eventfd"), strings.HasPrefix(name, "anon_inode:[eventpoll"):
		return true
	case strings.HasPrefix(name, "process "):
		pid, err := strconv.Atoi(strings.TrimPrefix(name, "process "))
		return err == nil && slices.Contains(tree, pid)
	case kind == "socket":
		other := w.otherEnd(name)
		return other != "" && slices.ContainsFunc(tree, func(pid int) bool { return len(descriptors(pid, other)) > 0 })
	case kind != "pipe":
		return false
	}
	reads, writes := false, false
	for _, pid := range tree {
		for _, fd := range descriptors(pid, name) {
			writable := canWrite(pid, fd)
			reads = reads || !writable
			writes = writes || writable
		}
	}
	return reads && writes
}

// descriptors returns the descriptors of a process with a name.
func descriptors(pid int, name string) (list []int) {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && nameOf(pid, fd) == name {
			list = append(list, fd)
		}
	}
	return list
}

// canWrite reports whether a descriptor of a pipe is its writing end.
func canWrite(pid, fd int) bool {
	info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	_, rest, _ := strings.Cut(string(info), "flags:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return false
	}
	flags, _ := strconv.ParseUint(fields[0], 8, 64)
	return flags&syscall.O_ACCMODE != syscall.O_RDONLY
}

// memory returns some bytes of a process's memory, or nil.
func memory(pid int, address uint64, size int) []byte {
	file, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	data := make([]byte, size)
	if _, err := file.ReadAt(data, int64(address)); err != nil {
		return nil
	}
	return data
}

// timeout returns how long the struct timespec at an address lets a call wait; a negative time means that
// there is no limit. An absolute time counts from the start of the machine (CLOCK_MONOTONIC) or from 1970
// (CLOCK_REALTIME): the second is always far greater.
func timeout(pid int, address uint64, isAbsolute bool) time.Duration {
	if address == 0 {
		return -1
	}
	data := memory(pid, address, 16)
	if data == nil {
		return 0 // there is one, and it is not known
	}
	seconds, nanoseconds := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
	left := time.Duration(seconds)*time.Second + time.Duration(nanoseconds)
	if !isAbsolute {
		return left
	}
	const years = 20 * 365 * 24 * time.Hour
	if left > years {
		return max(0, left-time.Duration(time.Now().UnixNano()))
	}
	return max(0, left-uptime())
}
