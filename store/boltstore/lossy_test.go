package boltstore

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

// lossy is a disk that takes note of what is done to it, in order, and of what
// was synced, and says what a power cut at any moment may leave: all that was
// synced, and of the rest any part. What was synced it asks the kernel, where
// that can tell: a Sync that does nothing makes nothing durable.
type lossy struct {
	osDisk
	root string

	mu    sync.Mutex
	ops   []op
	nodes map[string]int // what the names stand for
	next  int
	late  int           // the commit whose last sync fails, counted down
	sync  chan struct{} // told of every Sync, if somebody listens
}

// op is one thing done.
type op struct {
	kind  opKind
	node  int
	off   int64          // of what was written; or the size cut to
	data  []byte         // what was written
	names map[string]int // new meanings of names in one folder; 0: none
	upto  int            // a sync covers what was done before this op
	dir   string         // of the names, or the folder synced
	id    store.SessionID
	seq   uint64 // events up to this were promised to be durable
}

type opKind int

const (
	opWrite opKind = iota
	opCut
	opNames
	opSync    // of a file
	opSyncDir // of the names in a folder
	opPromise
	opDelete // a session was promised to be gone
)

func newLossy(root string) *lossy {
	return &lossy{root: root, nodes: map[string]int{}, sync: make(chan struct{}, 1)}
}

func (d *lossy) note(o op) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = append(d.ops, o)
}

// promise takes note that all events up to seq must now survive anything.
func (d *lossy) promise(id store.SessionID, seq uint64) {
	d.note(op{kind: opPromise, id: id, seq: seq})
}

// name gives names their meaning; d.mu is held.
func (d *lossy) name(names map[string]int) {
	dir := ""
	for path, node := range names {
		dir = filepath.Dir(path)
		if d.nodes[path] = node; node == 0 {
			delete(d.nodes, path)
		}
	}
	d.ops = append(d.ops, op{kind: opNames, dir: dir, names: names})
}

func (d *lossy) node() int { d.next++; return d.next }

// lossyReader is a file that is read, and synced on behalf of its writer.
type lossyReader struct {
	fileReader
	d *lossy
}

func (d *lossy) open(name string) (fileReader, error) {
	f, err := d.osDisk.open(name)
	if err != nil {
		return nil, err
	}
	return lossyReader{f, d}, nil
}

func (f lossyReader) Sync() error { return f.d.synchronize(f.Name(), f.fileReader.Sync) }

type lossyFile struct {
	fileWriter
	d    *lossy
	node int
	size int64
	path string
}

func (d *lossy) create(name string) (fileWriter, error) {
	f, err := d.osDisk.create(name)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	node := d.node()
	d.name(map[string]int{name: node})
	return &lossyFile{fileWriter: f, d: d, node: node, path: name}, nil
}

func (f *lossyFile) Write(b []byte) (int, error) {
	n, err := f.fileWriter.Write(b)
	f.d.note(op{kind: opWrite, node: f.node, off: f.size, data: bytes.Clone(b[:n])})
	f.size += int64(n)
	return n, err
}

func (f *lossyFile) Truncate(size int64) error {
	err := f.fileWriter.Truncate(size)
	if err == nil {
		f.size = size
		f.d.note(op{kind: opCut, node: f.node, off: size})
	}
	return err
}

func (f *lossyFile) Sync() error { return f.d.synchronize(f.path, f.fileWriter.Sync) }

// synchronize takes note of a sync of the file at path, if it was one.
func (d *lossy) synchronize(path string, sync func() error) error {
	d.mu.Lock()
	upto, node := len(d.ops), d.nodes[path]
	d.mu.Unlock()
	err := sync()
	if err == nil && dirtyPages(path) == 0 {
		d.note(op{kind: opSync, node: node, upto: upto})
	}
	select {
	case d.sync <- struct{}{}:
	default:
	}
	return err
}

func (d *lossy) rename(from, to string, replace bool) error {
	err := d.osDisk.rename(from, to, replace)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		names := map[string]int{to: d.nodes[from]}
		if replace {
			names[from] = 0
		}
		d.name(names)
	}
	return err
}

func (d *lossy) remove(name string) error {
	err := d.osDisk.remove(name)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.name(map[string]int{name: 0})
	}
	return err
}

func (d *lossy) syncDir(dir string) error {
	d.mu.Lock()
	upto := len(d.ops)
	d.mu.Unlock()
	err := d.osDisk.syncDir(dir)
	if err == nil {
		d.note(op{kind: opSyncDir, dir: dir, upto: upto})
	}
	return err
}

// commit takes note of the pages that a transaction changes: first those of the
// tree, then the one that makes it count, each synced if bbolt synced them.
func (d *lossy) commit(db *bolt.DB, file *os.File, f func(*bolt.Tx) error) error {
	path := db.Path()
	if file != nil {
		if err := d.settle(path, file); err != nil {
			return err
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := d.osDisk.commit(db, nil, f); err != nil {
		return err
	}
	after, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	synced := dirtyPages(path) == 0 && !db.NoSync
	d.mu.Lock()
	defer d.mu.Unlock()
	node := d.nodes[path]
	if node == 0 { // bbolt has made it, and synced what it wrote
		node = d.node()
		d.name(map[string]int{path: node})
		d.ops = append(d.ops, op{kind: opWrite, node: node, data: before})
		d.settled(node, true)
	}
	if len(after) != len(before) {
		d.ops = append(d.ops, op{kind: opCut, node: node, off: int64(len(after))})
		d.settled(node, true)
	}
	d.pages(node, before, after, false)
	d.settled(node, synced)
	d.pages(node, before, after, true)
	if d.late--; d.late == 0 {
		return syscall.EIO
	}
	d.settled(node, synced)
	return nil
}

// pages takes note of the pages that were changed: the two meta pages, or the
// others. d.mu is held.
func (d *lossy) pages(node int, before, after []byte, meta bool) {
	size := os.Getpagesize()
	for at := 0; at < len(after); at += size {
		page := after[at : at+size]
		if (at < 2*size) == meta && (at >= len(before) || !bytes.Equal(page, before[at:at+size])) {
			d.ops = append(d.ops, op{kind: opWrite, node: node, off: int64(at), data: page})
		}
	}
}

// settled takes note of a sync of a file, if it was one. d.mu is held.
func (d *lossy) settled(node int, synced bool) {
	if synced {
		d.ops = append(d.ops, op{kind: opSync, node: node, upto: len(d.ops)})
	}
}

// settle takes note of the meta pages that are written once more.
func (d *lossy) settle(path string, file *os.File) error {
	metas := make([]byte, 2*os.Getpagesize())
	if _, err := file.ReadAt(metas, 0); err != nil {
		return err
	}
	d.mu.Lock()
	d.ops = append(d.ops, op{kind: opWrite, node: d.nodes[path], data: metas})
	d.mu.Unlock()
	return d.synchronize(path, func() error { return settle(file) })
}

// leftover is what a power cut keeps of what was not synced.
type leftover int

const (
	nothing leftover = iota
	everything
	beginnings // of each file and folder what came first
	anything   // any part of it, in sectors of 512 bytes
)

// cut returns the files after a power cut behind the first k things done, and
// what had been promised then.
func (d *lossy) cut(k int, keep leftover, r *rand.Rand) (files map[string][]byte, promised map[store.SessionID]uint64, deleted map[store.SessionID]bool) {
	durable := d.durable(k)
	content, names := map[int][]byte{}, map[string]int{}
	promised, deleted = map[store.SessionID]uint64{}, map[store.SessionID]bool{}
	until := map[string]int{} // with beginnings: of each folder and file
	kept := func(i int, of string) bool {
		if _, ok := until[of]; !ok {
			until[of] = r.IntN(k + 1)
		}
		return durable[i] || keep == everything || keep == beginnings && i < until[of] || keep == anything && r.IntN(2) == 0
	}
	for i, o := range d.ops[:k] {
		switch o.kind {
		case opPromise:
			promised[o.id] = o.seq
		case opDelete:
			deleted[o.id] = true
		case opNames:
			if kept(i, o.dir) {
				for path, node := range o.names {
					if names[path] = node; node == 0 {
						delete(names, path)
					}
				}
			}
		case opCut:
			if kept(i, string(rune(o.node))) {
				content[o.node] = append(content[o.node], make([]byte, max(0, int(o.off)-len(content[o.node])))...)[:o.off]
			}
		case opWrite:
			if kept(i, string(rune(o.node))) {
				torn := keep == anything && !durable[i] && r.IntN(2) == 0
				content[o.node] = put(content[o.node], o, torn, r)
			}
		}
	}
	files = map[string][]byte{}
	for path, node := range names {
		files[path] = content[node]
	}
	return files, promised, deleted
}

// durable says which of the first k things done a sync has covered.
func (d *lossy) durable(k int) []bool {
	covered := make([]bool, k)
	for _, s := range d.ops[:k] {
		if s.kind != opSync && s.kind != opSyncDir {
			continue
		}
		for i, o := range d.ops[:s.upto] {
			file := s.kind == opSync && o.node == s.node && (o.kind == opWrite || o.kind == opCut)
			if file || s.kind == opSyncDir && o.kind == opNames && o.dir == s.dir {
				covered[i] = true
			}
		}
	}
	return covered
}

// put writes what an op wrote, or some sectors of it.
func put(b []byte, o op, torn bool, r *rand.Rand) []byte {
	if need := int(o.off) + len(o.data); len(b) < need {
		b = append(b, make([]byte, need-len(b))...)
	}
	for at := 0; at < len(o.data); {
		n := min(512-(int(o.off)+at)%512, len(o.data)-at)
		if !torn || r.IntN(2) == 0 {
			copy(b[int(o.off)+at:], o.data[at:at+n])
		}
		at += n
	}
	return b
}

// memDir returns a folder in memory if there is such a place: what is read and
// folded there by the thousand needs no disk.
func memDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "boltstore")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
