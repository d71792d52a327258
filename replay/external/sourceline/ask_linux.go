package sourceline

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/transport/procfs"
)

// patience is how long a program may take for its answer. One that is at rest takes a few milliseconds.
const patience = 5 * time.Second

// Wrote asks a program in Node or Python, and all that it has started, where a line of standard output was written.
func (m *Means) Wrote(pid int, line []byte) ([]string, error) {
	return m.first(pid, func(a Answer) []string { return a.Wrote(line) })
}

// Met asks a program in Node or Python, and all that it has started, where requests met, for most sentences at most.
func (m *Means) Met(pid, most int) ([]string, error) {
	return m.first(pid, func(a Answer) []string { return a.Met(most) })
}

// first asks the processes of a program that can be asked again, and returns the first words that there are of an answer.
func (m *Means) first(pid int, words func(Answer) []string) ([]string, error) {
	var faults []error
	for _, p := range family(procfs.Tree(procfs.Identify(pid))) {
		read := readerOf(procfs.Program(p))
		if read == nil || !m.isPrepared(p) {
			continue
		}
		answer, err := m.answer(p, read)
		if err != nil {
			faults = append(faults, err)
		}
		if words := words(answer); len(words) > 0 {
			return words, nil
		}
	}
	return nil, errors.Join(faults...)
}

// Ask asks a program and all that it has started, and returns what the first one tells that has anything to tell. stderr
// returns what they have written to standard error. A program in Go has ended then.
func (m *Means) Ask(pid int, stderr func() []byte) (Answer, error) {
	var faults []error
	for _, p := range family(procfs.Tree(procfs.Identify(pid))) {
		answer, err := m.askOne(p, stderr)
		if err != nil {
			faults = append(faults, err)
		}
		if len(answer.Waits) > 0 || len(answer.Kept) > 0 {
			return answer, nil
		}
	}
	return Answer{}, errors.Join(faults...)
}

// family lists a tree of processes, the latest first: a launcher has nothing to tell.
func family(p procfs.Process) (pids []int) {
	for _, child := range p.Children {
		pids = append(pids, family(child)...)
	}
	return append(pids, p.PID)
}

// askOne asks one process. Of a language that is not known it does nothing.
func (m *Means) askOne(pid int, stderr func() []byte) (Answer, error) {
	program := procfs.Program(pid)
	if !m.isPrepared(pid) {
		return Answer{}, nil // a signal would end it: nothing listens there
	}
	if read := readerOf(program); read != nil {
		return m.answer(pid, read)
	}
	if _, err := buildinfo.ReadFile(program); err != nil {
		return Answer{}, nil
	}
	id := procfs.Identify(pid)
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		return Answer{}, nil // it has ended meanwhile
	}
	until(func() bool { state := procfs.Of(id).State; return state == procfs.Gone || state == procfs.Zombie })
	return readGo(stderr()), nil
}

// isPrepared reports whether a process was started with the means, and has no environment of its own.
func (m *Means) isPrepared(pid int) bool {
	environ, _ := procfs.Environ(pid)
	return strings.Contains("\x00"+string(environ), "\x00"+Variable+"="+m.folder+"\x00")
}

// readerOf returns what reads the answer of a program in Node or Python; nil of another.
func readerOf(program string) func([]byte) (Answer, error) {
	switch name := filepath.Base(program); {
	case name == "node":
		return readNode
	case strings.HasPrefix(name, "python"):
		return readPython
	}
	return nil
}

// answer sends the signal and waits for the file.
func (m *Means) answer(pid int, read func([]byte) (Answer, error)) (Answer, error) {
	path := filepath.Join(m.folder, fmt.Sprintf("%d.json", pid))
	_ = os.Remove(path) // of another question
	if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
		return Answer{}, nil // it has ended meanwhile
	}
	var text []byte
	var err error
	until(func() bool {
		text, err = os.ReadFile(path)
		return !errors.Is(err, fs.ErrNotExist)
	})
	if err != nil {
		return Answer{}, nil // it is busy, or has no such handler
	}
	return read(text)
}

// until waits for a condition, for the patience at most.
func until(holds func() bool) {
	for end := time.Now().Add(patience); !holds() && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}
