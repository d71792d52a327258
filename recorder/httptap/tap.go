package httptap

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Options configure a [Tap]. Open must be set.
type Options struct {
	// Open starts a recording, or returns [recorder.Unrecorded] on failure. Several goroutines
	// may call Open at once.
	Open func(store.Header) *recorder.Recorder
	// Done, if not nil, is called with the summary of each recording that has ended. The
	// recording of a session ends a few seconds after the session, to include late requests.
	Done func(recorder.Summary)
	// Header is the header of every recording.
	Header store.Header
	// Path is the path of the MCP endpoint. An exchange with another path whose request does
	// not look like MCP, such as a login, has no frames unless its response is a stream of
	// events. With "" the looks alone decide, which is enough for every client that keeps to
	// the specification.
	Path string
	// Split gives every exchange without a session id a recording of its own; otherwise they
	// share a recording.
	Split bool
	// Together puts every session's exchanges into one recording.
	Together bool
}

// Tap records MCP over HTTP: Streamable HTTP of all revisions, and HTTP+SSE of
// 2024-11-05. [Tap.Proxy] stands between client and server, [Tap.RoundTripper] in the
// client, [Tap.Handler] in the server. A Tap may be used concurrently.
type Tap struct {
	o Options

	mu        sync.Mutex
	sessions  map[string]*recording      // by MCP session id
	past      map[string]store.SessionID // the recordings, ended by now, of some MCP sessions
	endpoints map[string]*recording      // of HTTP+SSE, by path and query
	named     []string                   // paths that servers have named to their clients, oldest first
	lobby     *recording                 // for exchanges outside of sessions
	all       map[*recording]bool        // recordings that have not ended
	live      map[*exchange]bool         // exchanges that have not ended
	exchanges uint64                     // how many have begun
	ending    int                        // recordings that are being folded into the store
	ended     *sync.Cond                 // signals that ending has fallen
	closing   sync.WaitGroup
	closed    bool
}

// New returns a tap.
func New(options Options) *Tap {
	options.Header.Transport = "http"
	t := &Tap{o: options, sessions: map[string]*recording{}, past: map[string]store.SessionID{},
		endpoints: map[string]*recording{}, all: map[*recording]bool{}, live: map[*exchange]bool{}}
	t.ended = sync.NewCond(&t.mu)
	return t
}

// Close ends the recordings and waits until the store has them. Unfinished exchanges are cut in
// the recording; later traffic passes unrecorded.
func (t *Tap) Close() {
	t.mu.Lock()
	t.closed = true
	left := slices.Collect(maps.Keys(t.live))
	t.mu.Unlock()
	for _, x := range left { // they have not ended on the wire
		x.upload(nil, bodyCut)
		x.download(nil, bodyCut, store.HTTPLeft, "")
	}
	t.mu.Lock()
	for rec := range t.all {
		t.end(rec)
	}
	t.mu.Unlock()
	t.closing.Wait()
}

// Record writes one event of mcprec's own kinds into every recording that has not ended; info is
// one of store's Info types.
func (t *Tap) Record(kind store.Kind, info any) {
	t.mu.Lock()
	open := slices.Collect(maps.Keys(t.all))
	t.mu.Unlock()
	for _, rec := range open {
		t.open(rec)
		rec.Record(kind, transport.NoDirection, info)
	}
}

// RoundTripper returns a transport for HTTP clients that records the exchanges of next, passes
// bodies on as they are read, and follows no redirect.
func (t *Tap) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return &roundTripper{t, next}
}

// Handler returns a handler that records the requests and responses of next.
func (t *Tap) Handler(next http.Handler) http.Handler {
	return &tappedHandler{t, next}
}

// Proxy returns a reverse proxy that records exchanges. It sends a request on as it came, except
// for the host and the headers of one connection, and passes responses back, redirects too.
func (t *Tap) Proxy(options ProxyOptions) http.Handler {
	if options.Transport == nil {
		options.Transport = newPerConnection()
	}
	if options.Refused == nil {
		options.Refused = func(Refusal) {}
	}
	if options.Failed == nil {
		options.Failed = func(string) {}
	}
	where := url.URL{Scheme: options.Target.Scheme, Host: options.Target.Host, Path: options.Target.Path}
	return &proxy{tap: t, o: options, target: where.String()}
}

// requestInfo has the facts of a request that decide about the recording.
type requestInfo struct {
	method  string
	path    string // with its query, as the server gets it
	session string // the MCP session id
	other   bool   // it does not look like MCP
	starts  bool   // it may begin a session
	probes  bool   // it is a server/discover
}

// classify reads the head of a request.
func (t *Tap) classify(r *http.Request) requestInfo {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	q := requestInfo{method: r.Method, path: r.URL.RequestURI(), session: r.Header.Get(mcp.HeaderSessionID)}
	media, _, _ := strings.Cut(strings.ToLower(r.Header.Get("Content-Type")), ";")
	media = strings.TrimSpace(media)
	if media == "application/x-www-form-urlencoded" || media == "multipart/form-data" {
		q.other = true // a login: a client may add MCP's headers to all its requests
		return q
	}
	if r.URL.Path == t.o.Path || strings.Contains(accept, mcp.MediaEventStream) {
		q.starts = r.Method == http.MethodGet // the content type of the response decides
		return q
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Mcp-") {
			return q
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q.other = t.endpoints[q.path] == nil
	return q
}

// methodWithin is how much of a body is searched for the method, which stands in front.
const methodWithin = 4 << 10

// guess tells from the first bytes of a body whether it begins a session, or only asks how to
// begin one. A wrong guess only puts the exchange into another recording.
func (q *requestInfo) guess(items []recorder.Item) {
	for _, it := range items {
		if q.method == http.MethodPost && it.Kind == store.Frame {
			first := it.Payload[:min(len(it.Payload), methodWithin)]
			q.starts = q.starts || bytes.Contains(first, []byte(`"`+mcp.MethodInitialize+`"`))
			q.probes = q.probes || bytes.Contains(first, []byte(`"`+mcp.MethodDiscover+`"`))
		}
	}
}
