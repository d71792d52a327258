package boltstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
	bolt "go.etcd.io/bbolt"
)

// fileSystem is where the files of a store are. Everything that a store writes,
// renames or removes goes through it, so that a test can put another in its
// place: one that fails, that waits, or that forgets what was not synced.
type fileSystem interface {
	// create makes a file, mode 0600, which must not be there, to append to.
	create(name string) (fileWriter, error)
	// open opens a file to read.
	open(name string) (fileReader, error)
	// rename gives a file another name and, with replace, takes that from
	// whichever file has it: otherwise the error is fs.ErrExist, and the file
	// may keep its old name too.
	rename(from, to string, replace bool) error
	// remove removes a name.
	remove(name string) error
	// syncDir makes the names in a folder durable.
	syncDir(dir string) error
}

// fileWriter is a file that is appended to.
type fileWriter interface {
	io.WriteCloser
	// Truncate cuts what is behind size.
	Truncate(size int64) error
	// Sync makes what was written durable.
	Sync() error
}

// fileReader is a file that is read.
type fileReader interface {
	io.ReaderAt
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	// Sync makes durable what others wrote to it.
	Sync() error
}

// locker takes locks on files.
type locker interface {
	// tryLock reports whether the lock could be taken at once.
	tryLock(l *flock.Flock, shared bool) (bool, error)
}

// committer makes changes to a database durable, whole or not at all. The file
// is the database's; nil: it is new.
type committer interface {
	commit(db *bolt.DB, file *os.File, f func(*bolt.Tx) error) error
}

// disk is all of that.
type disk struct {
	fileSystem
	locker
	committer
}

// theDisk is the one we run on.
func theDisk() disk { return disk{osDisk{}, osDisk{}, osDisk{}} }

// osDisk is the operating system's.
type osDisk struct{}

// osFile is a file of the operating system. Its Sync leaves out metadata that mcprec does
// not need, such as the time of the last change.
type osFile struct{ *os.File }

func (f osFile) Sync() error { return datasync(f.File) }

func (osDisk) create(name string) (fileWriter, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	_ = f.Chmod(0o600) // a umask may have taken some of that
	return osFile{f}, nil
}

func (osDisk) open(name string) (fileReader, error) {
	f, err := openRegular(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osDisk) rename(from, to string, replace bool) error {
	if replace {
		return os.Rename(from, to)
	}
	return os.Link(from, to) // a link, unlike a rename, replaces nothing
}

func (osDisk) remove(name string) error { return os.Remove(name) }

func (osDisk) syncDir(dir string) error { return syncDir(dir) }

func (osDisk) tryLock(l *flock.Flock, shared bool) (ok bool, err error) {
	if shared {
		ok, err = l.TryRLock()
	} else {
		ok, err = l.TryLock()
		if info, statErr := l.Stat(); ok && statErr == nil && info.Mode().Perm() != 0o600 {
			_ = os.Chmod(l.Path(), 0o600)
		}
	}
	return ok, lockError(err)
}

// lockError says what to do where files cannot be locked, as on some network
// file systems.
func lockError(err error) error {
	for _, refusal := range []error{syscall.ENOLCK, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w: files cannot be locked there; put the store on a local disk with --store or MCPREC_HOME", err)
		}
	}
	return err
}

func (osDisk) commit(db *bolt.DB, file *os.File, f func(*bolt.Tx) error) error {
	if file != nil {
		if err := settle(file); err != nil {
			return err
		}
	}
	return db.Update(f)
}

// settle makes the newest transaction durable, which it may not be when its
// writer died, or failed, before its last sync. The next one writes over pages
// that only the one before the newest still needs. The meta pages are written
// again because the kernel forgets what it could not write.
func settle(file *os.File) error {
	metas, err := readMetas(file)
	if err != nil {
		return err
	}
	for i, m := range metas {
		if _, err := file.WriteAt(m[:], int64(i*os.Getpagesize())+pageHead); err != nil {
			return err
		}
	}
	return datasync(file)
}

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
	return fmt.Sprintf("%s is %s, where a file of the store should be; mcprec repair sets it aside", e.path, kindOfFile(e.mode))
}

// kindOfFile names a kind of file for a message.
func kindOfFile(mode fs.FileMode) string {
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
	f, err := os.OpenFile(path, flag|noFollow|noBlock, 0)
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
