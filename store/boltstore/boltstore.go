package boltstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
)

// When the disk is told of a write, as Options.Sync.
const (
	SyncDefault time.Duration = 0  // 50 ms after it
	SyncAlways  time.Duration = -1 // before Write returns
	SyncNone    time.Duration = -2 // only at Close
)

// Options says how a store behaves. The zero value is right for most.
type Options struct {
	// Sync is the longest time from a write to a spool until the disk is told:
	// a duration, or one of the constants above.
	Sync time.Duration
	// Patience is how long a call waits for another process that holds a
	// database. 0: 10 s.
	Patience time.Duration
	// FoldBudget is how long one FoldDead folds before it leaves the rest for
	// later. 0: 250 ms.
	FoldBudget time.Duration
	// CloseBudget is how long the Close of a spool folds before it leaves the
	// rest for whoever folds next. 0: 100 ms.
	CloseBudget time.Duration
	// Mask returns what masks the events, in their order, of a session whose header says
	// that it is kept so: before they go from its spool into the database. The key is the
	// store's. nil: the spool of such a session is left to a program that can mask it.
	Mask func(key []byte, h store.Header) (func(store.Event) store.Event, error)
}

// Store is a store in a folder. Goroutines and processes may share the folder; all
// methods are safe for concurrent use.
type Store struct {
	dir     string
	opts    Options
	machine machine

	mu      sync.Mutex
	closed  bool
	done    chan struct{}  // closed by Close
	running sync.WaitGroup // calls and spools between begin and end
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Spooler  = (*Store)(nil)
	_ store.Verifier = (*Store)(nil)
	_ store.Keyed    = (*Store)(nil)
)

// Open returns the store in dir, which need not exist yet. It touches no file.
func Open(dir string, o Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %v", dir, err)
	}
	if o.Sync == SyncDefault {
		o.Sync = 50 * time.Millisecond
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.FoldBudget <= 0 {
		o.FoldBudget = 250 * time.Millisecond
	}
	if o.CloseBudget <= 0 {
		o.CloseBudget = 100 * time.Millisecond
	}
	return &Store{dir: abs, opts: o, machine: theMachine(), done: make(chan struct{})}, nil
}

// Info says what the store is.
func (s *Store) Info() store.Info {
	return store.Info{Name: "bbolt", Location: s.dir, Durability: "disk"}
}

// Close waits for the calls that run, and ends followers.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// begin starts a call that Close must wait for; the caller calls end.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	s.running.Add(1)
	return nil
}

func (s *Store) end() { s.running.Done() }

// makeDirs makes the store's folders. It reports whether there were none before;
// their names are then not durable until syncDir(s.dir). Of those that are there it
// takes the rights of others, and it follows no symbolic link: what is in there must be
// where nobody else can put or read it. The folder above is its user's choice.
func (s *Store) makeDirs() (made bool, err error) {
	for _, d := range []string{s.spoolDir(), s.storeDir()} {
		info, err := os.Lstat(d)
		switch {
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			return made, s.unlinked()
		case err == nil && !info.IsDir():
			return made, fmt.Errorf("%s is %s, where a folder of the store should be; move it away", d, kindOf(info.Mode()))
		case err == nil && info.Mode().Perm()&0o077 == 0:
			continue
		case err == nil:
			_ = os.Chmod(d, info.Mode().Perm()&0o700) // if it is not ours it stays as it is
			continue
		}
		if err := makeDir(d); err != nil {
			return made, err
		}
		made = true
	}
	return made, nil
}

// makeDir makes a folder, and those above it that are missing, for their user alone; of
// what is there it changes nothing.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	switch {
	case err == nil:
		return os.Chmod(path, 0o700) // a umask may have taken some of that
	case errors.Is(err, fs.ErrExist):
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil
		}
	}
	return err
}

// unlinked refuses folders that are symbolic links.
func (s *Store) unlinked() error {
	for _, d := range []string{s.spoolDir(), s.storeDir()} {
		if info, err := os.Lstat(d); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link; make it a folder, or link the folder above it", d)
		}
	}
	return nil
}

// private takes the rights of others to a file of ours that has some.
func private(f *os.File) {
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600)
	}
}

func (s *Store) spoolDir() string { return filepath.Join(s.dir, "spool") }
func (s *Store) storeDir() string { return filepath.Join(s.dir, "store") }

func (s *Store) spoolPath(id store.SessionID) string { return s.spoolFile(id, ".log") }

// spoolFile returns the path of a session's file in the folder of the spools.
func (s *Store) spoolFile(id store.SessionID, ending string) string {
	return filepath.Join(s.spoolDir(), string(id)+ending)
}

func (s *Store) monthPath(key [16]byte) string {
	return filepath.Join(s.storeDir(), monthOf(key)+".db")
}

// monthOf returns the name of the database that holds a session.
func monthOf(key [16]byte) string {
	if key[6]>>4 != 7 {
		return "other"
	}
	ms := int64(key[0])<<40 | int64(key[1])<<32 | int64(key[2])<<24 | int64(key[3])<<16 | int64(key[4])<<8 | int64(key[5])
	return time.UnixMilli(ms).UTC().Format("200601")
}

// idOf is the inverse of SessionID.Bytes.
func idOf(key [16]byte) store.SessionID {
	var b [36]byte
	hex.Encode(b[:8], key[:4])
	hex.Encode(b[9:13], key[4:6])
	hex.Encode(b[14:18], key[6:8])
	hex.Encode(b[19:23], key[8:10])
	hex.Encode(b[24:], key[10:])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return store.SessionID(b[:])
}
