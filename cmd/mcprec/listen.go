package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

// listenOptions are the flags of serve for clients that ask over HTTP.
type listenOptions struct {
	address string
	origins []string
}

const listenHelp = `
With --listen it answers over HTTP and prints the URL. A session recorded over HTTP
is served as it was recorded: as HTTP+SSE or Streamable HTTP, with or without session
ids, each answer as JSON or as a stream; one recorded on stdio as Streamable HTTP. Each
session of a client is played to by itself, also several at once; those of a
recording that has no session ids are all one. A request that the recorded server
refused for how it was made (its session id, Accept, content type, protocol version,
method or path) is refused in the same way, and not waited for. An interrupt ends it.
`

func (o *listenOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.address, "listen", "", "answer over HTTP at `ADDRESS`, as 127.0.0.1:7001; port 0 takes a free one")
	f.StringArrayVar(&o.origins, "allow-origin", nil, "with --listen: let web pages of `ORIGIN` ask, not only those of\nthis machine; may be repeated; * lets all")
}

// check refuses what cannot be served over HTTP.
func (o *listenOptions) check(mode fixtures.Mode) error {
	switch {
	case o.address == "" && len(o.origins) > 0:
		return usagef("--allow-origin is for --listen; give both")
	case o.address != "" && mode != fixtures.Once && mode != fixtures.None:
		return usagef("--listen does not record: --mode %s asks a server on stdio; record a remote one with mcprec record --target URL", mode)
	}
	return nil
}

// served are the sessions that clients had, as they end.
type served struct {
	std streams

	mu       sync.Mutex
	verdicts int
	err      error
}

func (s *served) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(plainTo(s.std.err), "mcprec: %s\n", plain(text))
}

// done says what there is to say of a session.
func (s *served) done(session replay.Served) {
	verdicts := otherwise(session.Player)
	for _, v := range verdicts {
		s.say(v.String())
	}
	if session.Unsent > 0 {
		s.say(fmt.Sprintf("%s had no stream to go out on: of no open request, and the client asked for no other stream", plural(uint64(session.Unsent), "message")))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdicts += len(verdicts)
	if !errors.Is(session.Err, context.Canceled) {
		s.err = errors.Join(s.err, session.Err)
	}
}

// playHTTP serves to all who ask until somebody wants this process gone.
func playHTTP(std streams, o serveOptions, events []store.Event, rules replay.Rules, options replay.ServeOptions) error {
	listener, err := net.Listen("tcp", o.listen.address)
	if err != nil {
		return usagef("--listen %s: %v", o.listen.address, err)
	}
	s := &served{std: std}
	options.Say = s.say
	endpoint := replay.NewEndpoint(events, rules, replay.EndpointOptions{ServeOptions: options, Origins: o.listen.origins, Done: s.done})
	ctx, end := context.WithCancel(context.Background())
	defer end()
	interrupted, cancel := context.WithCancel(ctx)
	defer cancel()
	wanted := untilSignal(cancel)
	var playing sync.WaitGroup
	playing.Go(func() { _ = endpoint.Run(ctx) })
	server := &http.Server{Handler: endpoint, ErrorLog: log.New(plainTo(std.err), "mcprec: ", 0), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	fmt.Fprintln(plainTo(std.out), &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: endpoint.Path()})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-interrupted.Done():
	}
	endpoint.Close()
	patience, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if server.Shutdown(patience) != nil { // somebody does not read
		end()
	}
	err = errors.Join(err, server.Close())
	playing.Wait()
	_ = wanted()
	switch {
	case err != nil:
		return fmt.Errorf("serve --listen %s: %w", o.listen.address, err)
	case s.err == nil && o.fail && s.verdicts > 0:
		return verdictError
	}
	return s.err
}
