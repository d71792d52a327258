package view

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
)

//go:embed dist/view.js dist/view.css
var dist embed.FS

// Server serves the page of one session, or of two that are compared.
type Server struct {
	listener net.Listener
	key      string
	indexes  []*index
	growing  sync.WaitGroup
	end      context.CancelFunc
}

// Listen returns a server on an address of the loopback interface. The sessions are closed by
// [Server.Close].
func Listen(ctx context.Context, address string, sessions ...*session.Session) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, exit.Usagef("--listen %s: the page shows a private recording; want an address of this machine alone, such as 127.0.0.1:0", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, exit.Usagef("--listen %s: %v", address, err)
	}
	x := &Server{listener: listener, key: rand.Text()}
	ctx, x.end = context.WithCancel(ctx)
	for _, s := range sessions {
		opened, err := openSource(ctx, s)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		index := newIndex(opened)
		x.indexes = append(x.indexes, index)
		x.growing.Go(func() { index.grow(ctx) })
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
		Handler:           &guard{x.listener.Addr().String(), x.key, x.routes()},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
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

// Close ends the indexing and closes the sessions.
func (x *Server) Close() error {
	x.end()
	x.growing.Wait()
	err := x.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	for _, index := range x.indexes {
		err = errors.Join(err, index.source.session.Close())
	}
	return err
}

const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>mcprec</title>%s</head>` +
	`<body><div id="app"></div>%s</body></html>`

func (x *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, page, `<link rel="stylesheet" href="/dist/view.css"><link rel="icon" href="data:,">`, `<script type="module" src="/dist/view.js"></script>`)
	})
	mux.Handle("GET /dist/", http.FileServerFS(dist))
	answer := func(path string, f func(index *index, r *http.Request) (any, error)) {
		mux.HandleFunc("GET /api/"+path, func(w http.ResponseWriter, r *http.Request) {
			index, err := x.index(r)
			var value any
			if err == nil {
				value, err = f(index, r)
			}
			if err != nil {
				refuse(w, statusOf(err), err.Error())
				return
			}
			writeJSON(w, http.StatusOK, value)
		})
	}
	answer("session", func(i *index, r *http.Request) (any, error) { return x.session(r.Context(), i) })
	answer("rows", (*index).rowsOf)
	answer("overview", (*index).overview)
	answer("state", (*index).stateAt)
	answer("frame", (*index).frame)
	answer("findings", (*index).findingsSoFar)
	answer("why", (*index).whyNow)
	answer("run", (*index).run)
	answer("options", func(*index, *http.Request) (any, error) { return listOptions(), nil })
	mux.HandleFunc("GET /api/find", x.find)
	mux.HandleFunc("GET /api/live", x.live)
	return mux
}

// index returns the session that a request names by its number.
func (x *Server) index(r *http.Request) (*index, error) {
	n, err := number(r, "s", 0)
	if err != nil {
		return nil, err
	}
	if n >= uint64(len(x.indexes)) {
		return nil, fmt.Errorf("s=%d: there are %d sessions: %w", n, len(x.indexes), store.ErrNotFound)
	}
	return x.indexes[n], nil
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
	w.Header().Set("Content-Type", mcp.MediaJSON)
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":`+strconv.Quote(strings.ToValidUTF8(err.Error(), "?"))+`}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the page may be gone
}
