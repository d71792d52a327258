package recorder

import (
	"errors"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
)

// write records items of one body of a stream with one write of the spool.
func (r *Recorder) write(stream uint64, b *body, items []item) {
	r.sift(b, items)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return
	}
	var before tally
	lost := r.stage(stream, b, items, &before)
	if err := r.commit(); err != nil {
		r.unstage(b, lost, &before, err)
	}
}

// tally is how a recorder and a body stand before a write.
type tally struct {
	seq, whole uint64
	sum        Summary
}

// stage adds the parts of the items, and returns what is lost if they cannot be written.
func (r *Recorder) stage(stream uint64, b *body, items []item, before *tally) (lost store.LostInfo) {
	at := r.at()
	items = r.skipLost(b, items)
	r.begin(at)
	*before = tally{b.seq, b.whole, r.sum}
	for i := range items {
		r.item(at, stream, b, &items[i], &lost)
	}
	if b.done {
		r.restOf(at, stream, b)
	}
	return lost
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
	b.forget()
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

// sift takes the secrets out of the frames of items. It needs the recorder's lock not:
// exchanges look for secrets beside each other. Where the beginning of a frame was lost it
// is done when it is known what is left.
func (r *Recorder) sift(b *body, items []item) {
	for i := range items {
		if items[i].kind == store.Frame && !b.skip {
			items[i].sifted = r.sifted(b, &items[i])
		}
	}
}

// sifted is what of a frame's stretch is logged.
type sifted struct {
	done          bool
	payload       []byte
	redacted, cut uint64
	whole         bool
}

func (r *Recorder) sifted(b *body, it *item) sifted {
	if it.sifted.done {
		return it.sifted
	}
	s := sifted{done: true}
	s.payload, s.whole = b.within(it, r.maxFrame)
	if over := b.logged - r.maxFrame; !it.more && r.maxFrame > 0 && over > 0 {
		s.cut = uint64(over)
	}
	if !it.cont || !it.more || len(s.payload) > 0 {
		s.payload, s.redacted = r.inFrame(b, s.payload, it)
	}
	return s
}

// item adds the parts of an item.
func (r *Recorder) item(at time.Duration, stream uint64, b *body, it *item, lost *store.LostInfo) {
	if it.kind != store.Frame {
		r.about(at, stream, b, it, lost)
		return
	}
	lost.Frames++
	lost.Bytes += uint64(len(it.payload))
	s := r.sifted(b, it)
	if it.cont && it.more && len(s.payload) == 0 {
		return
	}
	e := store.Event{Unterminated: !it.more && (it.cut || !s.whole), Redacted: s.redacted, Cut: s.cut, Payload: s.payload}
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
		if s.cut > 0 {
			r.addCut(at, b.seq, s.cut, it.dir.String())
		}
		b.whole, b.seq = b.seq, 0
	}
}

// inFrame takes the secrets out of a stretch of a frame. Most bodies are one short
// frame without any, and need no stream.
func (r *Recorder) inFrame(b *body, payload []byte, it *item) ([]byte, uint64) {
	if b.frameSecrets == nil {
		if r.redactor == nil || !it.cont && !it.more && r.redactor.Clean(payload) {
			return payload, 0
		}
		b.frameSecrets = r.stream(false)
	}
	return next(b.frameSecrets, payload, it.more)
}

// about adds an event that is no frame.
func (r *Recorder) about(at time.Duration, stream uint64, b *body, it *item, lost *store.LostInfo) {
	e := store.Event{At: at, Kind: it.kind, Dir: it.dir, Stream: stream, Payload: it.payload}
	if it.info != nil {
		if it.info.What == store.HTTPBody {
			if !b.withinBody(it.info, r.maxFrame) || !r.inBody(b, it.info, &e.Redacted) {
				return
			}
		} else if isEnd[it.info.What] {
			r.restOf(at, stream, b)
		}
		if it.last && it.info.SSE != nil {
			it.info.SSE.Frame = b.named
		}
		e.Redacted += r.inInfo(it.info)
		e.Payload = store.EncodePayload(it.info)
	}
	lost.Frames++
	r.add(e, false)
}

// isEnd are the ends of an exchange.
var isEnd = map[string]bool{store.HTTPEnd: true, store.HTTPAbort: true, store.HTTPBroken: true, store.HTTPNone: true, store.HTTPLeft: true}

// inBody takes the secrets out of a stretch of a body that is no frame, and reports
// whether something of it is to be logged now.
func (r *Recorder) inBody(b *body, info *store.HTTPInfo, count *uint64) bool {
	if info.Coding != "" || r.redactor == nil {
		return true
	}
	if b.textSecrets == nil {
		b.textSecrets = r.stream(false)
	}
	stretch := info.Body64
	if info.Body != "" {
		stretch = []byte(info.Body)
	}
	stretch, n := b.textSecrets.Next(stretch, true)
	info.SetBody(stretch)
	*count += uint64(n)
	return len(stretch) > 0 || info.Error != ""
}

// restOf adds what was held of a body that is no frame.
func (r *Recorder) restOf(at time.Duration, stream uint64, b *body) {
	if b.textSecrets == nil || b.textSecrets.Held() == 0 {
		return
	}
	text, n := b.textSecrets.Next(nil, false)
	info := &store.HTTPInfo{What: store.HTTPBody}
	info.SetBody(text)
	r.add(store.Event{At: at, Kind: store.HTTP, Dir: b.dir, Stream: stream, Redacted: uint64(n), Payload: store.EncodePayload(info)}, false)
}

// forget has the secrets of a body looked for anew: what was held is lost.
func (b *body) forget() {
	b.frameSecrets, b.textSecrets = nil, nil
}

// within returns what of a frame's stretch the limit lets into the log, and whether
// all of the frame was let in.
func (b *body) within(it *item, limit int64) (payload []byte, whole bool) {
	if !it.cont {
		b.logged = 0
	}
	before := b.logged
	b.logged += int64(len(it.payload))
	if limit <= 0 || b.logged <= limit {
		return it.payload, true
	}
	room := max(0, limit-before)
	b.dropped += int64(len(it.payload)) - room
	return it.payload[:room], false
}

// withinBody shortens a stretch of a body that is no frame to the limit, and reports
// whether anything is left to tell.
func (b *body) withinBody(info *store.HTTPInfo, limit int64) bool {
	stretch := item{payload: info.Body64, cont: true}
	if info.Body != "" {
		stretch.payload = []byte(info.Body)
	}
	payload, whole := b.within(&stretch, limit)
	if !whole {
		info.SetBody(payload)
	}
	return len(payload) > 0 || info.Error != ""
}
