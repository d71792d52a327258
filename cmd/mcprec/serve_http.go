package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// listenOptions are the flags of serve for clients that ask over HTTP.
type listenOptions struct {
	address string
	origins []string
	target  string
	headers []string
}

const listenHelp = `
With --listen it answers over HTTP and prints the URL. A session recorded over HTTP
is served as it was recorded: as HTTP+SSE or Streamable HTTP, with or without session
ids, each answer as JSON or as a stream; one recorded on stdio as Streamable HTTP. Each
session of a client is played to by itself, also several at once; those of a
recording that has no session ids are all one. A request that the recorded server
refused for how it was made (its session id, Accept, content type, protocol version,
method or path) is refused in the same way, and not waited for. An interrupt ends it.
The real server of --mode is then COMMAND or the one at --target; anew, or where there
is no file, only that is recorded: all sessions of the run in one file.
`

func (o *listenOptions) check(mode fixtures.Mode, command []string) error {
	switch {
	case o.address == "" && len(o.origins) > 0:
		return exit.Usagef("--allow-origin is for --listen; give both")
	case o.address == "" && o.target != "":
		return exit.Usagef("--target is for --listen; give both, or the real server's COMMAND")
	case o.target == "" && len(o.headers) > 0:
		return exit.Usagef("--header is for --target; give both")
	case o.target != "" && len(command) > 0:
		return exit.Usagef("serve: a COMMAND and --target; give one of them")
	case o.address != "" && mode == fixtures.All && len(command) > 0:
		return exit.Usagef("--listen --mode all records what passes over HTTP: give the real server's --target URL in place of COMMAND")
	}
	return nil
}

// real returns the real server, which is reached as the recorded one was; nil if there is none.
func (o *listenOptions) real(errs io.Writer, command []string, events []store.Event) (transport.Transport, error) {
	switch {
	case o.target != "":
		t := driveTarget{url: o.target, headers: o.headers}
		header, err := t.header()
		if err == nil {
			err = t.check(nil)
		}
		legacy := standin.Dial(events, o.target).Legacy
		return streamable.Client{URL: o.target, Header: header, Legacy: legacy, Listen: streamable.ListenInitialized}, err
	case len(command) > 0:
		return transport.Command{Args: command, Stderr: errs}, nil
	}
	return nil, nil
}

// playHTTP serves to every client until a signal ends the process.
func (s *service) playHTTP(rules match.Rules, options standin.EndpointOptions) error {
	address := s.options.listen.address
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return exit.Usagef("--listen %s: %v", address, err)
	}
	options.Origins, options.Watch = s.options.listen.origins, s.watch
	endpoint := standin.NewEndpoint(s.recorded.events, rules, options)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	interrupted, cancel := context.WithCancel(ctx)
	defer cancel()
	wanted := process.UntilSignal(cancel)
	var playing sync.WaitGroup
	playing.Go(func() { _ = endpoint.Run(ctx) })
	server := &http.Server{Handler: endpoint, ErrorLog: log.New(terminal.NewWriter(s.errs), "mcprec: ", 0), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	fmt.Fprintln(terminal.NewWriter(s.std.Out), &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: endpoint.Path()})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-interrupted.Done():
	}
	endpoint.Close()
	patience, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if server.Shutdown(patience) != nil { // a client does not read
		end()
	}
	err = errors.Join(err, server.Close())
	playing.Wait()
	_ = wanted()
	switch {
	case err != nil:
		return fmt.Errorf("serve --listen %s: %w", address, err)
	case s.err == nil && s.options.fail && s.verdicts > 0:
		return exit.ErrVerdict
	}
	return s.err
}

// watch returns the functions that report on one session: while it is served, and at its end.
func (s *service) watch() (say func(text string), done func(standin.Served)) {
	notices := newNotices(s.errs, s.recorded.masker)
	return notices.print, func(session standin.Served) {
		_, verdicts := differing(session.Player)
		notices.end(session.Player, verdicts)
		if session.Unsent > 0 {
			fmt.Fprintf(s.errs, "mcprec: %s had no stream to go out on: of no open request, and the client asked for no other stream\n", phrase.Plural(session.Unsent, "message"))
		}
		var fault error
		if len(session.Added) > 0 {
			fault = s.keep(session.Added, func(recorded, _ []store.Event) []store.Event { return session.Extend(recorded) })
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.verdicts += len(verdicts)
		s.err = errors.Join(s.err, fault)
		if !errors.Is(session.Err, context.Canceled) {
			s.err = errors.Join(s.err, session.Err)
		}
	}
}
