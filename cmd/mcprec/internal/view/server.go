package view

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
)

//go:generate go run -C bundle .

//go:embed dist/view.js dist/view.css
var dist embed.FS

// Options say what a [Server] shows, and how the command words what other commands word too.
type Options struct {
	// Sessions are one session, or two that are compared; none if Sources lists some.
	Sessions []*session.Session
	// List is a list of sessions; nil without one.
	List List
	// Token is of an exploration, which the page shows; "": none.
	Token string
	Words Words
}

// List is what the page asks of a store whose sessions it lists.
type List interface {
	// Sessions lists the sessions with an event that the filter selects.
	Sessions(ctx context.Context, filter string) ([]Listed, error)
	// Open opens a session by its id. The caller closes it.
	Open(ctx context.Context, id string) (*session.Session, error)
}

// Listed is a session of a list.
type Listed struct {
	ID     store.SessionID `json:"id"`
	Title  string          `json:"title"`
	Label  string          `json:"label"`
	Server string          `json:"server"`
	Client string          `json:"client"`
	Start  time.Time       `json:"start"`
	Took   time.Duration   `json:"took"`
	State  store.State     `json:"state"`
	Calls  uint64          `json:"calls"`
	Errors uint64          `json:"errors"`
	Hung   uint64          `json:"hung"`
}

// Words are the functions of the command that say what hangs, as mcprec why does.
type Words interface {
	// Live returns what is known of a session that goes on beside its log.
	Live(ctx context.Context, s *session.Session, header store.Header) (why.Live, error)
	// Why returns the lines of mcprec why, and masks the report.
	Why(s *session.Session, header store.Header, told why.Report, isLive bool) (lines []string, masked why.Report)
}

// Server serves the page.
type Server struct {
	Options
	listener net.Listener
	key      string
	ctx      context.Context // of the indexes
	end      context.CancelFunc
	indexes  []*index
	replays  replays
	exploring

	mu     sync.Mutex
	listed []*index // opened from the list, the latest last
}

// Listen returns a server on an address of the loopback interface. [Server.Close] closes the
// sessions, also if Listen fails.
func Listen(ctx context.Context, address string, options Options) (_ *Server, err error) {
	x := &Server{Options: options, key: rand.Text()}
	x.ctx, x.end = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, exit.Usagef("--listen: %v", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, exit.Usagef("--listen %s: the page shows a private recording; want an address of this machine alone,"+
			" such as 127.0.0.1:0", address)
	}
	x.listener, err = net.Listen("tcp", address)
	if err != nil {
		return nil, exit.Usagef("--listen %s: %v", address, err)
	}
	for _, s := range options.Sessions {
		opened, err := openIndex(x.ctx, s)
		if err != nil {
			return nil, err
		}
		x.indexes = append(x.indexes, opened)
	}
	return x, nil
}

// URL returns the address that opens the page, with the key.
func (x *Server) URL() *url.URL {
	return &url.URL{Scheme: "http", Host: x.listener.Addr().String(), Path: "/", RawQuery: url.Values{"key": {x.key}}.Encode()}
}

// Serve answers until ctx is done.
func (x *Server) Serve(ctx context.Context) error {
	server := &http.Server{
		Handler:           x.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 16,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(x.listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	err := server.Close()
	<-failed
	return err
}

// handler returns the guarded routes.
func (x *Server) handler() http.Handler {
	return &guard{x.listener.Addr().String(), x.key, x.routes()}
}

// Close ends the indexing and closes the sessions.
func (x *Server) Close() (err error) {
	x.end()
	if x.listener != nil {
		err = x.listener.Close()
		if errors.Is(err, net.ErrClosed) { // by Serve
			err = nil
		}
	}
	x.replays.close()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, index := range append(x.listed, x.indexes...) {
		err = errors.Join(err, index.close())
	}
	for _, s := range x.Sessions[min(len(x.indexes), len(x.Sessions)):] { // Listen failed
		err = errors.Join(err, s.Close())
	}
	return err
}

// page is the document. Its parts are the head and the end of the body.
const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
	`<title>mcprec</title>%s</head><body><div id="app"></div>%s</body></html>`

func (x *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, page, `<link rel="stylesheet" href="/dist/view.css"><link rel="icon" href="data:,">`,
			`<script type="module" src="/dist/view.js"></script>`)
	})
	mux.HandleFunc("GET /dist/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := "dist/" + r.PathValue("name")
		if _, err := fs.Stat(dist, name); err != nil {
			refuse(w, http.StatusNotFound, "no such file")
			return
		}
		http.ServeFileFS(w, r, dist, name)
	})
	handle := func(pattern string, f func(w http.ResponseWriter, r *http.Request, index *index) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			index, release, err := x.index(r)
			if err == nil {
				defer release()
				err = f(w, r, index)
			}
			if err != nil {
				refuse(w, statusOf(err), err.Error())
			}
		})
	}
	answer := func(path string, f func(index *index, r *http.Request) (any, error)) {
		handle("GET /api/"+path, func(w http.ResponseWriter, r *http.Request, index *index) error {
			value, err := f(index, r)
			if err == nil {
				writeJSON(w, http.StatusOK, value)
			}
			return err
		})
	}
	answer("session", func(i *index, r *http.Request) (any, error) { return x.session(r.Context(), i) })
	answer("rows", (*index).answerRows)
	answer("overview", (*index).overview)
	answer("state", (*index).answerState)
	answer("frame", (*index).frame)
	answer("findings", (*index).findingsSoFar)
	answer("why", x.why)
	answer("run", x.run)
	answer("diagram", (*index).diagram)
	handle("GET /api/find", find)
	handle("GET /api/live", x.live)
	handle("POST /api/explore", x.explore)
	mux.HandleFunc("GET /api/options", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, listOptions()) })
	mux.HandleFunc("GET /api/diff", x.diff)
	mux.HandleFunc("GET /api/sessions", x.sessions)
	return mux
}

// errNoSession is the error of a request that names none of the sessions.
var errNoSession = fmt.Errorf("the page has no such session: %w", store.ErrNotFound)

// keptOpen is how many sessions of a list stay indexed.
const keptOpen = 4

// index returns the session that a request names: by its number, or of a list by its id. It is in
// use until release.
func (x *Server) index(r *http.Request) (_ *index, release func(), err error) {
	if id := r.URL.Query().Get("id"); id != "" && x.List != nil {
		return x.openListed(r.Context(), id)
	}
	n, err := number(r, "s", 0)
	if err != nil {
		return nil, nil, err
	}
	if len(x.indexes) == 0 && x.List != nil && r.URL.Path == "/api/session" {
		return nil, func() {}, nil
	}
	if n >= uint64(len(x.indexes)) {
		return nil, nil, errNoSession
	}
	return x.indexes[n], func() {}, nil
}

// openListed returns a session of the list. Of those that nobody uses, the one that was opened
// first is closed if there are many.
func (x *Server) openListed(ctx context.Context, id string) (_ *index, release func(), err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var found *index
	for _, index := range x.listed {
		if string(index.source.session.ID) == id {
			found = index
		}
	}
	if found == nil {
		s, err := x.List.Open(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		found, err = openIndex(x.ctx, s)
		if err != nil {
			return nil, nil, errors.Join(err, s.Close())
		}
		x.listed = append(x.listed, found)
	}
	for i := 0; i < len(x.listed) && len(x.listed) > keptOpen; i++ {
		if idle := x.listed[i]; idle != found && idle.users == 0 {
			x.listed = append(x.listed[:i:i], x.listed[i+1:]...)
			x.replays.forget(idle)
			err = errors.Join(err, idle.close())
			i--
		}
	}
	if err != nil {
		return nil, nil, err
	}
	found.users++
	return found, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		found.users--
	}, nil
}

// sessions answers with the sessions of the list.
func (x *Server) sessions(w http.ResponseWriter, r *http.Request) {
	if x.List == nil {
		refuse(w, http.StatusNotFound, "the page is about one session; mcprec view --dir lists them")
		return
	}
	listed, err := x.List.Sessions(r.Context(), r.URL.Query().Get("filter"))
	if err != nil && len(listed) == 0 {
		refuse(w, statusOf(err), err.Error())
		return
	}
	if listed == nil {
		listed = []Listed{}
	}
	writeJSON(w, http.StatusOK, map[string]any{"sessions": listed})
}

// number returns a number of a request's query.
func number(r *http.Request, name string, initial uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return initial, nil
	}
	n, err := strconv.ParseUint(text, 10, 53) // what the page can count
	if err != nil {
		return 0, fmt.Errorf("%s=%s: want a number", name, text)
	}
	return n, nil
}

// statusOf returns the status of an error.
func statusOf(err error) int {
	if errors.Is(err, store.ErrNotFound) {
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status = http.StatusInternalServerError
		text = []byte(`{"error":` + strconv.Quote(strings.ToValidUTF8(err.Error(), "?")) + `}`)
	}
	w.Header().Set("Content-Type", mcp.MediaJSON)
	w.WriteHeader(status)
	_, _ = w.Write(text) // the page may be gone
}
