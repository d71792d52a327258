package sharing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/store/diagnosis"
)

// Folder gathers the facts of a store in a folder. It makes a file there and removes it again.
func Folder(path string) *diagnosis.Folder {
	facts := &diagnosis.Folder{Path: path, Free: -1}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		facts.Missing = true
		facts.FileSystem, facts.Network, facts.Free = disk(existing(path))
		return facts
	case err != nil:
		facts.Fault = err.Error()
		return facts
	case !info.IsDir():
		facts.Fault = path + " is no folder"
		return facts
	}
	facts.FileSystem, facts.Network, facts.Free = disk(path)
	facts.Open = openToOthers(path)
	if memory, err := retention.Recall(path); err == nil {
		facts.Budget = memory.Size
	}
	if facts.Budget > 0 {
		facts.Used = bytesIn(filepath.Join(path, "store")) + bytesIn(filepath.Join(path, "spool"))
	}
	locks, err := tryLocks(path)
	if err != nil {
		facts.Fault = err.Error()
		return facts
	}
	facts.Locks = &locks
	return facts
}

// existing returns the nearest folder above a path that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil {
			return path
		}
		above := filepath.Dir(path)
		if above == path {
			return path
		}
		path = above
	}
}

// openToOthers returns a file or folder of the store that other users of the machine may read or
// write; "" if there is none, or if the system has no such rights.
func openToOthers(path string) (found string) {
	if runtime.GOOS == "windows" {
		return ""
	}
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if info, err := entry.Info(); err == nil && info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0 {
			found = name
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// bytesIn returns how many bytes the files of a folder have.
func bytesIn(path string) (bytes int64) {
	entries, _ := os.ReadDir(path) // what cannot be read counts nothing
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// tryLocks says why locks do not work in a folder, or "". The error is that nothing can be written.
func tryLocks(path string) (why string, err error) {
	probe, err := os.CreateTemp(path, ".doctor-*")
	if err != nil {
		return "", fmt.Errorf("nothing can be written there: %w", err)
	}
	name := probe.Name()
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	if err := probe.Close(); err != nil {
		return "", err
	}
	first, second := flock.New(name), flock.New(name)
	defer first.Close()
	defer second.Close()
	held, err := first.TryLock()
	if err != nil || !held {
		return fmt.Sprintf("a lock that nobody holds is not given: %v", err), nil
	}
	if again, err := second.TryLock(); err == nil && again {
		return "two hold the same lock", nil
	}
	return "", nil
}
