package boltstore

import (
	"sync"
	"sync/atomic"

	"github.com/mcprec/mcprec/store"
)

const (
	maxHeld    = 1 << 20 // of one session
	maxHeldAll = 8 << 20 // of all sessions of a store
	heldBlock  = 16 << 10
)

// reached is a place between two writes to a spool.
type reached struct {
	off   int64
	order store.Sequence
}

// unsynced is what was written to a spool since the disk was told, up to a limit: a
// kernel that could not write something to the disk may drop it. What is beyond the
// limit is only in the file. It lies in blocks that the sessions pass on to each other: to
// ask for as much memory after each sync costs more than to write it.
type unsynced struct {
	from   int64 // where it stands in the file
	n      int   // how much it is
	skip   int   // of the first block, durable already
	blocks []*[heldBlock]byte
	all    *atomic.Int64 // bytes of blocks that all sessions hold
}

// freeBlocks are of no session now.
var freeBlocks = sync.Pool{New: func() any { return new([heldBlock]byte) }}

// add takes what was written at off, if that is right behind what is held and there
// is room.
func (u *unsynced) add(off int64, b []byte) {
	if u.n == 0 {
		u.from = off
	}
	if u.end() != off || u.n+len(b) > maxHeld || !u.grow(len(b)) {
		return
	}
	for len(b) > 0 {
		at := u.skip + u.n
		k := copy(u.blocks[at/heldBlock][at%heldBlock:], b)
		b, u.n = b[k:], u.n+k
	}
}

// grow makes room for n bytes more, or for none.
func (u *unsynced) grow(n int) bool {
	more := (u.skip+u.n+n+heldBlock-1)/heldBlock - len(u.blocks)
	if more <= 0 {
		return true
	}
	if size := int64(more) * heldBlock; u.all.Add(size) > maxHeldAll {
		u.all.Add(-size)
		return false
	}
	for range more {
		u.blocks = append(u.blocks, freeBlocks.Get().(*[heldBlock]byte))
	}
	return true
}

// end returns the offset behind what is held.
func (u *unsynced) end() int64 { return u.from + int64(u.n) }

// durable takes note that the file is durable up to off.
func (u *unsynced) durable(off int64) {
	n := int(min(max(off-u.from, 0), int64(u.n)))
	u.from, u.n, u.skip = u.from+int64(n), u.n-n, u.skip+n
	if u.n == 0 {
		u.empty()
		return
	}
	u.letGo(0, u.skip/heldBlock)
	u.skip %= heldBlock
}

// cut takes note that the file was cut at off.
func (u *unsynced) cut(off int64) {
	if u.n = int(min(max(off-u.from, 0), int64(u.n))); u.n == 0 {
		u.empty()
		return
	}
	u.letGo((u.skip+u.n+heldBlock-1)/heldBlock, len(u.blocks))
}

// empty lets go of all.
func (u *unsynced) empty() {
	u.skip = 0
	u.letGo(0, len(u.blocks))
}

// letGo lets go of blocks.
func (u *unsynced) letGo(from, to int) {
	for _, b := range u.blocks[from:to] {
		freeBlocks.Put(b)
	}
	u.all.Add(-int64(to-from) * heldBlock)
	k := copy(u.blocks[from:], u.blocks[to:])
	clear(u.blocks[from+k:])
	u.blocks = u.blocks[:from+k]
}

// patch puts what is held into bytes of the file that stand at off.
func (u *unsynced) patch(b []byte, off int64) {
	at, end := max(off, u.from), min(off+int64(len(b)), u.end())
	for at < end {
		i := u.skip + int(at-u.from)
		at += int64(copy(b[at-off:end-off], u.blocks[i/heldBlock][i%heldBlock:]))
	}
}
