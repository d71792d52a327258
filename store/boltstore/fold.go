package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/mcprec/mcprec/store"
)

const foldStep = 8 << 20 // of events in one transaction, or waiting behind one that is open

// folding moves the events of spools into the databases.
type folding struct {
	*directory
	databases
	spools
	opts Options
}

// foldLimit says how far a fold goes.
type foldLimit struct {
	ending bool      // to the end: nobody writes to the spool any more
	until  time.Time // after that only what is done is stored; zero: no limit
}

func (o foldLimit) over(c *chunker) bool {
	return len(c.done) > 0 && !o.until.IsZero() && time.Now().After(o.until)
}

// foldResult is what one fold did.
type foldResult struct {
	from, to mark
	full     bool  // it stopped because the transaction was full or time was up: there is more
	whole    bool  // the database has all there will ever be; the spool may go
	damage   error // what could not be folded, when whole
}

// errChanged: somebody else folded the session meanwhile.
var errChanged = errors.New("the session was changed by another process")

// FoldDead folds the spools whose recorders are gone, for Options.FoldBudget.
// Any command may call it: what is locked, or does not fit on the disk, stays
// safe in its spool. The error joins what is damaged, and what is not a file where one
// should be; the others are folded.
func (s folding) FoldDead(ctx context.Context) error {
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

// fold moves one transaction's worth of a spool's events into the database. The
// caller is its recorder or holds the lock of the dead.
//
// The chunks are made before the database is locked. The transaction begins by
// comparing where the session ends with where it ended then, so a fold that is
// repeated, after a crash or by another, changes nothing.
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
		// Whoever stored that may have died, or failed, before it was durable: a
		// transaction that succeeds makes it so, and only then the spool may go.
		return foldResult{whole: true}, s.update(ctx, path, func(*dbTx) error { return nil })
	}
	before := p
	start := spoolStart
	if known {
		start = p.mark()
	}
	r := newSpoolReader(f, start)
	r.reuse, r.bounded = true, !o.ending
	c := &chunker{id: key}
	// The header in the database is masked already: the spool's has the rules and more.
	first, _, _ := newSpoolReader(f, spoolStart).read() // of what cannot be read nothing is folded
	if c.mask, err = s.maskOf(first); err != nil {
		return step, err
	}
	step, err = s.gather(ctx, r, c, &p, o)
	if err != nil || len(c.done) == 0 && !step.whole {
		return step, err
	}
	if p.session.Head.Seq == 0 {
		return step, nil // a spool without a whole event: nothing to keep
	}
	if !step.whole {
		if err := s.settleSpool(f); err != nil {
			return step, err
		}
	}
	err = s.update(ctx, path, func(m *dbTx) error {
		now, ok, err := m.projection(key)
		if err != nil {
			return err
		}
		if ok != known || now.spooled != before.spooled || now.session.Head != before.session.Head || now.deleted != before.deleted {
			return errChanged
		}
		return m.putSession(key, c.done, &p)
	})
	return step, err
}

// errNoMask: the session is to be kept without its secrets.
var errNoMask = errors.New("it is to be masked, which this program cannot")

// maskOf returns what masks the events of a session that begins with e; nil: nothing is to.
func (s folding) maskOf(e store.Event) (func(store.Event) store.Event, error) {
	h, err := store.ParseHeader(e.Payload)
	switch {
	case err != nil || e.Kind != store.Opened || h.Masked == nil:
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

// gather makes chunks of the events that follow in the spool.
func (s folding) gather(ctx context.Context, r *spoolReader, c *chunker, p *projection, o foldLimit) (step foldResult, err error) {
	step.from = r.mark()
	for size := 0; ; {
		if (size >= foldStep || o.over(c)) && r.assemble.MayStop() {
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
			c.add(e, p.session.Head)
			continue
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
	step.to, step.damage = r.mark(), r.damage
	if p.spooled, p.pipes = step.to.Off, step.to.Mark; step.whole {
		p.spooled, p.pipes = 0, store.Mark{}
	}
	return step, nil
}

// foldAll folds a spool to its end and then removes it, or as far as the time
// reaches. It reports damage after it has folded what is before it.
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
		if !until.IsZero() && time.Now().After(until) {
			return nil
		}
	}
}

// foldDead folds the spool of one session, if its recorder is gone (ErrLive)
// and nobody else folds (ErrBusy). With a time limit it waits for nobody.
func (s folding) foldDead(ctx context.Context, id store.SessionID, until time.Time) error {
	release, err := s.holdDead(ctx, id, until.IsZero())
	if err != nil {
		return err
	}
	defer release()
	_ = s.disk.remove(s.spoolFile(id, ".reserve")) // by releases up to 0.1.0
	key, err := id.Bytes()
	if err != nil {
		return err
	}
	err = s.foldAll(ctx, id, key, until)
	renewed := s.spoolFile(id, ".renewed")
	if _, none := os.Lstat(renewed); err == nil && none == nil {
		// A release up to 0.1.0 was making a new spool of this one. Of a log that has its
		// end nothing can be missing; of another one repair looks into that file.
		if p, ok, err := s.projection(ctx, s.databasePath(key), key); err == nil && ok && p.session.Head.Sealed {
			_ = s.disk.remove(renewed)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Folded by another, or its recorder died before the first record.
		err = s.disk.remove(s.spoolPath(id))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
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
