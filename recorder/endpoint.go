package recorder

import (
	"bytes"
	"io"
	"net/url"

	"github.com/mcprec/mcprec/transport/streamable"
)

// endpointBody is the stream of a server of HTTP+SSE, whose first event says where
// messages go. A URL that leads the client past the proxy is turned into one that does
// not. Once that event is through, or another one, bytes pass as they are.
type endpointBody struct {
	io.ReadCloser
	target *url.URL // of the stream
	client *url.URL // the same as the client asked for it
	held   []byte   // the beginning of an event
	ready  []byte
	err    error
	done   bool
}

func (b *endpointBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && !b.done {
		n, err := b.ReadCloser.Read(p)
		b.held = append(b.held, p[:n]...)
		for b.event() {
		}
		if b.err = err; err != nil || len(b.held) > streamable.EventLimit {
			b.done = true
		}
		if b.done {
			b.ready, b.held = append(b.ready, b.held...), nil
		}
	}
	if len(b.ready) > 0 {
		n := copy(p, b.ready)
		b.ready = b.ready[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

// event moves one event on, if a whole one is held, and reports whether to look for
// another.
func (b *endpointBody) event() bool {
	size := eventSize(b.held)
	if size == 0 {
		return false
	}
	whole := b.held[:size]
	b.held = b.held[size:]
	info, comment := sseInfo(whole, 0), true
	for text, end := range streamable.EventLines(whole) {
		comment = comment && (len(text) == 0 || text[0] == ':')
		if n := streamable.DataLine(text); n > 0 && info.Event == "endpoint" {
			text = append(text[:n:n], b.behind(string(text[n:]))...)
		}
		b.ready = append(append(b.ready, text...), end...)
	}
	b.done = !comment
	return comment
}

// eventSize returns the length of the first event of b, or of a comment before it, which
// is not held back: it may be all that comes for a long time. 0: none is whole.
func eventSize(b []byte) int {
	size := 0
	for text, end := range streamable.EventLines(b) {
		comment := size == 0 && len(end) > 0 && bytes.HasPrefix(text, []byte{':'})
		if size += len(text) + len(end); comment || len(text) == 0 {
			return size
		}
	}
	return 0
}

// behind returns the endpoint as the client must know it.
func (b *endpointBody) behind(endpoint string) string {
	ref, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	u := b.target.ResolveReference(ref)
	switch {
	case u.Scheme != b.target.Scheme || u.Host != b.target.Host:
		return endpoint
	case ref.Host != "":
		return b.client.Scheme + "://" + b.client.Host + u.RequestURI()
	case b.client.ResolveReference(ref).Path != u.Path:
		return u.RequestURI()
	}
	return endpoint
}
