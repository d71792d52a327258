package recorder

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/mcprec/mcprec/recorder/redact"
	"github.com/mcprec/mcprec/store"
)

// Cleaner takes secrets out of events that were recorded already. It belongs to one
// session, whose events it is given in order.
type Cleaner struct {
	recorder Recorder
	stderr   *redact.Stream
	lines    map[string]*redact.Stream // of directions: what is no JSON may go on
}

// NewCleaner returns a Cleaner.
func NewCleaner(r *redact.Redactor) *Cleaner {
	return &Cleaner{recorder: Recorder{redactor: r}, stderr: r.Stream(true), lines: map[string]*redact.Stream{}}
}

// Clean returns the event without its secrets; itself if there are none.
func (c *Cleaner) Clean(e store.Event) store.Event {
	var n uint64
	switch e.Kind {
	case store.Opened:
		return c.opened(e)
	case store.Frame:
		name := fmt.Sprint(e.Dir, e.Stream)
		if c.lines[name] == nil || e.Stream != 0 {
			c.lines[name] = c.recorder.stream(false)
		}
		e.Payload, n = next(c.lines[name], e.Payload, false)
	case store.Stderr:
		e.Payload, n = next(c.stderr, e.Payload, false)
	case store.HTTP:
		e.Payload, n = c.http(e)
	default:
		e.Payload, n = c.recorder.clean(e.Payload)
	}
	e.Redacted += n
	return e
}

// opened cleans a header. The count stands in it, so that it still is the first line
// of a fixture.
func (c *Cleaner) opened(e store.Event) store.Event {
	payload, n := c.recorder.clean(e.Payload)
	if n == 0 {
		return e
	}
	e.Payload = payload
	if h, err := store.ParseHeader(payload); err == nil {
		count := fmt.Appendf(nil, `"redacted":%d`, h.Redacted)
		if i := bytes.LastIndex(payload, count); h.Redacted > 0 && i >= 0 {
			payload = bytes.Clone(payload[:i])
			payload = append(fmt.Appendf(payload, `"redacted":%d`, h.Redacted+n), e.Payload[i+len(count):]...)
		} else {
			payload = fmt.Appendf(bytes.Clone(payload[:len(payload)-1]), `,"redacted":%d}`, n)
		}
		e.Payload = payload
	}
	return e
}

// http cleans what HTTP says around frames.
func (c *Cleaner) http(e store.Event) ([]byte, uint64) {
	info, err := store.DecodePayload[store.HTTPInfo](e)
	if err != nil {
		return c.recorder.clean(e.Payload)
	}
	var n uint64
	if info.What == store.HTTPBody && info.Coding == "" {
		body := info.Body64
		if info.Body != "" {
			body = []byte(info.Body)
		}
		body, n = c.recorder.clean(body)
		info.SetBody(body)
	}
	n += c.dropIn(&info)
	if n += c.recorder.inInfo(&info); n == 0 {
		return e.Payload, 0
	}
	return store.EncodePayload(&info), n
}

// dropIn drops what is never recorded of headers and of the path: others may have.
func (c *Cleaner) dropIn(info *store.HTTPInfo) (n uint64) {
	found := func(where string) {
		n++
		c.recorder.redactor.Found(redact.Finding{Rule: "header", Path: where})
	}
	if path := dropInURL(info.Path); path != info.Path {
		info.Path = path
		found("/path")
	}
	for name, values := range info.Header {
		without := dropperOf(http.CanonicalHeaderKey(name))
		if without == nil {
			continue
		}
		for i, v := range values {
			if values[i] = without(v); values[i] != v {
				found("/header/" + name)
			}
		}
	}
	return n
}
