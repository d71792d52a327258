package boltstore

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/gofrs/flock"
	bolt "go.etcd.io/bbolt"
)

// faulty is a disk whose nth call fails, or all from the nth on.
type faulty struct {
	osDisk
	mu    sync.Mutex
	calls int
	at    int // the call that fails; 0: none
	all   bool
	only  string // the kind of call that counts; "": every
	err   error
	met   []string // what failed
}

// fail counts a call and says whether it fails.
func (d *faulty) fail(call, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.only != "" && d.only != call {
		return nil
	}
	d.calls++
	if d.at == 0 || d.calls < d.at || d.calls > d.at && !d.all {
		return nil
	}
	d.met = append(d.met, call)
	return &fs.PathError{Op: call, Path: name, Err: d.err}
}

// mend ends the faults and says what failed.
func (d *faulty) mend() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = 0
	return d.met
}

// broken is a machine with a faulty disk.
func broken(d *faulty) disk { return disk{d, d, d} }

type faultyWriter struct {
	fileWriter
	d    *faulty
	name string
}

type faultyReader struct {
	fileReader
	d *faulty
}

func (d *faulty) create(name string) (fileWriter, error) {
	if err := d.fail("create", name); err != nil {
		return nil, err
	}
	f, err := d.osDisk.create(name)
	return &faultyWriter{f, d, name}, err
}

func (d *faulty) open(name string) (fileReader, error) {
	if err := d.fail("open", name); err != nil {
		return nil, err
	}
	f, err := d.osDisk.open(name)
	return &faultyReader{f, d}, err
}

func (d *faulty) rename(from, to string, replace bool) error {
	if err := d.fail("rename", from); err != nil {
		return err
	}
	return d.osDisk.rename(from, to, replace)
}

func (d *faulty) remove(name string) error {
	if err := d.fail("remove", name); err != nil {
		return err
	}
	return d.osDisk.remove(name)
}

func (d *faulty) syncDir(dir string) error {
	return errors.Join(d.fail("syncdir", dir), d.osDisk.syncDir(dir))
}

func (d *faulty) tryLock(l *flock.Flock, shared bool) (bool, error) {
	if err := d.fail("lock", l.Path()); err != nil {
		return false, lockError(err)
	}
	return d.osDisk.tryLock(l, shared)
}

// commit fails as bbolt does when it cannot write: nothing of it is there.
func (d *faulty) commit(db *bolt.DB, file *os.File, f func(*bolt.Tx) error) error {
	fault := d.fail("commit", db.Path())
	return d.osDisk.commit(db, file, func(tx *bolt.Tx) error { return errors.Join(f(tx), fault) })
}

// Write fails after half of the bytes.
func (f *faultyWriter) Write(b []byte) (int, error) {
	if err := f.d.fail("write", f.name); err != nil {
		n, _ := f.fileWriter.Write(b[:len(b)/2])
		return n, err
	}
	return f.fileWriter.Write(b)
}

func (f *faultyWriter) Truncate(size int64) error {
	if err := f.d.fail("truncate", f.name); err != nil {
		return err
	}
	return f.fileWriter.Truncate(size)
}

func (f *faultyWriter) Sync() error {
	return errors.Join(f.d.fail("sync", f.name), f.fileWriter.Sync())
}

// Close fails as it may: the file is closed all the same.
func (f *faultyWriter) Close() error {
	return errors.Join(f.fileWriter.Close(), f.d.fail("close", f.name))
}

func (f *faultyReader) ReadAt(b []byte, off int64) (int, error) {
	if err := f.d.fail("read", f.Name()); err != nil {
		return 0, err
	}
	return f.fileReader.ReadAt(b, off)
}

func (f *faultyReader) Stat() (os.FileInfo, error) {
	if err := f.d.fail("stat", f.Name()); err != nil {
		return nil, err
	}
	return f.fileReader.Stat()
}

func (f *faultyReader) Sync() error {
	return errors.Join(f.d.fail("sync", f.Name()), f.fileReader.Sync())
}
