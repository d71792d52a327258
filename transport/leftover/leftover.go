// Package leftover removes the processes and folders that a command's programs leave behind, whatever group or
// session the processes have joined.
//
// # Data layout
//
// A [Run] is one use of a program. Its name is that of the process that runs the program, as package procfs
// identifies it, and a number: PID-BIRTH-NUMBER. The environment of the program has the name in the variable
// MCPREC_RUN, behind the names of the runs in which that process runs itself; whatever the program starts
// inherits it. The folder of the run is called mcprec-run-NAME-RANDOM, in the folder for temporary files.
//
// [Run.End] kills every process with the name, waits for their end, and removes the folder. If mcprec itself was
// killed before that, [Sweep] in a later process finds what is left by its name, and removes it.
//
// # What it refuses to do
//
// It ends processes on Linux alone; elsewhere it removes only folders. It does not find a process that has cleared its
// environment, a process of another user, or one whose main thread ended before the others. It leaves alone the
// leftovers of another namespace of processes, and of the time before the machine was started: a number means nothing
// there.
package leftover

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcprec/mcprec/transport/procfs"
)

const (
	variable = "MCPREC_RUN"
	prefix   = "mcprec-run-"
)

// Run is one use of a program.
type Run struct {
	// Folder is an empty folder, without symbolic links in its path. It goes when the run ends.
	Folder string
	name   string
}

// begun counts the runs of this process.
var begun atomic.Int64

// Begin begins a run. End ends it.
func Begin() (*Run, error) {
	self := procfs.Identify(os.Getpid())
	r := &Run{name: fmt.Sprintf("%d-%s-%d", self.PID, self.Birth, begun.Add(1))}
	folder, err := os.MkdirTemp("", prefix+r.name+"-*")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a process: %w", err)
	}
	if r.Folder, err = filepath.EvalSymlinks(folder); err != nil {
		_ = os.Remove(folder)
		return nil, fmt.Errorf("make a folder for a process: %w", err)
	}
	return r, nil
}

// Environ returns the environment for a program of the run: that of this process, and the mark of the run.
func (r *Run) Environ() []string {
	names := strings.TrimSpace(os.Getenv(variable) + " " + r.name)
	return append(os.Environ(), variable+"="+names)
}

// End kills every process of the run, waits for their end, and removes the folder.
func (r *Run) End() {
	endProcesses(func(name string) bool { return name == r.name })
	removeAll(r.Folder)
}

// Sweep ends the runs of processes that were killed.
func Sweep() {
	endProcesses(isLeft)
	folder := os.TempDir()
	entries, _ := os.ReadDir(folder) // without it there is nothing to sweep
	for _, e := range entries {
		if name, isRun := strings.CutPrefix(e.Name(), prefix); isRun && e.IsDir() && isLeft(name) {
			removeAll(filepath.Join(folder, e.Name()))
		}
	}
}

// isLeft reports whether the process of a run has certainly ended.
func isLeft(name string) bool {
	parts := strings.Split(name, "-")
	if len(parts) < 3 {
		return false
	}
	pid, err := strconv.Atoi(parts[0])
	if err != nil || pid == os.Getpid() {
		return false
	}
	state := procfs.Of(procfs.ID{PID: pid, Birth: parts[1]}).State
	return state == procfs.Gone || state == procfs.Zombie
}

// removeAll removes a folder, and read-only folders in it.
func removeAll(folder string) {
	if os.RemoveAll(folder) == nil {
		return
	}
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) // a walk reads a folder after this
		}
		return nil
	})
	_ = os.RemoveAll(folder) // what remains belongs to somebody else
}
