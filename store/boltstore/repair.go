package boltstore

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

// repair is a call of Repair.
type repair struct {
	*Store
	dry    bool
	report func(store.Repaired)
}

// all repairs the databases, and then sessions from damaged spools.
func (s repair) all(ctx context.Context) error {
	err := errors.Join(s.odd(ctx), s.damagedDatabases(ctx))
	if !s.dry {
		_ = s.FoldDead(ctx) // it keeps damaged spools for the next step
	}
	return errors.Join(err, s.spooled(ctx))
}

// odd renames folders, pipes and links in the place of files.
func (s repair) odd(ctx context.Context) error {
	for _, odd := range s.oddFiles() {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := store.Repaired{Path: odd.path, Fault: odd, Odd: true}
		if !s.dry {
			kept, err := s.setAside(odd.path)
			if err != nil {
				return err
			}
			r.Kept = kept
		}
		s.report(r)
	}
	return nil
}

// damagedDatabases rebuilds each damaged database.
func (s repair) damagedDatabases(ctx context.Context) error {
	paths, faults, err := s.databasePaths()
	if err != nil {
		return err
	}
	if !s.dry {
		sweepRepairs(ctx, s.Store)
	}
	for _, path := range paths {
		fault := databaseFault(ctx, s.Store, path)
		if !errors.Is(fault, store.ErrCorrupt) {
			faults = append(faults, fault)
			continue
		}
		r, err := s.database(ctx, path)
		if err != nil {
			return err
		}
		r.Fault = fault
		s.report(r)
	}
	return errors.Join(faults...)
}

// database builds a new database from a damaged database and exchanges the files.
func (s repair) database(ctx context.Context, path string) (repaired store.Repaired, err error) {
	if !s.dry {
		unlock, err := s.lockFold(ctx, true)
		if err != nil {
			return repaired, err
		}
		defer unlock()
	}
	f, release, err := s.lockDatabase(ctx, path, s.dry)
	if err != nil {
		return repaired, err
	}
	defer release()
	scan, err := scanDatabase(f)
	if err != nil {
		return repaired, fmt.Errorf("read %s: %w", path, err)
	}
	b := &rebuild{store: s.Store, scan: scan, path: path, result: store.Repaired{Path: path}}
	if !s.dry {
		b.temp, err = s.newDatabase(path+".repair", nil)
		if err != nil {
			return repaired, err
		}
		defer func() { _ = s.disk.remove(b.temp) }()
	}
	byKey := func(x, y [16]byte) int { return bytes.Compare(x[:], y[:]) }
	b.found = slices.SortedFunc(maps.Keys(scan.sessions), byKey)
	for _, key := range b.found {
		if err := ctx.Err(); err != nil {
			return repaired, err
		}
		if err := b.session(ctx, key); err != nil {
			return repaired, fmt.Errorf("session %s: %w", sessionID(key), err)
		}
	}
	if err := b.flush(ctx); err != nil {
		return repaired, err
	}
	b.result.Unknown = !b.scan.counted
	if n := uint64(len(b.found)); n < b.scan.want {
		b.result.Gone = b.scan.want - n
	}
	if b.result.Gone == 1 {
		missing := b.scan.wantKeys
		for _, key := range b.found {
			subtle.XORBytes(missing[:], missing[:], key[:])
		}
		b.result.GoneID = sessionID(missing)
	}
	if s.dry {
		return b.result, nil
	}
	if s.replaceNeedsClosed {
		release() // there is no lock on the file
	}
	b.result.Kept, err = b.exchange(ctx)
	return b.result, err
}

// sweepRepairs removes the files of dead repairs. No other process makes such files while the
// fold lock is held here; if the lock is taken, the files stay.
func sweepRepairs(ctx context.Context, s *Store) {
	if unlock, err := s.lockFold(ctx, false); err == nil && unlock != nil {
		defer unlock()
		s.sweep("*.db.repair.new-*", 0)
	}
}

// rebuild makes a new database from the scan of a damaged one.
type rebuild struct {
	store  *Store
	scan   *databaseScan
	path   string
	temp   string // the new file; "" in a dry run
	result store.Repaired
	found  [][16]byte
	batch  []rebuiltSession
	size   int
	aside  []store.SessionID // sessions whose damaged spools are used up
}

// rebuiltSession is a session on its way into the new file.
type rebuiltSession struct {
	key        [16]byte
	projection projection
	chunks     []keyedChunk
}

// session takes over one session. A tombstone stays one, and a session with an intact spool is
// left out, because the spool is folded again.
func (b *rebuild) session(ctx context.Context, key [16]byte) error {
	g := &salvage{store: b.store, key: key, id: sessionID(key)}
	x := rebuiltSession{key: key}
	if err := g.fromScan(b.scan, b.path); err != nil {
		return err
	}
	if g.projection != nil && g.projection.deleted {
		x.projection.deleted = true
		return b.add(ctx, x)
	}
	_, noSpool := regular(b.store.spoolPath(g.id))
	if noSpool == nil && (verification{Store: b.store}).spool(ctx, g.id) == nil {
		return nil
	}
	if live, _ := b.store.live(g.id); live {
		return nil
	}
	if noSpool == nil {
		b.aside = append(b.aside, g.id)
	}
	if err := g.fromSpools(); err != nil {
		return err
	}
	events, sum := g.log()
	if err := g.mask(events); err != nil {
		return err
	}
	c := &chunker{id: key}
	if err := c.take(&x.projection, events); err != nil {
		return err
	}
	x.chunks = c.done
	b.result.Sessions = append(b.result.Sessions, sum)
	return b.add(ctx, x)
}

// add stores a session in the new file, many in one transaction.
func (b *rebuild) add(ctx context.Context, session rebuiltSession) error {
	b.batch = append(b.batch, session)
	for _, c := range session.chunks {
		b.size += len(c.data)
	}
	if b.size < foldStep && len(b.batch) < 1000 {
		return nil
	}
	return b.flush(ctx)
}

func (b *rebuild) flush(ctx context.Context) error {
	batch := b.batch
	b.batch = nil
	b.size = 0
	if b.temp == "" || len(batch) == 0 {
		return nil
	}
	return b.store.update(ctx, b.temp, func(tx *dbTx) error {
		for i := range batch {
			if err := tx.putSession(batch[i].key, batch[i].chunks, &batch[i].projection); err != nil {
				return err
			}
		}
		return nil
	})
}

// exchange renames the old file and then the new one: the name always stands for a whole file.
func (b *rebuild) exchange(ctx context.Context) (kept string, err error) {
	if err := databaseFault(ctx, b.store, b.temp); err != nil {
		return "", err
	}
	release, err := b.store.holdNames(ctx, true)
	if err != nil {
		return "", err
	}
	defer release()
	kept = freeName(b.path, ".damaged")
	err = b.store.disk.rename(b.path, kept, false)
	if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links
		err = b.store.disk.rename(b.path, kept, true)
	}
	if err == nil {
		err = b.store.disk.rename(b.temp, b.path, true)
	}
	err = errors.Join(err, b.store.disk.syncDir(b.store.storeDir()))
	if err != nil {
		return kept, err
	}
	for _, id := range b.aside {
		if err := b.store.disk.rename(b.store.spoolPath(id), b.store.spoolFile(id, ".damaged"), true); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// spooled adds to sessions the events in damaged spools.
func (s repair) spooled(ctx context.Context) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	var newer []error // spools of a newer version, which stay as they are
	for _, f := range files {
		if fault := s.newerSpool(f.id, f.path); fault != nil {
			newer = append(newer, fault)
			continue
		}
		if f.ending != ".damaged" && !(s.dry && f.ending == ".log") {
			continue
		}
		r, gained, err := s.spool(ctx, f.id, f.path)
		if err != nil && !errors.Is(err, store.ErrLive) {
			return fmt.Errorf("session %s: %w", f.id, err)
		}
		if gained {
			s.report(r)
		}
	}
	return errors.Join(newer...)
}

// newerSpool returns an error for a spool that a newer version wrote.
func (s repair) newerSpool(id store.SessionID, path string) error {
	key, err := id.Bytes()
	if err != nil {
		return nil // what reads it says so
	}
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, spoolHead)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil
	}
	if err := checkSpoolHead(head, key, path); errors.Is(err, store.ErrNewer) {
		return err
	}
	return nil
}

// spool adds to a session the events of a file that the database lacks, and reports whether
// there were such events.
func (s repair) spool(ctx context.Context, id store.SessionID, path string) (repaired store.Repaired, gained bool, err error) {
	repaired = store.Repaired{Path: path, Fault: fmt.Errorf("%s has events that its session lacks", path)}
	key, err := id.Bytes()
	if err != nil {
		return repaired, false, err
	}
	release, err := s.holdDead(ctx, id, true)
	if err != nil {
		return repaired, false, err
	}
	defer release()
	g := &salvage{store: s.Store, key: key, id: id, found: map[uint64]store.Event{}}
	if p, ok, err := s.projection(ctx, s.databasePath(key), key); err != nil || ok && p.deleted {
		return repaired, false, err
	}
	before := uint64(0)
	for e, err := range s.Read(ctx, id, 0, store.ReadOptions{}) {
		if err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNotFound) {
			return repaired, false, err // the session may have events that cannot be read now
		}
		if err != nil {
			repaired.Fault = err
			break
		}
		if info, _ := store.DecodePayload[store.LostInfo](e); e.Kind == store.Lost && strings.HasPrefix(info.Reason, spoolDamaged) {
			repaired.Fault = fmt.Errorf("%s: %w", info.Reason, store.ErrCorrupt)
			continue // the events may be found now
		}
		g.found[e.Seq] = e
		before++
	}
	if err := g.fromSpools(); err != nil {
		return repaired, false, err
	}
	events, sum := g.log()
	repaired.Sessions = []store.Salvaged{sum}
	if sum.Saved <= before || s.dry {
		return repaired, sum.Saved > before, nil
	}
	repaired.Kept = path
	if err := g.mask(events); err != nil {
		return repaired, false, err
	}
	return repaired, true, replaceSession(ctx, s.Store, key, events)
}

// replaceSession replaces a session in the database.
func replaceSession(ctx context.Context, s *Store, key [16]byte, events []store.Event) error {
	x := rebuiltSession{key: key}
	c := &chunker{id: key}
	if err := c.take(&x.projection, events); err != nil {
		return err
	}
	return s.update(ctx, s.databasePath(key), func(tx *dbTx) error {
		if _, _, err := tx.projection(key); err != nil {
			return err
		}
		if err := tx.removeChunks(key); err != nil {
			return err
		}
		return tx.putSession(key, c.done, &x.projection)
	})
}

// verification checks files and reports faults.
type verification struct {
	*Store
	report func(error)
}

// all checks every file of the store.
func (v verification) all(ctx context.Context) error {
	for _, odd := range v.oddFiles() {
		v.report(odd)
	}
	paths, foreign, err := v.databasePaths()
	for _, fault := range foreign {
		v.report(fault)
	}
	files, err2 := v.files()
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	for _, path := range paths {
		if err := v.database(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.report(err)
		}
	}
	for _, f := range files {
		if f.ending != ".log" {
			continue
		}
		if err := v.spool(ctx, f.id); err != nil {
			v.report(err)
		}
	}
	return ctx.Err()
}

// database checks the projections and pages of a database at once and its chunks session by
// session, to keep other processes from waiting long.
func (v verification) database(ctx context.Context, path string) error {
	var sessions []projection
	var faults []error
	others := 0
	err := v.view(ctx, path, func(tx *dbTx) error {
		if err := tx.checkCount(nil); err != nil {
			return err
		}
		if tx.stale {
			faults = append(faults, staleError(path))
		}
		c := tx.meta.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			p, err := decodeProjection([16]byte(k), v, path)
			if err != nil {
				faults = append(faults, err)
			} else if !belongsIn(path, k) {
				others++
			} else if !p.deleted {
				sessions = append(sessions, p)
			}
		}
		return nil
	})
	if others > 0 {
		faults = append(faults, misplacedError(path, others))
	}
	for _, fault := range faults {
		v.report(fault)
	}
	if err != nil {
		return err
	}
	for _, p := range sessions {
		if err := v.session(ctx, path, p); err != nil {
			v.report(fmt.Errorf("session %s: %w", p.session.ID, err))
		}
	}
	return v.withDB(ctx, path, bolt.Options{ReadOnly: true}, func(_ *bolt.DB, file *os.File) error {
		if err := checkTree(file); err != nil { // during the read transaction no process writes
			return damagedError(path, err.Error())
		}
		return nil
	})
}

// databaseFault returns the faults of a database.
func databaseFault(ctx context.Context, s *Store, path string) error {
	var faults []error
	v := verification{s, func(err error) { faults = append(faults, err) }}
	err := v.database(ctx, path)
	return errors.Join(append(faults, err)...)
}

// session compares the chunks of a session with its projection. One that has been removed since has no fault.
func (v verification) session(ctx context.Context, path string, want projection) error {
	key, err := want.session.ID.Bytes()
	if err != nil {
		return err
	}
	x := &source{store: v.Store, id: want.session.ID, key: key, path: path, projection: want}
	var got projection
	for e, err := range x.readChunks(ctx, 1) {
		if err == nil && e.Seq > want.session.Head.Seq { // written since
			break
		}
		if err == nil {
			err = got.take(key, e)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return err
		}
	}
	have, stated := got.session, want.session
	if have.Head != stated.Head || have.Frames != stated.Frames || have.Bytes != stated.Bytes {
		return fmt.Errorf("its events do not make the head that the database states: %w", store.ErrCorrupt)
	}
	return nil
}

// spool reads a spool to the end.
func (v verification) spool(ctx context.Context, id store.SessionID) error {
	key, err := id.Bytes()
	if err != nil {
		return err
	}
	f, err := v.openSpool(id, key)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	r := newSpoolReader(f, spoolStart)
	r.reuse = true
	x := &source{store: v.Store, id: id, key: key, path: v.databasePath(key), spool: f}
	defer x.close()
	var p projection
	err = x.readSpool(ctx, r, 1, store.ReadOptions{}, func(event store.Event, _ error) bool {
		err := p.take(key, event)
		if err != nil && r.damage == nil {
			r.damage = fmt.Errorf("spool %s: %w", r.path, err)
		}
		return err == nil
	})
	return errors.Join(err, r.damage)
}
