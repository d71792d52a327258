package recorder

import (
	"errors"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
)

// write records items of one body of a stream with one write of the spool.
func (r *Recorder) write(stream uint64, b *body, items []item) {
	r.turn.take()
	defer r.turn.give()
	if r.sealed {
		return
	}
	at := r.at()
	items = r.skipLost(b, items)
	r.begin(at)
	before, lost := tally{b.seq, b.whole, r.sum}, store.LostInfo{}
	for i := range items {
		r.item(at, stream, b, &items[i], &lost)
	}
	if err := r.commit(); err != nil {
		r.unstage(b, lost, &before, err)
	}
}

// tally is how a recorder and a body stand before a write.
type tally struct {
	seq, whole uint64
	sum        Summary
}

// unstage goes back to what was before a write that failed.
func (r *Recorder) unstage(b *body, lost store.LostInfo, before *tally, err error) {
	r.sum.Frames, r.sum.Bytes, r.sum.Cut = before.sum.Frames, before.sum.Bytes, before.sum.Cut
	if lost.Bytes > 0 {
		lost.Streams = []string{b.dir.String()}
	}
	r.lose(lost, err)
	b.cause = r.gap.Reason
	if b.whole = before.whole; b.seq != before.seq {
		b.named = 0
	}
	b.skip, b.seq = b.seq != 0, 0
	if before.seq != 0 {
		r.broken = append(r.broken, before.seq)
	}
}

// skipLost drops, and counts, the rest of a frame whose beginning was lost, and what is
// told of a frame that is not in the log.
func (r *Recorder) skipLost(b *body, items []item) []item {
	var kept []item
	dropped, named := false, b.named != 0
	for i, it := range items {
		drop := it.last && !named
		switch {
		case drop:
			r.lose(store.LostInfo{Frames: 1, Streams: []string{it.dir.String()}}, errors.New(b.cause))
		case it.kind != store.Frame:
		case b.skip:
			drop, b.skip = true, it.more
			r.lose(store.LostInfo{Bytes: uint64(len(it.payload)), Streams: []string{it.dir.String()}}, errors.New(b.cause))
		case !it.cont:
			named = true
		}
		switch {
		case drop && !dropped:
			kept, dropped = slices.Clone(items[:i]), true
		case !drop && dropped:
			kept = append(kept, it)
		}
	}
	if !dropped {
		return items
	}
	return kept
}

// item adds the parts of an item.
func (r *Recorder) item(at time.Duration, stream uint64, b *body, it *item, lost *store.LostInfo) {
	if it.kind != store.Frame {
		r.about(at, stream, b, it, lost)
		return
	}
	lost.Frames++
	lost.Bytes += uint64(len(it.payload))
	payload, over := b.within(it, r.maxFrame)
	if it.cont && it.more && len(payload) == 0 {
		return
	}
	e := store.Event{Unterminated: !it.more && (it.cut || over > 0), Payload: payload}
	if !it.more {
		e.Cut = over
	}
	if it.cont {
		e.Seq = b.seq
		r.parts = append(r.parts, store.Part{Event: e, Cont: true, More: it.more})
	} else {
		e.At, e.Kind, e.Dir, e.Stream = at, store.Frame, it.dir, stream
		b.seq = r.add(e, it.more)
		b.named = b.seq
		r.sum.Frames++
	}
	r.sum.Bytes += uint64(len(e.Payload))
	if !it.more {
		if over > 0 {
			r.addCut(at, b.seq, over, it.dir.String())
		}
		b.whole, b.seq = b.seq, 0
	}
}

// about adds an event that is no frame.
func (r *Recorder) about(at time.Duration, stream uint64, b *body, it *item, lost *store.LostInfo) {
	e := store.Event{At: at, Kind: it.kind, Dir: it.dir, Stream: stream, Payload: it.payload}
	if it.info != nil {
		if it.info.What == store.HTTPBody && !b.withinBody(it.info, r.maxFrame) {
			return
		}
		if it.last && it.info.SSE != nil {
			it.info.SSE.Frame = b.named
		}
		e.Payload = store.EncodePayload(it.info)
	}
	lost.Frames++
	r.add(e, false)
}

// within returns what of a frame's stretch the limit lets into the log, and how many bytes of
// the frame so far are beyond it.
func (b *body) within(it *item, limit int64) (payload []byte, over uint64) {
	if !it.cont {
		b.logged = 0
	}
	before := b.logged
	b.logged += int64(len(it.payload))
	if limit <= 0 || b.logged <= limit {
		return it.payload, 0
	}
	room := max(0, limit-before)
	b.dropped += int64(len(it.payload)) - room
	return it.payload[:room], uint64(b.logged - limit)
}

// withinBody shortens a stretch of a body that is no frame to the limit, and reports
// whether anything is left to tell.
func (b *body) withinBody(info *store.HTTPInfo, limit int64) bool {
	stretch := item{payload: info.Body64, cont: true}
	if info.Body != "" {
		stretch.payload = []byte(info.Body)
	}
	payload, over := b.within(&stretch, limit)
	if over > 0 {
		info.SetBody(payload)
	}
	return len(payload) > 0 || info.Error != ""
}
