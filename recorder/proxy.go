package recorder

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/streamable"
)

// ProxyOptions say what a proxy is in front of. Target must be set.
type ProxyOptions struct {
	// Target is the MCP endpoint's URL. A request for "/" goes there; any other goes to
	// the same path on the target's host.
	Target *url.URL
	// Origins are web origins that may use the proxy besides those of this machine:
	// "https://app.example".
	Origins []string
	// Transport reaches the target; nil: one that follows the environment's proxies, and
	// gives clients what [OwnConnections] says.
	Transport http.RoundTripper
	// Refused is told, once each, why a web page may not use the proxy; it may be nil.
	Refused func(why string)
	// Failed is called with the reason when the target gave no answer, or not all of one; it
	// may be nil. It is called once for one reason until the target has answered. The client
	// sees what it would see without the proxy: a connection that ends, with no byte or in
	// the middle.
	Failed func(why string)
}

// Proxy returns a reverse proxy that records what passes. It sends a request on as it
// came, but for its host and what concerns one connection only, and passes back what
// the target answers, redirects too.
func (t *HTTPTap) Proxy(o ProxyOptions) http.Handler {
	if o.Transport == nil {
		o.Transport = newPerConnection()
	}
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	if o.Failed == nil {
		o.Failed = func(string) {}
	}
	where := url.URL{Scheme: o.Target.Scheme, Host: o.Target.Host, Path: o.Target.Path}
	return &proxy{tap: t, o: o, target: where.String()}
}

type proxy struct {
	tap     *HTTPTap
	o       ProxyOptions
	target  string // its URL without secrets, as in messages
	mu      sync.Mutex
	refused []string // why; the first ones
	failing string   // why the target failed, told last; "": it has answered since
	told    int      // how often it was told
}

// buffers are for the bodies of answers.
var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refusal := streamable.MayAsk(r, p.o.Origins); refusal != "" {
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
		p.pass(w, r, out, x, nil)
		return
	}
	// The server closes it when the answer is out: to close is to wait for its end.
	body := &uploadBody{ReadCloser: io.NopCloser(out.Body), x: x}
	out.Body = body
	pass := func() {
		defer finish(w, r, body) // who reads it may outlive the round trip
		answered := false
		defer func() {
			if !answered && r.ProtoMajor == 1 {
				body.giveUp(w)
			}
		}()
		p.pass(w, r, out, x, body)
		answered = true
	}
	if server, ok := w.(readEnder); ok && isShort(out) {
		ahead(server, out, body, pass)
		return
	}
	pass()
}

// pass sends a request on, and passes the answer back; sent is the request's body.
func (p *proxy) pass(w http.ResponseWriter, r, out *http.Request, x *exchange, sent *uploadBody) {
	before := &interim{w: w}
	resp, err := p.o.Transport.RoundTrip(out.WithContext(x.traced(out.Context(), before.pass)))
	before.end()
	if err != nil {
		x.failed(r.Context(), store.HTTPNone, err)
		if r.Context().Err() == nil {
			p.failed(fmt.Sprintf("no answer from %s: %v", p.target, rootOf(err)))
		}
		panic(http.ErrAbortHandler) // an answer of the proxy's own would hide what happened
	}
	// The head of an answer that announces its body goes on with the first of it.
	length := lengthOf(resp)
	together := length > 0 && formOf(resp.Header.Get("Content-Type")) != formEvents
	x.respond(resp.StatusCode, resp.Header, length, together)
	tapped := &downloadBody{ReadCloser: resp.Body, x: x, ctx: r.Context()}
	defer tapped.Close()
	defer func() { // pass panics when the answer breaks off
		if tapped.broken != nil {
			p.failed(fmt.Sprintf("the answer of %s broke off: %v", p.target, tapped.broken))
		} else {
			p.answered()
		}
	}()
	source := p.behind(r, resp, tapped)
	copyHead(w.Header(), resp) // without a length, if what is passed on has another
	part(w, r, sent)
	relay(w, resp, source, together)
	if x.unread() > 0 { // the rest of the request must not hold the answer back
		_ = http.NewResponseController(w).Flush()
	}
}

// relay passes an answer on whose headers are copied: its head before the body, or together
// with the first of it. It does not return when that fails, because the client must not take
// what came for the whole.
func relay(w http.ResponseWriter, resp *http.Response, body io.Reader, together bool) {
	flush := http.NewResponseController(w)
	if !together {
		w.WriteHeader(resp.StatusCode)
		if resp.Body != http.NoBody {
			_ = flush.Flush()
		}
	}
	buf := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if together {
			w.WriteHeader(resp.StatusCode)
			together = false
		}
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		if err == io.EOF {
			break
		}
		if n > 0 || err != nil {
			_ = flush.Flush()
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	copyTrailer(w.Header(), resp)
}

// refuse tells why somebody may not use the proxy, once; a page that makes up ever new
// names is not told of for ever.
func (p *proxy) refuse(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < maxTold && !slices.Contains(p.refused, why) {
		p.refused = append(p.refused, why)
		p.o.Refused(why)
	}
}

// maxTold is how often Failed is called, and how many reasons Refused gets. What they write
// may go to a pipe that nobody reads: it must not fill it and hold up an exchange.
const maxTold = 20

// failed calls Failed if the reason is news.
func (p *proxy) failed(why string) {
	p.mu.Lock()
	news := why != p.failing && p.told < maxTold
	if p.failing = why; news {
		p.told++
	}
	last := p.told == maxTold
	p.mu.Unlock()
	if !news {
		return
	}
	if last {
		why += "; nothing more is said of such failures, the recordings have them"
	}
	p.o.Failed(why)
}

// answered notes that the target has given a whole answer.
func (p *proxy) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = ""
}

// part has the connection end with the answer when that comes before the request's end.
// net/http would look for that end behind the handler, and take what is left for the
// next request, or panic at it (go.dev/issue/68560).
func part(w http.ResponseWriter, r *http.Request, sent *uploadBody) {
	if sent != nil && r.ProtoMajor == 1 && !sent.ended.Load() {
		w.Header().Set("Connection", "close")
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

// behind returns what is passed on of a body: of the stream of an HTTP+SSE session one that
// keeps the client behind the proxy.
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
