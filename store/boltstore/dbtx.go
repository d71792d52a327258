package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

const databaseVersion = 1

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
	boltTx  *bolt.Tx
	writing bool
	tree    *pageTree // checks pages before bbolt reads them
	stale   bool      // its newest transaction may be missing, see metaPages
}

// inTx runs f in a transaction, after it has checked the database's version and both meta
// pages.
func inTx(boltTx *bolt.Tx, file *os.File, tx *dbTx, f func(*dbTx) error) (err error) {
	tx.tree, err = openTree(file)
	if err != nil {
		return damagedError(tx.path, err.Error())
	}
	tx.stale = !metaPages(file, int(tx.tree.pageSize))
	if tx.stale && tx.writing {
		return staleError(tx.path) // a new transaction would hide the loss
	}
	tx.head, tx.meta, tx.ev = boltTx.Bucket(bucketMonth), boltTx.Bucket(bucketMeta), boltTx.Bucket(bucketEv)
	if tx.head == nil || tx.meta == nil || tx.ev == nil {
		return damagedError(tx.path, "a bucket is missing")
	}
	tx.boltTx, tx.bodies, tx.use = boltTx, boltTx.Bucket(bucketBody), boltTx.Bucket(bucketUse)
	if _, _, err := tx.statedCount(); err != nil {
		return err
	}
	if tx.bodies != nil {
		tx.bodies.FillPercent = 1
	}
	tx.meta.FillPercent, tx.ev.FillPercent = 1, 1 // most keys come in order
	return f(tx)
}

// readable checks the pages on the way to the keys of a bucket from first to last.
func (tx *dbTx) readable(bucket, first, last []byte) error {
	if err := tx.tree.readable(bucket, first, last); err != nil {
		return damagedError(tx.path, err.Error())
	}
	return nil
}

// statedCount returns the number of sessions in the head of the database and the exclusive or
// of their keys, which shows that a session has vanished.
func (tx *dbTx) statedCount() (n uint64, keys [16]byte, err error) {
	v := tx.head.Get(keyHead)
	if len(v) < 1 {
		return 0, keys, damagedError(tx.path, "no head")
	}
	if v[0] > databaseVersion {
		return 0, keys, fmt.Errorf("read %s: database version %d: %w; install a newer mcprec", tx.path, v[0], store.ErrNewer)
	}
	if !isCount(v) {
		return 0, keys, damagedError(tx.path, "its head")
	}
	return binary.LittleEndian.Uint64(v[1:]), [16]byte(v[9:]), nil
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
func (tx *dbTx) projection(key [16]byte) (p projection, ok bool, err error) {
	if tx.writing {
		if err := tx.tree.writable(key); err != nil {
			return p, false, damagedError(tx.path, err.Error())
		}
	}
	if err := tx.readable(bucketMeta, key[:], key[:]); err != nil {
		return p, false, err
	}
	v := tx.meta.Get(key[:])
	if v == nil {
		if tx.stale && !tx.writing {
			return p, false, staleError(tx.path)
		}
		return p, false, tx.checkCount(key[:])
	}
	p, err = decodeProjection(key, v, tx.path)
	return p, err == nil, err
}

// checkCount compares the sessions in the database with its head, and looks for a session that
// a search has missed.
func (tx *dbTx) checkCount(missing []byte) error {
	want, wantKeys, err := tx.statedCount()
	if err != nil {
		return err
	}
	if err := tx.readable(bucketMeta, nil, after(nil)); err != nil {
		return err
	}
	var n uint64
	var keys, before [16]byte
	c := tx.meta.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if n++; len(k) != 16 || n > 1 && bytes.Compare(before[:], k) >= 0 {
			return damagedError(tx.path, "a session's key")
		}
		before = [16]byte(k)
		if bytes.Equal(k, missing) {
			return damagedError(tx.path, fmt.Sprintf("the place of session %s", sessionID([16]byte(k))))
		}
		for i := range keys {
			keys[i] ^= k[i]
		}
	}
	if n != want || keys != wantKeys {
		return damagedError(tx.path, fmt.Sprintf("sessions in it: %d, and it should hold %d", n, want))
	}
	return nil
}

// putProjection stores an encoded projection, and adds a new session to the count in the head.
func (tx *dbTx) putProjection(key [16]byte, encoded []byte) error {
	if tx.meta.Get(key[:]) == nil {
		n, keys, err := tx.statedCount()
		if err != nil {
			return err
		}
		for i := range keys {
			keys[i] ^= key[i]
		}
		if err := tx.head.Put(keyHead, encodeCount(n+1, keys)); err != nil {
			return err
		}
	}
	return tx.meta.Put(key[:], encoded)
}

// putSession stores chunks and the projection behind them.
func (tx *dbTx) putSession(key [16]byte, chunks []chunk, p *projection) error {
	for _, x := range chunks {
		if err := tx.ev.Put(x.key[:], x.data); err != nil {
			return err
		}
	}
	return tx.putProjection(key, p.encode(key))
}

// chunks copies chunks of a session: the chunk that holds event `from`, and those behind it up
// to event `last`, as many as batchSize allows and at least one. It checks that no event is
// missing between them.
func (tx *dbTx) chunks(id [16]byte, from, last uint64) (chunks []chunk, err error) {
	if from > last {
		return nil, nil
	}
	want, end := chunkKey(id, from), chunkKey(id, last)
	if err := tx.readable(bucketEv, want[:], end[:]); err != nil {
		return nil, err
	}
	c := tx.ev.Cursor()
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
			return nil, damagedError(tx.path, fmt.Sprintf("session %s: event %d is missing", sessionID(id), from))
		}
		x := chunk{key: key(k), data: append([]byte(nil), v...)}
		f, err := x.header()
		if err != nil {
			return nil, fmt.Errorf("read %s: session %s: event %d: %w", tx.path, sessionID(id), from, err)
		}
		if len(chunks) == 0 && f.first <= from && f.last >= from {
			from = f.first
		}
		if f.first != from {
			return nil, damagedError(tx.path, fmt.Sprintf("session %s: event %d is missing", sessionID(id), from))
		}
		for i, b := range f.bodies {
			if f.bodies[i], err = tx.body(id, b); err != nil {
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
func (tx *dbTx) cursor(prefix []byte, newest bool) (step func() (k, v []byte), k, v []byte) {
	c := tx.meta.Cursor()
	if !newest {
		k, v = c.Seek(prefix)
		return c.Next, k, v
	}
	past := append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 17-len(prefix))...)
	k, _ = c.Seek(past)
	if k == nil {
		k, v = c.Last()
	} else {
		k, v = c.Prev()
	}
	return c.Prev, k, v
}

// used returns the number of bytes in use.
func (tx *dbTx) used() (int64, error) {
	clear(tx.tree.seen)
	if err := tx.tree.freelist(tx.tree.free); err != nil {
		return 0, damagedError(tx.path, err.Error())
	}
	return int64((tx.tree.pages - uint64(len(tx.tree.seen))) * tx.tree.pageSize), nil
}

// removeSession removes a session and leaves a tombstone.
func (tx *dbTx) removeSession(key [16]byte) error {
	p, _, err := tx.projection(key)
	if err != nil {
		return err
	}
	if p.deleted {
		return store.ErrNotFound
	}
	if err := tx.removeChunks(key); err != nil {
		return err
	}
	return tx.putProjection(key, (&projection{deleted: true}).encode(key))
}

// removeChunks removes the chunks of a session and its references to bodies. Bodies of a
// damaged chunk stay until the database is compacted.
func (tx *dbTx) removeChunks(id [16]byte) error {
	var keys [][]byte
	var bodies []body
	c := tx.ev.Cursor()
	for k, v := c.Seek(id[:]); len(k) == len(key{}) && [16]byte(k[:16]) == id; k, v = c.Next() {
		keys = append(keys, append([]byte(nil), k...))
		if len(v) > chunkHead && v[6]&refersToBodies != 0 {
			if f, err := (chunk{key: key(k), data: v}).header(); err == nil {
				bodies = append(bodies, f.bodies...)
			}
		}
	}
	for _, x := range bodies {
		if err := tx.removeBody(id, x.hash); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := tx.ev.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
