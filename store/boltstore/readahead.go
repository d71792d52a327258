package boltstore

import "sync"

const aheadSize = 4 << 20

// readahead asks the operating system for what a scan will read next: bbolt
// maps its files for random access, where each page would be read by itself.
type readahead struct {
	mu    sync.Mutex
	path  string
	next  uintptr // offset in the file behind the last value read
	asked uintptr // offset up to which the file was asked for
}

// want is called before a value is read. A value close behind the last one is
// taken for a scan, which gets what follows too.
func (r *readahead) want(m *month, value []byte) {
	start := address(value) - m.base
	end := start + uintptr(len(value))
	r.mu.Lock()
	defer r.mu.Unlock()
	scan := r.path == m.path && start >= r.next && start-r.next < aheadSize/4
	if !scan {
		r.path, r.asked = m.path, 0
	}
	r.next = end
	if start >= r.asked {
		r.asked = start
	}
	switch {
	case scan && r.asked < end+aheadSize/2:
		willNeed(m.base+r.asked, end+aheadSize-r.asked)
		r.asked = end + aheadSize
	case r.asked < end:
		willNeed(m.base+r.asked, end-r.asked)
		r.asked = end
	}
}
