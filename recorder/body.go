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
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// body is one direction of an exchange: it says what of the passing bytes is to be
// logged. It does no I/O.
type body struct {
	dir    transport.Direction
	form   form
	left   int64 // bytes to come, as announced; -1: not announced
	size   int64 // bytes that came
	code   *decoder
	coding string // it still has, for the log has no decoder
	plain  []byte // the chunk, decoded
	sse    streamable.EventScanner
	items  []item

	begun bool // its one frame has
	done  bool // it has ended
	rest  []byte
	text  []byte // of a body that is no frame, not logged yet

	seq     uint64 // of the frame open in the log, or 0
	named   uint64 // of the newest frame; 0: it is not in the log
	skip    bool   // the rest of the frame is lost, as its beginning was
	cause   string // why it is
	whole   uint64 // the newest frame that is whole
	logged  int64  // of the open frame
	dropped int64  // beyond the limit
	passed  time.Time
}

// form is what a body is to the log.
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
	bodyCut           // it did not
)

// item is one thing to log.
type item struct {
	kind    store.Kind
	dir     transport.Direction
	payload []byte
	info    *store.HTTPInfo // of an HTTP event: the payload
	cont    bool            // continues the body's open frame
	more    bool            // the frame goes on
	cut     bool            // the frame ended before its end
	last    bool            // info tells of the frame before it
}

// open is told of the headers. What is not MCP's is no frame, whatever its type.
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

// eventLimit is how much of an event besides its data the log holds until its end.
const eventLimit = 4 << 20

// cut takes the bytes that come next and returns what is to be logged before they
// are passed on, in memory that the next call uses again.
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
		b.other(chunk, end != bodyOpen)
	}
	return b.items, end
}

// decode undoes the content coding. When that fails the rest of the body is logged as
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
	// A body that was cut off lacks the end of its coding: that is not a fault of its own.
	if missing := errors.Is(err, io.ErrUnexpectedEOF); err != nil && (end != bodyCut || !missing || len(left) > 0) {
		b.spoil(left, err)
	}
	return b.plain
}

// full reports whether cut is to be called once more for the same bytes, without them.
func (b *body) full() bool { return b.code != nil && b.code.full }

// spoil makes opaque bytes of the rest of a body.
func (b *body) spoil(left []byte, cause error) {
	switch b.form {
	case formFrame:
		end := bodyCut
		if errors.Is(cause, errTrailing) { // what was coded is all there
			end = bodyWhole
		}
		b.frame(b.plain, end)
	case formEvents:
		b.events(b.sse.Scan(b.plain))
		b.lastEvents()
		b.other(b.rest, true)
		b.rest, b.sse = nil, streamable.EventScanner{}
	default:
		b.other(b.plain, true)
	}
	b.plain = b.plain[:0]
	b.form = formOther
	info := &store.HTTPInfo{What: store.HTTPBody, Error: cause.Error(), Coding: "damaged", Body64: bytes.Clone(left)}
	b.items = append(b.items, item{kind: store.HTTP, dir: b.dir, info: info})
}

// frame logs bytes of a body that is one frame.
func (b *body) frame(chunk []byte, end bodyEnd) {
	if len(chunk) == 0 && (!b.begun || end == bodyOpen) {
		return
	}
	b.items = append(b.items, item{kind: store.Frame, dir: b.dir, payload: chunk,
		cont: b.begun, more: end == bodyOpen, cut: end == bodyCut})
	b.begun = true
}

// other logs bytes that are no frame. A short body is one event, however it came: who masks
// its secrets must see it whole.
func (b *body) other(chunk []byte, last bool) {
	b.text = append(b.text, chunk...)
	if len(b.text) == 0 || !last && len(b.text) < streamable.EventLimit {
		return
	}
	info := &store.HTTPInfo{What: store.HTTPBody, Coding: b.coding}
	if b.coding != "" {
		info.Body64 = b.text
	} else {
		info.SetBody(b.text)
	}
	b.text = nil
	b.items = append(b.items, item{kind: store.HTTP, dir: b.dir, info: info})
}

// events logs server-sent events.
func (b *body) events(found []streamable.StreamEvent) {
	for i := range found {
		ev := &found[i]
		frame := item{kind: store.Frame, dir: b.dir, payload: ev.Data, cont: ev.Cont, more: ev.More}
		if ev.Meta == nil {
			b.items = append(b.items, frame)
			continue
		}
		info := &store.HTTPInfo{What: store.HTTPEvent, SSE: sseInfo(ev.Meta, ev.Stray)}
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

// lastEvents logs what the end of the stream leaves.
func (b *body) lastEvents() {
	found, rest := b.sse.End()
	b.events(found)
	if b.sse.Open() {
		b.items = append(b.items, item{kind: store.Frame, dir: b.dir, cont: true, cut: true})
	}
	b.rest = rest
}

// endless makes opaque bytes of the rest of a stream whose event is too long to be held.
func (b *body) endless() {
	b.lastEvents()
	info := &store.HTTPInfo{What: store.HTTPBody, Error: fmt.Sprintf("an event has more than %d bytes besides its data", eventLimit)}
	info.SetBody(b.rest)
	b.items = append(b.items, item{kind: store.HTTP, dir: b.dir, info: info})
	b.rest, b.form, b.sse = nil, formOther, streamable.EventScanner{}
}
