package streamable

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
)

// readEvents delivers the messages of a stream until it ends.
func (x *clientExchange) readEvents(body io.Reader) {
	var s EventScanner
	var data []byte
	first := true
	take := func(found []StreamEvent) {
		for _, ev := range found {
			if data = append(data, ev.Data...); ev.More {
				continue
			}
			if first {
				ev.Meta = bytes.TrimPrefix(ev.Meta, byteOrder)
			}
			x.event(ev.Meta, data)
			data, first = nil, false
		}
	}
	chunk := make([]byte, 16<<10)
	for {
		n, err := body.Read(chunk)
		take(s.Scan(chunk[:n]))
		if err != nil {
			found, _ := s.End() // a last CR may be a line end of its own
			take(found)
			return
		}
	}
}

// event takes an event in. Its data is the exchange's from here on.
func (x *clientExchange) event(meta, data []byte) {
	kind := ""
	for text := range EventLines(meta) {
		name, value, _ := strings.Cut(string(text), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "event":
			kind = value
		case "id":
			x.lastID = value
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				x.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
	x.retried = 0
	if kind == "endpoint" && x.endpoint != nil {
		x.address(string(data))
	}
	if len(data) > 0 && (kind == "" || kind == "message") {
		x.got(data)
	}
	if x.lastID != "" {
		x.resumable.Store(true)
		x.cut()
	}
}
