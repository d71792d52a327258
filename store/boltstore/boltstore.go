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

// Spool starts a live session with its Opened event.
func (s *Store) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	h, err := store.ParseHeader(opened.Payload)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	p, err := s.openLive(ctx, h.ID, opened)
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

// Compact writes each database of which at least the share `least` is free anew, without
// its free pages, and gives the new file the name of the old one. What each holds is
// checked on the way; a damaged one stays as it is. A process that dies on the way leaves
// the old file. Recorders and readers go on meanwhile; what writes to a database waits while
// that is copied.
func (s *Store) Compact(ctx context.Context, least float64, report func(Compacted)) error {
	c := compaction{Store: s, least: least, report: report}
	if err := s.call(ctx, "compact store", c.all); err != nil {
		return err
	}
	return errors.Join(c.faults...)
}

// Repair puts a new file in the place of each damaged database, with all that the
// old one still holds, and adds to the sessions of damaged spools what stands
// behind the damage. The old files are kept. What is no file at all, where one should be,
// gets another name. With dry it only says what it would
// do. Recorders may go on meanwhile.
func (s *Store) Repair(ctx context.Context, dry bool, report func(Repaired)) error {
	return s.call(ctx, "repair store", repair{s, dry, report}.all)
}

// Salvage yields what is left of a session that cannot be read: every event whose
// checksum holds, in the database and in its spool, and a lost event in the place
// of each that is missing. It changes nothing.
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
