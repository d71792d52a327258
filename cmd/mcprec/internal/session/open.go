package session

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// Values of the delay of OpenRecorder beside a duration.
const (
	SyncAlways = boltstore.SyncAlways // before a frame is passed on
	SyncNone   = boltstore.SyncNone   // only when the session has ended
)

// OpenStore opens the store, and makes it if need be. Faults on closing are written to errs.
func OpenStore(ctx context.Context, home Home, errs io.Writer) (*Store, error) {
	db, err := OpenUnmasked(ctx, home)
	if err != nil {
		return nil, err
	}
	db.errs = errs
	db.keepsFiles = false
	return withMasker(db, home, db)
}

// OpenExisting is OpenStore for a command that adds no session. Where there is no store it makes none.
func OpenExisting(ctx context.Context, home Home, errs io.Writer) (*Store, error) {
	folder, err := home.folder()
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(folder)
	if !errors.Is(err, fs.ErrNotExist) {
		if err == nil && !info.IsDir() {
			return nil, cli.Usagef("the store %s is a file; want a folder", folder)
		}
		return OpenStore(ctx, home, errs)
	}
	db, err := OpenReadOnly(ctx, home)
	if err == nil {
		db.errs = errs
	}
	return db, err
}

// OpenReadOnly opens the store for a reader that must not change it: no key is made, and
// Close tidies nothing.
func OpenReadOnly(ctx context.Context, home Home) (*Store, error) {
	db, err := OpenUnmasked(ctx, home)
	if err != nil {
		return nil, err
	}
	return withMasker(db, home, nil)
}

// OpenUnmasked opens the store for a caller that masks what leaves it. If OpenUnmasked opened the store,
// Close changes no file.
func OpenUnmasked(ctx context.Context, home Home) (*Store, error) {
	db, err := OpenRecorder(home, 0)
	if err != nil {
		return nil, err
	}
	db.clock = ClockOf(ctx)
	return db, nil
}

// OpenRecorder opens the store that sessions are recorded into, as OpenUnmasked does. sync is how soon frames are
// on the disk; 0: 50 ms.
func OpenRecorder(home Home, sync time.Duration) (*Store, error) {
	folder, err := home.folder()
	if err != nil {
		return nil, err
	}
	db, err := boltstore.Open(folder, boltstore.Options{Sync: sync, Mask: maskFold})
	if err != nil {
		return nil, err
	}
	return &Store{Store: db, Folder: db.Info().Location, named: home.Place, keepsFiles: true}, nil
}

// withMasker sets the masker of a store, with the key of keyed, and closes the store if that fails.
func withMasker(db *Store, home Home, keyed store.Keyed) (*Store, error) {
	masker, err := home.Masker(keyed)
	if err != nil {
		return nil, errors.Join(err, db.Store.Close())
	}
	db.Masker = masker
	return db, nil
}
