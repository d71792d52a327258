package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
)

// Something else may have the name of a file of the store: a named pipe, whose opening
// waits for a writer, a folder, a symbolic link that leads anywhere. The store opens only
// regular files, and goes on as if the others were not there. FoldDead and Verify name
// them, and Repair gives them another name.

// oddFile says that something else stands where a file of the store should be.
type oddFile struct {
	path string
	mode fs.FileMode
}

func (e *oddFile) Error() string {
	return fmt.Sprintf("%s is %s, where a file of the store should be; mcprec repair sets it aside", e.path, kindOf(e.mode))
}

// kindOf names a kind of file for a message.
func kindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a folder"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "a device"
	}
	return "no regular file"
}

// isOdd reports whether an error is that of an oddFile.
func isOdd(err error) bool {
	var odd *oddFile
	return errors.As(err, &odd)
}

// regular returns what a name stands for, and an error if that is no regular file.
func regular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &oddFile{path, info.Mode()}
	}
	return info, err
}

// openRegular opens a file that is there. It never waits, and opens nothing but a regular
// file.
func openRegular(path string, flag int) (*os.File, error) {
	if _, err := regular(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|noFollow|noWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() { // exchanged in between
		err = &oddFile{path, info.Mode()}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// oddFiles returns what has the name of a file of the store and is not a regular file.
func (s *Store) oddFiles() (found []*oddFile) {
	for _, folder := range []struct {
		path string
		ours func(name, end string) bool
	}{
		{s.dir, func(name, end string) bool { return name == "redact" && end == "key" }},
		{s.spoolDir(), func(name, end string) bool {
			_, err := store.ParseSessionID(name)
			return err == nil && strings.Contains(" log lock damaged reserve renewed ", " "+end+" ") || name == "fold" && end == "lock"
		}},
		{s.storeDir(), func(name, end string) bool {
			return monthName(name) && end == "db" || (name == "compact" || name == "create") && end == "lock"
		}},
		{filepath.Join(s.dir, "cache"), func(name, end string) bool {
			_, err := store.ParseSessionID(name)
			return err == nil && end == "points"
		}},
	} {
		entries, _ := os.ReadDir(folder.path) // a folder that is missing has nothing odd; others say that it cannot be read
		for _, e := range entries {
			name, end, _ := strings.Cut(e.Name(), ".")
			if !e.Type().IsRegular() && folder.ours(name, end) {
				found = append(found, &oddFile{filepath.Join(folder.path, e.Name()), e.Type()})
			}
		}
	}
	return found
}

// Odd returns an error that names what has the name of a file of the store and is not a
// regular file.
func (s *Store) Odd() error {
	var faults []error
	for _, odd := range s.oddFiles() {
		faults = append(faults, odd)
	}
	return errors.Join(faults...)
}

// setAside gives an odd file another name. Processes do so one after the other: the second
// would rename what the first has made in its place.
func (s *Store) setAside(path string) (kept string, err error) {
	guard := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if err := guard.Lock(); err != nil {
		return "", err
	}
	defer func() { _ = guard.Close() }()
	if _, err := regular(path); !isOdd(err) {
		return "", err
	}
	for n := 1; ; n++ {
		kept = path + ".aside"
		if n > 1 {
			kept = fmt.Sprintf("%s-%d", kept, n)
		}
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			return kept, s.machine.rename(path, kept, true)
		}
	}
}

// repairOdd sets odd files aside.
func (s *Store) repairOdd(ctx context.Context, dry bool, report func(Repaired)) error {
	for _, odd := range s.oddFiles() {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := Repaired{Path: odd.path, Fault: odd, Odd: true}
		if !dry {
			kept, err := s.setAside(odd.path)
			if err != nil {
				return err
			}
			r.Kept = kept
		}
		report(r)
	}
	return nil
}

// Exposed returns an error if every user of the machine can put files into the store's
// folder and take them out.
func (s *Store) Exposed() error {
	info, err := os.Stat(s.dir)
	if err != nil || info.Mode().Perm()&0o002 == 0 || info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return fmt.Errorf("%s can be written to by every user of this machine; chmod go-w takes that right away", s.dir)
}
