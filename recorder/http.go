package recorder

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/store"
)

// HTTPOptions say how a tap on HTTP records. Open must be set.
type HTTPOptions struct {
	// Open starts a recording. When it cannot, it returns [Unrecorded]. It may be
	// called by several goroutines, and for one client's session after another.
	Open func(store.Header) *Recorder
	// Done is called with the summary of each recording that has ended; it may be nil. The
	// recording of a session ends a few seconds after the session, so that it has what comes
	// late.
	Done func(Summary)
	// Header is what every recording's header has.
	Header store.Header
	// Path is the MCP endpoint's. Exchanges with other paths that do not look like MCP,
	// such as a login, have no frames; a stream of events is MCP's, whatever its request
	// looked like. With "" the looks alone decide, which every client that keeps to the
	// specification has.
	Path string
	// Split gives every exchange without a session id a recording of its own; without
	// it they share one.
	Split bool
	// Together puts all exchanges, of whatever session, into one recording.
	Together bool
}

// HTTPTap records MCP over HTTP: Streamable HTTP of all revisions, and HTTP+SSE of
// 2024-11-05. It has three faces, for whoever stands where: [HTTPTap.Proxy] between
// client and server, [HTTPTap.RoundTripper] in the client, [HTTPTap.Handler] in the
// server. An HTTPTap and its faces may be used concurrently.
type HTTPTap struct {
	o HTTPOptions

	mu        sync.Mutex
	sessions  map[string]*recording      // by MCP session id
	past      map[string]store.SessionID // of MCP sessions whose recording has ended, some
	endpoints map[string]*recording      // of HTTP+SSE, by path and query
	lobby     *recording                 // of exchanges that are of no session
	all       map[*recording]bool        // that have not ended
	live      map[*exchange]bool         // exchanges that have not ended
	exchanges uint64                     // so far
	ending    int                        // recordings that are being brought into the store
	ended     *sync.Cond                 // one less
	closing   sync.WaitGroup
	closed    bool
}

// NewHTTP returns a tap.
func NewHTTP(o HTTPOptions) *HTTPTap {
	o.Header.Transport = "http"
	t := &HTTPTap{o: o, sessions: map[string]*recording{}, past: map[string]store.SessionID{},
		endpoints: map[string]*recording{}, all: map[*recording]bool{}, live: map[*exchange]bool{}}
	t.ended = sync.NewCond(&t.mu)
	return t
}

// Close ends all recordings and waits until they are in the store. Exchanges that
// have not ended are cut in the log; what passes from then on is not recorded.
func (t *HTTPTap) Close() {
	t.mu.Lock()
	t.closed = true
	left := slices.Collect(maps.Keys(t.live))
	t.mu.Unlock()
	for _, x := range left {
		x.interrupt()
	}
	t.mu.Lock()
	for rec := range t.all {
		t.finish(rec)
	}
	t.mu.Unlock()
	t.closing.Wait()
}

// question is what the head of a request says to the tap.
type question struct {
	method  string
	path    string // with its query, as the server gets it
	session string
	other   bool // it does not look like MCP
	starts  bool // it may begin a session
	probes  bool // it asks what the server speaks
}

// ask reads the head of a request.
func (t *HTTPTap) ask(r *http.Request) question {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	q := question{method: r.Method, path: r.URL.RequestURI(), session: r.Header.Get("Mcp-Session-Id")}
	if isForm(r.Header.Get("Content-Type")) { // whatever headers a client adds to all it asks
		q.other = true
		return q
	}
	if r.URL.Path == t.o.Path || strings.Contains(accept, "text/event-stream") {
		q.starts = r.Method == http.MethodGet // whatever it accepts: the answer shows what it is
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

// isForm reports whether a body is a web form: a login's, for MCP has none.
func isForm(contentType string) bool {
	media, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	media = strings.TrimSpace(media)
	return media == "application/x-www-form-urlencoded" || media == "multipart/form-data"
}

// lookSize is how much of a body says what it asks for: the method stands in front.
const lookSize = 4 << 10

// look reads in the first bytes of a body whether it begins a session, or only asks
// how one could begin. That is a guess, and need be no more: it decides in which
// recording the exchange is.
func (q *question) look(items []item) {
	for _, it := range items {
		if q.method == http.MethodPost && it.kind == store.Frame {
			first := it.payload[:min(len(it.payload), lookSize)]
			q.starts = q.starts || bytes.Contains(first, []byte(`"initialize"`))
			q.probes = q.probes || bytes.Contains(first, []byte(`"server/discover"`))
		}
	}
}
