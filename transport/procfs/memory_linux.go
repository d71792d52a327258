//go:build amd64 || arm64

package procfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory passes to take what a process has in its memory that it may write to, and that is no file's: run by run of
// pages, at most so many bytes in all. It reads what is there, and brings no page in. Whole reports whether that was
// all of it. A run is valid until take returns; a long one comes in parts that overlap.
func Memory(pid int, most int64, take func(run []byte)) (whole bool, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return false, notYours(pid, err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return false, notYours(pid, err)
	}
	defer func() { _ = memory.Close() }()
	pages, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", pid))
	if err != nil {
		return false, notYours(pid, err)
	}
	defer func() { _ = pages.Close() }()
	r := memoryReader{memory: memory, pages: pages, left: most, take: take, page: uint64(os.Getpagesize())}
	for line := range strings.Lines(string(maps)) {
		from, to, ok := writableRange(line)
		if ok {
			r.read(from, to)
		}
	}
	return r.left > 0, nil
}

func notYours(pid int, err error) error {
	if errors.Is(err, os.ErrPermission) {
		err = ErrNotYours
	}
	return fmt.Errorf("look at the memory of process %d: %w", pid, err)
}

// writableRange reads a line of /proc/PID/maps: the addresses of memory that a process may read and write, and that
// belongs to no file.
func writableRange(line string) (from, to uint64, ok bool) {
	fields := strings.Fields(line)
	const access, inode, name = 1, 4, 5
	if len(fields) <= inode || !strings.HasPrefix(fields[access], "rw-p") || fields[inode] != "0" {
		return 0, 0, false
	}
	if len(fields) > name && strings.HasPrefix(fields[name], "[v") { // vvar, vsyscall
		return 0, 0, false
	}
	begin, end, _ := strings.Cut(fields[0], "-")
	from, bad := strconv.ParseUint(begin, 16, 64)
	to, err := strconv.ParseUint(end, 16, 64)
	return from, to, bad == nil && err == nil
}

// memoryReader reads the pages of a process that are present.
type memoryReader struct {
	memory, pages *os.File
	page          uint64
	left          int64
	take          func([]byte)
	data          []byte
}

// read passes on the pages of a range that are present.
func (r *memoryReader) read(from, to uint64) {
	const present, entry, batch = 1 << 63, 8, 4096
	entries := make([]byte, batch*entry)
	begin, length := uint64(0), uint64(0) // of the run so far
	for at := from; at < to && r.left > 0; at += batch * r.page {
		count := min(batch, (to-at)/r.page)
		n, err := r.pages.ReadAt(entries[:count*entry], int64(at/r.page*entry))
		if err != nil && n == 0 {
			break
		}
		for i := uint64(0); i < uint64(n)/entry; i++ {
			isThere := binary.NativeEndian.Uint64(entries[i*entry:])&present != 0
			switch {
			case isThere && length > 0:
				length += r.page
			case isThere:
				begin, length = at+i*r.page, r.page
			case length > 0:
				r.pass(begin, length)
				length = 0
			}
		}
	}
	if length > 0 {
		r.pass(begin, length)
	}
}

// pass passes on a run of pages, in parts.
func (r *memoryReader) pass(begin, length uint64) {
	const part, overlap = 4 << 20, 256 << 10
	if r.data == nil {
		r.data = make([]byte, part)
	}
	for done := uint64(0); done < length && r.left > 0; {
		size := min(part, length-done)
		n, err := r.memory.ReadAt(r.data[:size], int64(begin+done))
		if n > 0 {
			r.left -= int64(n)
			r.take(r.data[:n])
		}
		if err != nil || done+size == length {
			return
		}
		done += size - overlap
	}
}
