package boltstore

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/mcprec/mcprec/store"
)

// databases are the bbolt files of folded sessions, one for each month. They do not know
// spools.
type databases struct{ *directory }

func (d databases) databasePath(key [16]byte) string {
	return filepath.Join(d.storeDir(), databaseName(key)+".db")
}

// databaseName returns the name of a session's database: the month in a version 7 id, such as "202611".
func databaseName(key [16]byte) string {
	const lastYear = 9999 // with four digits
	start := startOf(key)
	if key[6]>>4 != 7 || start.Year() > lastYear {
		return "other"
	}
	return start.Format("200601")
}

// startOf returns the time in a version 7 id.
func startOf(key [16]byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[:]) >> 16)).UTC()
}

// sessionID is the inverse of SessionID.Bytes.
func sessionID(key [16]byte) store.SessionID {
	h := hex.EncodeToString(key[:])
	return store.SessionID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// databasePaths returns the paths of the store's databases, and an error for each other file
// with the ending .db, which is left alone.
func (d databases) databasePaths() (paths []string, foreign []error, err error) {
	entries, err := readDir(d.storeDir())
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".db")
		path := filepath.Join(d.storeDir(), e.Name())
		switch {
		case !ok:
		case isDatabaseName(name) && !e.Type().IsRegular(): // see oddFiles
		case !isDatabaseName(name):
			foreign = append(foreign, fmt.Errorf("%s is left alone: databases of the store are named by the month, like 202611.db; give it its name back if it was one, or move it away", path))
		default:
			paths = append(paths, path)
		}
	}
	return paths, foreign, err
}

// isDatabaseName reports whether a database may have a name, without the ending.
func isDatabaseName(name string) bool {
	if name == "other" {
		return true
	}
	return len(name) == 6 && strings.Trim(name, "0123456789") == ""
}

// belongsIn reports whether a session belongs in a database or in a replacement.
func belongsIn(path string, key []byte) bool {
	name, _, _ := strings.Cut(filepath.Base(path), ".db")
	return databaseName([16]byte(key)) == name
}

// misplacedError is the error for a database with sessions of other months, where no call
// looks for such sessions.
func misplacedError(path string, n int) error {
	return fmt.Errorf("%s holds sessions of other months: %d, which are looked for only in the databases of theirs; is it a copy? move it away, or give it its name back", path, n)
}

// view runs f in a read transaction of the database at path. The error is fs.ErrNotExist if
// there is none. f must be quick and call no caller's code: the file is locked.
func (d databases) view(ctx context.Context, path string, f func(*dbTx) error) error {
	return d.withDB(ctx, path, bolt.Options{ReadOnly: true}, func(db *bolt.DB, file *os.File) error {
		return db.View(func(tx *bolt.Tx) error { return inTx(tx, file, &dbTx{path: path}, f) })
	})
}

// update runs f in one synced write transaction, and makes the database if it is missing.
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
	if runtime.GOOS != "windows" { // where the file would become as large
		o.InitialMmapSize = 1 << 30
	}
	return d.withDB(ctx, path, o, func(db *bolt.DB, file *os.File) error {
		db.AllocSize = 1 << 20
		makePrivate(file)
		return d.disk.commit(db, file, func(tx *bolt.Tx) error { return inTx(tx, file, &dbTx{path: path, writing: true}, f) })
	})
}

// withDB opens a database, runs f and closes it. withDB retries bbolt's lock by itself, because
// bbolt retries only every 50 ms.
func (d databases) withDB(ctx context.Context, path string, o bolt.Options, f func(*bolt.DB, *os.File) error) error {
	info, err := regular(path)
	if err != nil {
		return err // sooner than bbolt would
	}
	if o.ReadOnly && info.Size() == 0 {
		return damagedError(path, "it is empty") // bbolt would try to fill it
	}
	release, err := d.holdNames(ctx, false)
	if err != nil {
		return err
	}
	defer release()
	var file *os.File
	o.Timeout = 1
	o.NoStatistics = true
	o.OpenFile = func(name string, flag int, _ os.FileMode) (_ *os.File, err error) {
		file, err = openRegular(name, flag&^os.O_CREATE)
		return file, err
	}
	return d.retry(ctx, func() (err error) {
		// On a damaged file bbolt panics, or follows a page number out of the mapped memory, a
		// fault that would end the process.
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		var db *bolt.DB
		defer func() {
			if r := recover(); r != nil {
				err = damagedError(path, fmt.Sprint(r))
				if file != nil {
					unlock(file) // the mapping would keep the lock of a closed file
					_ = file.Close()
				}
				if db != nil && o.ReadOnly && d.replaceNeedsClosed {
					_ = db.Close() // or the mapping would keep the file from being exchanged
				}
			}
		}()
		db, err = bolt.Open(path, 0o600, &o)
		if err != nil {
			return explainOpenError(path, err)
		}
		if !underName(file, path) { // replaced during the wait
			return errors.Join(store.ErrBusy, db.Close())
		}
		err = f(db, file)
		if closeErr := db.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close %s: %w", path, closeErr)
		}
		return err
	})
}

// damagedError is the error for a damaged database. The text names the safe parts of the
// store.
func damagedError(path, cause string) error {
	return fmt.Errorf("read %s: %s: %w (the other databases in its folder and the spools are not affected; mcprec store repair saves what it holds)", path, cause, store.ErrCorrupt)
}

// explainOpenError translates an error of bolt.Open.
func explainOpenError(path string, err error) error {
	var number syscall.Errno
	var pathError *fs.PathError
	switch {
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

// staleError is the error for a database that may lack the newest transaction.
func staleError(path string) error {
	return fmt.Errorf("read %s: one of its two meta pages is damaged, so its newest transaction may be missing: %w (mcprec store repair looks for it)", path, store.ErrCorrupt)
}

// createDatabase makes an empty, synced database under a temporary name and renames it: a
// power cut never leaves half a database under the final name.
func (d databases) createDatabase(path string) error {
	made, err := d.makeFolders()
	if err == nil && made {
		err = d.disk.syncDir(d.dir)
	}
	if err != nil {
		return err
	}
	temp, err := d.newDatabase(path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = d.disk.remove(temp) }()
	err = d.disk.rename(temp, path, false)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// A file system without links: every creator takes a lock.
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
	}
	return d.disk.syncDir(d.storeDir())
}

// newDatabase makes a synced database under a temporary name: a compact copy of another, or, without
// one, an empty database.
func (d databases) newDatabase(path string, source *bolt.DB) (name string, err error) {
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
	fill := func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketEv, bucketMonth} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMonth).Put(keyHead, encodeCount(0, [16]byte{}))
	}
	if source != nil {
		err = bolt.Compact(db, source, compactStep)
		fill = func(*bolt.Tx) error { return nil }
	}
	if err == nil {
		err = d.disk.commit(db, nil, fill)
	}
	return temp.Name(), errors.Join(err, db.Close())
}

// lockDatabase opens a database's file with bbolt's lock on it, to keep the file as it is.
func (d databases) lockDatabase(ctx context.Context, path string, shared bool) (file *os.File, release func(), err error) {
	err = d.retry(ctx, func() (err error) {
		file, err = openRegular(path, os.O_RDWR)
		if errors.Is(err, fs.ErrPermission) {
			file, err = openRegular(path, os.O_RDONLY)
		}
		if err != nil {
			return err
		}
		ok, err := lockOpen(file, shared)
		switch {
		case err != nil:
			err = fmt.Errorf("lock %s: %w", path, lockError(err))
		case !ok || !underName(file, path):
			err = fmt.Errorf("open %s: another process holds it: %w", path, store.ErrBusy)
		default:
			return nil
		}
		return errors.Join(err, file.Close())
	})
	if err != nil {
		return nil, nil, err
	}
	return file, func() { unlock(file); _ = file.Close() }, nil
}

// projection returns the projection of a session in the database at path.
func (d databases) projection(ctx context.Context, path string, key [16]byte) (projection projection, ok bool, err error) {
	err = d.view(ctx, path, func(tx *dbTx) (err error) {
		projection, ok, err = tx.projection(key)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return projection, ok, err
}
