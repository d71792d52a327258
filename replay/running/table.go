package running

import (
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/procfs"
)

// Table has the processes of a moment, and which of them hold which end of a pipe.
type Table struct {
	list     []procfs.Seen
	byPID    map[int]*procfs.Seen
	children map[int][]int
	holders  map[string][]holder // by the name of a pipe or a socket
	hidden   int                 // processes whose descriptors are not shown

	otherEnds map[string]string // of Unix sockets, as far as they were asked for
	otherEnd  func(string) string
	peek      func(pid, fd, most int) (procfs.Unread, error)
	programs  map[string]bool // by the path of a file
}

// holder is a process that has a pipe or a socket open.
type holder struct {
	pid int
	procfs.Descriptor
}

// Look returns the processes of this moment.
func Look() (*Table, error) {
	list, err := procfs.List()
	if err != nil {
		return nil, err
	}
	return newTable(list, procfs.OtherEnd, procfs.Peek), nil
}

func newTable(list []procfs.Seen, otherEnd func(string) string, peek func(pid, fd, most int) (procfs.Unread, error)) *Table {
	t := &Table{
		list: list, byPID: map[int]*procfs.Seen{}, children: map[int][]int{}, holders: map[string][]holder{},
		otherEnds: map[string]string{}, otherEnd: otherEnd, peek: peek, programs: map[string]bool{},
	}
	for i := range list {
		p := &list[i]
		t.byPID[p.PID] = p
		t.children[p.Parent] = append(t.children[p.Parent], p.PID)
		if p.IsHidden {
			t.hidden++
		}
		for _, d := range p.Pipes {
			t.holders[d.File] = append(t.holders[d.File], holder{p.PID, d})
		}
	}
	return t
}

// Hidden returns how many processes do not show what they hold, because they are another user's.
func (t *Table) Hidden() int { return t.hidden }

// IsHidden reports whether a process lives that does not show what it holds.
func (t *Table) IsHidden(pid int) bool { return t.byPID[pid] != nil && t.byPID[pid].IsHidden }

// Has reports whether a process lives.
func (t *Table) Has(pid int) bool { return t.byPID[pid] != nil }

// below returns the descendants of a process.
func (t *Table) below(pid int) (list []int) {
	list = slices.Clone(t.children[pid])
	for i := 0; i < len(list); i++ {
		list = append(list, t.children[list[i]]...)
	}
	return list
}

// ancestors returns the parent of a process, its parent, and so on.
func (t *Table) ancestors(pid int) (list []int) {
	const most = 64 // a number may be another process's by now
	for len(list) < most {
		p := t.byPID[pid]
		if p == nil || p.Parent <= 0 {
			return list
		}
		list = append(list, p.Parent)
		pid = p.Parent
	}
	return list
}

// across returns the processes that hold the other end of a pipe or a socket: the writers of an input, or the readers
// of an output. The processes in without do not count.
func (t *Table) across(file string, isInput bool, without []int) (list []holder) {
	name := file
	if strings.HasPrefix(file, "socket:") {
		other, isKnown := t.otherEnds[file]
		if !isKnown {
			other = t.otherEnd(file)
			t.otherEnds[file] = other
		}
		if other == "" {
			return nil
		}
		name = other
	}
	for _, h := range t.holders[name] {
		isAcross := name != file || isInput && h.Writes || !isInput && h.Reads
		if isAcross && !slices.Contains(without, h.pid) {
			list = append(list, h)
		}
	}
	return list
}

// holds returns the descriptor of a process among some ends; false if it holds none.
func holds(list []holder, pid int) (fd int, ok bool) {
	for _, h := range list {
		if h.pid == pid {
			return h.FD, true
		}
	}
	return 0, false
}
