package httptap

import (
	"bytes"
	"io"
	"net/http"
	"net/url"

	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// behindProxy returns the body to pass on: the stream of an HTTP+SSE session is wrapped, to lead
// its endpoint through the proxy, and loses its length.
func behindProxy(from *http.Request, resp *http.Response, body io.ReadCloser) io.Reader {
	if from.Method != http.MethodGet || from.Header.Get(mcp.HeaderSessionID) != "" || resp.Header.Get("Content-Encoding") != "" ||
		formOf(resp.Header.Get("Content-Type")) != formEvents {
		return body
	}
	client := url.URL{Scheme: "http", Host: from.Host, Path: from.URL.Path}
	if from.TLS != nil {
		client.Scheme = "https"
	}
	delete(resp.Header, "Content-Length")
	return &endpointBody{ReadCloser: body, target: resp.Request.URL, client: &client}
}

// endpointBody is the stream of a server of HTTP+SSE, whose first event names the URL for
// messages. A URL that leads past the proxy is replaced. After the first event bytes pass as
// they are.
type endpointBody struct {
	io.ReadCloser
	target *url.URL // the URL of the stream
	client *url.URL // the same as the client knows it
	held   []byte   // the beginning of an event
	ready  []byte   // bytes to pass on
	err    error
	done   bool // the endpoint has passed
}

func (b *endpointBody) Read(data []byte) (int, error) {
	for len(b.ready) == 0 && !b.done {
		n, err := b.ReadCloser.Read(data)
		b.held = append(b.held, data[:n]...)
		for b.event() {
		}
		b.err = err
		if err != nil || len(b.held) > streamable.EventLimit {
			b.done = true
		}
		if b.done {
			b.ready = append(b.ready, b.held...)
			b.held = nil
		}
	}
	if len(b.ready) > 0 {
		n := copy(data, b.ready)
		b.ready = b.ready[n:]
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(data)
}

// event makes the first held event ready if it is whole, and reports whether to look for another.
func (b *endpointBody) event() bool {
	size := eventSize(b.held)
	if size == 0 {
		return false
	}
	whole := b.held[:size]
	b.held = b.held[size:]
	info := httpevent.SSE(whole, 0)
	comment := true
	for text, end := range streamable.EventLines(whole) {
		comment = comment && (len(text) == 0 || text[0] == ':')
		if n := streamable.DataLine(text); n > 0 && info.Event == "endpoint" {
			text = append(text[:n:n], b.throughProxy(string(text[n:]))...)
		}
		b.ready = append(append(b.ready, text...), end...)
	}
	b.done = !comment
	return comment
}

// eventSize returns the length of the first event of data, or of a comment in front; 0: neither is
// whole. A comment is not held back, because the next event may take a long time.
func eventSize(data []byte) int {
	size := 0
	for text, end := range streamable.EventLines(data) {
		comment := size == 0 && len(end) > 0 && bytes.HasPrefix(text, []byte{':'})
		size += len(text) + len(end)
		if comment || len(text) == 0 {
			return size
		}
	}
	return 0
}

// throughProxy returns the endpoint as the client must know it.
func (b *endpointBody) throughProxy(endpoint string) string {
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
