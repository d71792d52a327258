package boltstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/mcprec/mcprec/store"
)

const (
	databaseVersion = 1
	lockRetry       = 1500 * time.Microsecond
)

var (
	bucketMonth = []byte("month")
	bucketMeta  = []byte("meta")
	bucketEv    = []byte("ev")
	keyHead     = []byte("head")
)

// dbTx is a database within one transaction.
type dbTx struct {
	path    string
	meta    *bolt.Bucket
	ev      *bolt.Bucket
	head    *bolt.Bucket
	bodies  *bolt.Bucket // nil: it has none, as its use
	use     *bolt.Bucket
	tx      *bolt.Tx
	writing bool
	tree    *pageTree // checks the way before bbolt goes it
	stale   bool      // its newest transaction may be missing, see metaPages
}

// view runs f in a read transaction of the database at path. It returns an
// error that is fs.ErrNotExist when there is no such database. f must be quick
// and call nobody: the file is locked.
func (d databases) view(ctx context.Context, path string, f func(*dbTx) error) error {
	return d.withDB(ctx, path, bolt.Options{ReadOnly: true}, func(db *bolt.DB, file *os.File) error {
		return db.View(func(tx *bolt.Tx) error { return inTx(tx, file, &dbTx{path: path}, f) })
	})
}

// update runs f in one synced write transaction, in a new database if need be.
func (d databases) update(ctx context.Context, path string, f func(*dbTx) error) error {
	if err := d.refuseLinks(); err != nil {
		return err
	}
	if _, err := regular(path); isOdd(err) {
		return err
	} else if errors.Is(err, fs.ErrNotExist) {
		if err := d.createDatabase(path); err != nil {
			return fmt.Errorf("create %s: %w", path, err)
		}
	}
	o := bolt.Options{FreelistType: bolt.FreelistMapType}
	if runtime.GOOS != "windows" { // there it would make the file that large
		o.InitialMmapSize = 1 << 30
	}
	return d.withDB(ctx, path, o, func(db *bolt.DB, file *os.File) error {
		db.AllocSize = 1 << 20
		makePrivate(file)
		return d.disk.commit(db, file, func(tx *bolt.Tx) error { return inTx(tx, file, &dbTx{path: path, writing: true}, f) })
	})
}

// withDB opens the file for the length of f. It asks for bbolt's lock by
// itself: bbolt would ask only every 50 ms.
func (d databases) withDB(ctx context.Context, path string, o bolt.Options, f func(*bolt.DB, *os.File) error) error {
	info, err := regular(path)
	if err != nil {
		return err // without bbolt's opening, which is dearer
	}
	if o.ReadOnly && info.Size() == 0 {
		return damagedError(path, "it is empty") // bbolt would try to fill it
	}
	var file *os.File
	o.Timeout = 1
	o.NoStatistics = true
	o.OpenFile = func(name string, flag int, _ os.FileMode) (_ *os.File, err error) {
		file, err = openRegular(name, flag&^os.O_CREATE)
		return file, err
	}
	for deadline := time.Now().Add(d.patience); ; {
		whole := false
		err := guarded(path, func() error {
			db, err := bolt.Open(path, 0o600, &o)
			if err != nil {
				whole = true
				return explainOpenError(path, err)
			}
			if !underName(file, path) { // replaced while we waited for its lock
				whole = true
				return errors.Join(store.ErrBusy, db.Close())
			}
			err = f(db, file)
			if closeErr := db.Close(); err == nil && closeErr != nil {
				err = fmt.Errorf("close %s: %w", path, closeErr)
			}
			whole = true
			return err
		})
		if !whole && file != nil {
			unlock(file) // closing is not enough: what is still mapped keeps the lock
			_ = file.Close()
		}
		if !errors.Is(err, store.ErrBusy) || ctx.Value(noWaitKey{}) != nil || time.Now().After(deadline) {
			return err
		}
		if err := pause(ctx, lockRetry); err != nil {
			return err
		}
	}
}

// underName reports whether an open file is the one that has the name.
func underName(file interface{ Stat() (fs.FileInfo, error) }, path string) bool {
	held, err1 := file.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(held, named)
}

// inTx runs f on the buckets of a transaction, after a look at the version.
func inTx(tx *bolt.Tx, file *os.File, m *dbTx, f func(*dbTx) error) (err error) {
	if m.tree, err = openTree(file); err != nil {
		return damagedError(m.path, err.Error())
	}
	if m.stale = !metaPages(file, int(m.tree.pageSize)); m.stale && m.writing {
		return staleError(m.path) // what is missing would be missed no more
	}
	m.head, m.meta, m.ev = tx.Bucket(bucketMonth), tx.Bucket(bucketMeta), tx.Bucket(bucketEv)
	if m.head == nil || m.meta == nil || m.ev == nil {
		return damagedError(m.path, "a bucket is missing")
	}
	m.tx, m.bodies, m.use = tx, tx.Bucket(bucketBody), tx.Bucket(bucketUse)
	if _, _, err := m.statedCount(); err != nil {
		return err
	}
	if m.bodies != nil {
		m.bodies.FillPercent = 1
	}
	m.meta.FillPercent, m.ev.FillPercent = 1, 1 // keys mostly come in order
	return f(m)
}

// readable checks the way to the keys of a bucket from first to last.
func (m *dbTx) readable(bucket, first, last []byte) error {
	if err := m.tree.readable(bucket, first, last); err != nil {
		return damagedError(m.path, err.Error())
	}
	return nil
}

// statedCount returns how many sessions the database says it has, and the exclusive
// or of their keys: what shows that one has vanished.
func (m *dbTx) statedCount() (n uint64, keys [16]byte, err error) {
	v := m.head.Get(keyHead)
	if len(v) < 1 {
		return 0, keys, damagedError(m.path, "no head")
	}
	if v[0] > databaseVersion {
		return 0, keys, fmt.Errorf("read %s: database version %d: %w; install a newer mcprec", m.path, v[0], store.ErrNewer)
	}
	if !isCount(v) {
		return 0, keys, damagedError(m.path, "its head")
	}
	return binary.LittleEndian.Uint64(v[1:]), [16]byte(v[9:]), nil
}

// countSession counts a new session.
func (m *dbTx) countSession(key [16]byte) error {
	n, keys, err := m.statedCount()
	if err != nil {
		return err
	}
	for i := range keys {
		keys[i] ^= key[i]
	}
	return m.head.Put(keyHead, encodeCount(n+1, keys))
}

func isCount(v []byte) bool {
	return len(v) == 29 && crc32.Checksum(v[:25], castagnoli) == binary.LittleEndian.Uint32(v[25:])
}

func encodeCount(n uint64, keys [16]byte) []byte {
	v := binary.LittleEndian.AppendUint64([]byte{databaseVersion}, n)
	v = append(v, keys[:]...)
	return binary.LittleEndian.AppendUint32(v, crc32.Checksum(v, castagnoli))
}

// createDatabase makes an empty database under another name, synced, and gives it
// its name: a power cut never leaves half a database under that.
func (d databases) createDatabase(path string) error {
	made, err := d.makeFolders()
	if err == nil && made {
		err = d.disk.syncDir(d.dir)
	}
	if err != nil {
		return err
	}
	temp, err := d.emptyDatabase(path)
	if err != nil {
		return err
	}
	defer func() { _ = d.disk.remove(temp) }()
	if err := d.disk.rename(temp, path, false); err != nil && !errors.Is(err, fs.ErrExist) {
		return d.renameNew(temp, path)
	}
	return d.disk.syncDir(d.storeDir())
}

// emptyDatabase makes an empty database, synced, under a name of its own.
func (d databases) emptyDatabase(path string) (name string, err error) {
	temp, err := os.CreateTemp(d.storeDir(), filepath.Base(path)+".new-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = d.disk.remove(temp.Name())
		}
	}()
	if err := temp.Close(); err != nil {
		return "", err
	}
	if err := os.Chmod(temp.Name(), 0o600); err != nil { // a umask may have taken some of that
		return "", err
	}
	db, err := bolt.Open(temp.Name(), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		return "", err
	}
	err = d.disk.commit(db, nil, func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketEv, bucketMonth} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMonth).Put(keyHead, encodeCount(0, [16]byte{}))
	})
	return temp.Name(), errors.Join(err, db.Close())
}

// renameNew gives the file its name where there are no links, under the lock
// that all who create take there.
func (d databases) renameNew(temp, path string) error {
	unlock, err := d.lockFile(context.Background(), filepath.Join(d.storeDir(), "create.lock"), true)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := d.disk.rename(temp, path, true); err != nil {
		return err
	}
	return d.disk.syncDir(d.storeDir())
}

// guarded runs f, which uses the bbolt file at path, and makes an error of what
// bbolt does on a damaged file: it panics, or follows a page number out of the
// mapped file, which is a fault and would end the process.
func guarded(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = damagedError(path, fmt.Sprint(r))
		}
	}()
	return f()
}

// damagedError says that a database is damaged and what is not.
func damagedError(path, cause string) error {
	return fmt.Errorf("read %s: %s: %w (the other databases in its folder and the spools are not affected; mcprec repair saves what it holds)", path, cause, store.ErrCorrupt)
}

// explainOpenError names what stands behind a refusal of bbolt to open a file.
func explainOpenError(path string, err error) error {
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
	return damagedError(path, err.Error())
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

// staleError says that what a file holds may not be all.
func staleError(path string) error {
	return fmt.Errorf("read %s: one of its two meta pages is damaged, so its newest transaction may be missing: %w (mcprec repair looks for it)", path, store.ErrCorrupt)
}
