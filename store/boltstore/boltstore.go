package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
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
	opts Options
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
	return &Store{directory: f, databases: databases{f}, spools: spools{f}, opts: o}, nil
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

// FoldDead folds the spools whose recorders are gone, for Options.FoldBudget.
// Any command may call it: what is locked, or does not fit on the disk, stays
// safe in its spool. The error joins what is damaged, and what is not a file where one
// should be; the others are folded.
func (s *Store) FoldDead(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("fold spools: %w", err)
	}
	defer s.end()
	files, _ := s.files() // a listing says it
	faults := []error{s.Odd()}
	until := time.Now().Add(s.opts.FoldBudget)
	for _, f := range files {
		if f.ending != ".log" {
			continue
		}
		if time.Now().After(until) || ctx.Err() != nil {
			break
		}
		if err := s.foldDead(withNoWait(ctx), f.id, until); errors.Is(err, store.ErrCorrupt) {
			faults = append(faults, fmt.Errorf("fold session %s: %w", f.id, err))
		}
	}
	return errors.Join(errors.Join(faults...), ctx.Err())
}

// Verify checks every page and chunk of every database and every record of
// every spool.
func (s *Store) Verify(ctx context.Context, report func(error)) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("verify store: %w", err)
	}
	defer s.end()
	for _, odd := range s.oddFiles() {
		report(odd)
	}
	paths, foreign, err := s.databasePaths()
	for _, fault := range foreign {
		report(fault)
	}
	files, err2 := s.files()
	if err = errors.Join(err, err2); err != nil {
		return fmt.Errorf("verify store: %w", err)
	}
	for _, path := range paths {
		if err := s.verifyDatabase(ctx, path, report); err != nil && !errors.Is(err, fs.ErrNotExist) {
			report(err)
		}
	}
	for _, f := range files {
		if f.ending != ".log" {
			continue
		}
		if err := s.verifySpool(ctx, f.id); err != nil {
			report(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("verify store: %w", err)
	}
	return nil
}

// Compact writes each database of which at least the share `least` is free anew, without
// its free pages, and gives the new file the name of the old one. What each holds is
// checked on the way; a damaged one stays as it is. A process that dies on the way leaves
// the old file. Recorders and readers go on meanwhile; what writes to a database waits while
// that is copied.
func (s *Store) Compact(ctx context.Context, least float64, report func(Compacted)) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	defer s.end()
	paths, faults, err := s.databasePaths()
	if err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	if err := s.refuseLinks(); err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	unlock, err := s.lockFile(ctx, filepath.Join(s.storeDir(), "compact.lock"), true)
	if err != nil {
		return fmt.Errorf("compact store: %w", err)
	}
	defer unlock()
	s.sweepTemps()
	s.sweepRepairs(ctx)
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		switch c, err := s.compact(ctx, path, least); {
		case err == nil:
			report(c)
		case !errors.Is(err, fs.ErrNotExist):
			faults = append(faults, fmt.Errorf("compact %s: %w", path, err))
		}
	}
	return errors.Join(errors.Join(faults...), ctx.Err())
}

// Repair puts a new file in the place of each damaged database, with all that the
// old one still holds, and adds to the sessions of damaged spools what stands
// behind the damage. The old files are kept. What is no file at all, where one should be,
// gets another name. With dry it only says what it would
// do. Recorders may go on meanwhile.
func (s *Store) Repair(ctx context.Context, dry bool, report func(Repaired)) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("repair store: %w", err)
	}
	defer s.end()
	r := repair{s, dry, report}
	err := errors.Join(r.odd(ctx), r.months(ctx))
	if !dry {
		_ = s.FoldDead(ctx) // which keeps spools that are damaged, for the next step
	}
	if err = errors.Join(err, r.spooled(ctx)); err != nil {
		return fmt.Errorf("repair store: %w", err)
	}
	return nil
}

// Salvage yields what is left of a session that cannot be read: every event whose
// checksum holds, in the database and in its spool, and a lost event in the place
// of each that is missing. It changes nothing.
func (s *Store) Salvage(ctx context.Context, id store.SessionID) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		events, err := s.salvage(ctx, id)
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Event{}, fmt.Errorf("salvage session %s: %w", id, err))
		}
	}
}

// Odd returns an error that names what has the name of a file of the store and is not a
// regular file.
func (s *Store) Odd() error {
	var faults []error
	for _, odd := range s.oddFiles() {
		faults = append(faults, odd)
	}
	return errors.Join(faults...)
}

// Exposed returns an error if every user of the machine can put files into the store's
// folder and take them out.
func (s *Store) Exposed() error {
	info, err := os.Stat(s.dir)
	if err != nil || info.Mode().Perm()&0o002 == 0 || info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return fmt.Errorf("%s can be written to by every user of this machine; chmod go-w takes that right away", s.dir)
}
