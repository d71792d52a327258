package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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
	// LargestFolded is how many bytes an event may have that is moved from its spool to the database. The
	// spool of a session with a larger one stays, and is read there. 0: 64 MiB; of a session to be masked, 2 GiB.
	LargestFolded int64
	// Mask returns a function that masks a session's events, in their order, on the way from
	// the spool to the database. It is called for sessions whose header asks for masking, with
	// the key of the store. nil: masked sessions wait in spools for a program with a Mask.
	Mask func(key []byte, h store.Header) (func(store.Event) store.Event, error)
}

// Store is a store in a folder. Goroutines and processes may share the folder; the methods are
// safe for concurrent use.
type Store struct {
	*directory
	databases
	spools
	folding
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Spooler = (*Store)(nil)
	_ store.Keyed   = (*Store)(nil)
)

// Open returns the store in dir, which need not exist yet. Open touches no file.
func Open(dir string, options Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %v", dir, err)
	}
	if options.Sync == SyncDefault {
		options.Sync = 50 * time.Millisecond
	}
	if options.Patience <= 0 {
		options.Patience = 10 * time.Second
	}
	if options.FoldBudget <= 0 {
		options.FoldBudget = 250 * time.Millisecond
	}
	if options.CloseBudget <= 0 {
		options.CloseBudget = 100 * time.Millisecond
	}
	if options.LargestFolded <= 0 {
		options.LargestFolded = defaultLargest
	}
	f := &directory{dir: abs, disk: theDisk(), patience: options.Patience, replaceNeedsClosed: replaceNeedsClosed, done: make(chan struct{})}
	return &Store{f, databases{f}, spools{f}, folding{f, databases{f}, spools{f}, options, &keptMasks{}}}, nil
}

// Info describes the store.
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

// Spool starts a live session with the Opened event.
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
// and replaces the old file. Compact checks the content on the way and leaves a damaged
// database alone. If the process dies, the old file stays. Recorders and readers go on
// meanwhile; writers of a database wait while it is copied.
func (s *Store) Compact(ctx context.Context, least float64, report func(store.Compacted)) error {
	c := compaction{Store: s, least: least, report: report}
	if err := s.call(ctx, "compact store", c.all); err != nil {
		return err
	}
	return errors.Join(c.faults...)
}

// Repair rebuilds each damaged database from the intact content, and adds to sessions the
// events behind the damage in their spools. The old files are kept. A folder, pipe or link in
// the place of a file gets another name. With dry, Repair changes nothing and reports its
// findings. Recorders may go on meanwhile.
func (s *Store) Repair(ctx context.Context, dry bool, report func(store.Repaired)) error {
	return s.call(ctx, "repair store", repair{s, dry, report}.all)
}

// Salvage yields the intact events of an unreadable session, from the database and the
// spool, and a lost event in place of each missing event. Salvage changes no file.
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

// Space measures the store. Files that other processes remove meanwhile are not counted. The error
// names the databases that cannot be read; the others are counted.
func (s *Store) Space(ctx context.Context) (space store.Space, err error) {
	err = s.call(ctx, "measure store", func(ctx context.Context) error {
		files, err := s.files()
		faults := []error{err}
		for _, f := range files {
			info, err := os.Lstat(f.path)
			if err == nil && f.ending == ".log" {
				space.Files += info.Size()
				space.Spools += info.Size()
			}
		}
		paths, foreign, err := s.databasePaths()
		faults = append(append(faults, foreign...), err)
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			err = s.view(ctx, path, func(tx *dbTx) error {
				used, err := tx.used()
				space.Free += max(info.Size()-used, 0)
				return err
			})
			space.Files += info.Size()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				faults = append(faults, err)
			}
		}
		return errors.Join(faults...)
	})
	return space, err
}

// Alone runs f unless another process, or another call, runs its own by Alone just now: then
// nobody waits, and ran is false.
func (s *Store) Alone(ctx context.Context, f func(context.Context) error) (ran bool, err error) {
	err = s.call(ctx, "keep store alone", func(ctx context.Context) error {
		if _, err := s.makeFolders(); err != nil {
			return err
		}
		unlock, err := s.lockFile(ctx, filepath.Join(s.storeDir(), "alone.lock"), false)
		if err != nil || unlock == nil {
			return err
		}
		defer unlock()
		ran = true
		return f(ctx)
	})
	return ran, err
}

// Usage counts the bytes of files and sessions without reading payloads. The error names files
// that cannot be read; the rest is counted.
func (s *Store) Usage(ctx context.Context) (store.Usage, error) {
	u := store.Usage{Stored: map[store.SessionID]int64{}}
	if err := s.begin(ctx); err != nil {
		return u, fmt.Errorf("usage of store: %w", err)
	}
	defer s.end()
	files, err := s.files()
	faults := []error{err}
	for _, f := range files {
		info, err := os.Lstat(f.path)
		if err != nil {
			continue // folded since
		}
		switch f.ending {
		case ".log":
			u.Spools.Add(info.Size())
			u.Stored[f.id] += info.Size()
		case ".damaged":
			u.Damaged.Add(info.Size())
			u.Stored[f.id] += info.Size() // gone with the session
		}
	}
	paths, foreign, err := s.databasePaths()
	faults = append(append(faults, foreign...), err)
	for _, path := range paths {
		if err := addUsage(ctx, s.databases, path, &u); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	entries, err := readDir(s.storeDir())
	faults = append(faults, err)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.Contains(e.Name(), ".damaged") {
			u.Damaged.Add(info.Size())
		}
	}
	return u, errors.Join(errors.Join(faults...), ctx.Err())
}

// Append adds events after Seq `after`, in one transaction.
func (s *Store) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (head store.Head, err error) {
	defer func() {
		if conflict := (*store.ConflictError)(nil); err != nil && !errors.As(err, &conflict) {
			err = fmt.Errorf("append to session %s: %w", id, err)
		}
	}()
	key, err := id.Bytes()
	if err != nil {
		return head, err
	}
	if err := s.begin(ctx); err != nil {
		return head, err
	}
	defer s.end()
	id = sessionID(key)
	if _, err := regular(s.spoolPath(id)); err == nil {
		if err := s.foldDead(ctx, id, time.Time{}); err != nil {
			return head, err
		}
	}
	if live, err := s.live(id); live || err != nil {
		return head, errors.Join(err, store.ErrLive)
	}
	if _, err := regular(s.spoolPath(id)); err == nil {
		return head, errors.New("an event of it is too large for the database, and it stays in its spool")
	}
	for {
		head, err = s.tryAppend(ctx, id, key, after, events)
		if !errors.Is(err, errChanged) {
			return head, err
		}
	}
}

// tryAppend makes the chunks while the database is unlocked, and stores the chunks if the session
// has not changed meanwhile.
func (s *Store) tryAppend(ctx context.Context, id store.SessionID, key [16]byte, after uint64, events []store.Event) (store.Head, error) {
	path := s.databasePath(key)
	p, _, err := s.projection(ctx, path, key)
	before := p.session.Head
	if err != nil {
		return before, err
	}
	if p.deleted {
		return store.Head{}, fmt.Errorf("deleted: %w", store.ErrExists)
	}
	events, err = s.behind(ctx, id, key, before, after, events)
	if err != nil || len(events) == 0 {
		return before, err
	}
	c := &chunker{id: key}
	if err := c.take(&p, events); err != nil {
		return before, err
	}
	err = s.update(ctx, path, func(tx *dbTx) error {
		now, _, err := tx.projection(key)
		if err != nil {
			return err
		}
		if now.session.Head != before || now.deleted {
			return errChanged
		}
		return tx.putSession(key, c.done, &p)
	})
	if err != nil {
		return before, err
	}
	return p.session.Head, nil
}

// behind returns the events behind the head, after comparing the others with the stored
// events.
func (s *Store) behind(ctx context.Context, id store.SessionID, key [16]byte, head store.Head, after uint64, events []store.Event) ([]store.Event, error) {
	conflict := &store.ConflictError{ID: id, Head: head}
	if after > head.Seq {
		return nil, conflict
	}
	for i, e := range events {
		if e.Seq != after+uint64(i)+1 {
			return nil, fmt.Errorf("event %d: expected event %d", e.Seq, after+uint64(i)+1)
		}
	}
	stored := events[:min(head.Seq-after, uint64(len(events)))]
	events = events[len(stored):]
	if len(stored) > 0 {
		x := &source{store: s, id: id, key: key, path: s.databasePath(key)}
		x.projection.session.Head = head
		for e, err := range x.readChunks(ctx, stored[0].Seq) {
			switch {
			case err != nil:
				return nil, err
			case !e.Equal(stored[0]):
				return nil, conflict
			}
			if stored = stored[1:]; len(stored) == 0 {
				break
			}
		}
	}
	if len(events) > 0 && head.Sealed {
		return nil, conflict
	}
	return events, nil
}

// deleteBatch is the number of sessions that a transaction deletes.
const deleteBatch = 500

// Delete removes a session and leaves a tombstone.
func (s *Store) Delete(ctx context.Context, id store.SessionID) error {
	return s.call(ctx, fmt.Sprintf("delete session %s", id), func(ctx context.Context) error {
		x, err := s.locate(ctx, id, 0)
		if err != nil {
			return err
		}
		x.close()
		fault := store.ErrLive
		err = s.deleteSome(ctx, x.path, []store.SessionID{x.id}, func(store.SessionID) { fault = nil })
		if err != nil {
			return err
		}
		return fault
	})
}

// DeleteAll removes sessions, many in a transaction, and calls removed for each. Live
// and missing sessions are left out. After an interrupted call the reported
// sessions are gone and the others untouched.
func (s *Store) DeleteAll(ctx context.Context, ids []store.SessionID, removed func(store.SessionID)) error {
	return s.call(ctx, "delete sessions", func(ctx context.Context) error {
		var paths []string
		inDatabase := map[string][]store.SessionID{}
		for _, id := range ids {
			key, err := id.Bytes()
			if err != nil {
				return err
			}
			path := s.databasePath(key)
			if inDatabase[path] == nil {
				paths = append(paths, path)
			}
			inDatabase[path] = append(inDatabase[path], sessionID(key))
		}
		var faults []error
		for _, path := range paths {
			for batch := range slices.Chunk(inDatabase[path], deleteBatch) {
				err := s.deleteSome(ctx, path, batch, removed)
				if err != nil {
					faults = append(faults, err)
				}
				if isOdd(err) {
					break // other databases are not affected
				}
				if err != nil {
					return errors.Join(faults...)
				}
			}
		}
		return errors.Join(faults...)
	})
}

// deleteSome removes sessions of a database in one transaction.
func (s *Store) deleteSome(ctx context.Context, path string, ids []store.SessionID, removed func(store.SessionID)) error {
	if _, err := s.makeFolders(); err != nil { // for the lock
		return err
	}
	unlock, err := s.lockFold(ctx, true)
	if err != nil {
		return err
	}
	defer unlock()
	var held []store.SessionID
	for _, id := range ids {
		release, err := s.lockDead(id)
		if err != nil {
			return err
		}
		if release != nil {
			defer release()
			held = append(held, id)
		}
	}
	var gone []store.SessionID
	err = s.update(ctx, path, func(tx *dbTx) error {
		gone = gone[:0]
		for _, id := range held {
			key, _ := id.Bytes() // as before
			_, noSpool := regular(s.spoolPath(id))
			if tx.meta.Get(key[:]) == nil && noSpool != nil {
				continue // there is no such session
			}
			switch err := tx.removeSession(key); {
			case err == nil:
				gone = append(gone, id)
			case !errors.Is(err, store.ErrNotFound):
				return fmt.Errorf("session %s: %w", id, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range gone {
		for _, ending := range []string{".log", ".damaged", ".lock"} {
			path := s.spoolFile(id, ending)
			if _, err := regular(path); isOdd(err) {
				continue
			}
			if err := s.disk.remove(path); err != nil && ending != ".lock" {
				return err
			}
		}
		removed(id)
	}
	return nil
}

// DefaultFolder returns the folder of a user's store as an environment has it: $MCPREC_HOME, else mcprec in
// $XDG_STATE_HOME, else in the folder of the system for such files.
func DefaultFolder(env func(string) string) (string, error) {
	user, err := os.UserHomeDir()
	if folder := defaultFolder(runtime.GOOS, env, user); folder != "" {
		return folder, nil
	}
	return "", fmt.Errorf("find the store: %v; set MCPREC_HOME", err)
}

// defaultFolder is DefaultFolder for a system; user is the folder of the user, or "". The result is "" if
// nothing says where the store is.
func defaultFolder(system string, env func(string) string, user string) string {
	if text := env("MCPREC_HOME"); text != "" {
		return text
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprec")
	}
	// Not the roaming folder, which Windows copies from machine to machine.
	if dir := env("LOCALAPPDATA"); system == "windows" && dir != "" {
		return filepath.Join(dir, "mcprec")
	}
	if user == "" {
		return ""
	}
	return filepath.Join(user, ".local", "state", "mcprec")
}
