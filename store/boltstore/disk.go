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

// fileSystem holds the files of a store. Every write, rename and removal goes through here. A
// test replaces it by a file system that fails, waits or forgets unsynced writes.
type fileSystem interface {
	// create makes a new file, mode 0600, to append to.
	create(name string) (fileWriter, error)
	// open opens a file for reading.
	open(name string) (fileReader, error)
	// rename renames a file. With replace another file loses the name; without, the
	// error is fs.ErrExist, and the file may keep the old name as well.
	rename(from, to string, replace bool) error
	// remove removes a file, if there is one.
	remove(name string) error
	// syncDir makes the names in a folder durable.
	syncDir(dir string) error
}

// fileWriter is a file for appending.
type fileWriter interface {
	io.WriteCloser
	// Truncate cuts the file to size bytes.
	Truncate(size int64) error
	// Sync makes earlier writes durable.
	Sync() error
}

// fileReader is a file for reading.
type fileReader interface {
	io.ReaderAt
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	// Sync makes other processes' writes durable.
	Sync() error
}

// locker locks files.
type locker interface {
	// tryLock takes a free lock, and reports success.
	tryLock(l *flock.Flock, shared bool) (bool, error)
}

// committer commits a transaction, durable and whole or not at all. A nil file means a new
// database.
type committer interface {
	commit(db *bolt.DB, file *os.File, f func(*bolt.Tx) error) error
}

// disk is the part of the operating system that a store uses.
type disk struct {
	fileSystem
	locker
	committer
}

// theDisk returns the disk of this machine.
func theDisk() disk { return disk{osDisk{}, osDisk{}, osDisk{}} }

// osDisk implements the interfaces above with the operating system.
type osDisk struct{}

// osFile is an open file. Sync leaves out metadata such as the time of the last change.
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

func (osDisk) remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

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

// lockError adds advice to the error of a file system without locks.
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

// settle makes the newest transaction durable, whose writer may have died, or failed, before the
// last sync: the next transaction overwrites pages of the transaction before. The meta pages are
// written again because the kernel forgets a page after a failed write.
func settle(file *os.File) error {
	metas, pageSize, err := readMetas(file)
	if err != nil {
		return err
	}
	for i, m := range metas {
		if _, err := file.WriteAt(m[:], int64(uint64(i)*pageSize)+pageHead); err != nil {
			return err
		}
	}
	return datasync(file)
}
