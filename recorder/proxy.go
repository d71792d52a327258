package recorder

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
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
	// Refused is told, once each, of a web origin that may not use the proxy; it may be
	// nil.
	Refused func(origin string)
}

// Proxy returns a reverse proxy that records what passes.
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
	p := &proxy{o: o}
	p.reverse = httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      t.RoundTripper(o.Transport),
		FlushInterval:  -1,
		BufferPool:     &buffers{},
		ModifyResponse: p.modify,
		ErrorHandler:   p.failed,
	}
	return p
}

type proxy struct {
	o       ProxyOptions
	reverse httputil.ReverseProxy
	refused sync.Map
}

// buffers are what the bodies are copied with.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, readSize)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" && !p.allowed(origin) {
		if _, before := p.refused.LoadOrStore(origin, true); !before {
			p.o.Refused(origin)
		}
		http.Error(w, "mcprec: web pages of "+origin+" may not use this proxy", http.StatusForbidden)
		return
	}
	// Without this the server closes the request's body when the response begins, and
	// a transport that still looks for the body's end cuts the response.
	_ = http.NewResponseController(w).EnableFullDuplex()
	if r.Method == http.MethodGet {
		r = r.WithContext(context.WithValue(r.Context(), fromKey{}, r))
	}
	p.reverse.ServeHTTP(w, r)
}

// allowed reports whether a web origin may use the proxy: a page from elsewhere could
// reach the target through it, by DNS rebinding too.
func (p *proxy) allowed(origin string) bool {
	for _, o := range p.o.Origins {
		if strings.EqualFold(strings.TrimSuffix(o, "/"), origin) || o == "*" {
			return true
		}
	}
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost") || ip != nil && ip.IsLoopback()
}

// rewrite sends a request to the target as it came, but for its host.
func (p *proxy) rewrite(r *httputil.ProxyRequest) {
	target, in := p.o.Target, r.In.URL
	u := *in // with the query as it is: ReverseProxy drops what it cannot read
	u.Scheme, u.Host, u.User = target.Scheme, target.Host, target.User
	if in.Path == "/" || in.Path == "" {
		u.Path, u.RawPath = target.Path, target.RawPath
	}
	if u.Path == target.Path && target.RawQuery != "" {
		u.RawQuery = strings.TrimSuffix(target.RawQuery+"&"+in.RawQuery, "&")
	}
	r.Out.URL, r.Out.Host = &u, target.Host
	for name, values := range r.In.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" {
			r.Out.Header[name] = values
		}
	}
}

// failed answers for a target that did not.
func (p *proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // nobody is there to read it
		panic(http.ErrAbortHandler)
	}
	http.Error(w, fmt.Sprintf("mcprec: no answer from %s: %v", dropInURL(p.o.Target.String()), rootOf(err)), http.StatusBadGateway)
}

// fromKey finds the client's own request from that to the target.
type fromKey struct{}

// modify keeps the client of an HTTP+SSE session behind the proxy.
func (p *proxy) modify(resp *http.Response) error {
	from, _ := resp.Request.Context().Value(fromKey{}).(*http.Request)
	if from == nil || from.Header.Get("Mcp-Session-Id") != "" || resp.Header.Get("Content-Encoding") != "" ||
		formOf(resp.Header.Get("Content-Type")) != formEvents {
		return nil
	}
	scheme := "http"
	if from.TLS != nil {
		scheme = "https"
	}
	resp.Body = &endpointBody{ReadCloser: resp.Body, target: resp.Request.URL,
		client: &url.URL{Scheme: scheme, Host: from.Host, Path: from.URL.Path}}
	if resp.Header.Get("Content-Length") != "" {
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
	}
	return nil
}
