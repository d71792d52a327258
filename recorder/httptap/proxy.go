package httptap

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/streamable"
)

// ProxyOptions configure [Tap.Proxy]. Target must be set.
type ProxyOptions struct {
	// Target is the MCP endpoint's URL. A request for "/" goes there. One for a path below
	// the target's goes to the same path on its host, as does one for metadata (/.well-known/)
	// or a login (/authorize, /token, /register), or for a path that the target has named to
	// its client. Any other path is refused, unless the target's is "/".
	Target *url.URL
	// Origins are web origins that may use the proxy besides those of this machine:
	// "https://app.example".
	Origins []string
	// Transport reaches the target. If it is nil, the environment's proxies are used, and
	// each client has connections of its own where the server has [OwnConnections].
	Transport http.RoundTripper
	// Refused, if not nil, is called once for each reason why a request was not passed on.
	Refused func(Refusal)
	// Failed, if not nil, is called with the reason when the target gave no response, or only
	// a part of one; once for the same reason until the target has responded. As without the
	// proxy, the client's connection is closed.
	Failed func(why string)
}

// proxy is the tap between client and server.
type proxy struct {
	tap    *Tap
	o      ProxyOptions
	target string // the target's URL without its secrets, for messages

	mu      sync.Mutex
	refused []string // the reasons that Refused was called with
	failing string   // the newest reason of Failed; "" once the target has responded
	failed  int      // how often Failed was called
}

// maxReports is how often Failed and Refused are called. They may write to a pipe that nobody
// reads: if the pipe were filled, an exchange would wait.
const maxReports = 20

// refusedTimeout is how long the rest of a refused request may take.
const refusedTimeout = 10 * time.Second

// bufferSize is how much of a body is read at once.
const bufferSize = 64 << 10

// buffers are memory for the bodies of responses.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refusal := p.refusal(r); refusal != nil {
		p.reportRefusal(*refusal)
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedTimeout)) // the server reads the rest of the body
		http.Error(w, "mcprec: "+refusal.Why, refusal.Status)
		return
	}
	if to := upgradeOf(r); to != "" {
		why := "does not pass on an upgrade to " + to + ": MCP is spoken over HTTP"
		x := p.tap.begin(r)
		x.fail(store.HTTPNone, "mcprec "+why)
		x.upload(nil, bodyCut)
		w.Header().Set("Connection", "close")
		http.Error(w, "mcprec: "+why, http.StatusNotImplemented)
		return
	}
	// Otherwise the server closes the request's body when the response begins, and a
	// transport that still reads the body cuts the response.
	_ = http.NewResponseController(w).EnableFullDuplex()
	out := p.outgoing(r)
	x := p.tap.begin(out)
	if out.Body == nil {
		p.pass(w, r, out, x, nil)
		return
	}
	// The server closes its body itself behind the response; closing it here would wait for
	// the rest of the request.
	body := &uploadBody{ReadCloser: io.NopCloser(out.Body), x: x}
	out.Body = body
	pass := func() {
		defer finish(w, r, body) // the transport may read it for longer than the round trip
		responded := false
		defer func() {
			if !responded && r.ProtoMajor == 1 {
				body.giveUp(w)
			}
		}()
		p.pass(w, r, out, x, body)
		responded = true
	}
	short := out.ContentLength > 0 && out.ContentLength <= streamable.EventLimit && out.Header.Get("Expect") == ""
	if server, ok := w.(readEnder); ok && short {
		readAhead(server, out, body, pass)
		return
	}
	pass()
}

// pass sends a request on, and passes the response back; sent is the request's body.
func (p *proxy) pass(w http.ResponseWriter, r, out *http.Request, exchange *exchange, sent *uploadBody) {
	head := w.Header()
	var mu sync.Mutex // guards responded: an interim response may come late
	responded := false
	resp, err := p.o.Transport.RoundTrip(out.WithContext(exchange.traced(out.Context(), func(status int, header http.Header) {
		mu.Lock()
		defer mu.Unlock()
		if !responded {
			maps.Copy(head, header)
			w.WriteHeader(status)
			clear(head)
		}
	})))
	mu.Lock()
	responded = true
	mu.Unlock()
	if err != nil {
		exchange.failRoundTrip(r.Context(), err)
		if r.Context().Err() == nil {
			p.reportFailure(fmt.Sprintf("no answer from %s: %v", p.target, store.RootCause(err)))
		}
		panic(http.ErrAbortHandler) // a response of the proxy's own would hide what happened
	}
	// A head that announces a body of known length passes together with the first bytes of the body.
	length := lengthOf(resp)
	together := length > 0 && formOf(resp.Header.Get("Content-Type")) != formEvents
	exchange.respond(resp.StatusCode, resp.Header, length, together)
	p.follow(out.URL, resp.Header.Get("Location"))
	tapped := &downloadBody{ReadCloser: resp.Body, x: exchange, ctx: r.Context()}
	defer tapped.Close()
	defer func() { // relay panics when the response breaks off
		if tapped.broken != nil {
			p.reportFailure(fmt.Sprintf("the answer of %s broke off: %v", p.target, tapped.broken))
		} else {
			p.mu.Lock()
			p.failing = ""
			p.mu.Unlock()
		}
	}()
	source := behindProxy(r, resp, tapped) // may remove the length
	copyHeader(head, resp.Header)
	for _, name := range []string{"Content-Type", "Date"} {
		if _, has := head[name]; !has {
			head[name] = nil // or the server adds its own
		}
	}
	for name := range resp.Trailer {
		head.Add("Trailer", name)
	}
	if sent != nil && r.ProtoMajor == 1 && !sent.ended.Load() {
		// The response came before the end of the request. net/http would search for that
		// end behind the handler, and take the rest for the next request, or panic
		// (go.dev/issue/68560): so the connection ends with the response.
		head.Set("Connection", "close")
	}
	relay(w, resp, source, together)
	if exchange.unread() > 0 { // the rest of the request must not hold the response back
		_ = http.NewResponseController(w).Flush()
	}
}

// relay passes a response on whose headers are copied: its head before the body, or together
// with the first bytes of it. If that fails it panics, because the client must not take a part
// for the whole.
func relay(w http.ResponseWriter, resp *http.Response, body io.Reader, together bool) {
	flush := http.NewResponseController(w)
	if !together {
		w.WriteHeader(resp.StatusCode)
		if resp.Body != http.NoBody {
			_ = flush.Flush()
		}
	}
	buf := buffers.Get().(*[bufferSize]byte)
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
	announced := w.Header()["Trailer"]
	for name, values := range resp.Trailer {
		if !slices.Contains(announced, name) {
			name = http.TrailerPrefix + name
		}
		w.Header()[name] = values
	}
}

// reportRefusal calls Refused with a new reason.
func (p *proxy) reportRefusal(refusal Refusal) {
	p.mu.Lock()
	isNew := len(p.refused) < maxReports && !slices.Contains(p.refused, refusal.Why) // a page may make up ever new names
	if isNew {
		p.refused = append(p.refused, refusal.Why)
	}
	p.mu.Unlock()
	if isNew {
		p.o.Refused(refusal)
	}
}

// reportFailure calls Failed with a new reason.
func (p *proxy) reportFailure(why string) {
	p.mu.Lock()
	isNew := why != p.failing && p.failed < maxReports
	p.failing = why
	if isNew {
		p.failed++
	}
	last := p.failed == maxReports
	p.mu.Unlock()
	if !isNew {
		return
	}
	if last {
		why += "; nothing more is said of such failures, the recordings have them"
	}
	p.o.Failed(why)
}

// outgoing returns the request for the target.
func (p *proxy) outgoing(r *http.Request) *http.Request {
	target, u := p.o.Target, *r.URL
	u.Scheme = target.Scheme
	u.Host = target.Host
	u.User = target.User
	if u.Path == "/" || u.Path == "" {
		u.Path = target.Path
		u.RawPath = target.RawPath
	}
	if u.Path == target.Path && target.RawQuery != "" {
		u.RawQuery = strings.TrimSuffix(target.RawQuery+"&"+u.RawQuery, "&")
	}
	out := r.WithContext(r.Context())
	out.URL = &u
	out.Host = target.Host
	out.RequestURI = ""
	out.Close = false
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

// hopHeader are the headers that concern one connection.
var hopHeader = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// copyHeader copies the headers that concern more than one connection, and shares the values.
func copyHeader(to, from http.Header) {
	maps.Copy(to, from)
	for _, list := range from["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			delete(to, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for _, name := range hopHeader {
		delete(to, name)
	}
}

// offered are protocols to which a client offers to change without insisting.
var offered = []string{"h2c", "tls/1.0", "tls/1.1", "tls/1.2", "tls/1.3"}

// upgradeOf returns the protocol to which a request wants to change, or "".
func upgradeOf(r *http.Request) string {
	asks := slices.ContainsFunc(r.Header["Connection"], func(v string) bool {
		return slices.ContainsFunc(strings.Split(v, ","), func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), "upgrade") })
	})
	to := strings.Join(r.Header["Upgrade"], ", ")
	if !asks || slices.Contains(offered, strings.ToLower(to)) {
		return ""
	}
	return to
}
