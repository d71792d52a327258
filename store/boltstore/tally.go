package boltstore

import (
	"fmt"

	"github.com/mcprec/mcprec/store"
)

// tally counts what a live session's spool holds behind a mark into a listing,
// by the heads of the records: it reads no large payload and checks no sum; a
// reader does. Frames count from their first part, so one that goes on for ever
// is seen; the head stands where whole events end.
type tally struct {
	heads
	from    uint64 // parts of events before this Seq are counted already
	session *store.Session
	queue   []tallied // from the first event that is not whole
}

type tallied struct {
	head  store.Head
	frame bool
	open  bool
}

func tallySpool(f reader, m mark, session *store.Session) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	t := &tally{heads: heads{f: f, size: info.Size(), off: m.off}, from: m.seq, session: session}
	for {
		p, n, err := t.part()
		if n == 0 || err != nil {
			return err
		}
		if err := t.count(p, n); err != nil {
			return fmt.Errorf("read spool %s: at byte %d: %w", f.Name(), t.off, err)
		}
		t.off += n
	}
}

// count takes a part in a record of length n.
func (t *tally) count(p store.Part, n int64) error {
	if p.Seq < t.from {
		return nil
	}
	first := t.from
	if len(t.queue) > 0 {
		first = t.queue[0].head.Seq
	}
	i := p.Seq - first
	if i > uint64(len(t.queue)) || p.Cont == (i == uint64(len(t.queue))) {
		return store.ErrCorrupt
	}
	if !p.Cont {
		head := store.Head{Seq: p.Seq, At: p.At, Sealed: p.Kind == store.Closed}
		t.queue = append(t.queue, tallied{head: head, frame: p.Kind == store.Frame})
		if err := t.event(p, n); err != nil {
			return err
		}
	}
	e := &t.queue[i]
	if e.open = p.More; e.frame {
		t.session.Bytes += uint64(max(n-smallBody, 0)) + uint64(len(p.Payload))
	}
	for len(t.queue) > 0 && !t.queue[0].open {
		t.session.Head, t.from = t.queue[0].head, t.queue[0].head.Seq+1
		t.queue = t.queue[1:]
	}
	return nil
}

// event takes an event's first part.
func (t *tally) event(p store.Part, n int64) error {
	switch {
	case p.Kind == store.Frame:
		t.session.Frames++
		return nil
	case p.More:
		return nil // of the kinds that count, only frames come in parts
	case n > smallBody: // a header with a long command line
		whole, err := t.whole(n)
		if err != nil {
			return err
		}
		p = whole
	}
	return t.session.Count(p.Event)
}
