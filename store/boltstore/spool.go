package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
)

const (
	keepBuffer = 1 << 20 // a larger buffer is let go after the write it was for
	closeFold  = 4 << 20 // more unfolded bytes are left to the next command
)

// spool is the writer of one live session.
type spool struct {
	s    *Store
	id   store.SessionID
	key  [16]byte
	f    writer
	lock *flock.Flock
	made bool // the store's folders, whose names are then to be made durable

	severed []uint64 // events that are cut short in the file: further parts of theirs are dropped
	opened  store.Event
	ending  *store.Part // the Closed event
	closed  bool

	mu     sync.Mutex     // of what follows, which changes when a new file takes over
	order  store.Sequence // of what was written
	good   int64          // the file's length without what a failed Write left
	torn   bool           // a failed Write left something and it could not be cut
	synced reached        // up to which it is durable
	held   unsynced       // what was written since
	report func(store.Mishap)
	untold []store.Mishap // while nobody listens

	dirty atomic.Bool  // written to since the disk was told
	size  atomic.Int64 // good, for the keeper
	wake  chan struct{}
	keep  keeper
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

func (s *Store) openLive(ctx context.Context, id store.SessionID, opened store.Event) (*spool, error) {
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
	p := &spool{s: s, id: idOf(key), key: key, order: order, wake: make(chan struct{}, 1)}
	p.held.all, p.opened = &s.held, opened
	p.opened.Payload = slices.Clone(opened.Payload)
	if err := p.create(ctx, opened); err != nil {
		return nil, err
	}
	p.startKeeper()
	return p, nil
}

// create makes the lock and the file with its first record.
func (p *spool) create(ctx context.Context, opened store.Event) (err error) {
	if p.made, err = p.s.makeDirs(); err != nil {
		return err
	}
	if _, err := os.Lstat(p.s.spoolPath(p.id)); err == nil {
		return store.ErrExists
	}
	if p.lock, err = p.s.lockLive(p.id); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			p.unlock()
		}
	}()
	// A database that cannot be read now, or is in use, must not keep anybody
	// from recording.
	if _, ok, err := p.s.facts(once(ctx), p.s.monthPath(p.key), p.key); ok && err == nil {
		return store.ErrExists
	}
	p.f, err = p.s.machine.create(p.s.spoolPath(p.id))
	if errors.Is(err, fs.ErrExist) {
		return store.ErrExists
	}
	if err != nil {
		return err
	}
	if err := p.begin(opened); err != nil {
		_ = p.f.Close()
		_ = p.s.machine.remove(p.s.spoolPath(p.id))
		return err
	}
	p.setAside()
	return nil
}

// begin writes the header and the first record.
func (p *spool) begin(opened store.Event) error {
	b := appendSpoolHead(nil, p.key)
	b = appendRecord(b, &store.Part{Event: opened})
	if _, err := p.f.Write(b); err != nil {
		return err
	}
	p.good, p.synced = int64(len(b)), reached{off: spoolHead}
	p.size.Store(p.good)
	p.held.add(spoolHead, b[spoolHead:])
	if p.s.opts.Sync != SyncAlways {
		return nil
	}
	return errors.Join(p.settle(0, false), p.syncNames())
}

// syncNames makes the names of the spool and of the folders above it durable.
func (p *spool) syncNames() error {
	err := p.s.machine.syncDir(p.s.spoolDir())
	if p.made {
		err = errors.Join(err, p.s.machine.syncDir(p.s.dir))
	}
	return err
}

// recordBuffers are what the spools of all sessions write from: most sessions rest.
var recordBuffers = sync.Pool{New: func() any { return new([]byte) }}

// keepRecords gives a buffer back that has grown to b.
func keepRecords(buf *[]byte, b []byte) {
	if cap(b) <= keepBuffer {
		*buf = b
		recordBuffers.Put(buf)
	}
}

// Write hands the parts to the operating system with one write.
func (p *spool) Write(parts []store.Part) error {
	if p.closed {
		return fmt.Errorf("write to session %s: %w", p.id, store.ErrClosed)
	}
	order, err := p.order.After(parts)
	if err != nil {
		return fmt.Errorf("write to session %s: %w", p.id, err)
	}
	buf := recordBuffers.Get().(*[]byte)
	b, dropped := (*buf)[:0], store.LostInfo{}
	severed := p.severed
	for i := range parts {
		x := &parts[i]
		if len(x.Payload) > maxRecord/2 {
			return fmt.Errorf("write to session %s: event %d: %d bytes in one part", p.id, x.Seq, len(x.Payload))
		}
		if k := slices.Index(severed, x.Seq); k >= 0 {
			if dropped.Bytes += uint64(len(x.Payload)); !x.More {
				severed = slices.Concat(severed[:k], severed[k+1:])
			}
			continue
		}
		if x.Kind == store.Closed && !x.Cont {
			p.ending = &store.Part{Event: x.Event}
			p.ending.Payload = slices.Clone(x.Payload)
		}
		b = appendRecord(b, x)
	}
	err = p.append(b, order)
	if err != nil && p.release(parts) {
		err = p.append(b, order)
	}
	keepRecords(buf, b)
	if err != nil {
		return fmt.Errorf("write to session %s: %w", p.id, err)
	}
	if p.severed = severed; dropped.Bytes > 0 {
		p.tell(store.Mishap{Gap: dropped})
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

// append writes b, or nothing of it.
func (p *spool) append(b []byte, order store.Sequence) error {
	p.mu.Lock()
	before := reached{p.good, p.order}
	err := p.put(b, order)
	p.mu.Unlock()
	if err != nil || p.s.opts.Sync != SyncAlways {
		return err
	}
	if err = p.settle(0, false); err != nil {
		p.mu.Lock()
		p.back(before)
		p.mu.Unlock()
	}
	return err
}

// put writes b to the file. p.mu is held.
func (p *spool) put(b []byte, order store.Sequence) error {
	if p.torn {
		if err := p.cut(); err != nil {
			return err
		}
	}
	if _, err := p.f.Write(b); err != nil {
		_ = p.cut() // tried again by the next Write
		return err
	}
	p.held.add(p.good, b)
	p.order = order
	p.good += int64(len(b))
	p.size.Store(p.good)
	return nil
}

// back takes back what could be written but not be made durable. p.mu is held.
func (p *spool) back(to reached) {
	p.good, p.order = to.off, to.order
	p.size.Store(p.good)
	p.held.cut(p.good)
	_ = p.cut()
}

// cut removes what a failed write left behind the last good record.
func (p *spool) cut() error {
	err := p.f.Truncate(p.good)
	p.torn = err != nil
	return err
}

// Close makes everything durable, folds it if that is quick, and lets go of the
// session. What is not folded is safe in the spool, for the next command.
func (p *spool) Close() error {
	if p.closed {
		return fmt.Errorf("close spool of session %s: %w", p.id, store.ErrClosed)
	}
	p.closed = true
	p.stopKeeper()
	if p.torn {
		_ = p.cut() // if not now, whoever folds it cuts it by its checksum
	}
	_ = p.s.machine.remove(p.s.reservePath(p.id)) // before the fold, which may need the room
	err := errors.Join(p.settle(p.keep.folded, true), p.syncNames())
	if p.good-p.keep.folded <= closeFold {
		until := time.Now().Add(p.s.opts.CloseBudget)
		foldErr := p.s.foldAll(once(context.Background()), p.id, p.key, until)
		if errors.Is(foldErr, store.ErrCorrupt) {
			err = errors.Join(err, foldErr)
		} else if err != nil && foldErr == nil && p.stored() {
			err = nil // the database keeps what the spool did not
		}
	}
	err = errors.Join(err, p.f.Close())
	p.held.cut(0)
	p.unlock()
	if err != nil {
		return fmt.Errorf("close spool of session %s: %w", p.id, err)
	}
	return nil
}

// stored reports whether the database has all that was written.
func (p *spool) stored() bool {
	x, ok, err := p.s.facts(once(context.Background()), p.s.monthPath(p.key), p.key)
	return err == nil && ok && x.spooled == 0 && x.session.Head.Seq == p.order.Seq()
}

// unlock removes the lock file while it is held, where a file in use can be
// removed, or else after it.
func (p *spool) unlock() {
	gone := p.s.machine.remove(p.lock.Path()) == nil
	_ = p.lock.Close()
	if !gone {
		_ = p.s.machine.remove(p.lock.Path())
	}
}
