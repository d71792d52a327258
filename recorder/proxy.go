package recorder

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// ProxyOptions say what a proxy is in front of. Target must be set.
type ProxyOptions struct {
	// Target is the MCP endpoint's URL. A request for "/" goes there; any other goes to
	// the same path on the target's host.
	Target *url.URL
	// Origins are web origins that may use the proxy besides those of this machine:
	// "https://app.example".
	Origins []string
	// Transport reaches the target; nil: one that follows the environment's proxies.
	Transport http.RoundTripper
	// Refused is told, once each, why a web page may not use the proxy; it may be nil.
	Refused func(why string)
}

// Proxy returns a reverse proxy that records what passes. It sends a request on as it
// came, but for its host and what concerns one connection only, and passes back what
// the target answers, redirects too.
func (t *HTTPTap) Proxy(o ProxyOptions) http.Handler {
	if o.Transport == nil {
		tr := http.DefaultTransport.(*http.Transport).Clone()
		tr.DisableCompression = true // it is the client who asks for that
		tr.MaxIdleConns, tr.MaxIdleConnsPerHost = 0, 512
		tr.ReadBufferSize, tr.WriteBufferSize = 32<<10, 32<<10
		o.Transport = tr
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	return &proxy{tap: t, o: o}
}

type proxy struct {
	tap     *HTTPTap
	o       ProxyOptions
	mu      sync.Mutex
	refused []string  // why; the first ones
	buffers sync.Pool // of *[]byte
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refusal := transport.MayAsk(r, p.o.Origins); refusal != "" {
		p.refuse(refusal)
		http.Error(w, "mcprec: "+refusal, http.StatusForbidden)
		return
	}
	if to := upgradeOf(r); to != "" {
		p.tap.refuseUpgrade(w, r, to)
		return
	}
	// Without this the server closes the request's body when the response begins, and
	// a transport that still looks for the body's end cuts the response.
	_ = http.NewResponseController(w).EnableFullDuplex()
	out := p.outgoing(r)
	x := p.tap.begin(out)
	if out.Body == nil {
		p.pass(w, r, out, x)
		return
	}
	// The server closes it when the answer is out: to close is to wait for its end.
	body := &uploadBody{ReadCloser: io.NopCloser(out.Body), x: x}
	out.Body = body
	pass := func() {
		defer finish(body) // who reads it may outlive the round trip
		p.pass(w, r, out, x)
	}
	if server, ok := w.(readEnder); ok && isShort(out) {
		ahead(server, out, body, pass)
		return
	}
	pass()
}

// pass sends a request on, and passes the answer back.
func (p *proxy) pass(w http.ResponseWriter, r, out *http.Request, x *exchange) {
	before := &interim{w: w}
	resp, err := p.o.Transport.RoundTrip(out.WithContext(x.traced(out.Context(), before.pass)))
	before.end()
	if err != nil {
		x.failed(r.Context(), store.HTTPNone, err)
		p.failed(w, r, err)
		return
	}
	// The head of an answer that announces its body goes on with the first of it.
	length := lengthOf(resp)
	together := length > 0 && formOf(resp.Header.Get("Content-Type")) != formEvents
	x.respond(resp.StatusCode, resp.Header, length, together)
	tapped := &downloadBody{ReadCloser: resp.Body, x: x, ctx: r.Context()}
	defer tapped.Close()
	p.answer(w, resp, p.behind(r, resp, tapped), together)
	if x.unread() > 0 { // the rest of the request must not hold the answer back
		_ = http.NewResponseController(w).Flush()
	}
}

// refuse tells why somebody may not use the proxy, once; a page that makes up ever new
// names is not told of for ever.
func (p *proxy) refuse(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < 20 && !slices.Contains(p.refused, why) {
		p.refused = append(p.refused, why)
		p.o.Refused(why)
	}
}

// moment is how long is waited for bytes of a request that most clients send together
// with those before them.
const moment = 10 * time.Millisecond

// readEnder is a ResponseWriter that can end a read of the request.
type readEnder interface {
	SetReadDeadline(deadline time.Time) error
}

// isShort reports whether a body is short, and its client said so and waits for nothing
// before it sends it.
func isShort(out *http.Request) bool {
	return out.ContentLength > 0 && out.ContentLength <= transport.EventLimit && out.Header.Get("Expect") == ""
}

// ahead reads what has come of a short body before it passes the request on. If that is
// all of it, the transport can send it together with the head, and once more if it finds
// its connection closed. A client may also send nothing but the head and wait for what
// the server says: after a moment the request is passed on beside the read. That costs a
// goroutine only then, for waking one takes a tenth of what a short exchange does.
func ahead(server readEnder, out *http.Request, body *uploadBody, pass func()) {
	first := &firstRead{came: make(chan struct{})}
	out.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(first, body), body}
	passed := make(chan any, 1)
	beside := time.AfterFunc(moment, func() {
		defer func() {
			fault := recover()
			if !first.over() { // nobody needs it any more
				_ = server.SetReadDeadline(time.Now())
			}
			passed <- fault
		}()
		pass()
	})
	buf := make([]byte, out.ContentLength)
	n, err := body.Read(buf)
	first.bytes, first.err = buf[:n], err
	close(first.came)
	if !beside.Stop() {
		if fault := <-passed; fault != nil {
			panic(fault)
		}
		return
	}
	if n == len(buf) {
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf)), nil }
		out.Body, _ = out.GetBody()
	}
	pass()
}

// finish reads the rest of the request for the log. A client may wait for the end of
// the answer before it sends that: it is not made to wait for long.
func finish(body *uploadBody) {
	if body.x.unread() <= 0 {
		_ = body.Close()
		return
	}
	over := make(chan struct{})
	go func() { // it ends as what reads ahead does
		_ = body.Close()
		close(over)
	}()
	within(over)
}

// within waits a moment for something.
func within(done <-chan struct{}) bool {
	patience := time.NewTimer(moment)
	defer patience.Stop()
	select {
	case <-done:
		return true
	case <-patience.C:
		return false
	}
}

// firstRead is the first read of a body, which may still be under way.
type firstRead struct {
	came  chan struct{}
	bytes []byte
	err   error
}

// over reports whether it has ended.
func (f *firstRead) over() bool {
	select {
	case <-f.came:
		return true
	default:
		return false
	}
}

// Read gives what the first read got.
func (f *firstRead) Read(p []byte) (n int, err error) {
	<-f.came
	n = copy(p, f.bytes)
	if f.bytes = f.bytes[n:]; len(f.bytes) > 0 {
		return n, nil
	}
	if f.err == nil {
		return n, io.EOF // the rest is to be read of the body
	}
	return n, f.err
}

// answer passes a response on. It does not return when that fails: the client must not
// take what came for the whole.
func (p *proxy) answer(w http.ResponseWriter, resp *http.Response, body io.Reader, together bool) {
	buf, _ := p.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
		*buf = make([]byte, readSize)
	}
	defer p.buffers.Put(buf)
	copyHead(w.Header(), resp)
	n, err := 0, error(nil)
	if together {
		n, err = body.Read(*buf)
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w)
	if !together && resp.Body != http.NoBody {
		_ = flush.Flush()
	}
	for {
		if _, werr := w.Write((*buf)[:n]); n > 0 && werr != nil {
			panic(http.ErrAbortHandler)
		}
		if err == io.EOF {
			copyTrailer(w.Header(), resp)
			return
		}
		if n > 0 || err != nil {
			_ = flush.Flush()
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		n, err = body.Read(*buf)
	}
}

// hopHeader are the headers that concern one connection.
var hopHeader = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// copyHeader copies what does not concern one connection only. The values are shared.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
	for _, list := range from["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			delete(to, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for _, name := range hopHeader {
		delete(to, name)
	}
}

// copyHead copies a response's headers; the server must not add some of its own.
func copyHead(to http.Header, resp *http.Response) {
	copyHeader(to, resp.Header)
	for _, name := range []string{"Content-Type", "Date"} {
		if _, has := to[name]; !has {
			to[name] = nil
		}
	}
	for name := range resp.Trailer {
		to.Add("Trailer", name)
	}
}

// copyTrailer copies what came after the body, announced or not.
func copyTrailer(to http.Header, resp *http.Response) {
	announced := to["Trailer"]
	for name, values := range resp.Trailer {
		if !slices.Contains(announced, name) {
			name = http.TrailerPrefix + name
		}
		to[name] = values
	}
}

// outgoing returns the request for the target.
func (p *proxy) outgoing(r *http.Request) *http.Request {
	target, u := p.o.Target, *r.URL
	u.Scheme, u.Host, u.User = target.Scheme, target.Host, target.User
	if u.Path == "/" || u.Path == "" {
		u.Path, u.RawPath = target.Path, target.RawPath
	}
	if u.Path == target.Path && target.RawQuery != "" {
		u.RawQuery = strings.TrimSuffix(target.RawQuery+"&"+u.RawQuery, "&")
	}
	out := r.WithContext(r.Context())
	out.URL, out.Host, out.RequestURI, out.Close = &u, target.Host, "", false
	out.Header = make(http.Header, len(r.Header)+1)
	copyHeader(out.Header, r.Header)
	if slices.ContainsFunc(r.Header["Te"], func(v string) bool { return strings.Contains(v, "trailers") }) {
		out.Header.Set("Te", "trailers")
	}
	if _, has := out.Header["User-Agent"]; !has {
		out.Header["User-Agent"] = []string{""} // or the transport puts its own
	}
	if r.ContentLength == 0 {
		out.Body = nil
	}
	return out
}

// failed answers for a target that did not.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // nobody is there to read it
		panic(http.ErrAbortHandler)
	}
	http.Error(w, fmt.Sprintf("mcprec: no answer from %s: %v", dropInURL(p.o.Target.String()), rootOf(err)), http.StatusBadGateway)
}

// behind keeps the client of an HTTP+SSE session behind the proxy.
func (p *proxy) behind(from *http.Request, resp *http.Response, body io.ReadCloser) io.Reader {
	if from.Method != http.MethodGet || from.Header.Get("Mcp-Session-Id") != "" || resp.Header.Get("Content-Encoding") != "" ||
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
