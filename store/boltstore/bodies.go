package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
)

// Releases up to 0.1.0 cut payloads of 128 KiB or more into pieces, called bodies, and kept
// each piece once for all sessions of a database. Nothing writes bodies any more. This file
// has all that reading, verifying, salvaging, compacting and deleting need for old databases.

const (
	refersToBodies = 0x80 // a bit of the compression byte
	bodyVersion    = 1
	bodyHead       = 38        // length of the fixed part
	maxBody        = 512 << 10 // no body is longer
)

var (
	bucketBody = []byte("body")
	bucketUse  = []byte("use")
)

// body is a piece of a large payload.
type body struct {
	hash   [32]byte // SHA-256 of the piece
	size   int
	at     uint64 // number of its event within the chunk
	number []byte // key in bucket body
	value  []byte // in bucket body; nil: missing
}

// parseBody checks a value without decompressing it.
func parseBody(value []byte) (x body, packed []byte, err error) {
	switch {
	case len(value) < bodyHead || crc32.Checksum(value[4:], castagnoli) != binary.LittleEndian.Uint32(value):
		return x, nil, fmt.Errorf("checksum of a body: %w", store.ErrCorrupt)
	case value[4] > bodyVersion || value[5] > compressZstd:
		return x, nil, fmt.Errorf("body version %d, compression %d: %w; install a newer mcprec", value[4], value[5], store.ErrNewer)
	}
	d := varint.NewReader(value[bodyHead:])
	size := d.Uint()
	if d.Bad() || size > maxBody {
		return x, nil, fmt.Errorf("length of a body: %w", store.ErrCorrupt)
	}
	return body{hash: [32]byte(value[6:]), size: int(size), value: value}, d.Rest(), nil
}

// appendTo appends the decompressed piece to b and checks its hash.
func (x body) appendTo(b []byte) ([]byte, error) {
	got, packed, err := parseBody(x.value)
	if err != nil {
		return b, err
	}
	from := len(b)
	if x.value[5] == compressNone {
		b = append(b, packed...)
	} else if b, err = decoder().DecodeAll(packed, slices.Grow(b, got.size+64)); err != nil {
		return b[:from], fmt.Errorf("body: %v: %w", err, store.ErrCorrupt)
	}
	if got.hash != x.hash || len(b)-from != x.size {
		return b[:from], fmt.Errorf("a body is another: %w", store.ErrCorrupt)
	}
	return b, nil
}

// readBodies reads the list of bodies in the header of a chunk of n events.
func readBodies(d *varint.Reader, n uint64) (bodies []body, bad bool) {
	count := d.Uint()
	if count > uint64(d.Len()/32) {
		return nil, true
	}
	bodies = make([]body, count)
	for i := range bodies {
		x := &bodies[i]
		copy(x.hash[:], d.Take(32))
		size := d.Uint()
		x.size, x.at = int(size), d.Uint()
		bad = bad || size > maxBody || x.at >= n || i > 0 && x.at < bodies[i-1].at
	}
	return bodies, bad
}

// assemble makes the payload of event `at` of a chunk from its list: for each piece the varint
// length and the bytes, or 0 for the next body. It also returns the bodies of later events.
func assemble(list []byte, bodies []body, at uint64) (payload []byte, others []body, err error) {
	own, size := 0, len(list)
	for ; own < len(bodies) && bodies[own].at == at; own++ {
		size += bodies[own].size
		if bodies[own].value == nil || size > maxChunk {
			err = fmt.Errorf("a body of %d bytes is missing, or one too many: %w", bodies[own].size, store.ErrCorrupt)
		}
	}
	if own == 0 {
		return list, bodies, nil
	}
	bodies, others = bodies[:own], bodies[own:]
	if err != nil {
		return nil, others, err
	}
	payload = make([]byte, 0, size+64)
	for d := varint.NewReader(list); d.Len() > 0; {
		n := d.Uint()
		switch {
		case d.Bad() || n > uint64(d.Len()) || n == 0 && len(bodies) == 0:
			return nil, others, fmt.Errorf("list of its pieces: %w", store.ErrCorrupt)
		case n > 0:
			payload = append(payload, d.Take(n)...)
		default:
			if payload, err = bodies[0].appendTo(payload); err != nil {
				return nil, others, err
			}
			bodies = bodies[1:]
		}
	}
	if len(bodies) > 0 {
		return nil, others, fmt.Errorf("list of its pieces: %w", store.ErrCorrupt)
	}
	return payload, others, nil
}

// useKey returns a key of bucket use.
func useKey(hash [32]byte, id [16]byte) []byte { return append(bytes.Clone(hash[:]), id[:]...) }

// useValue returns its value, the number of the body.
func useValue(k, number []byte) []byte {
	sum := crc32.Update(crc32.Checksum(k, castagnoli), castagnoli, number)
	return binary.LittleEndian.AppendUint32(bytes.Clone(number), sum)
}

// usedBody checks an element of bucket use and returns its key in bucket body.
func (tx *dbTx) usedBody(k, v []byte) ([]byte, error) {
	if len(k) != 48 || len(v) != 12 || !bytes.Equal(v, useValue(k, v[:8])) {
		return nil, damagedError(tx.path, "the use of a body")
	}
	return bytes.Clone(v[:8]), nil
}

// body copies a piece that a session uses.
func (tx *dbTx) body(id [16]byte, x body) (body, error) {
	if tx.use == nil || tx.bodies == nil {
		return x, damagedError(tx.path, "the bucket of the bodies is missing")
	}
	k := useKey(x.hash, id)
	if err := tx.readable(bucketUse, k, k); err != nil {
		return x, err
	}
	missing := damagedError(tx.path, fmt.Sprintf("session %s: a body of %d bytes is missing", sessionID(id), x.size))
	v := tx.use.Get(k)
	if v == nil {
		return x, missing
	}
	number, err := tx.usedBody(k, v)
	if err == nil {
		err = tx.readable(bucketBody, number, number)
	}
	if err != nil {
		return x, err
	}
	v = tx.bodies.Get(number)
	if v == nil {
		return x, missing
	}
	x.number, x.value = number, bytes.Clone(v)
	return x, nil
}

// putBodies stores the bodies of a copied session under their old numbers.
func (tx *dbTx) putBodies(id [16]byte, bodies []body) (err error) {
	if len(bodies) > 0 && (tx.use == nil || tx.bodies == nil) {
		if tx.use, err = tx.boltTx.CreateBucketIfNotExists(bucketUse); err == nil {
			tx.bodies, err = tx.boltTx.CreateBucketIfNotExists(bucketBody)
		}
		if err != nil {
			return err
		}
		tx.bodies.FillPercent = 1
	}
	for _, x := range bodies {
		k := useKey(x.hash, id)
		if err := tx.use.Put(k, useValue(k, x.number)); err != nil {
			return err
		}
		if tx.bodies.Get(x.number) == nil {
			if err := tx.bodies.Put(x.number, x.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeBody ends a session's use of a piece, and removes a piece without users.
func (tx *dbTx) removeBody(id [16]byte, hash [32]byte) error {
	if tx.use == nil || tx.bodies == nil {
		return nil
	}
	if err := tx.readable(bucketUse, hash[:], append(bytes.Clone(hash[:]), after(nil)...)); err != nil {
		return err
	}
	k := useKey(hash, id)
	v := tx.use.Get(k)
	if v == nil {
		return nil // another chunk referred to it as well
	}
	number, err := tx.usedBody(k, v)
	if err == nil {
		err = tx.use.Delete(k)
	}
	if err != nil {
		return err
	}
	c := tx.use.Cursor()
	for k, v := c.Seek(hash[:]); bytes.HasPrefix(k, hash[:]); k, v = c.Next() {
		if bytes.HasPrefix(v, number) {
			return nil
		}
	}
	if err := tx.readable(bucketBody, number, number); err != nil {
		return err
	}
	return tx.bodies.Delete(number)
}

// addBodies adds to each session its share of the bodies.
func (tx *dbTx) addBodies(u *Usage) error {
	if tx.bodies == nil || tx.use == nil {
		return nil
	}
	err := tx.readable(bucketBody, nil, after(nil))
	if err == nil {
		err = tx.readable(bucketUse, nil, append(after(nil), after(nil)...))
	}
	if err != nil {
		return err
	}
	users := map[string][]store.SessionID{}
	c := tx.use.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		number, err := tx.usedBody(k, v)
		if err != nil {
			return err
		}
		users[string(number)] = append(users[string(number)], sessionID([16]byte(k[32:])))
	}
	for number, ids := range users {
		for _, id := range ids {
			u.Stored[id] += int64(len(tx.bodies.Get([]byte(number))) / len(ids))
		}
	}
	return nil
}

// body reads a body and marks the pages that it fills.
func (scan *databaseScan) body(at extent) {
	if at.length < bodyHead {
		return
	}
	x, _, err := parseBody(scan.value(at))
	if errors.Is(err, store.ErrNewer) {
		scan.newer = err
	}
	if err != nil {
		return
	}
	scan.bodies[x.hash] = at
	scan.fills(at)
}
