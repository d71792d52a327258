package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"github.com/mcprec/mcprec/store"
)

// guarded runs f, which uses the bbolt file at path, and makes an error of what
// bbolt does on a damaged file: it panics, or follows a page number out of the
// mapped file, which is a fault and would end the process.
func guarded(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = damagedFile(path, fmt.Sprint(r))
		}
	}()
	return f()
}

// damagedFile says that a database is damaged and what is not.
func damagedFile(path, cause string) error {
	return fmt.Errorf("read %s: %s: %w (the other databases in its folder and the spools are not affected; mcprec repair saves what it holds)", path, cause, store.ErrCorrupt)
}

// openError names what stands behind a refusal of bbolt to open a file.
func openError(path string, err error) error {
	var number syscall.Errno
	var pathError *fs.PathError
	switch {
	case err == nil:
		return nil
	case isOdd(err):
		return err
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("open %s: another process holds it: %w", path, store.ErrBusy)
	case errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("open %s: bbolt format: %w; install a newer mcprec", path, store.ErrNewer)
	case errors.As(err, &pathError), errors.As(err, &number):
		return fmt.Errorf("open %s: %w", filepath.Base(path), lockError(err))
	}
	return damagedFile(path, err.Error())
}

// metaPages reports whether both meta pages of a bbolt file are whole. If one
// is not, bbolt goes back to the other, which is right after a crash, where the
// newest transaction was not yet durable, and silent loss after damage.
func metaPages(f *os.File, pageSize int) bool {
	var m [64]byte
	for i := range int64(2) {
		if _, err := f.ReadAt(m[:], i*int64(pageSize)+pageHead); err != nil {
			return false
		}
		sum := fnv.New64a()
		_, _ = sum.Write(m[:56])
		if binary.NativeEndian.Uint32(m[:]) != metaMagic || binary.NativeEndian.Uint64(m[56:]) != sum.Sum64() {
			return false
		}
	}
	return true
}

// staleFile says that what a file holds may not be all.
func staleFile(path string) error {
	return fmt.Errorf("read %s: one of its two meta pages is damaged, so its newest transaction may be missing: %w (mcprec repair looks for it)", path, store.ErrCorrupt)
}
