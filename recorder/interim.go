package recorder

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// informed records what the server says before its answer.
func (x *exchange) informed(status int, h http.Header) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return
	}
	it := item{kind: store.HTTP, dir: transport.ServerToClient,
		info: &store.HTTPInfo{What: store.HTTPInterim, Status: status, Header: keepHeader(h)}}
	if x.rec == nil { // which recording it is in, the request's body says
		x.pending = append(x.pending, it)
		return
	}
	x.log(&x.down, []item{it})
}

// traced returns a context in which a transport tells what the server says before its
// answer, for the log and for pass, which may be nil.
func (x *exchange) traced(ctx context.Context, pass func(status int, h http.Header)) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
		x.informed(status, http.Header(h))
		if pass != nil {
			pass(status, http.Header(h))
		}
		return nil
	}})
}

// interim passes on what the server says before its answer.
type interim struct {
	w http.ResponseWriter

	mu   sync.Mutex
	over bool // the answer came; the writer belongs to who passes that on
}

func (i *interim) pass(status int, h http.Header) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.over {
		return
	}
	own := i.w.Header()
	for name, values := range h {
		own[name] = values
	}
	i.w.WriteHeader(status)
	clear(own)
}

func (i *interim) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.over = true
}

// offered are protocols to which a client offers to change and need not.
var offered = []string{"h2c", "tls/1.0", "tls/1.1", "tls/1.2", "tls/1.3"}

// upgradeOf returns the protocol to which a request asks to change; "": to none.
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

// refuseUpgrade answers a client that wants to speak something else than HTTP.
func (t *HTTPTap) refuseUpgrade(w http.ResponseWriter, r *http.Request, to string) {
	why := "does not pass on an upgrade to " + to + ": MCP is spoken over HTTP"
	x := t.begin(r)
	x.fail(store.HTTPNone, "mcprec "+why)
	x.upload(nil, bodyCut)
	w.Header().Set("Connection", "close")
	http.Error(w, "mcprec: "+why, http.StatusNotImplemented)
}

// Hijack gives the handler the connection. What passes on it is not recorded, nor when
// that ends: for the log the exchange ends here, before the first byte of it.
func (w *tappedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.hijacked = true
		what := store.HTTPNone
		if w.head {
			what = store.HTTPLeft
		}
		w.x.fail(what, hijacked)
		w.x.upload(nil, bodyCut)
	}
	return conn, buffered, err
}

const hijacked = "the handler took the connection over; what passes on it is not recorded"
