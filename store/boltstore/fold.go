package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/chunk"
)

const foldStep = 8 << 20 // bytes of events in one transaction

// folding moves the events of spools into the databases.
type folding struct {
	*directory
	databases
	spools
	opts  Options
	masks *keptMasks
}

// foldLimit tells a fold when to stop.
type foldLimit struct {
	ending bool      // the recorder is dead: fold to the end
	until  time.Time // stop then; zero: no limit
}

// foldResult is the result of one fold.
type foldResult struct {
	from, to mark
	full     bool  // there is more: the transaction was full or the time up
	whole    bool  // the database has the whole session; the spool may go
	large    bool  // the next event is too large for the database; the spool stays
	damage   error // of the spool, when whole
}

// errChanged is returned if another process has folded the session meanwhile.
var errChanged = errors.New("the session was changed by another process")

// FoldDead folds the spools of dead recorders, for at most Options.FoldBudget. Any command may
// call it: a locked spool, or a spool without room on the disk, stays safe. The error joins
// the damaged spools and the odd files; the others are folded.
func (s folding) FoldDead(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return fmt.Errorf("fold spools: %w", err)
	}
	defer s.end()
	files, _ := s.files() // a listing reports the error
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

// fold moves one transaction's worth of a spool's events into the database. The caller is the
// recorder or holds the lock of a dead session.
//
// The chunks are made before the database is locked. The transaction begins by
// comparing the present end of the session with the end at that time: a repeated fold, after
// a crash or by another process, changes nothing.
func (s folding) fold(ctx context.Context, id store.SessionID, key [16]byte, o foldLimit) (step foldResult, err error) {
	f, err := s.openSpool(id, key)
	if err != nil {
		return step, err
	}
	defer func() { _ = f.Close() }()
	path := s.databasePath(key)
	p, known, err := s.projection(ctx, path, key)
	if err != nil {
		return step, err
	}
	if known && (p.deleted || p.spooled == 0) {
		// The writer may have died before the transaction was durable. A further transaction
		// makes the first durable, and only then the spool may go.
		return foldResult{whole: true}, s.update(ctx, path, func(*dbTx) error { return nil })
	}
	if known && p.rest.isOf(f) && p.rest.Limit >= s.largest(p.session.Masked != nil) {
		return foldResult{large: true}, nil
	}
	before := p
	start := spoolStart
	if known {
		start = p.mark()
	}
	r := newSpoolReader(f, start)
	r.reuse = true
	c := &chunker{id: key}
	// The header in the database is masked already, and the header in the spool has the rules.
	c.mask, err = s.maskFrom(f, key, p.session.Head.Seq)
	if err != nil {
		return step, err
	}
	r.most = smallEvent
	if o.ending {
		r.most = s.largest(c.mask != nil)
	}
	step, err = s.gather(ctx, r, c, &p, o)
	if err != nil || len(c.done) == 0 && !step.whole && !step.large {
		return step, err
	}
	if p.session.Head.Seq == 0 {
		return step, nil // no complete event
	}
	if step.large {
		if p.rest, err = countRest(ctx, f, step.to, p.session); err != nil {
			return step, err
		}
		p.rest.Limit = r.most
	}
	if !step.whole {
		// The spool must survive a power cut before the database refers to it. Some systems
		// allow only the writer to sync, as the writer does anyway.
		err := f.Sync()
		if err == nil || errors.Is(err, fs.ErrPermission) {
			err = s.disk.syncDir(s.spoolDir())
		}
		if err != nil {
			return step, err
		}
	}
	err = s.update(ctx, path, func(tx *dbTx) error {
		now, ok, err := tx.projection(key)
		if err != nil {
			return err
		}
		if ok != known || now.spooled != before.spooled || now.session.Head != before.session.Head || now.deleted != before.deleted {
			return errChanged
		}
		return tx.putSession(key, c.done, &p)
	})
	if err == nil && c.mask != nil && !step.whole {
		s.masks.keep(key, keptMask{c.mask, p.session.Head.Seq})
	}
	return step, err
}

// largest returns how many bytes an event may have that is folded. A session to be masked leaves its spool whenever
// that is possible, for a spool is not masked.
func (s folding) largest(isMasked bool) int64 {
	if isMasked && s.opts.LargestFolded == defaultLargest {
		return chunk.MaxSize - smallEvent
	}
	return s.opts.LargestFolded
}

// defaultLargest is the LargestFolded of Options without one. To fold an event takes several times its size in
// memory, and its neighbors in the database are written again with it.
const defaultLargest = 64 << 20

// spoolRest is a session with the events that stay in its spool, as a listing shows it.
type spoolRest struct {
	Size                int64 // of the spool
	Limit               int64 // an event is larger than this
	Seq                 uint64
	At                  time.Duration
	Sealed              bool
	Frames, Bytes, Lost uint64
	Exit                string
	Doubtful            uint64
}

// countRest counts what stays in the spool of a dead recorder, from a mark on.
func countRest(ctx context.Context, spool fileReader, from mark, session store.Session) (*spoolRest, error) {
	info, err := spool.Stat()
	if err != nil {
		return nil, err
	}
	left, err := readRest(ctx, spool, from, false, keptOfFrame, counting(&session))
	if err != nil {
		return nil, err
	}
	head := session.Head
	return &spoolRest{
		Size: info.Size(), Seq: head.Seq, At: head.At, Sealed: head.Sealed,
		Frames: session.Frames, Bytes: session.Bytes + left, Lost: session.Lost, Exit: session.Exit, Doubtful: session.Doubtful,
	}, nil
}

// isOf reports whether r was counted in a spool as it is now. r may be nil.
func (r *spoolRest) isOf(spool fileReader) bool {
	if r == nil {
		return false
	}
	info, err := spool.Stat()
	return err == nil && info.Size() == r.Size
}

// of returns a session with the counts of all its events.
func (r *spoolRest) of(session store.Session) store.Session {
	session.Head = store.Head{Seq: r.Seq, At: r.At, Sealed: r.Sealed}
	session.Frames, session.Bytes, session.Lost, session.Exit, session.Doubtful = r.Frames, r.Bytes, r.Lost, r.Exit, r.Doubtful
	return session
}

// keptMasks are the masks of the sessions that this process folds. A mask must have seen all events of a session before
// the next one: a secret may stand in several.
type keptMasks struct {
	mu   sync.Mutex
	kept map[[16]byte]keptMask
}

type keptMask struct {
	mask func(store.Event) store.Event
	seen uint64 // all events up to this Seq
}

// keep keeps a mask for the next fold.
func (k *keptMasks) keep(key [16]byte, mask keptMask) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[[16]byte]keptMask{}
	}
	k.kept[key] = mask
}

// take takes a mask out.
func (k *keptMasks) take(key [16]byte) keptMask {
	k.mu.Lock()
	defer k.mu.Unlock()
	mask := k.kept[key]
	delete(k.kept, key)
	return mask
}

// maskFrom returns the function that masks what follows the event of a Seq in a spool; nil: the session is not to be
// masked. If this process has not folded the events up to there, they are read again.
func (s folding) maskFrom(f fileReader, key [16]byte, folded uint64) (func(store.Event) store.Event, error) {
	if kept := s.masks.take(key); kept.mask != nil && kept.seen == folded {
		return kept.mask, nil
	}
	r := newSpoolReader(f, spoolStart)
	first, ok, _ := r.read() // without the first event nothing is folded
	mask, err := s.maskOf(first)
	if mask == nil || err != nil {
		return nil, err
	}
	for e := first; ok && err == nil && e.Seq <= folded; e, ok, err = r.read() {
		mask(e)
	}
	return mask, nil // the fold itself reports the error of the spool
}

// errNoMask is returned for a session to be masked if Options.Mask is nil.
var errNoMask = errors.New("it is to be masked, which this program cannot")

// maskOf returns the function that masks a session with the given first event; nil: the session is
// not to be masked.
func (s folding) maskOf(event store.Event) (func(store.Event) store.Event, error) {
	h, err := store.ParseHeader(event.Payload)
	switch {
	case err != nil || event.Kind != store.Opened || h.Masked == nil:
		return nil, nil
	case s.opts.Mask == nil:
		return nil, fmt.Errorf("fold session %s: %w", h.ID, errNoMask)
	}
	key, err := s.RedactionKey()
	if err != nil {
		return nil, err
	}
	return s.opts.Mask(key, h)
}

// gather makes chunks of the next events in the spool.
func (s folding) gather(ctx context.Context, r *spoolReader, c *chunker, p *projection, o foldLimit) (step foldResult, err error) {
	step.from = r.mark()
	p.rest = nil
	for size := 0; ; {
		timeIsUp := len(c.done) > 0 && !o.until.IsZero() && time.Now().After(o.until)
		if (size >= foldStep || timeIsUp) && r.assemble.MayStop() {
			step.full = true
			break
		}
		e, ok, err := r.read()
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && ok {
			if c.mask != nil {
				e = c.mask(e)
			}
			if err = p.take(c.id, e); err != nil {
				err = fmt.Errorf("spool %s: %w: %w", r.path, err, store.ErrCorrupt)
			}
			size += len(e.Payload) + 32
		}
		if err != nil {
			return step, err
		}
		if ok {
			c.add(e)
			continue
		}
		if o.ending && !r.ended && r.isBeforeLarge() {
			step.large = true
			break
		}
		if !o.ending || r.ended {
			step.whole = o.ending
			break
		}
		if err := r.end(); err != nil {
			return step, err
		}
	}
	c.flush()
	step.to = r.mark()
	step.damage = r.damage
	p.spooled = step.to.Off
	p.pipes = step.to.Mark
	if step.whole {
		p.spooled = 0
		p.pipes = store.Mark{}
	}
	return step, nil
}

// foldAll folds a spool to the end and removes the file, or folds until the time is up, or up to an event that is
// too large for the database. It reports damage after folding the events before.
func (s folding) foldAll(ctx context.Context, id store.SessionID, key [16]byte, until time.Time) error {
	for {
		step, err := s.fold(ctx, id, key, foldLimit{ending: true, until: until})
		if errors.Is(err, errChanged) {
			continue
		}
		if err != nil {
			return err
		}
		if step.whole {
			return s.removeSpool(id, step.damage)
		}
		if step.large || !until.IsZero() && time.Now().After(until) {
			return nil
		}
	}
}

// foldDead folds the spool of one session, if the recorder is dead (else ErrLive) and no other
// fold runs (else ErrBusy). With a time limit there is no wait.
func (s folding) foldDead(ctx context.Context, id store.SessionID, until time.Time) error {
	release, err := s.holdDead(ctx, id, until.IsZero())
	if err != nil {
		return err
	}
	defer release()
	key, err := id.Bytes()
	if err != nil {
		return err
	}
	err = s.foldAll(ctx, id, key, until)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Another process has folded the spool, or the recorder died before the first record.
		err = s.disk.remove(s.spoolPath(id))
	case errors.Is(err, store.ErrCorrupt) && s.headless(id, key):
		err = s.removeSpool(id, err)
	}
	if _, statErr := os.Lstat(s.spoolPath(id)); errors.Is(statErr, fs.ErrNotExist) {
		if _, err := regular(s.lockPath(id)); !isOdd(err) {
			_ = s.disk.remove(s.lockPath(id))
		}
	}
	return err
}
