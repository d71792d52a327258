package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

const (
	renewSoon  = time.Second     // after one that failed, or that did not help, the next
	renewLate  = time.Minute     // waits so long, at most
	renewBlock = 256 << 10       // bytes copied at once
	renewFresh = 5 * time.Minute // a disk that was well for so long is new to trouble
)

// The kernel says once that it could not write what a file has, and then forgets it. So
// a spool whose fsync has failed is not trusted any more. A new file takes its place,
// under its name, made of what is known to be durable, of what is held in memory, and of
// what the old file still gives with good checksums. Where something is missing then,
// lost events stand, so that no number changes.

// renewedPath is the name of a new file while it is made.
func (s *Store) renewedPath(id store.SessionID) string {
	return strings.TrimSuffix(s.spoolPath(id), ".log") + ".renewed"
}

// OnMishap has f told of what befalls the spool beside its calls. f must not call it.
func (p *spool) OnMishap(f func(store.Mishap)) {
	p.mu.Lock()
	p.report = f
	untold := p.untold
	p.untold = nil
	p.mu.Unlock()
	for _, m := range untold {
		f(m)
	}
}

func (p *spool) tell(m store.Mishap) {
	p.mu.Lock()
	f := p.report
	if f == nil {
		p.untold = append(p.untold, m)
	}
	p.mu.Unlock()
	if f != nil {
		f(m)
	}
}

// settle makes durable what was written, in a new file if the old one fails; folded is
// up to where the database has the spool. With final it is tried now or never.
func (p *spool) settle(folded int64, final bool) error {
	err := p.sync()
	if err == nil || !p.keep.mayRenew(time.Now(), final) {
		return err
	}
	fault := p.keep.fault()
	m, renewErr := p.renew(folded, fault)
	if renewErr != nil {
		err = errors.Join(fault, fmt.Errorf("begin a new spool: %w", renewErr))
		p.tell(store.Mishap{Fault: fault, Doubtful: true})
		return err
	}
	p.tell(m)
	return p.sync()
}

// sync makes durable what was written so far.
func (p *spool) sync() error {
	p.mu.Lock()
	upto := reached{p.good, p.order}
	p.mu.Unlock()
	if err := p.keep.sync(p.f); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.synced = upto
	p.held.durable(upto.off)
	return nil
}

// mayRenew reports whether to begin a new file now. Where that does not help it is tried
// again, but ever more rarely: it costs a copy of the whole session.
func (k *keeper) mayRenew(now time.Time, final bool) bool {
	if now.Before(k.again) && !final {
		return false
	}
	if now.Sub(k.again) > renewFresh {
		k.delay = 0
	}
	k.delay = min(max(2*k.delay, renewSoon), renewLate)
	k.again = now.Add(k.delay)
	return true
}

// fault says what failed without naming the file: the log knows its own place.
func (k *keeper) fault() error {
	var at *fs.PathError
	if errors.As(k.failed, &at) {
		return fmt.Errorf("%w: %w", store.ErrNotKept, at.Err)
	}
	return k.failed
}

// renewal is the making of a new file.
type renewal struct {
	p      *spool
	old    reader
	f      writer
	size   int64 // of the new file
	folded int64 // up to here no offset may change
}

// renew has a new file take over.
func (p *spool) renew(folded int64, fault error) (m store.Mishap, err error) {
	m.Fault = fault
	path := p.s.renewedPath(p.id)
	_ = p.s.machine.remove(path) // of an attempt that failed
	r := &renewal{p: p, folded: folded}
	if r.old, err = p.s.machine.open(p.s.spoolPath(p.id)); err != nil {
		return m, err
	}
	defer func() { _ = r.old.Close() }()
	if r.f, err = p.s.machine.create(path); err != nil {
		return m, err
	}
	if err = r.copy(p.synced.off); err == nil {
		err = r.f.Sync()
	}
	if err == nil {
		err = r.takeOver(path, &m)
	}
	if err != nil {
		_ = r.f.Close()
		_ = p.s.machine.remove(path)
		return m, err
	}
	return m, p.s.machine.syncDir(p.s.spoolDir())
}

// copy copies what is durable, while frames go on.
func (r *renewal) copy(upto int64) error {
	b := make([]byte, renewBlock)
	if err := r.write(appendSpoolHead(nil, r.p.key)); err != nil {
		return err
	}
	for r.size < upto {
		b = b[:min(int64(len(b)), upto-r.size)]
		if n, err := r.old.ReadAt(b, r.size); n < len(b) {
			return err
		}
		if err := r.write(b); err != nil {
			return err
		}
	}
	return nil
}

func (r *renewal) write(b []byte) error {
	n, err := r.f.Write(b)
	r.size += int64(n)
	return err
}

// takeOver copies the rest, which no frame comes to meanwhile, and exchanges the files.
func (r *renewal) takeOver(path string, m *store.Mishap) error {
	p := r.p
	p.mu.Lock()
	defer p.mu.Unlock()
	severed, err := r.rest(m)
	if err != nil {
		return err
	}
	if err := p.s.machine.rename(path, p.s.spoolPath(p.id), true); err != nil {
		return err
	}
	_ = p.f.Close()
	p.f, p.good, p.torn = r.f, r.size, false
	p.size.Store(r.size)
	for _, seq := range severed {
		if !slices.Contains(p.severed, seq) {
			p.severed = append(slices.Clip(p.severed), seq)
		}
	}
	if m.Filled > 0 || m.Gap.Bytes > 0 {
		p.held.cut(0) // the offsets are others
	}
	p.keep.failed = nil
	p.dirty.Store(true)
	return nil
}

// rest copies what is behind, as far as it is whole, and returns the events that are cut
// short in the new file, of which more may come.
func (r *renewal) rest(m *store.Mishap) (severed []uint64, err error) {
	p := r.p
	from := &rescue{f: &patched{r.old, &p.held}, size: p.good, off: p.synced.off, work: 1<<30 + 16*p.good}
	mend := &mender{order: p.synced.order, opened: p.opened, cause: m.Fault.Error()}
	for {
		x, skipped, ok, err := from.next()
		if err != nil {
			return nil, err
		}
		if skipped > 0 && r.size < r.folded {
			return nil, fmt.Errorf("what the database points to is gone: %w", store.ErrCorrupt)
		}
		var parts []store.Part
		if ok {
			parts = mend.take(x, skipped)
		} else {
			parts = mend.end(p.order.Seq(), skipped, p.ending)
		}
		var b []byte
		for i := range parts {
			b = appendRecord(b, &parts[i])
		}
		if err := r.write(b); err != nil {
			return nil, err
		}
		if !ok {
			break
		}
	}
	for _, seq := range p.order.Open() {
		if !slices.Contains(mend.order.Open(), seq) {
			severed = append(severed, seq)
		}
	}
	m.Filled, m.Gap = mend.lost, store.LostInfo{Frames: uint64(len(severed)), Bytes: mend.bytes, Reason: mend.cause}
	return severed, nil
}

// patched is a file with what is held of it in memory, which goes before what is read.
// What cannot be read is zeros.
type patched struct {
	reader
	held *unsynced
}

// ReadAt reads from both.
func (f *patched) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.reader.ReadAt(b, off)
	if err != nil {
		clear(b[n:])
	}
	f.held.patch(b, off)
	return len(b), nil
}
