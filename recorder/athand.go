package recorder

import (
	"net/http"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// RequestInfo returns what a tap records of the head of a request.
func RequestInfo(method, path string, h http.Header) store.HTTPInfo {
	return store.HTTPInfo{What: store.HTTPRequest, Method: method, Path: path, Header: keepHeader(h)}
}

// ResponseInfo returns what a tap records of the head of a response.
func ResponseInfo(status int, h http.Header) store.HTTPInfo {
	return store.HTTPInfo{What: store.HTTPResponse, Status: status, Header: keepHeader(h)}
}

// BodyEvents returns the events that a tap records of a body of a content type that is
// at hand as a whole, without a Seq, a time and a stream.
func BodyEvents(dir transport.Direction, contentType string, text []byte) []store.Event {
	b := body{dir: dir, form: formOf(contentType), left: -1}
	items, _ := b.cut(text, bodyWhole)
	if len(b.rest) > 0 {
		items = append(items, item{kind: store.HTTP, dir: dir, info: restOf(b.rest)})
	}
	var events []store.Event
	for _, it := range items {
		e := store.Event{Kind: it.kind, Dir: dir, Payload: it.payload}
		if it.info != nil {
			e.Payload = store.EncodePayload(*it.info)
		}
		events = append(events, e)
	}
	return events
}

// restOf tells of the end of a stream that is no event.
func restOf(rest []byte) *store.HTTPInfo {
	info := &store.HTTPInfo{What: store.HTTPBody}
	info.SetBody(rest)
	return info
}
