package boltstore

import (
	"bytes"
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
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
	writing bool
	tree    *pageTree // checks pages before bbolt reads them
	stale   bool      // the newest transaction may be missing
}

// inTx runs f in a transaction, after a check of the database's version and both meta
// pages.
func inTx(boltTx *bolt.Tx, file *os.File, tx *dbTx, f func(*dbTx) error) (err error) {
	tx.tree, err = openTree(file)
	if err != nil {
		return damagedError(tx.path, err.Error())
	}
	tx.stale = tx.tree.stale
	if tx.stale && tx.writing {
		return staleError(tx.path) // a new transaction would hide the loss
	}
	tx.head, tx.meta, tx.ev = boltTx.Bucket(bucketMonth), boltTx.Bucket(bucketMeta), boltTx.Bucket(bucketEv)
	if tx.head == nil || tx.meta == nil || tx.ev == nil {
		return damagedError(tx.path, "a bucket is missing")
	}
	if _, _, err := tx.statedCount(); err != nil {
		return err
	}
	tx.meta.FillPercent = 1
	tx.ev.FillPercent = 1 // most keys come in order
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
// of the keys, which shows whether a session has vanished.
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

func isCount(data []byte) bool {
	return len(data) == 29 && crc32.Checksum(data[:25], castagnoli) == binary.LittleEndian.Uint32(data[25:])
}

func encodeCount(n uint64, keys [16]byte) []byte {
	v := binary.LittleEndian.AppendUint64([]byte{databaseVersion}, n)
	v = append(v, keys[:]...)
	return binary.LittleEndian.AppendUint32(v, crc32.Checksum(v, castagnoli))
}

// projection returns the projection of a session; ok is false without a projection.
// Then the counts are compared, because a damaged page may hide a session.
func (tx *dbTx) projection(key [16]byte) (projection projection, ok bool, err error) {
	if tx.writing {
		if err := tx.tree.writable(key); err != nil {
			return projection, false, damagedError(tx.path, err.Error())
		}
	}
	if err := tx.readable(bucketMeta, key[:], key[:]); err != nil {
		return projection, false, err
	}
	v := tx.meta.Get(key[:])
	if v == nil {
		if tx.stale && !tx.writing {
			return projection, false, staleError(tx.path)
		}
		return projection, false, tx.checkCount(key[:])
	}
	projection, err = decodeProjection(key, v, tx.path)
	return projection, err == nil, err
}

// checkCount compares the sessions in the database with the head, and looks for a session that
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
		subtle.XORBytes(keys[:], keys[:], k)
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
		subtle.XORBytes(keys[:], keys[:], key[:])
		if err := tx.head.Put(keyHead, encodeCount(n+1, keys)); err != nil {
			return err
		}
	}
	return tx.meta.Put(key[:], encoded)
}

// putSession stores chunks and the projection behind the chunks.
func (tx *dbTx) putSession(key [16]byte, chunks []keyedChunk, projection *projection) error {
	for _, x := range chunks {
		if err := tx.ev.Put(x.key[:], x.data); err != nil {
			return err
		}
	}
	return tx.putProjection(key, projection.encode(key))
}

// chunks copies chunks of a session: the chunk with event `from`, and the chunks behind it up
// to event `last`, as many as batchSize allows and at least one. A missing event between them
// is an error.
func (tx *dbTx) chunks(id [16]byte, from, last uint64) (chunks []keyedChunk, err error) {
	if from > last {
		return nil, nil
	}
	want := chunkKey(id, from)
	end := chunkKey(id, last)
	if err := tx.readable(bucketEv, want[:], end[:]); err != nil {
		return nil, err
	}
	c := tx.ev.Cursor()
	k, v := c.Seek(want[:])
	if string(k) != string(want[:]) { // the chunk before may hold it
		k, v = seekBefore(c, want[:])
	}
	for size := 0; size < batchSize && from <= last; k, v = c.Next() {
		if len(k) != len(key{}) || [16]byte(k[:16]) != id {
			return nil, damagedError(tx.path, fmt.Sprintf("session %s: event %d is missing", sessionID(id), from))
		}
		x := keyedChunk{key: key(k), data: append([]byte(nil), v...)}
		h, err := x.header()
		if err != nil {
			return nil, fmt.Errorf("read %s: session %s: event %d: %w", tx.path, sessionID(id), from, err)
		}
		if len(chunks) == 0 && x.key.first() <= from && h.Last >= from {
			from = x.key.first()
		}
		if x.key.first() != from {
			return nil, damagedError(tx.path, fmt.Sprintf("session %s: event %d is missing", sessionID(id), from))
		}
		x.last = h.Last
		from = h.Last + 1
		size += h.Size
		chunks = append(chunks, x)
	}
	return chunks, nil
}

// seekBefore moves a cursor to the last key before data.
func seekBefore(c *bolt.Cursor, data []byte) (key, value []byte) {
	if found, _ := c.Seek(data); found == nil {
		return c.Last()
	}
	return c.Prev()
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

// removeChunks removes the chunks of a session.
func (tx *dbTx) removeChunks(id [16]byte) error {
	var keys [][]byte
	c := tx.ev.Cursor()
	for k, _ := c.Seek(id[:]); len(k) == len(key{}) && [16]byte(k[:16]) == id; k, _ = c.Next() {
		keys = append(keys, append([]byte(nil), k...))
	}
	for _, k := range keys {
		if err := tx.ev.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

const (
	metaVersion = 1
	metaSealed  = 1 << 0
	metaDeleted = 1 << 1
	metaExit    = 1 << 2
	metaPipes   = 1 << 3
	metaMasked  = 1 << 4
	metaRest    = 1 << 5
)

// projection is a session's entry in the database: header, head and counts, and how far the
// spool is folded.
type projection struct {
	session store.Session // Header, Head and counts
	spooled int64         // offset in the spool of the first record not folded; 0: no spool
	pipes   store.Mark    // state of the assembler at spooled; may be zero
	rest    *spoolRest    // what stays in the spool; nil: nothing, or not known
	deleted bool
}

// take adds the next event.
func (p *projection) take(key [16]byte, event store.Event) error {
	head, err := p.session.Head.Next(event)
	if err != nil {
		return err
	}
	if err := p.session.Count(event); err != nil {
		return err
	}
	if event.Seq == 1 {
		if !strings.EqualFold(string(p.session.ID), string(sessionID(key))) {
			return fmt.Errorf("event 1: its header names session %s, not %s", p.session.ID, sessionID(key))
		}
		p.session.ID = sessionID(key)
	}
	p.session.Head = head
	return nil
}

// encode returns the value in bucket meta.
func (p *projection) encode(key [16]byte) []byte {
	x := &p.session
	flags := byte(0)
	if x.Head.Sealed {
		flags |= metaSealed
	}
	if p.deleted {
		flags |= metaDeleted
	}
	if x.Exit != "" {
		flags |= metaExit
	}
	if p.piped() {
		flags |= metaPipes
	}
	if x.Masked != nil {
		flags |= metaMasked
	}
	if p.rest != nil {
		flags |= metaRest
	}
	b := append(make([]byte, 4, 256), metaVersion, flags)
	b = varint.Append(b, x.Head.Seq, uint64(x.Head.At), x.Frames, x.Bytes, x.Lost, uint64(p.spooled))
	b = append(b, x.Head.Chain[:]...)
	b = varint.AppendText(b, x.Exit, x.Transport, x.Label, x.URL, x.Recorder, x.Expect)
	b = binary.AppendVarint(b, x.Start.Unix())
	b = varint.Append(b, uint64(x.Start.Nanosecond()), uint64(x.Version), uint64(len(x.Command)))
	b = varint.AppendText(b, x.Command...)
	if len(x.Labels) > 0 || p.piped() || x.Doubtful > 0 || p.rest != nil {
		b = binary.AppendUvarint(b, uint64(len(x.Labels)))
	}
	for _, name := range slices.Sorted(maps.Keys(x.Labels)) {
		b = varint.AppendText(b, name, x.Labels[name])
	}
	if p.piped() {
		m, _ := json.Marshal(p.pipes) // numbers always encode
		b = varint.AppendText(b, string(m))
	}
	if x.Doubtful > 0 || p.rest != nil {
		b = binary.AppendUvarint(b, x.Doubtful)
	}
	if p.rest != nil {
		text, _ := json.Marshal(p.rest) // numbers and text always encode
		b = varint.AppendText(b, string(text))
	}
	binary.LittleEndian.PutUint32(b, metaSum(key, b))
	return b
}

// piped reports whether pipes is set.
func (p *projection) piped() bool { return p.pipes.Piped || p.pipes.Limit != 0 }

// mark returns the place in the spool behind the last folded event.
func (p *projection) mark() mark {
	head, m := p.session.Head, p.pipes
	m.Off = p.spooled
	m.Seq = head.Seq + 1
	m.At = head.At
	m.Frames = p.session.Frames
	m.Lost = p.session.Lost
	if !m.Piped {
		m.Part = m.Seq
	}
	return mark{m, head.Sealed}
}

func metaSum(key [16]byte, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, data[4:])
}

// decodeProjection reads a value of bucket meta. The result shares no memory with b.
func decodeProjection(key [16]byte, b []byte, path string) (p projection, err error) {
	if len(b) > 4 && b[4] > metaVersion {
		return p, fmt.Errorf("read %s: session %s: version %d: %w; install a newer mcprec", path, sessionID(key), b[4], store.ErrNewer)
	}
	if len(b) < 6 || binary.LittleEndian.Uint32(b) != metaSum(key, b) {
		return p, damagedError(path, fmt.Sprintf("facts of session %s", sessionID(key)))
	}
	x := &p.session
	d := varint.NewReader(b[6:])
	x.Head.Sealed = b[5]&metaSealed != 0
	p.deleted = b[5]&metaDeleted != 0
	x.Head.Seq, x.Head.At = d.Uint(), time.Duration(d.Uint())
	x.Frames, x.Bytes, x.Lost, p.spooled = d.Uint(), d.Uint(), d.Uint(), int64(d.Uint())
	copy(x.Head.Chain[:], d.Take(32))
	for _, text := range [...]*string{&x.Exit, &x.Transport, &x.Label, &x.URL, &x.Recorder, &x.Expect} {
		*text = d.Text()
	}
	seconds := d.Int()
	x.Start = time.Unix(seconds, int64(d.Uint())).UTC()
	x.Version = int(d.Uint())
	x.Command = make([]string, d.Count())
	for i := range x.Command {
		x.Command[i] = d.Text()
	}
	if d.Len() > 0 { // else it has no labels, pipes and doubtful event
		labels := d.Count()
		if labels > 0 {
			x.Labels = make(map[string]string, labels)
		}
		for range labels {
			name := d.Text()
			x.Labels[name] = d.Text()
		}
	}
	badMark := false
	if b[5]&metaPipes != 0 {
		badMark = json.Unmarshal([]byte(d.Text()), &p.pipes) != nil
	}
	if d.Len() > 0 {
		x.Doubtful = d.Uint()
	}
	if b[5]&metaRest != 0 {
		badMark = json.Unmarshal([]byte(d.Text()), &p.rest) != nil || badMark
	}
	if d.Bad() || badMark {
		return p, damagedError(path, fmt.Sprintf("facts of session %s end early", sessionID(key)))
	}
	if b[5]&metaMasked != 0 {
		x.Masked = &store.MaskRules{} // the first event has the rules
	}
	x.ID = sessionID(key)
	return p, nil
}
