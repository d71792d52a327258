package retention

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcprec/mcprec/store"
)

// Keep keeps a session of the store in dir: no limit removes it. With off it may go again. Where dir is
// "" there is no budget, and Keep does nothing.
func Keep(dir string, id store.SessionID, off bool) error {
	if dir == "" {
		return nil
	}
	path := keepPath(dir, id)
	if off {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func keepPath(dir string, id store.SessionID) string { return filepath.Join(dir, "keep", string(id)) }

// keptIDs returns the ids in the folder keep.
func keptIDs(dir string) (map[store.SessionID]bool, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(dir, "keep"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ids := make(map[store.SessionID]bool, len(entries))
	for _, e := range entries {
		ids[store.SessionID(e.Name())] = true
	}
	return ids, err
}

// Forget removes what stands of a removed session beside the store's own files: its place in the
// folder keep.
func Forget(dir string, id store.SessionID) { _ = Keep(dir, id, true) }

// Replace has a session kept in the place of a removed one, if that was kept.
func Replace(dir string, removed, id store.SessionID) {
	if dir != "" {
		_ = os.Rename(keepPath(dir, removed), keepPath(dir, id))
	}
}

// Kept returns a function that reports whether a session of the store in a folder is kept.
func Kept(folder string) (func(store.Session) bool, error) {
	kept, err := keptIDs(folder)
	return func(session store.Session) bool { return kept[session.ID] || isLabelled(session.Header) }, err
}
