package boltstore

import (
	"sync/atomic"

	"github.com/mcprec/mcprec/store"
)

const (
	maxHeld    = 1 << 20 // of one session
	maxHeldAll = 8 << 20 // of all sessions of a store
)

// reached is a place between two writes to a spool.
type reached struct {
	off   int64
	order store.Sequence
}

// unsynced is what was written to a spool since the disk was told, up to a limit: a
// kernel that could not write something to the disk may drop it. What is beyond the
// limit is only in the file.
type unsynced struct {
	from int64 // where it stands in the file
	b    []byte
	all  *atomic.Int64 // bytes that all sessions hold
}

// add takes what was written at off, if that is right behind what is held and there
// is room.
func (u *unsynced) add(off int64, b []byte) {
	if len(u.b) == 0 {
		u.from = off
	}
	n := int64(len(b))
	if u.end() != off || int64(len(u.b))+n > maxHeld {
		return
	}
	if u.all.Add(n) > maxHeldAll {
		u.all.Add(-n)
		return
	}
	u.b = append(u.b, b...)
}

// end returns the offset behind what is held.
func (u *unsynced) end() int64 { return u.from + int64(len(u.b)) }

// tell takes note that the file is durable up to off.
func (u *unsynced) durable(off int64) {
	n := min(max(off-u.from, 0), int64(len(u.b)))
	u.all.Add(-n)
	u.from += n
	if u.b = append(u.b[:0], u.b[n:]...); len(u.b) == 0 {
		u.b = nil
	}
}

// cut takes note that the file was cut at off.
func (u *unsynced) cut(off int64) {
	n := min(max(off-u.from, 0), int64(len(u.b)))
	u.all.Add(n - int64(len(u.b)))
	u.b = u.b[:n]
}

// after returns what is held from off on.
func (u *unsynced) after(off int64) []byte {
	if off < u.from || off > u.end() {
		return nil
	}
	return u.b[off-u.from:]
}
