package boltstore

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
)

const reserveSize = 8 << 10 // two blocks, so that one is left for what grows with the file

// A reserve is a small file beside a spool. On a full disk it gives its room to
// the write that ends the session, which tells what the disk had no room for.

func (s *Store) reservePath(id store.SessionID) string {
	return strings.TrimSuffix(s.spoolPath(id), ".log") + ".reserve"
}

// setAside makes the reserve. Without it a session is recorded too, so an error
// is worth no word.
func (p *spool) setAside() {
	f, err := p.s.machine.create(p.s.reservePath(p.id))
	if err != nil {
		return
	}
	var b [reserveSize]byte
	_, _ = rand.Read(b[:]) // what compresses takes less room than it gives
	_, err = f.Write(b[:])
	if closeErr := f.Close(); err != nil || closeErr != nil {
		_ = p.s.machine.remove(p.s.reservePath(p.id)) // half a reserve is in the way of a frame
	}
}

// release gives the reserve to parts that end the session, and to no others. It
// reports whether a failed write of them may be tried again.
func (p *spool) release(parts []store.Part) bool {
	ending := slices.ContainsFunc(parts, func(x store.Part) bool { return x.Kind == store.Exited || x.Kind == store.Closed })
	return ending && p.s.machine.remove(p.s.reservePath(p.id)) == nil
}
