package httptap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// body is one direction of an exchange. It turns bytes into items to record, without I/O.
type body struct {
	dir    transport.Direction
	form   form
	left   int64 // bytes to come, as announced; -1: not announced
	size   int64 // bytes so far
	code   *decoder
	coding string // the content coding, if no decoder knows it
	plain  []byte // the decoded chunk
	sse    streamable.EventScanner
	items  []recorder.Item

	begun bool   // the frame of formFrame has begun
	done  bool   // the body has ended
	rest  []byte // the end of a stream, after the last event

	rec      recorder.Stream // set when the exchange has its recording
	recorded time.Time       // when the newest bytes were; zero: they have passed
}

// form says how a body is recorded.
type form uint8

const (
	formOther  form = iota // other bytes
	formFrame              // one frame
	formEvents             // server-sent events, most of them frames
)

// bodyEnd says whether a body goes on.
type bodyEnd uint8

const (
	bodyOpen  bodyEnd = iota
	bodyWhole         // ended properly
	bodyCut           // broke off
)

// endOf returns the meaning of a read's error for a body.
func endOf(err error) bodyEnd {
	switch err {
	case nil:
		return bodyOpen
	case io.EOF:
		return bodyWhole
	}
	return bodyCut
}

// open begins the body. Without isMCP no content type makes a frame.
func (b *body) open(dir transport.Direction, header http.Header, length int64, isMCP bool) {
	b.dir = dir
	b.left = length
	b.form = formOther
	if isMCP {
		b.form = formOf(header.Get("Content-Type"))
	}
	coding := strings.Join(header.Values("Content-Encoding"), ", ")
	var known bool
	if b.code, known = newDecoder(coding); !known {
		b.form = formOther
		b.coding = coding
	}
}

func formOf(contentType string) form {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(contentType), ";")
	}
	switch media = strings.TrimSpace(media); {
	case media == mcp.MediaEventStream:
		return formEvents
	case media == mcp.MediaJSON, strings.HasSuffix(media, "+json"):
		return formFrame
	}
	return formOther
}

// eventLimit is how much of an event is held until the end, besides the data.
const eventLimit = 4 << 20

// cut takes the next bytes and returns the items to record before the bytes pass, in memory for
// the next call to reuse. If the body is full then, call cut again without bytes.
func (b *body) cut(chunk []byte, end bodyEnd) ([]recorder.Item, bodyEnd) {
	b.items = b.items[:0]
	b.size += int64(len(chunk))
	if b.left >= 0 {
		if b.left -= int64(len(chunk)); b.left <= 0 && end == bodyOpen {
			end = bodyWhole // nothing can follow
		}
	}
	b.done = end != bodyOpen
	chunk = b.decode(chunk, end)
	if b.full() {
		end = bodyOpen
		b.done = false
	}
	switch b.form {
	case formFrame:
		b.frame(chunk, end)
	case formEvents:
		b.events(b.sse.Scan(chunk))
		if end != bodyOpen {
			b.lastEvents()
		} else if b.sse.Held() > eventLimit { // the rest is recorded as opaque bytes
			b.lastEvents()
			info := &store.HTTPInfo{What: store.HTTPBody, Error: fmt.Sprintf("an event has more than %d bytes besides its data", eventLimit)}
			info.SetBody(b.rest)
			b.items = append(b.items, recorder.Item{Kind: store.HTTP, Dir: b.dir, Info: info})
			b.rest = nil
			b.form = formOther
			b.sse = streamable.EventScanner{}
		}
	default:
		b.other(chunk)
	}
	return b.items, end
}

// decode undoes the content coding. If decoding fails, the rest of the body is recorded as it is.
func (b *body) decode(chunk []byte, end bodyEnd) []byte {
	if b.code == nil {
		return chunk
	}
	b.plain = b.plain[:0]
	if cap(b.plain) > 4*streamable.EventLimit {
		b.plain = nil
	}
	err := b.code.feed(chunk, end != bodyOpen, func(data []byte) { b.plain = append(b.plain, data...) })
	if err == nil && (end == bodyOpen || b.code.full) {
		return b.plain
	}
	if b.code.next != nil {
		b.code.halt()
	}
	left := b.code.held
	b.code = nil
	// A body that broke off also lacks the end of the coding, which is no second fault.
	if missing := errors.Is(err, io.ErrUnexpectedEOF); err != nil && (end != bodyCut || !missing || len(left) > 0) {
		b.damaged(left, err)
	}
	return b.plain
}

// full reports whether the decoder has more bytes than one call of cut gives.
func (b *body) full() bool { return b.code != nil && b.code.full }

// damaged records the rest of a body, which cannot be decoded, as opaque bytes.
func (b *body) damaged(left []byte, cause error) {
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
		b.rest = nil
		b.sse = streamable.EventScanner{}
	default:
		b.other(b.plain)
	}
	b.plain = b.plain[:0]
	b.form = formOther
	info := &store.HTTPInfo{What: store.HTTPBody, Error: cause.Error(), Coding: "damaged", Body64: bytes.Clone(left)}
	b.items = append(b.items, recorder.Item{Kind: store.HTTP, Dir: b.dir, Info: info})
}

// frame adds bytes of a body of formFrame.
func (b *body) frame(chunk []byte, end bodyEnd) {
	if len(chunk) == 0 && (!b.begun || end == bodyOpen) {
		return
	}
	b.items = append(b.items, recorder.Item{Kind: store.Frame, Dir: b.dir, Payload: chunk,
		Cont: b.begun, More: end == bodyOpen, Cut: end == bodyCut})
	b.begun = true
}

// other adds bytes outside of frames.
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
	b.items = append(b.items, recorder.Item{Kind: store.HTTP, Dir: b.dir, Info: info})
}

// events adds server-sent events.
func (b *body) events(found []streamable.StreamEvent) {
	for i := range found {
		ev := &found[i]
		frame := recorder.Item{Kind: store.Frame, Dir: b.dir, Payload: ev.Data, Cont: ev.Cont, More: ev.More}
		if ev.Meta == nil {
			b.items = append(b.items, frame)
			continue
		}
		info := &store.HTTPInfo{What: store.HTTPEvent, SSE: httpevent.SSE(ev.Meta, ev.Stray)}
		about := recorder.Item{Kind: store.HTTP, Dir: b.dir, Info: info, About: ev.Cont}
		switch message := streamable.IsMessageEvent(info.SSE.Event); {
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

// lastEvents ends the stream: it adds the last events, and keeps the rest.
func (b *body) lastEvents() {
	found, rest := b.sse.End()
	b.events(found)
	if b.sse.Open() {
		b.items = append(b.items, recorder.Item{Kind: store.Frame, Dir: b.dir, Cont: true, Cut: true})
	}
	b.rest = rest
}
