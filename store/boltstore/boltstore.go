package boltstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Values of Options.Sync: when a write to a spool is made durable.
const (
	SyncDefault time.Duration = 0  // 50 ms after it
	SyncAlways  time.Duration = -1 // before Write returns
	SyncNone    time.Duration = -2 // only at Close
)

// Options configures a store. The zero value suits most users.
type Options struct {
	// Sync is the longest delay between a write to a spool and the fsync behind it: a
	// duration, or one of the constants above.
	Sync time.Duration
	// Patience is how long a call waits for a database that another process has locked. 0: 10
	// s.
	Patience time.Duration
	// FoldBudget limits the time that one FoldDead takes; later calls fold the rest. 0: 250
	// ms.
	FoldBudget time.Duration
	// CloseBudget limits the time that closing a spool spends on its fold; a later FoldDead
	// folds the rest. 0: 100 ms.
	CloseBudget time.Duration
	// Mask returns a function that masks a session's events, in their order, on the way from
	// the spool to the database. It is called for sessions whose header asks for masking, with
	// the key of the store. nil: their spools wait for a program with a Mask.
	Mask func(key []byte, h store.Header) (func(store.Event) store.Event, error)
}

// Store is a store in a folder. Goroutines and processes may share the folder; all methods are
// safe for concurrent use.
type Store struct {
	*directory
	databases
	spools
	folding
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
	f := &directory{dir: abs, disk: theDisk(), patience: o.Patience, done: make(chan struct{})}
	return &Store{f, databases{f}, spools{f}, folding{f, databases{f}, spools{f}, o}}, nil
}

// Info says what the store is.
func (s *Store) Info() store.Info {
	return store.Info{Name: "bbolt", Location: s.dir, Durability: "disk"}
}

// Close waits for running calls and ends followers.
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

// Spool starts a live session with its Opened event.
func (s *Store) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	h, err := store.ParseHeader(opened.Payload)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	p, err := newSpool(ctx, s, h.ID, opened)
	if err != nil {
		return nil, fmt.Errorf("open spool of session %s: %w", h.ID, err)
	}
	return p, nil
}

// Verify checks every page and chunk of every database and every record of
// every spool.
func (s *Store) Verify(ctx context.Context, report func(error)) error {
	return s.call(ctx, "verify store", verification{s, report}.all)
}

// Compact rewrites each database whose free share is at least `least`, without its free pages,
// and replaces the old file. It checks the content on the way and leaves a damaged database
// alone. A process that dies on the way leaves the old file. Recorders and readers go on
// meanwhile; writers of a database wait while it is copied.
func (s *Store) Compact(ctx context.Context, least float64, report func(Compacted)) error {
	c := compaction{Store: s, least: least, report: report}
	if err := s.call(ctx, "compact store", c.all); err != nil {
		return err
	}
	return errors.Join(c.faults...)
}

// Repair rebuilds each damaged database from its intact content, and adds to sessions the
// events behind the damage in their spools. The old files are kept. A folder, pipe or link in
// the place of a file gets another name. With dry, Repair changes nothing and reports its
// findings. Recorders may go on meanwhile.
func (s *Store) Repair(ctx context.Context, dry bool, report func(Repaired)) error {
	return s.call(ctx, "repair store", repair{s, dry, report}.all)
}

// Salvage yields the intact events of a session that cannot be read, from the database and its
// spool, and a lost event in place of each missing one. It changes nothing.
func (s *Store) Salvage(ctx context.Context, id store.SessionID) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		var events []store.Event
		err := s.call(ctx, fmt.Sprintf("salvage session %s", id), func(ctx context.Context) (err error) {
			events, err = salvageSession(ctx, s, id)
			return err
		})
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Event{}, err)
		}
	}
}
