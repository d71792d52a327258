package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

const (
	databaseVersion = 1
	lockRetry       = 1500 * time.Microsecond
)

var (
	bucketMonth = []byte("month")
	bucketMeta  = []byte("meta")
	bucketEv    = []byte("ev")
	keyHead     = []byte("head")
)

// dbTx is a transaction of a database.
type dbTx struct {
	path    string
	meta    *bolt.Bucket
	ev      *bolt.Bucket
	head    *bolt.Bucket
	bodies  *bolt.Bucket // nil: none, and no use either
	use     *bolt.Bucket
	tx      *bolt.Tx
	writing bool
	tree    *pageTree // checks pages before bbolt reads them
	stale   bool      // its newest transaction may be missing, see metaPages
}

// inTx runs f in a transaction, after it has checked the database's version and both meta
// pages.
func inTx(tx *bolt.Tx, file *os.File, m *dbTx, f func(*dbTx) error) (err error) {
	if m.tree, err = openTree(file); err != nil {
		return damagedError(m.path, err.Error())
	}
	if m.stale = !metaPages(file, int(m.tree.pageSize)); m.stale && m.writing {
		return staleError(m.path) // a new transaction would hide the loss
	}
	m.head, m.meta, m.ev = tx.Bucket(bucketMonth), tx.Bucket(bucketMeta), tx.Bucket(bucketEv)
	if m.head == nil || m.meta == nil || m.ev == nil {
		return damagedError(m.path, "a bucket is missing")
	}
	m.tx, m.bodies, m.use = tx, tx.Bucket(bucketBody), tx.Bucket(bucketUse)
	if _, _, err := m.statedCount(); err != nil {
		return err
	}
	if m.bodies != nil {
		m.bodies.FillPercent = 1
	}
	m.meta.FillPercent, m.ev.FillPercent = 1, 1 // most keys come in order
	return f(m)
}

// readable checks the pages on the way to the keys of a bucket from first to last.
func (m *dbTx) readable(bucket, first, last []byte) error {
	if err := m.tree.readable(bucket, first, last); err != nil {
		return damagedError(m.path, err.Error())
	}
	return nil
}

// statedCount returns the number of sessions in the head of the database and the exclusive or
// of their keys, which shows that a session has vanished.
func (m *dbTx) statedCount() (n uint64, keys [16]byte, err error) {
	v := m.head.Get(keyHead)
	if len(v) < 1 {
		return 0, keys, damagedError(m.path, "no head")
	}
	if v[0] > databaseVersion {
		return 0, keys, fmt.Errorf("read %s: database version %d: %w; install a newer mcprec", m.path, v[0], store.ErrNewer)
	}
	if !isCount(v) {
		return 0, keys, damagedError(m.path, "its head")
	}
	return binary.LittleEndian.Uint64(v[1:]), [16]byte(v[9:]), nil
}

// countSession adds a new session to the count in the head.
func (m *dbTx) countSession(key [16]byte) error {
	n, keys, err := m.statedCount()
	if err != nil {
		return err
	}
	for i := range keys {
		keys[i] ^= key[i]
	}
	return m.head.Put(keyHead, encodeCount(n+1, keys))
}

func isCount(v []byte) bool {
	return len(v) == 29 && crc32.Checksum(v[:25], castagnoli) == binary.LittleEndian.Uint32(v[25:])
}

func encodeCount(n uint64, keys [16]byte) []byte {
	v := binary.LittleEndian.AppendUint64([]byte{databaseVersion}, n)
	v = append(v, keys[:]...)
	return binary.LittleEndian.AppendUint32(v, crc32.Checksum(v, castagnoli))
}

// projection returns the projection of a session; ok is false if there is none. It compares
// the count for a missing session, because a damaged page may hide it.
func (m *dbTx) projection(key [16]byte) (p projection, ok bool, err error) {
	if m.writing {
		if err := m.tree.writable(key); err != nil {
			return p, false, damagedError(m.path, err.Error())
		}
	}
	if err := m.readable(bucketMeta, key[:], key[:]); err != nil {
		return p, false, err
	}
	v := m.meta.Get(key[:])
	if v == nil {
		if m.stale && !m.writing {
			return p, false, staleError(m.path)
		}
		return p, false, m.checkCount(key[:])
	}
	p, err = decodeProjection(key, v, m.path)
	return p, err == nil, err
}

// checkCount compares the sessions in the database with its head, and looks for a session that
// a search has missed.
func (m *dbTx) checkCount(missing []byte) error {
	want, wantKeys, err := m.statedCount()
	if err != nil {
		return err
	}
	if err := m.readable(bucketMeta, nil, after(nil)); err != nil {
		return err
	}
	var n uint64
	var keys, before [16]byte
	c := m.meta.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if n++; len(k) != 16 || n > 1 && bytes.Compare(before[:], k) >= 0 {
			return damagedError(m.path, "a session's key")
		}
		before = [16]byte(k)
		if bytes.Equal(k, missing) {
			return damagedError(m.path, fmt.Sprintf("the place of session %s", sessionID([16]byte(k))))
		}
		for i := range keys {
			keys[i] ^= k[i]
		}
	}
	if n != want || keys != wantKeys {
		return damagedError(m.path, fmt.Sprintf("sessions in it: %d, and it should hold %d", n, want))
	}
	return nil
}

// putProjection stores the projection of a session and counts a new session.
func (m *dbTx) putProjection(key [16]byte, p *projection) error {
	return m.putEncoded(key, p.encode(key))
}

func (m *dbTx) putEncoded(key [16]byte, facts []byte) error {
	if m.meta.Get(key[:]) == nil {
		if err := m.countSession(key); err != nil {
			return err
		}
	}
	return m.meta.Put(key[:], facts)
}

// putSession stores chunks and the projection behind them.
func (m *dbTx) putSession(key [16]byte, chunks []chunk, p *projection) error {
	for _, x := range chunks {
		if err := m.ev.Put(x.key[:], x.data); err != nil {
			return err
		}
	}
	return m.putProjection(key, p)
}

// chunks copies chunks of a session: the chunk that holds event `from`, and those behind it up
// to event `last`, as many as batchSize allows and at least one. It checks that no event is
// missing between them.
func (m *dbTx) chunks(id [16]byte, from, last uint64) (chunks []chunk, err error) {
	if from > last {
		return nil, nil
	}
	want, end := chunkKey(id, from), chunkKey(id, last)
	if err := m.readable(bucketEv, want[:], end[:]); err != nil {
		return nil, err
	}
	c := m.ev.Cursor()
	k, v := c.Seek(want[:])
	if string(k) != string(want[:]) { // the chunk before may hold it
		if k == nil {
			k, v = c.Last()
		} else {
			k, v = c.Prev()
		}
	}
	for size := 0; size < batchSize && from <= last; k, v = c.Next() {
		if len(k) != len(key{}) || [16]byte(k[:16]) != id {
			return nil, damagedError(m.path, fmt.Sprintf("session %s: event %d is missing", sessionID(id), from))
		}
		x := chunk{key: key(k), data: append([]byte(nil), v...)}
		f, err := x.header()
		if err != nil {
			return nil, fmt.Errorf("read %s: session %s: event %d: %w", m.path, sessionID(id), from, err)
		}
		if len(chunks) == 0 && f.first <= from && f.last >= from {
			from = f.first
		}
		if f.first != from {
			return nil, damagedError(m.path, fmt.Sprintf("session %s: event %d is missing", sessionID(id), from))
		}
		for i, b := range f.bodies {
			if f.bodies[i], err = m.body(id, b); err != nil {
				return nil, err
			}
			size += b.size
		}
		x.bodies = f.bodies
		from = f.last + 1
		size += f.size
		chunks = append(chunks, x)
	}
	return chunks, nil
}

// cursor returns the first key with a prefix, or the last, and a function that steps on from
// there.
func (m *dbTx) cursor(prefix []byte, newest bool) (step func() (k, v []byte), k, v []byte) {
	c := m.meta.Cursor()
	if !newest {
		k, v = c.Seek(prefix)
		return c.Next, k, v
	}
	past := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 17-len(prefix))...)
	if k, _ = c.Seek(past); k == nil {
		k, v = c.Last()
	} else {
		k, v = c.Prev()
	}
	return c.Prev, k, v
}

// used returns the number of bytes in use.
func (m *dbTx) used() (int64, error) {
	clear(m.tree.seen)
	if err := m.tree.freelist(m.tree.free); err != nil {
		return 0, damagedError(m.path, err.Error())
	}
	return int64((m.tree.pages - uint64(len(m.tree.seen))) * m.tree.pageSize), nil
}

// removeSession removes a session and leaves a tombstone.
func (m *dbTx) removeSession(key [16]byte) error {
	p, _, err := m.projection(key)
	if err != nil {
		return err
	}
	if p.deleted {
		return store.ErrNotFound
	}
	if err := m.removeChunks(key); err != nil {
		return err
	}
	return m.putProjection(key, &projection{deleted: true})
}

// removeChunks removes the chunks of a session and its references to bodies. Bodies of a
// damaged chunk stay until the database is compacted.
func (m *dbTx) removeChunks(id [16]byte) error {
	var keys [][]byte
	var bodies []body
	c := m.ev.Cursor()
	for k, v := c.Seek(id[:]); len(k) == len(key{}) && [16]byte(k[:16]) == id; k, v = c.Next() {
		keys = append(keys, append([]byte(nil), k...))
		if len(v) > chunkHead && v[6]&refersToBodies != 0 {
			if f, err := (chunk{key: key(k), data: v}).header(); err == nil {
				bodies = append(bodies, f.bodies...)
			}
		}
	}
	for _, x := range bodies {
		if err := m.removeBody(id, x.hash); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := m.ev.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
