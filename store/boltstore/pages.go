package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// bbolt trusts what a page says of itself and of the pages below. After a flipped bit it may walk in
// a circle until the stack is full, or free thousands of millions of pages, and recover catches
// neither. Hence every transaction has a pageTree follow the same way first.

// pageTree reads the pages of a bbolt file, by bytes from the file and not from the mapped memory.
//
// A page of bbolt: id (8), flags (2: 1 branch, 2 leaf, 4 meta, 16 freelist),
// count (2), overflow (4), elements of 16 bytes; offsets are from the element. A
// branch's element: offset (4) and size (4) of the key, page (8). A leaf's:
// flags (4), offset (4), sizes of the key (4) and the value (4) behind it; with
// flags 1 it holds a bucket whose value begins with the number of its root page
// (0: it is a page within the value, from byte 16).
type pageTree struct {
	file     io.ReaderAt
	pageSize uint64
	pages    uint64            // in use or free
	seen     map[uint64]bool   // pages met so far, with their overflow
	buckets  map[string]uint64 // the root pages of the buckets, from openTree
	free     uint64            // the first page of the list of free pages
	cache    map[uint64][]byte // from openTree: heads of leaves, and whole branches
	// stale tells of a damaged meta page: bbolt falls back to the other page. After a crash
	// this is right, because the newest transaction was not durable; after damage a transaction
	// is lost silently.
	stale bool
}

const (
	pageHead   = 16
	pageBranch = 1
	pageLeaf   = 2
	pageFree   = 16
	metaMagic  = 0xED0CDAED
	maxDepth   = 64

	minPageSize = 512
	maxPageSize = 1 << 24
)

// extent is the place of a value in the file.
type extent struct{ offset, length int64 }

// checkTree checks the whole tree from the newest meta page on, and that each page is either
// in the tree or free.
func checkTree(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	t := &pageTree{file: file, seen: map[uint64]bool{}}
	root, free, err := t.meta()
	if err != nil {
		return err
	}
	if t.pages < 4 || t.pages > uint64(info.Size())/t.pageSize {
		return fmt.Errorf("number of pages: %d, and the file has room for %d", t.pages, uint64(info.Size())/t.pageSize)
	}
	if err := t.freelist(free); err != nil {
		return err
	}
	w := walk{pageTree: t, each: func([]byte, extent) {}}
	if err := w.all(root); err != nil {
		return err
	}
	for id := uint64(2); id < t.pages; id++ {
		if !t.seen[id] {
			return fmt.Errorf("page %d: neither in the tree nor free", id)
		}
	}
	return nil
}

// meta reads the newest intact meta page.
func (t *pageTree) meta() (root, free uint64, err error) {
	metas, _, err := readMetas(t.file)
	if err != nil {
		return 0, 0, err
	}
	newest := uint64(0)
	for _, m := range metas {
		if !isMeta(m) {
			t.stale = true
			continue
		}
		if tx := binary.NativeEndian.Uint64(m[48:]); tx >= newest {
			newest = tx
			t.pageSize = metaPageSize(m)
			root = binary.NativeEndian.Uint64(m[16:])
			free = binary.NativeEndian.Uint64(m[32:])
			t.pages = binary.NativeEndian.Uint64(m[40:])
		}
	}
	if t.pageSize < minPageSize || t.pageSize > maxPageSize {
		return 0, 0, errors.New("no meta page")
	}
	return root, free, nil
}

// metaBytes is the content of a meta page: magic (4), version (4), page size (4), flags (4),
// root page (8), sequence of the root bucket (8), list of free pages (8), number of pages (8),
// transaction (8), FNV-1a of all that (8).
type metaBytes [64]byte

func isMeta(m metaBytes) bool {
	sum := fnv.New64a()
	_, _ = sum.Write(m[:56])
	return binary.NativeEndian.Uint32(m[:]) == metaMagic && binary.NativeEndian.Uint64(m[56:]) == sum.Sum64()
}

func metaPageSize(m metaBytes) uint64 { return uint64(binary.NativeEndian.Uint32(m[8:])) }

// readMetas reads both meta pages. The pages of the file have the size that an intact meta page
// states, which is another on a machine with other pages; without one they have the size of this
// machine's.
func readMetas(file io.ReaderAt) (metas [2]metaBytes, pageSize uint64, err error) {
	pageSize = uint64(os.Getpagesize())
	var m metaBytes
	if _, err := file.ReadAt(m[:], pageHead); err == nil && isMeta(m) && metaPageSize(m) >= minPageSize && metaPageSize(m) <= maxPageSize {
		pageSize = metaPageSize(m)
	} else {
		for size := uint64(minPageSize); size <= maxPageSize; size *= 2 {
			if _, err := file.ReadAt(m[:], int64(size)+pageHead); err == nil && isMeta(m) && metaPageSize(m) == size {
				pageSize = size
				break
			}
		}
	}
	for i := range metas {
		if _, err := file.ReadAt(metas[i][:], int64(uint64(i)*pageSize)+pageHead); err != nil {
			return metas, pageSize, err
		}
	}
	return metas, pageSize, nil
}

// mark marks a page as used; a second use is an error.
func (t *pageTree) mark(id uint64) error {
	if id < 2 || id >= t.pages {
		return fmt.Errorf("page %d: past the end of the file", id)
	}
	if t.seen[id] {
		return fmt.Errorf("page %d: it is in use twice, or free", id)
	}
	t.seen[id] = true
	return nil
}

// page reads a page with the overflow.
func (t *pageTree) page(id uint64) ([]byte, error) {
	head, err := t.head(id)
	if err != nil {
		return nil, err
	}
	return t.body(id, head)
}

// head reads the head of a page and marks the page and the overflow.
func (t *pageTree) head(id uint64) (head []byte, err error) {
	if err := t.mark(id); err != nil {
		return nil, err
	}
	head = make([]byte, pageHead)
	if _, err := t.file.ReadAt(head, int64(id*t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(head[12:]))
	if binary.NativeEndian.Uint64(head) != id || more >= t.pages-id {
		return nil, fmt.Errorf("page %d: its header", id)
	}
	for i := range more {
		if err := t.mark(id + 1 + i); err != nil {
			return nil, err
		}
	}
	return head, nil
}

func (t *pageTree) body(id uint64, head []byte) ([]byte, error) {
	b := make([]byte, (uint64(binary.NativeEndian.Uint32(head[12:]))+1)*t.pageSize)
	if _, err := t.file.ReadAt(b, int64(id*t.pageSize)); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return b, nil
}

// freelist checks and marks the free pages.
func (t *pageTree) freelist(id uint64) error {
	b, err := t.page(id)
	if err != nil {
		return err
	}
	n := uint64(binary.NativeEndian.Uint16(b[10:]))
	flags := binary.NativeEndian.Uint16(b[8:])
	b = b[pageHead:]
	if n == 0xffff {
		n = binary.NativeEndian.Uint64(b)
		b = b[8:]
	}
	if flags != pageFree || n > uint64(len(b))/8 {
		return fmt.Errorf("page %d: a list of free pages, %d of them", id, n)
	}
	for i := range n {
		if err := t.mark(binary.NativeEndian.Uint64(b[i*8:])); err != nil {
			return err
		}
	}
	return nil
}

// walk is one way through the pages below a root. With each, it visits every page, calls each with
// the elements of the leaves, and goes on after damage. Without, it visits the pages for keys from
// first to last and a neighbour on each side, which a deletion may merge; it reads only the heads
// of leaves, and ends at the first damage.
type walk struct {
	*pageTree
	first, last []byte
	each        func(key []byte, value extent)
	faults      []error
}

// all visits every page below a root and returns the damage.
func (w *walk) all(root uint64) error {
	w.fault(w.visit(root, 0))
	return errors.Join(w.faults...)
}

// fault returns the error that ends the walk, if it does.
func (w *walk) fault(err error) error {
	if err != nil && w.each != nil {
		w.faults = append(w.faults, err)
		return nil
	}
	return err
}

// visit checks a page and the pages below.
func (w *walk) visit(id uint64, depth int) error {
	b, err := w.load(id)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("page %d: %d levels deep", id, depth)
	}
	switch binary.NativeEndian.Uint16(b[8:]) {
	case pageLeaf:
		if w.each != nil {
			w.leaf(b, int64(id*w.pageSize), depth)
		}
		return nil
	case pageBranch:
		return w.branch(b, id, depth)
	}
	return fmt.Errorf("page %d: its flags", id)
}

// load reads or recalls a page, and marks the page.
func (w *walk) load(id uint64) ([]byte, error) {
	if b := w.cache[id]; b != nil {
		for i := range uint64(binary.NativeEndian.Uint32(b[12:])) + 1 {
			if err := w.mark(id + i); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	b, err := w.head(id)
	if err == nil && (w.each != nil || binary.NativeEndian.Uint16(b[8:]) == pageBranch) {
		b, err = w.body(id, b)
	}
	if err == nil && w.cache != nil {
		w.cache[id] = b
	}
	return b, err
}

func (w *walk) branch(data []byte, id uint64, depth int) error {
	n := int(binary.NativeEndian.Uint16(data[10:]))
	if n == 0 || pageHead+n*16 > len(data) {
		return fmt.Errorf("page %d: a branch of %d elements", id, n)
	}
	from, to := 0, n
	var before []byte
	for i := range n {
		e := data[pageHead+i*16:]
		key, err := slice(e, binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:]))
		if err != nil || i > 0 && bytes.Compare(before, key) >= 0 {
			if err := w.fault(fmt.Errorf("page %d: element %d of a branch", id, i)); err != nil {
				return err
			}
		}
		before = key
		if w.each == nil && bytes.Compare(key, w.first) <= 0 {
			from = max(i-1, 0)
		}
		if w.each == nil && bytes.Compare(key, w.last) > 0 {
			to = min(to, i+1)
		}
	}
	for i := from; i < to; i++ {
		err := w.visit(binary.NativeEndian.Uint64(data[pageHead+i*16+8:]), depth+1)
		if err = w.fault(err); err != nil {
			return err
		}
	}
	return nil
}

// leaf calls each with the elements of a leaf that begins at an offset of the file, and visits the
// buckets in it.
func (w *walk) leaf(data []byte, offset int64, depth int) {
	var before []byte
	for i := range int(binary.NativeEndian.Uint16(data[10:])) {
		key, value, flags, err := leafElement(data, i)
		if err != nil || i > 0 && bytes.Compare(before, key) >= 0 {
			w.fault(fmt.Errorf("offset %d: element %d of a leaf", offset, i))
		}
		if err != nil {
			continue
		}
		before = key
		// The slices share an array with data, to its end.
		at := extent{offset + int64(cap(data)-cap(value)), int64(len(value))}
		if flags&1 == 0 {
			w.each(key, at)
			continue
		}
		switch root, inline, err := bucketRoot(value); {
		case err != nil:
			w.fault(fmt.Errorf("offset %d: bucket %q", offset, key))
		case inline != nil:
			w.leaf(inline, at.offset+16, depth+1)
		default:
			w.fault(w.visit(root, depth+1))
		}
	}
}

// bucketRoot reads the value of a bucket: the number of its root page, or the leaf within the
// value.
func bucketRoot(value []byte) (root uint64, inline []byte, err error) {
	if len(value) < 16 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	root = binary.NativeEndian.Uint64(value)
	if root != 0 {
		return root, nil, nil
	}
	inline = value[16:]
	if len(inline) < pageHead || binary.NativeEndian.Uint16(inline[8:]) != pageLeaf {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 0, inline, nil
}

// leafElement returns the key and the value of the ith element of a leaf.
func leafElement(data []byte, i int) (key, value []byte, flags uint32, err error) {
	e, err := element(data, i)
	if err != nil {
		return nil, nil, 0, err
	}
	pos := binary.NativeEndian.Uint32(e[4:])
	size := binary.NativeEndian.Uint32(e[8:])
	if key, err = slice(e, pos, size); err == nil {
		value, err = slice(e[uint64(pos)+uint64(size):], 0, binary.NativeEndian.Uint32(e[12:]))
	}
	return key, value, binary.NativeEndian.Uint32(e), err
}

// element returns the page from the ith element on.
func element(data []byte, i int) ([]byte, error) {
	if at := pageHead + i*16; at+16 <= len(data) {
		return data[at:], nil
	}
	return nil, io.ErrUnexpectedEOF
}

func slice(data []byte, from, size uint32) ([]byte, error) {
	if end := uint64(from) + uint64(size); end <= uint64(len(data)) {
		return data[from:end], nil
	}
	return nil, io.ErrUnexpectedEOF
}

// openTree reads the newest meta page and the root page with the buckets, for a transaction.
func openTree(f io.ReaderAt) (*pageTree, error) {
	t := &pageTree{file: f, seen: map[uint64]bool{}, buckets: map[string]uint64{}, cache: map[uint64][]byte{}}
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
		if err != nil || flags&1 == 0 {
			return nil, fmt.Errorf("page %d: element %d", root, i)
		}
		t.buckets[string(name)], _, err = bucketRoot(value)
		if err != nil {
			return nil, fmt.Errorf("page %d: bucket %q", root, name)
		}
	}
	return t, nil
}

// readable checks the pages on the way to the keys of a bucket from first to last.
func (t *pageTree) readable(bucket, first, last []byte) error {
	clear(t.seen)
	if root := t.buckets[string(bucket)]; root != 0 {
		return (&walk{pageTree: t, first: first, last: last}).visit(root, 0)
	}
	return nil
}

// writable checks the pages that a transaction about a session may free or fill.
func (t *pageTree) writable(id [16]byte) error {
	clear(t.seen)
	if err := t.freelist(t.free); err != nil {
		return err
	}
	for _, root := range t.buckets {
		if root == 0 {
			continue
		}
		if err := (&walk{pageTree: t, first: id[:], last: after(id[:])}).visit(root, 0); err != nil {
			return err
		}
	}
	return nil
}

// after returns a key behind every key with a prefix.
func after(prefix []byte) []byte {
	return append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, len(key{})+1-len(prefix))...)
}
