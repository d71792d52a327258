package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// bbolt believes a page's number, flags and length wherever they come from: it
// goes round in circles after a flipped bit, or frees thousands of millions of
// pages, and neither can be caught. So the pages on the way to what a
// transaction asks for are checked before it asks.

// openTree reads what a transaction begins with: the newest meta page, and the
// root page with the buckets.
func openTree(f io.ReaderAt) (*tree, error) {
	t := &tree{f: f, seen: map[uint64]bool{}, buckets: map[string]uint64{}, bytes: map[uint64][]byte{}}
	root, free, err := t.meta()
	if err != nil {
		return nil, err
	}
	t.free = free
	b, err := t.page(root)
	if err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint16(b[8:]) != pageLeaf {
		return nil, fmt.Errorf("page %d: its flags", root)
	}
	for i := range int(binary.NativeEndian.Uint16(b[10:])) {
		name, value, flags, err := leafElement(b, i)
		if err != nil || flags&1 == 0 || len(value) < 16 {
			return nil, fmt.Errorf("page %d: element %d", root, i)
		}
		if root := binary.NativeEndian.Uint64(value); root != 0 {
			t.buckets[string(name)] = root
		} else if value = value[16:]; len(value) < pageHead || binary.NativeEndian.Uint16(value[8:]) != pageLeaf {
			return nil, fmt.Errorf("page %d: bucket %q", root, name)
		}
	}
	return t, nil
}

// readable checks the way to the keys of a bucket from first to last, and to
// their neighbours.
func (t *tree) readable(bucket, first, last []byte) error {
	clear(t.seen)
	if root := t.buckets[string(bucket)]; root != 0 {
		return t.touched(root, first, last, 0)
	}
	return nil
}

// writable checks all that a transaction about one session may free or fill.
func (t *tree) writable(id [16]byte) error {
	clear(t.seen)
	if err := t.freelist(t.free); err != nil {
		return err
	}
	for _, root := range t.buckets {
		if err := t.touched(root, id[:], after(id[:]), 0); err != nil {
			return err
		}
	}
	return nil
}

// after returns a key behind all that begin with prefix.
func after(prefix []byte) []byte {
	return append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, len(key{})+1-len(prefix))...)
}

// kept returns the head of a leaf or a whole branch, which is now in use.
func (t *tree) kept(id uint64) (b []byte, err error) {
	if b = t.bytes[id]; b != nil {
		for i := range uint64(binary.NativeEndian.Uint32(b[12:])) + 1 {
			if err := t.mark(id + i); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	if b, err = t.head(id); err == nil && binary.NativeEndian.Uint16(b[8:]) == pageBranch {
		b, err = t.body(id, b)
	}
	if err == nil {
		t.bytes[id] = b
	}
	return b, err
}

// touched checks a page, and those below it that may hold keys from first to
// last, and one on each side of them, which a deletion may merge.
func (t *tree) touched(id uint64, first, last []byte, depth int) error {
	b, err := t.kept(id)
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
		k, err := branchKey(b, i)
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
	if n == 0 {
		return fmt.Errorf("page %d: a branch without elements", id)
	}
	for i := from; i < to; i++ {
		if err := t.touched(binary.NativeEndian.Uint64(b[pageHead+i*16+8:]), first, last, depth+1); err != nil {
			return err
		}
	}
	return nil
}
