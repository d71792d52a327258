package view

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
)

// Options say what a [Server] shows.
type Options struct {
	// Sessions are one session, or two that are compared; none with a List.
	Sessions []*session.Session
	// List is a store whose sessions the page lists; nil without one.
	List List
	// Token names a schedule of mcprec explore that the page shows; "" without one.
	Token string
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
	Exit   string          `json:"exit"` // of the server, as mcprec list has it
	Calls  uint64          `json:"calls"`
	Errors uint64          `json:"errors"`
	Hung   uint64          `json:"hung"`
}

// Server serves the page. [Listen] makes it.
type Server struct {
	shown    shown
	listener net.Listener
	guard    *guard
	sessions *openSessions
	replays  replays
	explorer explorer
}

// Listen returns a server on an address of the loopback interface. [Server.Close] closes the
// sessions. If Listen fails, it has closed them.
func Listen(ctx context.Context, address string, options Options) (*Server, error) {
	listener, err := listenHere(address)
	if err != nil {
		return nil, errors.Join(err, closeAll(options.Sessions))
	}
	sessions, err := openNamed(ctx, options.Sessions, options.List)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	x := &Server{shown: newShown(options), listener: listener, sessions: sessions}
	x.guard = newGuard(listener.Addr().String(), x.routes())
	return x, nil
}

// listenHere listens at an address of the loopback interface.
func listenHere(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, cli.Usagef("--listen: %v", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, cli.Usagef("--listen %s: the page shows a private recording; want an address of this machine alone,"+
			" such as 127.0.0.1:0", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, cli.Usagef("--listen %s: %v", address, err)
	}
	return listener, nil
}

// URL returns the address that opens the page once.
func (x *Server) URL() *url.URL {
	return &url.URL{Scheme: "http", Host: x.guard.host, Path: x.guard.path, RawQuery: url.Values{"key": {x.guard.key}}.Encode()}
}

// Serve answers until ctx is done.
func (x *Server) Serve(ctx context.Context) error {
	server := cli.NewHTTPServer(x.guard)
	server.MaxHeaderBytes = 1 << 16
	server.BaseContext = func(net.Listener) context.Context { return ctx }
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
	err := x.listener.Close()
	if errors.Is(err, net.ErrClosed) { // by Serve
		err = nil
	}
	return errors.Join(err, x.sessions.close())
}
