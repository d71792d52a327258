package boltstore

import (
	"encoding/binary"
	"fmt"
	"os"
)

// tree checks bbolt's pages by bytes read from the file, before bbolt's own
// check, which follows page numbers and counts wherever they lead: into the
// same page for ever, or through four thousand million pages.
//
// A page of bbolt: id (8), flags (2: 1 branch, 2 leaf, 4 meta, 16 freelist),
// count (2), overflow (4), elements of 16 bytes; a branch's element ends with
// the number of a page, a leaf's with flags 1 holds a bucket whose value begins
// with the number of its root page (0: it is within the value).
type tree struct {
	b        []byte
	pageSize uint64
	seen     map[uint64]bool
}

const (
	pageHead   = 16
	pageBranch = 1
	pageLeaf   = 2
	pageFree   = 16
	metaMagic  = 0xED0CDAED
)

func readTree(path string) (*tree, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &tree{b: b, seen: map[uint64]bool{}}, nil
}

// check walks from the newest meta page.
func (t *tree) check() error {
	root, free, ok := uint64(0), uint64(0), false
	newest := uint64(0)
	for _, at := range []uint64{0, uint64(os.Getpagesize())} {
		m := t.b[min(at+pageHead, uint64(len(t.b))):]
		if len(m) < 64 || binary.NativeEndian.Uint32(m) != metaMagic {
			continue
		}
		if tx := binary.NativeEndian.Uint64(m[48:]); tx >= newest {
			newest, ok = tx, true
			t.pageSize = uint64(binary.NativeEndian.Uint32(m[8:]))
			root, free = binary.NativeEndian.Uint64(m[16:]), binary.NativeEndian.Uint64(m[32:])
		}
	}
	if !ok || t.pageSize < 512 || t.pageSize > 1<<24 {
		return fmt.Errorf("no meta page")
	}
	if err := t.freelist(free); err != nil {
		return err
	}
	return t.walk(root)
}

// page returns a page with its overflow.
func (t *tree) page(id uint64, flags uint16) ([]byte, error) {
	at := id * t.pageSize
	if id < 2 || id > uint64(len(t.b))/t.pageSize || at+pageHead > uint64(len(t.b)) {
		return nil, fmt.Errorf("page %d: past the end of the file", id)
	}
	b := t.b[at:]
	end := (uint64(binary.NativeEndian.Uint32(b[12:])) + 1) * t.pageSize
	switch {
	case binary.NativeEndian.Uint64(b) != id || binary.NativeEndian.Uint16(b[8:])&flags == 0:
		return nil, fmt.Errorf("page %d: its header", id)
	case end > uint64(len(b)):
		return nil, fmt.Errorf("page %d: past the end of the file", id)
	case t.seen[id]:
		return nil, fmt.Errorf("page %d: twice in the tree", id)
	}
	t.seen[id] = true
	return b[:end], nil
}

// freelist checks that the list of free pages is as long as it says and names
// pages of the file.
func (t *tree) freelist(id uint64) error {
	b, err := t.page(id, pageFree)
	if err != nil {
		return err
	}
	n := uint64(binary.NativeEndian.Uint16(b[10:]))
	b = b[pageHead:]
	if n == 0xffff {
		n = binary.NativeEndian.Uint64(b)
		b = b[8:]
	}
	if n > uint64(len(b))/8 {
		return fmt.Errorf("page %d: a list of %d free pages", id, n)
	}
	for i := range n {
		if free := binary.NativeEndian.Uint64(b[i*8:]); free < 2 || free > uint64(len(t.b))/t.pageSize {
			return fmt.Errorf("page %d: free page %d", id, free)
		}
	}
	return nil
}

func (t *tree) walk(id uint64) error {
	b, err := t.page(id, pageBranch|pageLeaf)
	if err != nil {
		return err
	}
	flags := binary.NativeEndian.Uint16(b[8:])
	leaf := flags == pageLeaf
	if !leaf && flags != pageBranch {
		return fmt.Errorf("page %d: its flags", id)
	}
	for i := range uint64(binary.NativeEndian.Uint16(b[10:])) {
		at := pageHead + i*16
		if at+16 > uint64(len(b)) {
			return fmt.Errorf("page %d: element %d", id, i)
		}
		e := b[at:]
		next := binary.NativeEndian.Uint64(e[8:])
		if leaf {
			next, err = leafBucket(e, id, i)
		} else if end := uint64(binary.NativeEndian.Uint32(e)) + uint64(binary.NativeEndian.Uint32(e[4:])); end > uint64(len(e)) || next == 0 {
			err = fmt.Errorf("page %d: element %d", id, i)
		}
		if err != nil {
			return err
		}
		if next == 0 {
			continue
		}
		if err := t.walk(next); err != nil {
			return err
		}
	}
	return nil
}

// leafBucket checks a leaf's element, and returns the root page of the bucket
// in it, or 0.
func leafBucket(e []byte, id, i uint64) (root uint64, err error) {
	key := uint64(binary.NativeEndian.Uint32(e[4:]))
	size := uint64(binary.NativeEndian.Uint32(e[8:]))
	value := key + size
	end := value + uint64(binary.NativeEndian.Uint32(e[12:]))
	if end > uint64(len(e)) {
		return 0, fmt.Errorf("page %d: element %d", id, i)
	}
	if binary.NativeEndian.Uint32(e)&1 == 0 {
		return 0, nil
	}
	if end-value < 16 {
		return 0, fmt.Errorf("page %d: bucket %d", id, i)
	}
	return binary.NativeEndian.Uint64(e[value:]), nil
}
