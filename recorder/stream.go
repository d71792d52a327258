package recorder

import (
	"errors"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Stream records one direction of an exchange over HTTP, which may have many frames and
// events. A frame may come in several pieces; one is open at a time.
type Stream struct {
	log    *log
	number uint64
	dir    transport.Direction

	open    uint64 // the frame that is open in the log, or 0
	newest  uint64 // the newest frame; 0 if not in the log
	whole   uint64 // the newest whole frame
	skip    bool   // the rest of the frame is dropped because its beginning was lost
	cause   string // why the beginning was lost
	size    int64  // bytes of the open frame
	dropped int64  // bytes beyond the limit of [MaxFrame]
}

// Item is an event for a Stream, or a piece of a frame.
type Item struct {
	Kind    store.Kind
	Dir     transport.Direction
	Payload []byte
	Info    *store.HTTPInfo // the payload of an HTTP event
	Cont    bool            // continues the open frame
	More    bool            // the frame goes on
	Cut     bool            // the frame broke off
	About   bool            // Info describes the frame in front of it
	Ends    []*Stream       // Info ends the exchange of these: Stream.Write adds their dropped bytes to it
}

// Whole returns the newest whole frame in the log, or 0.
func (s *Stream) Whole() uint64 { return s.whole }

// Write records items with one write of the spool: all or none, apart from the pieces of a frame
// whose beginning was lost. Write counts the items it cannot record. It changes items, which are
// the caller's again afterwards.
func (s *Stream) Write(items []Item) {
	l := s.log
	l.take()
	defer l.give()
	if l.sealed {
		return
	}
	items = s.skipLost(items)
	l.begin()
	before := *s
	sum := l.sum
	lost := store.LostInfo{}
	for i := range items {
		s.add(&items[i], &lost)
	}
	err := l.commit()
	if err == nil {
		return
	}
	l.sum.Frames = sum.Frames
	l.sum.Bytes = sum.Bytes
	l.sum.Cut = sum.Cut
	if lost.Bytes > 0 {
		lost.Streams = []string{s.dir.String()}
	}
	l.lose(lost, err)
	s.cause = l.gap.Reason
	s.whole = before.whole
	if s.open != before.open {
		s.newest = 0
	}
	s.skip = s.open != 0
	s.open = 0
	if before.open != 0 {
		l.broken = append(l.broken, before.open)
	}
}

// skipLost drops, and counts, the rest of a frame whose beginning was lost, and an event that
// describes a frame which is not in the log.
func (s *Stream) skipLost(items []Item) []Item {
	l, known := s.log, s.newest != 0
	if known && !s.skip {
		return items
	}
	return slices.DeleteFunc(items, func(it Item) bool {
		switch {
		case it.About && !known:
			l.lose(store.LostInfo{Frames: 1, Streams: []string{it.Dir.String()}}, errors.New(s.cause))
			return true
		case it.Kind != store.Frame:
		case s.skip:
			s.skip = it.More
			l.lose(store.LostInfo{Bytes: uint64(len(it.Payload)), Streams: []string{it.Dir.String()}}, errors.New(s.cause))
			return true
		case !it.Cont:
			known = true
		}
		return false
	})
}

// add adds the parts of an item to the write, and counts them in lost, in case the write fails.
func (s *Stream) add(it *Item, lost *store.LostInfo) {
	if it.Kind != store.Frame {
		s.addEvent(it, lost)
		return
	}
	l := s.log
	lost.Frames++
	lost.Bytes += uint64(len(it.Payload))
	if !it.Cont {
		s.size = 0
	}
	payload, over := s.limit(it.Payload)
	if it.Cont && it.More && len(payload) == 0 {
		return
	}
	e := store.Event{Unterminated: it.Cut, Payload: payload}
	if !it.More {
		e.Cut = over
	}
	if it.Cont {
		e.Seq = s.open
		l.parts = append(l.parts, store.Part{Event: e, Cont: true, More: it.More})
	} else {
		e.Kind = store.Frame
		e.Dir = it.Dir
		e.Stream = s.number
		s.open = l.add(e, it.More)
		s.newest = s.open
		l.sum.Frames++
	}
	l.sum.Bytes += uint64(len(e.Payload))
	if it.More {
		return
	}
	if over > 0 {
		l.addCut(s.open, over, it.Dir)
	}
	s.whole = s.open
	s.open = 0
}

// addEvent adds an event that is no frame.
func (s *Stream) addEvent(it *Item, lost *store.LostInfo) {
	e := store.Event{Kind: it.Kind, Dir: it.Dir, Stream: s.number, Payload: it.Payload}
	if info := it.Info; info != nil {
		if info.What == store.HTTPBody {
			body := info.Body64
			if info.Body != "" {
				body = []byte(info.Body)
			}
			payload, over := s.limit(body)
			if over > 0 {
				info.SetBody(payload)
			}
			if len(payload) == 0 && info.Error == "" {
				return
			}
		}
		if it.About && info.SSE != nil {
			info.SSE.Frame = s.newest
		}
		for _, ended := range it.Ends {
			info.Dropped += ended.dropped
		}
		e.Payload = store.EncodePayload(info)
	}
	lost.Frames++
	s.log.add(e, false)
}

// limit shortens the next bytes of a frame or body to the limit, and returns how many bytes of
// the frame so far are beyond.
func (s *Stream) limit(next []byte) (payload []byte, over uint64) {
	limit, before := s.log.maxFrame, s.size
	s.size += int64(len(next))
	if limit <= 0 || s.size <= limit {
		return next, 0
	}
	room := max(0, limit-before)
	s.dropped += int64(len(next)) - room
	return next[:room], uint64(s.size - limit)
}
