package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// body is one direction of an exchange. It turns the bytes that pass into items to record,
// without I/O.
type body struct {
	dir    transport.Direction
	form   form
	left   int64 // bytes to come, as announced; -1: not announced
	size   int64 // bytes that came
	code   *decoder
	coding string // the content coding, if there is no decoder for it
	plain  []byte // the decoded chunk
	sse    streamable.EventScanner
	items  []item

	begun bool   // the one frame of formFrame has begun
	done  bool   // the body has ended
	rest  []byte // the end of a stream that is no event

	seq     uint64 // the frame that is open in the recording, or 0
	named   uint64 // the newest frame; 0 if it is not in the recording
	skip    bool   // the rest of the frame is dropped because its beginning was lost
	cause   string // why it was lost
	whole   uint64 // the newest frame that is whole
	logged  int64  // bytes of the open frame
	dropped int64  // bytes beyond the limit
	passed  time.Time
}

// form says how a body is recorded.
type form uint8

const (
	formOther  form = iota // bytes that are no frame
	formFrame              // one frame
	formEvents             // server-sent events, most of them frames
)

// bodyEnd says whether a body goes on.
type bodyEnd uint8

const (
	bodyOpen  bodyEnd = iota
	bodyWhole         // it ended as it should
	bodyCut           // it broke off
)

// endOf returns what the error of a read means for a body.
func endOf(err error) bodyEnd {
	switch err {
	case nil:
		return bodyOpen
	case io.EOF:
		return bodyWhole
	}
	return bodyCut
}

// item is an event to record, or a part of a frame.
type item struct {
	kind    store.Kind
	dir     transport.Direction
	payload []byte
	info    *store.HTTPInfo // the payload of an HTTP event
	cont    bool            // it continues the body's open frame
	more    bool            // the frame goes on
	cut     bool            // the frame broke off
	last    bool            // info describes the frame in front of it
}

// open begins the body. If the exchange is not MCP's, no content type makes it a frame.
func (b *body) open(dir transport.Direction, h http.Header, length int64, isMCP bool) {
	b.dir, b.left, b.form = dir, length, formOther
	if isMCP {
		b.form = formOf(h.Get("Content-Type"))
	}
	coding := strings.Join(h.Values("Content-Encoding"), ", ")
	var known bool
	if b.code, known = newDecoder(coding); !known {
		b.form, b.coding = formOther, coding
	}
}

func formOf(contentType string) form {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	switch media = strings.TrimSpace(media); {
	case media == "text/event-stream":
		return formEvents
	case media == "application/json", strings.HasSuffix(media, "+json"):
		return formFrame
	}
	return formOther
}

// eventLimit is how much of an event besides its data is held until its end.
const eventLimit = 4 << 20

// cut takes the next bytes and returns what is to be recorded before they are passed on, in
// memory that the next call uses again.
func (b *body) cut(chunk []byte, end bodyEnd) ([]item, bodyEnd) {
	b.items = b.items[:0]
	b.size += int64(len(chunk))
	if b.left >= 0 {
		if b.left -= int64(len(chunk)); b.left <= 0 && end == bodyOpen {
			end = bodyWhole // nothing can follow
		}
	}
	b.done = end != bodyOpen
	if chunk = b.decode(chunk, end); b.full() {
		end, b.done = bodyOpen, false
	}
	switch b.form {
	case formFrame:
		b.frame(chunk, end)
	case formEvents:
		b.events(b.sse.Scan(chunk))
		if end != bodyOpen {
			b.lastEvents()
		} else if b.sse.Held() > eventLimit {
			b.endless()
		}
	default:
		b.other(chunk)
	}
	return b.items, end
}

// decode undoes the content coding. When that fails the rest of the body is recorded as
// it is.
func (b *body) decode(chunk []byte, end bodyEnd) []byte {
	if b.code == nil {
		return chunk
	}
	if b.plain = b.plain[:0]; cap(b.plain) > 4*streamable.EventLimit {
		b.plain = nil
	}
	err := b.code.feed(chunk, end != bodyOpen, func(p []byte) { b.plain = append(b.plain, p...) })
	if err == nil && (end == bodyOpen || b.code.full) {
		return b.plain
	}
	b.code.stop()
	left := b.code.held
	b.code = nil
	// A body that broke off also lacks the end of its coding, which is no other fault.
	if missing := errors.Is(err, io.ErrUnexpectedEOF); err != nil && (end != bodyCut || !missing || len(left) > 0) {
		b.spoil(left, err)
	}
	return b.plain
}

// full reports whether the decoder has more to give: cut is to be called again, without bytes.
func (b *body) full() bool { return b.code != nil && b.code.full }

// spoil records the rest of a body, which cannot be decoded, as opaque bytes.
func (b *body) spoil(left []byte, cause error) {
	switch b.form {
	case formFrame:
		end := bodyCut
		if errors.Is(cause, errTrailing) { // the coded frame is whole
			end = bodyWhole
		}
		b.frame(b.plain, end)
	case formEvents:
		b.events(b.sse.Scan(b.plain))
		b.lastEvents()
		b.other(b.rest)
		b.rest, b.sse = nil, streamable.EventScanner{}
	default:
		b.other(b.plain)
	}
	b.plain = b.plain[:0]
	b.form = formOther
	info := &store.HTTPInfo{What: store.HTTPBody, Error: cause.Error(), Coding: "damaged", Body64: bytes.Clone(left)}
	b.items = append(b.items, item{kind: store.HTTP, dir: b.dir, info: info})
}

// frame adds bytes of a body that is one frame.
func (b *body) frame(chunk []byte, end bodyEnd) {
	if len(chunk) == 0 && (!b.begun || end == bodyOpen) {
		return
	}
	b.items = append(b.items, item{kind: store.Frame, dir: b.dir, payload: chunk,
		cont: b.begun, more: end == bodyOpen, cut: end == bodyCut})
	b.begun = true
}

// other adds bytes that are no frame.
func (b *body) other(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	info := &store.HTTPInfo{What: store.HTTPBody, Coding: b.coding}
	if b.coding != "" {
		info.Body64 = bytes.Clone(chunk)
	} else {
		info.SetBody(chunk)
	}
	b.items = append(b.items, item{kind: store.HTTP, dir: b.dir, info: info})
}

// events adds server-sent events.
func (b *body) events(found []streamable.StreamEvent) {
	for i := range found {
		ev := &found[i]
		frame := item{kind: store.Frame, dir: b.dir, payload: ev.Data, cont: ev.Cont, more: ev.More}
		if ev.Meta == nil {
			b.items = append(b.items, frame)
			continue
		}
		info := &store.HTTPInfo{What: store.HTTPEvent, SSE: httpevent.SSE(ev.Meta, ev.Stray)}
		about := item{kind: store.HTTP, dir: b.dir, info: info, last: ev.Cont}
		switch message := info.SSE.Event == "" || info.SSE.Event == "message"; {
		case ev.Cont:
			b.items = append(b.items, frame, about)
		case message && len(ev.Data) > 0:
			b.items = append(b.items, about, frame)
		default:
			info.SetBody(ev.Data)
			b.items = append(b.items, about)
		}
	}
}

// lastEvents ends the stream: it adds the last events, and keeps the rest that is none.
func (b *body) lastEvents() {
	found, rest := b.sse.End()
	b.events(found)
	if b.sse.Open() {
		b.items = append(b.items, item{kind: store.Frame, dir: b.dir, cont: true, cut: true})
	}
	b.rest = rest
}

// endless records the rest of a stream as opaque bytes, for its event is too long to be held.
func (b *body) endless() {
	b.lastEvents()
	info := &store.HTTPInfo{What: store.HTTPBody, Error: fmt.Sprintf("an event has more than %d bytes besides its data", eventLimit)}
	info.SetBody(b.rest)
	b.items = append(b.items, item{kind: store.HTTP, dir: b.dir, info: info})
	b.rest, b.form, b.sse = nil, formOther, streamable.EventScanner{}
}

// within shortens the next bytes of a frame to the limit, and returns how many bytes of the frame
// so far are beyond it.
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

// withinBody shortens the next bytes of a body that is no frame to the limit, and reports whether
// anything is left to record.
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
