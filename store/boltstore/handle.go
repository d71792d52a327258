package boltstore

import (
	"os"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
)

// handle keeps the database that was read last open between reads, without its
// lock, so that a scan does not open and map it for each session. It is used
// only while the file is the same and of the same size, which makes it as good
// as a new one: bbolt keeps nothing of a file but its size and its mapping.
type handle struct {
	mu   sync.Mutex
	db   *bolt.DB
	file *os.File
	info os.FileInfo // of the file when it was opened
	tree *tree       // what was checked of the file since it was last changed
	at   time.Time   // when that was
}

// view runs f on the handle if it is for the file that info is of and can be
// locked at once. Otherwise ok is false: the way is through an opening.
func (h *handle) view(path string, info os.FileInfo, f func(*bolt.DB, *os.File, **tree) error) (ok bool, err error) {
	if !h.mu.TryLock() {
		return false, nil
	}
	defer h.mu.Unlock()
	if h.db == nil || !os.SameFile(h.info, info) || !relock(h.file) {
		return false, nil
	}
	now, err := h.file.Stat()
	if err != nil || now.Size() != h.info.Size() {
		h.drop()
		return false, nil
	}
	if !now.ModTime().Equal(h.at) || h.tree != nil && !h.tree.current() {
		h.tree, h.at = nil, now.ModTime()
	}
	whole := false
	err = guarded(path, func() error {
		err := f(h.db, h.file, &h.tree)
		whole = true
		return err
	})
	if !whole {
		letGo(h.file)
		h.db = nil
		return true, err
	}
	unlock(h.file)
	return true, err
}

// keep takes over an open and locked database, and reports whether it did.
func (h *handle) keep(db *bolt.DB, file *os.File) bool {
	if !canRelock || !h.mu.TryLock() {
		return false
	}
	defer h.mu.Unlock()
	info, err := file.Stat()
	if err != nil {
		return false
	}
	h.drop()
	h.db, h.file, h.info, h.tree = db, file, info, nil
	unlock(file)
	return true
}

// drop closes the database, if there is one.
func (h *handle) drop() {
	if h.db != nil {
		_ = h.db.Close()
		h.db = nil
	}
}

func (h *handle) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
}
