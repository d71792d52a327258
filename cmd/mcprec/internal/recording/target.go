package recording

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/store"
)

// Target stands before a remote server and records its sessions, until the context is
// over or a signal ends the process.
func Target(ctx context.Context, std cli.Streams, options Options) error {
	r, err := newRecording(std, options)
	if err != nil {
		return err
	}
	r.attended = output.IsTerminal(std.Err)
	r.Verbose = r.Verbose || r.attended
	target, err := url.Parse(options.Target)
	switch {
	case err != nil:
		return cli.Usagef("--target: %v", err)
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "":
		return cli.Usagef("--target %s: want a URL such as http://localhost:3000/mcp", options.Target)
	case target.Path == "":
		target.Path = "/"
	}
	listener, err := net.Listen("tcp", options.Listen)
	if err != nil {
		return ListenFault(options.Listen, err)
	}
	r.db, err = session.OpenRecorder(r.Home, r.Sync)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, cli.EndSignals()...)
	defer signal.Stop(signals)
	ctx, end := context.WithCancel(ctx)
	defer end()
	r.fail = end
	whole, err := r.proxy(ctx, signals, listener, target)
	err = errors.Join(err, r.db.Close())
	if err == nil && !whole {
		return &cli.Status{Code: cli.ExitLost}
	}
	return err
}

// ListenFault returns the error for an address that cannot be listened at, with what to do where another has it:
// a second recorder, mostly.
func ListenFault(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return cli.Usagef("--listen %s: another process listens there, perhaps another mcprec; use --listen 127.0.0.1:0, which takes a free port", address)
	}
	return cli.Usagef("--listen %s: %v", address, err)
}

// proxy passes exchanges through until a signal comes or the context is over, records the
// sessions, and reports whether all was recorded.
func (r *recording) proxy(ctx context.Context, signals <-chan os.Signal, listener net.Listener, target *url.URL) (whole bool, err error) {
	var faulty atomic.Bool
	var ending sync.WaitGroup // what sessions leave to do at their end
	defer ending.Wait()
	defer r.tidyBeside()()
	header := r.header()
	header.URL = target.String()
	tap := httptap.New(httptap.Options{
		Open: func(header store.Header) *recorder.Recorder {
			rec, err := recorder.New(context.Background(), r.db, header, r.options()...)
			if err != nil {
				return r.unrecorded(err)
			}
			if r.attended {
				r.say("session %s begins", rec.ID())
			}
			return rec
		},
		Done: func(sum recorder.Summary) {
			if !r.report(context.Background(), sum) {
				faulty.Store(true)
			}
			ending.Go(func() { r.tidy(tidyPatience) })
		},
		Path: target.Path, Split: r.Split, Together: r.Join, Header: header,
	})
	masker, err := r.Home.Masker(r.db)
	if err != nil {
		return false, err
	}
	// foreign is a text in which peers have a part.
	foreign := func(text string) string { return output.Plain(masker.Text(text)) }
	live, end := context.WithCancelCause(context.Background())
	defer end(nil)
	server := &http.Server{
		Handler: tap.Proxy(httptap.ProxyOptions{
			Target: target, Origins: r.Origins,
			Refused: func(refusal httptap.Refusal) {
				advice := ""
				if refusal.IsPage {
					advice = "; --allow-origin ORIGIN lets pages in"
				}
				r.say("refused a request: %s%s", foreign(refusal.Why), advice)
			},
			Failed: func(why string) { r.say("%s; clients see their connection closed", foreign(why)) },
		}),
		ReadHeaderTimeout: cli.RequestTimeout, // a body passes as it comes, and the target decides how long it waits
		BaseContext:       func(net.Listener) context.Context { return live },
		Protocols:         new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	httptap.OwnConnections(server)
	host := listener.Addr().String()
	if tcp, ok := listener.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() { // a client of this machine finds it so
		host = net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	fmt.Fprintln(output.NewWriter(r.std.Out), &url.URL{Scheme: "http", Host: host, Path: target.Path})
	if r.attended {
		r.say("recording; clients are to use the URL above; ^C ends it")
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	case sig := <-signals:
		tap.Record(store.Signal, store.SignalInfo{Signal: sig.String()})
	}
	if err == nil {
		end(httptap.ErrEnded)
		patience, stop := context.WithTimeout(context.Background(), time.Second)
		_ = server.Shutdown(patience) // exchanges that do not end now are closed
		stop()
		<-failed
	}
	err = errors.Join(err, server.Close())
	tap.Close()
	return !faulty.Load(), err
}
