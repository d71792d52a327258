package boltstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/mcprec/mcprec/store"
)

const (
	sharedEvent = 128 << 10 // from this size on the pieces of an event are bodies
	smallPiece  = 4 << 10   // a shorter piece stays with its event
	bodyVersion = 1
	bodyHead    = 38 // of what has a fixed place
)

var (
	bucketBody = []byte("body")
	bucketUse  = []byte("use")
)

// body is a piece of a large payload, which all sessions of a database that have it share.
type body struct {
	hash  [32]byte // SHA-256 of the piece
	size  int
	at    uint64 // its event, counted from the first of the chunk
	value []byte // of bucket body; nil: it is missing
}

// newBody makes the value of a piece.
func newBody(hash [32]byte, piece []byte) body {
	x := body{hash: hash, size: len(piece)}
	b := append(make([]byte, 6, bodyHead+binary.MaxVarintLen64+len(piece)), x.hash[:]...)
	b = binary.AppendUvarint(b, uint64(len(piece)))
	head := len(b)
	b[4], b[5] = bodyVersion, compressZstd
	if b = bodyEncoder().EncodeAll(piece, b); len(b)-head >= len(piece) {
		b[5] = compressNone
		b = append(b[:head], piece...)
	}
	binary.LittleEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	x.value = b
	return x
}

// parseBody checks a value, all but what its compression hides.
func parseBody(value []byte) (x body, packed []byte, err error) {
	switch {
	case len(value) < bodyHead || crc32.Checksum(value[4:], castagnoli) != binary.LittleEndian.Uint32(value):
		return x, nil, fmt.Errorf("checksum of a body: %w", store.ErrCorrupt)
	case value[4] > bodyVersion || value[5] > compressZstd:
		return x, nil, fmt.Errorf("body version %d, compression %d: %w; install a newer mcprec", value[4], value[5], store.ErrNewer)
	}
	d := scanner{b: value[bodyHead:]}
	size := d.uvarint()
	if d.bad || size > maxPiece {
		return x, nil, fmt.Errorf("length of a body: %w", store.ErrCorrupt)
	}
	return body{hash: [32]byte(value[6:]), size: int(size), value: value}, d.b, nil
}

// appendTo appends the piece to b, if it is the one that x says.
func (x body) appendTo(b []byte) ([]byte, error) {
	if x.value == nil {
		return b, fmt.Errorf("a body of %d bytes is missing: %w", x.size, store.ErrCorrupt)
	}
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

// verify holds a piece against the hash that its value states.
func (x body) verify() error {
	said, _, err := parseBody(x.value)
	if err != nil {
		return err
	}
	piece, err := said.appendTo(nil)
	if err == nil && sha256.Sum256(piece) != said.hash {
		err = fmt.Errorf("hash of a body: %w", store.ErrCorrupt)
	}
	return err
}

// useKey is the key of bucket use.
func useKey(hash [32]byte, id [16]byte) []byte { return append(bytes.Clone(hash[:]), id[:]...) }

// useValue is its value: where the body is.
func useValue(k []byte, number uint64) []byte {
	v := binary.BigEndian.AppendUint64(nil, number)
	return binary.LittleEndian.AppendUint32(v, crc32.Update(crc32.Checksum(k, castagnoli), castagnoli, v))
}

// useAfter returns a key behind all of bucket use that begin with prefix.
func useAfter(prefix []byte) []byte {
	return append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 49-len(prefix))...)
}

// usedBody returns the key in bucket body that an element of bucket use states.
func (m *month) usedBody(k, v []byte) ([]byte, error) {
	if len(k) != 48 || len(v) != 12 || !bytes.Equal(v, useValue(k, binary.BigEndian.Uint64(v))) {
		return nil, damagedFile(m.path, "the use of a body")
	}
	return v[:8], nil
}

// uses gives f the elements of bucket use that are of a body, and checks those on both
// sides of them: a key that was damaged stands where it was.
func (m *month) uses(hash [32]byte, f func(k, number []byte) error) error {
	if err := m.readable(bucketUse, hash[:], useAfter(hash[:])); err != nil {
		return err
	}
	c := m.use.Cursor()
	k, _ := c.Seek(hash[:])
	var v []byte
	if k == nil {
		k, v = c.Last()
	} else if k, v = c.Prev(); k == nil {
		k, v = c.First()
	}
	for ; k != nil; k, v = c.Next() {
		number, err := m.usedBody(k, v)
		if err != nil {
			return err
		}
		switch order := bytes.Compare(k[:32], hash[:]); {
		case order > 0:
			return nil
		case order == 0:
			if err := f(k, number); err != nil {
				return err
			}
		}
	}
	return nil
}

// body copies out a piece that a session uses.
func (m *month) body(id [16]byte, x body) (body, error) {
	if m.use == nil || m.bodies == nil {
		return x, damagedFile(m.path, "the bucket of the bodies is missing")
	}
	k := useKey(x.hash, id)
	if err := m.readable(bucketUse, k, k); err != nil {
		return x, err
	}
	v := m.use.Get(k)
	if v == nil {
		return x, damagedFile(m.path, fmt.Sprintf("session %s: a body of %d bytes is missing", idOf(id), x.size))
	}
	number, err := m.usedBody(k, v)
	if err == nil {
		err = m.readable(bucketBody, number, number)
	}
	if err != nil {
		return x, err
	}
	if v = m.bodies.Get(number); v == nil {
		return x, damagedFile(m.path, fmt.Sprintf("session %s: a body of %d bytes is missing", idOf(id), x.size))
	}
	x.value = bytes.Clone(v)
	return x, nil
}

// share stores a piece that a session uses, unless it is there: then the session becomes
// one of its users.
func (m *month) share(id [16]byte, x body) (err error) {
	if m.use == nil || m.bodies == nil {
		if m.use, err = m.tx.CreateBucketIfNotExists(bucketUse); err == nil {
			m.bodies, err = m.tx.CreateBucketIfNotExists(bucketBody)
		}
		if err != nil {
			return err
		}
		m.bodies.FillPercent = 1
	}
	mine := useKey(x.hash, id)
	var found []byte
	err = m.uses(x.hash, func(k, number []byte) error {
		if found != nil && !bytes.Equal(k, mine) {
			return nil
		}
		if err := m.readable(bucketBody, number, number); err != nil {
			return err
		}
		if old, _, err := parseBody(m.bodies.Get(number)); err == nil && old.hash == x.hash {
			found = bytes.Clone(number) // one that is damaged is nobody else's loss
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found == nil {
		if found, err = m.newBody(x.value); err != nil {
			return err
		}
	}
	return m.use.Put(mine, useValue(mine, binary.BigEndian.Uint64(found)))
}

// newBody stores a piece under a new number.
func (m *month) newBody(value []byte) (number []byte, err error) {
	n, err := m.bodies.NextSequence()
	if err != nil {
		return nil, err
	}
	number = binary.BigEndian.AppendUint64(nil, n)
	if err := m.readable(bucketBody, number, number); err != nil {
		return nil, err
	}
	if m.bodies.Get(number) != nil {
		return nil, damagedFile(m.path, "the count of the bodies")
	}
	return number, m.bodies.Put(number, value)
}

// unshare ends a session's use of a piece, and removes one that nobody uses any more.
func (m *month) unshare(id [16]byte, hash [32]byte) error {
	if m.use == nil || m.bodies == nil {
		return nil
	}
	mine := useKey(hash, id)
	var number []byte
	if v := m.use.Get(mine); v != nil {
		n, err := m.usedBody(mine, v)
		if err != nil {
			return err
		}
		number = bytes.Clone(n)
	}
	if number == nil {
		return nil
	}
	others := false
	err := m.uses(hash, func(k, n []byte) error {
		others = others || !bytes.Equal(k, mine) && bytes.Equal(n, number)
		return nil
	})
	if err == nil {
		err = m.use.Delete(mine)
	}
	if err == nil && !others {
		if err = m.readable(bucketBody, number, number); err == nil {
			err = m.bodies.Delete(number)
		}
	}
	return err
}

// putChunk stores a chunk with the bodies that it refers to.
func (m *month) putChunk(id [16]byte, c chunk) error {
	for _, x := range c.bodies {
		if err := m.share(id, x); err != nil {
			return err
		}
	}
	return m.ev.Put(c.key[:], c.data)
}
