//go:build amd64 || arm64

package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// List returns the processes of this machine that run a program, in the order of their numbers. It leaves out the
// threads of the kernel, and a process that ends meanwhile.
func List() (list []Seen, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	here := machine()
	page := make([]byte, 64<<10)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if r, ok := seenOf(pid, here, page); ok {
			list = append(list, r)
		}
	}
	return list, nil
}

// seenOf returns what is shown of a process.
func seenOf(pid int, here string, page []byte) (r Seen, ok bool) {
	const kernelThread = 0x200000 // PF_KTHREAD
	dir := "/proc/" + strconv.Itoa(pid)
	s, ok := readStat(pid)
	if !ok || s.flags&kernelThread != 0 {
		return r, false
	}
	r = Seen{
		PID: pid, Parent: s.parent, Name: s.name, State: stateOf(s.state), Age: ageSince(s.start), Memory: s.resident * int64(os.Getpagesize()),
	}
	if here != "" {
		r.Birth = here + "." + s.start
	}
	if info, err := os.Stat(dir); err == nil {
		if of, isKnown := info.Sys().(*syscall.Stat_t); isKnown {
			r.User = int(of.Uid)
		}
	}
	if n := readInto(dir+"/cmdline", page); n > 0 {
		r.Command = strings.Split(strings.TrimSuffix(string(page[:n]), "\x00"), "\x00")
	}
	r.Pipes, r.IsHidden = pipesOf(dir)
	return r, true
}

// readInto reads the beginning of a file of /proc, and returns how many bytes.
func readInto(path string, page []byte) int {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	n, _ := file.Read(page)
	return max(n, 0)
}

// pipesOf returns the pipes and sockets of a process. The mode of a link of /proc/PID/fd says whether the descriptor
// reads and writes.
func pipesOf(dir string) (list []Descriptor, isHidden bool) {
	entries, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return nil, os.IsPermission(err)
	}
	for _, entry := range entries {
		link := filepath.Join(dir, "fd", entry.Name())
		file, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(file, "pipe:[") && !strings.HasPrefix(file, "socket:[") {
			continue
		}
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		d := Descriptor{FD: fd, File: file}
		if info, err := os.Lstat(link); err == nil {
			d.Reads = info.Mode()&0o400 != 0
			d.Writes = info.Mode()&0o200 != 0
		}
		list = append(list, d)
	}
	return list, false
}

// LastRan returns how long ago a thread of a process last had a processor; 0 if one has it now, and false where the
// kernel does not tell.
func LastRan(pid int) (ago time.Duration, ok bool) {
	now, ok := lastRan("/proc/thread-self")
	if !ok {
		return 0, false
	}
	latest := -1.0
	for _, dir := range tasks(pid) {
		if at, ok := lastRan(dir); ok && at > latest {
			latest = at
		}
	}
	if latest < 0 {
		return 0, false
	}
	return time.Duration(max(now-latest, 0) * float64(time.Millisecond)), true
}

// lastRan returns when a thread last had a processor, in milliseconds of the scheduler's clock.
func lastRan(dir string) (at float64, ok bool) {
	page := make([]byte, 512)
	n := readInto(dir+"/sched", page)
	for line := range strings.Lines(string(page[:n])) {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == "se.exec_start" {
			at, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return at, err == nil
		}
	}
	return 0, false
}

// Counts returns how many bytes a process has read and written so far, in all; false where they are not shown.
func Counts(pid int) (read, written uint64, ok bool) {
	page := make([]byte, 512)
	n := readInto(fmt.Sprintf("/proc/%d/io", pid), page)
	for line := range strings.Lines(string(page[:n])) {
		name, value, _ := strings.Cut(line, ": ")
		number, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		switch {
		case err != nil:
		case name == "rchar":
			read, ok = number, true
		case name == "wchar":
			written = number
		}
	}
	return read, written, ok
}

// Switches returns how often each thread of a process has given up its processor of itself: when it began to sleep, or
// was stopped.
func Switches(pid int) map[string]uint64 {
	counts := map[string]uint64{}
	page := make([]byte, 4<<10)
	for _, dir := range tasks(pid) {
		n := readInto(dir+"/status", page)
		_, rest, found := strings.Cut(string(page[:n]), "\nvoluntary_ctxt_switches:")
		if fields := strings.Fields(rest); found && len(fields) > 0 {
			counts[dir], _ = strconv.ParseUint(fields[0], 10, 64)
		}
	}
	return counts
}
