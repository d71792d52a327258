package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// checkTouched checks the pages that a transaction about one session may free
// or fill: bbolt believes how long they say they are, and would free thousands
// of millions of pages after a flipped bit, or fill one that is in use.
func checkTouched(f io.ReaderAt, id [16]byte) error {
	t := &tree{f: f, seen: map[uint64]bool{}}
	root, free, err := t.meta()
	if err != nil {
		return err
	}
	if err := t.freelist(free); err != nil {
		return err
	}
	b, err := t.page(root)
	if err != nil {
		return err
	}
	if binary.NativeEndian.Uint16(b[8:]) != pageLeaf {
		return fmt.Errorf("page %d: its flags", root)
	}
	last := append(bytes.Clone(id[:]), bytes.Repeat([]byte{0xff}, 9)...)
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		_, value, flags, err := leafElement(b, i)
		if err != nil {
			return fmt.Errorf("page %d: element %d", root, i)
		}
		if flags&1 == 0 || len(value) < 16 || binary.NativeEndian.Uint64(value) == 0 {
			continue // all in the page that was checked
		}
		if err := t.touched(binary.NativeEndian.Uint64(value), id[:], last, 0); err != nil {
			return err
		}
	}
	return nil
}

// touched checks a page, and those below it that may hold keys from first to
// last, and one on each side of them, which a deletion may merge.
func (t *tree) touched(id uint64, first, last []byte, depth int) error {
	b, err := t.page(id)
	if err != nil {
		return err
	}
	flags := binary.NativeEndian.Uint16(b[8:])
	if flags == pageLeaf && depth <= maxDepth {
		return nil
	}
	if flags != pageBranch || depth > maxDepth {
		return fmt.Errorf("page %d: its flags", id)
	}
	n := int(binary.NativeEndian.Uint16(b[10:]))
	from, to := 0, n
	for i := range n {
		e, err := element(b, i)
		if err != nil {
			return fmt.Errorf("page %d: element %d of a branch", id, i)
		}
		k, err := slice(e, binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:]))
		if err != nil {
			return fmt.Errorf("page %d: element %d of a branch", id, i)
		}
		if bytes.Compare(k, first) <= 0 {
			from = max(i-1, 0)
		}
		if bytes.Compare(k, last) > 0 {
			to = min(i+1, n)
			break
		}
	}
	for i := from; i < to; i++ {
		if err := t.touched(binary.NativeEndian.Uint64(b[pageHead+i*16+8:]), first, last, depth+1); err != nil {
			return err
		}
	}
	return nil
}
