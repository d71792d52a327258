package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
)

const (
	keepBuffer = 1 << 20 // a larger buffer is not reused
	closeFold  = 4 << 20 // Close folds up to this many bytes, and leaves more to the next command
)

// spool is the writer of one live session.
type spool struct {
	store *Store
	id    store.SessionID
	key   [16]byte
	file  fileWriter
	lock  *flock.Flock
	made  bool // the store's folders are new, and their names not durable yet

	closed bool

	order store.Sequence // of the parts written
	good  int64          // length of the file up to the last good record
	torn  bool           // remains of a failed write could not be cut

	dirty  atomic.Bool  // written to since the last sync
	size   atomic.Int64 // good, for the keeper
	wake   chan struct{}
	keeper keeper
}

// newSpool makes the lock of a session and its spool with the first record.
func newSpool(ctx context.Context, s *Store, id store.SessionID, opened store.Event) (_ *spool, err error) {
	key, err := id.Bytes()
	if err != nil {
		return nil, err
	}
	order, err := store.Sequence{}.After([]store.Part{{Event: opened}})
	if err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	p := &spool{store: s, id: sessionID(key), key: key, wake: make(chan struct{}, 1),
		keeper: keeper{stop: make(chan struct{}), done: make(chan struct{}), folding: make(chan foldReport, 1), folded: spoolHead}}
	path := s.spoolPath(p.id)
	if p.made, err = s.makeFolders(); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, store.ErrExists
	}
	if p.lock, err = s.lockLive(p.id); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.unlock()
		}
	}()
	// A database that is damaged or in use must not stop a recording.
	if _, ok, err := s.projection(withNoWait(ctx), s.databasePath(key), key); ok && err == nil {
		return nil, store.ErrExists
	}
	p.file, err = s.disk.create(path)
	if errors.Is(err, fs.ErrExist) {
		return nil, store.ErrExists
	} else if err != nil {
		return nil, err
	}
	b := appendRecord(appendSpoolHead(nil, key), &store.Part{Event: opened})
	if _, err = p.file.Write(b); err == nil {
		p.wrote(len(b), order)
		if s.opts.Sync == SyncAlways {
			_ = p.sync() // OnDoubt reports it
			err = p.syncNames()
		}
	}
	if err != nil {
		_ = p.file.Close()
		_ = s.disk.remove(path)
		return nil, err
	}
	p.dirty.Store(true)
	p.wake <- struct{}{}
	go func() {
		defer close(p.keeper.done)
		_ = p.syncNames() // Close tries again and reports
		p.runKeeper()
	}()
	return p, nil
}

// syncNames makes the names of the spool and its folders durable.
func (p *spool) syncNames() error {
	err := p.store.disk.syncDir(p.store.spoolDir())
	if p.made {
		err = errors.Join(err, p.store.disk.syncDir(p.store.dir))
	}
	return err
}

// recordBuffers are shared by all spools, because most sessions rest.
var recordBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Write hands the parts to the operating system with one write.
func (p *spool) Write(parts []store.Part) error {
	if p.closed {
		return fmt.Errorf("write to session %s: %w", p.id, store.ErrClosed)
	}
	order, err := p.order.After(parts)
	if err != nil {
		return fmt.Errorf("write to session %s: %w", p.id, err)
	}
	if len(parts) == 1 && parts[0].Buffer != nil {
		err = p.put(recordInPlace(&parts[0]), order)
	} else {
		buf := recordBuffers.Get().(*[]byte)
		b := (*buf)[:0]
		for i := range parts {
			if n := len(parts[i].Payload); n > maxRecord/2 {
				return fmt.Errorf("write to session %s: event %d: %d bytes in one part", p.id, parts[i].Seq, n)
			}
			b = appendRecord(b, &parts[i])
		}
		err = p.put(b, order)
		if cap(b) <= keepBuffer {
			*buf = b
			recordBuffers.Put(buf)
		}
	}
	if err != nil {
		return fmt.Errorf("write to session %s: %w", p.id, err)
	}
	if p.store.opts.Sync == SyncAlways {
		_ = p.sync() // OnDoubt reports it; the write can be read all the same
	}
	if !p.dirty.Load() {
		p.dirty.Store(true)
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// put writes data to the file whole or not at all.
func (p *spool) put(data []byte, order store.Sequence) error {
	if p.torn {
		if err := p.cut(); err != nil {
			return err
		}
	}
	if _, err := p.file.Write(data); err != nil {
		_ = p.cut() // tried again by the next Write
		return err
	}
	p.wrote(len(data), order)
	return nil
}

// wrote accounts for n written bytes.
func (p *spool) wrote(n int, order store.Sequence) {
	p.good = p.good + int64(n)
	p.order = order
	p.size.Store(p.good)
}

// cut removes the remains of a failed write.
func (p *spool) cut() error {
	err := p.file.Truncate(p.good)
	p.torn = err != nil
	return err
}

// Close makes the spool durable, folds it if that is quick, and releases the session. The next
// command folds the rest.
func (p *spool) Close() error {
	if p.closed {
		return fmt.Errorf("close spool of session %s: %w", p.id, store.ErrClosed)
	}
	p.closed = true
	close(p.keeper.stop)
	<-p.keeper.done
	if p.torn {
		_ = p.cut() // else the fold cuts it by its checksum
	}
	err := errors.Join(p.sync(), p.syncNames())
	if p.good-p.keeper.folded <= closeFold {
		until := time.Now().Add(p.store.opts.CloseBudget)
		foldErr := p.store.foldAll(withNoWait(context.Background()), p.id, p.key, until)
		if errors.Is(foldErr, store.ErrCorrupt) {
			err = errors.Join(err, foldErr)
		} else if err != nil && foldErr == nil {
			x, ok, noFacts := p.store.projection(withNoWait(context.Background()), p.store.databasePath(p.key), p.key)
			if noFacts == nil && ok && x.spooled == 0 && x.session.Head.At >= p.order.At() {
				err = nil // the database has all events
			}
		}
	}
	err = errors.Join(err, p.file.Close())
	p.unlock()
	if err != nil {
		return fmt.Errorf("close spool of session %s: %w", p.id, err)
	}
	return nil
}

// unlock removes the lock file while it is held; where files in use cannot be removed, after
// it is released.
func (p *spool) unlock() {
	gone := p.store.disk.remove(p.lock.Path()) == nil
	_ = p.lock.Close()
	if !gone {
		_ = p.store.disk.remove(p.lock.Path())
	}
}

const (
	foldAt    = 8 << 20               // fold as soon as this many bytes are unfolded
	foldAfter = 30 * time.Second      // fold a full chunk after this time; a due fold waits this long for a quiet moment
	quietTime = 50 * time.Millisecond // a moment is quiet when nothing was written for this long
)

// keeper syncs and folds a spool beside its writer. It sleeps while nothing is written.
type keeper struct {
	stop chan struct{}
	done chan struct{}

	synced int64      // the file is durable up to this offset
	mu     sync.Mutex // guards the fields below
	failed error      // the first sync that failed
	from   uint64     // the first event that it may have lost
	report func(from uint64, cause error)

	folded  int64        // the database has the spool up to this offset
	tried   int64        // size at a fold that found no more to do
	folds   atomic.Int32 // number of folds begun
	waiting time.Time    // since when a chunk's worth waits; zero: none does
	due     time.Time    // since when a fold is due; zero: none is
	seen    int64        // the size at the last look
	changed time.Time    // time of the last change seen
	folding chan foldReport
	busy    bool // a fold is running
}

// foldReport is the result of a fold beside the writer.
type foldReport struct {
	folded, tried int64
}

// sync makes the file durable. After one failure every later call fails too: the kernel
// reports a failed write once and may then drop it.
func (p *spool) sync() error {
	k := &p.keeper
	upto := p.size.Load()
	err := p.file.Sync()
	if k.failed == nil && err == nil {
		k.synced = upto
	}
	if k.failed != nil || err == nil {
		return k.failed
	}
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err // the caller names the file
	}
	from := p.eventBehind(k.synced)
	k.mu.Lock()
	k.failed = fmt.Errorf("%w: %w", store.ErrNotKept, err)
	k.from = from
	f := k.report
	k.mu.Unlock()
	if f != nil {
		f(from, k.failed)
	}
	return k.failed
}

// eventBehind returns the first event that is not complete in the first bytes of the spool, or
// one before it.
func (p *spool) eventBehind(off int64) uint64 {
	f, err := p.store.openSpool(p.id, p.key)
	if err != nil {
		return 1
	}
	defer func() { _ = f.Close() }()
	r := newSpoolReader(f, spoolStart)
	r.reuse = true
	for {
		e, ok, err := r.read()
		switch {
		case !ok || err != nil:
			return r.next
		case r.off > off:
			return e.Seq
		}
	}
}

// OnDoubt has f called for the first sync that fails or has failed.
func (p *spool) OnDoubt(f func(from uint64, cause error)) {
	p.keeper.mu.Lock()
	p.keeper.report = f
	failed, from := p.keeper.failed, p.keeper.from
	p.keeper.mu.Unlock()
	if failed != nil {
		f(from, failed)
	}
}

// runKeeper wakes after a write, and then every interval while a sync or a due fold waits.
func (p *spool) runKeeper() {
	k := &p.keeper
	interval := p.store.opts.Sync
	if interval <= 0 {
		interval = quietTime
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for active := false; ; {
		wake := p.wake
		switch {
		case active:
			wake = nil
			timer.Reset(interval)
		case !k.waiting.IsZero():
			timer.Reset(time.Until(k.waiting.Add(foldAfter)))
		default:
			timer.Stop()
		}
		select {
		case <-wake:
			active = true
			continue
		case done := <-k.folding:
			k.folded = done.folded
			k.tried = done.tried
			k.busy = false
		case <-timer.C:
		case <-k.stop:
			if cancel(); k.busy {
				k.folded = (<-k.folding).folded
			}
			return
		}
		wrote := p.dirty.Swap(false)
		if p.store.opts.Sync > 0 && wrote {
			_ = p.sync() // OnDoubt and Close report it
		}
		due := k.look(p.size.Load(), time.Now())
		if due && !k.busy {
			k.busy = true
			k.folds.Add(1)
			go func(before int64) { // one transaction's worth; after a failure the spool has everything
				done := foldReport{folded: before, tried: p.size.Load()}
				if step, err := p.store.fold(ctx, p.id, p.key, foldLimit{}); err == nil {
					done.folded = step.to.Off
					if step.full {
						done.tried = 0
					}
				}
				k.folding <- done
			}(k.folded)
		}
		active = wrote || !k.due.IsZero() && !k.busy
	}
}

// look notes the spool's size and reports whether to fold now.
func (k *keeper) look(size int64, now time.Time) bool {
	if size != k.seen {
		k.seen = size
		k.changed = now
	}
	unfolded := size - max(k.folded, k.tried)
	if size-k.folded < chunkTarget || unfolded == 0 {
		// The spool is as safe as the database, and small chunks compress badly.
		k.waiting = time.Time{}
		k.due = time.Time{}
		return false
	}
	if k.waiting.IsZero() {
		k.waiting = now
	}
	if k.due.IsZero() && (unfolded >= foldAt || now.Sub(k.waiting) >= foldAfter) {
		k.due = now
	}
	if k.due.IsZero() {
		return false
	}
	if now.Sub(k.changed) < quietTime && now.Sub(k.due) < foldAfter {
		return false
	}
	k.waiting = time.Time{}
	k.due = time.Time{}
	return true
}

// spools are the files and locks of live sessions and of sessions that are not folded yet.
// They know nothing of databases.
type spools struct{ *directory }

func (s spools) spoolPath(id store.SessionID) string { return s.spoolFile(id, ".log") }

// spoolFile returns the path of a session's file in the folder of the spools.
func (s spools) spoolFile(id store.SessionID, ending string) string {
	return filepath.Join(s.spoolDir(), string(id)+ending)
}

// sessionFile is a regular file in the folder of the spools that is named by a session's id.
type sessionFile struct {
	id           store.SessionID
	ending, path string
}

func (s spools) files() (files []sessionFile, err error) {
	entries, err := readDir(s.spoolDir())
	for _, e := range entries {
		name, ending, _ := strings.Cut(e.Name(), ".")
		if id, err := store.ParseSessionID(name); err == nil && e.Type().IsRegular() {
			files = append(files, sessionFile{id, "." + ending, filepath.Join(s.spoolDir(), e.Name())})
		}
	}
	return files, err
}

// A recorder holds the exclusive lock of its session while it lives. Others try a shared lock
// to see whether it lives; folding or deleting a dead session keeps a shared lock, so that the
// session still looks dead. fold.lock excludes other folds.

func (s spools) lockPath(id store.SessionID) string {
	return s.spoolFile(id, ".lock")
}

// lockLive makes and takes the lock of a new session.
func (s spools) lockLive(id store.SessionID) (*flock.Flock, error) {
	l := flock.New(s.lockPath(id), flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow|noBlock), flock.SetPermissions(0o600))
	ok, err := s.disk.tryLock(l, false)
	if err != nil {
		return nil, err
	}
	if !ok || !underName(l, l.Path()) {
		_ = l.Close()
		return nil, store.ErrExists
	}
	return l, nil
}

// lockDead takes the shared lock of a session whose recorder is dead, so that none can start.
// It returns nil while a recorder lives.
func (s spools) lockDead(id store.SessionID) (unlock func(), err error) {
	if _, err := regular(s.lockPath(id)); isOdd(err) {
		return func() {}, nil // no recorder can hold a lock on it
	}
	l := flock.New(s.lockPath(id), flock.SetFlag(os.O_RDONLY|noFollow|noBlock))
	ok, err := s.disk.tryLock(l, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil
	case err != nil:
		return nil, fmt.Errorf("lock of session %s: %w", id, err)
	case !ok:
		return nil, nil
	}
	return func() { _ = l.Close() }, nil
}

// live reports whether a recorder holds the session.
func (s spools) live(id store.SessionID) (bool, error) {
	unlock, err := s.lockDead(id)
	if unlock != nil {
		unlock()
	}
	return unlock == nil && err == nil, err
}

// lockFold takes the lock that one fold at a time holds.
func (s spools) lockFold(ctx context.Context, wait bool) (unlock func(), err error) {
	return s.lockFile(ctx, filepath.Join(s.spoolDir(), "fold.lock"), wait)
}

// holdDead takes the locks for folding or deleting a dead session.
func (s spools) holdDead(ctx context.Context, id store.SessionID, wait bool) (release func(), err error) {
	unlock, err := s.lockDead(id)
	if err != nil {
		return nil, err
	}
	if unlock == nil {
		return nil, store.ErrLive
	}
	unlockFold, err := s.lockFold(ctx, wait)
	if err == nil && unlockFold == nil {
		err = store.ErrBusy
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return func() { unlockFold(); unlock() }, nil
}

// openSpool opens the spool of a session. The error is fs.ErrNotExist if there is none or its
// recorder died before it wrote the header.
func (s spools) openSpool(id store.SessionID, key [16]byte) (fileReader, error) {
	path := s.spoolPath(id)
	f, err := s.disk.open(path)
	if err != nil {
		return nil, err
	}
	var head [spoolHead]byte
	n, err := f.ReadAt(head[:], 0)
	switch {
	case n < spoolHead && err == io.EOF:
		err = fmt.Errorf("read spool %s: not begun: %w", path, fs.ErrNotExist)
	case err == nil:
		err = checkSpoolHead(head[:], key, path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// headless reports whether a spool's header or first event is damaged.
func (s spools) headless(id store.SessionID, key [16]byte) bool {
	f, err := s.openSpool(id, key)
	if err == nil {
		defer func() { _ = f.Close() }()
		r := newSpoolReader(f, spoolStart)
		ok := false
		if _, ok, err = r.read(); !ok && err == nil {
			err = r.end()
		}
	}
	return errors.Is(err, store.ErrCorrupt)
}

// removeSpool removes a folded spool, or keeps a damaged one under another name.
func (s spools) removeSpool(id store.SessionID, damage error) error {
	path := s.spoolPath(id)
	if damage == nil {
		return s.disk.remove(path)
	}
	kept := s.spoolFile(id, ".damaged")
	if err := s.disk.rename(path, kept, true); err != nil {
		return errors.Join(damage, err)
	}
	return fmt.Errorf("%w; kept as %s", damage, kept)
}
