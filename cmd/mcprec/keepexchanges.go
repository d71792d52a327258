package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
)

// keptExchanges are the recordings of a drive over HTTP, in memory as a [keptRun].
type keptExchanges struct {
	tap *recorder.HTTPTap
	log *memstore.Store

	mu   sync.Mutex
	list []*recorder.Recorder
	err  error
}

// keepExchanges records what the client says and hears.
func keepExchanges(ctx context.Context, client *transport.HTTPClient, recorded store.Header) (*keptExchanges, error) {
	u, err := url.Parse(client.URL)
	if err != nil {
		return nil, err
	}
	k := &keptExchanges{log: memstore.New()}
	k.tap = recorder.NewHTTP(recorder.HTTPOptions{
		Open: func(h store.Header) *recorder.Recorder { return k.open(ctx, h) }, Path: u.Path,
		Header: store.Header{Label: recorded.Label, Expect: recorded.Expect, URL: client.URL, Recorder: "mcprec " + version()},
	})
	client.Client = &http.Client{Transport: k.tap.RoundTripper(http.DefaultTransport.(*http.Transport).Clone()),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return k, nil
}

func (k *keptExchanges) open(ctx context.Context, h store.Header) *recorder.Recorder {
	rec, err := recorder.New(ctx, k.log, h)
	if err != nil {
		rec = recorder.Unrecorded(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list = append(k.list, rec); k.err == nil {
		k.err = err
	}
	return rec
}

// run returns the recording of the drive, which is over.
func (k *keptExchanges) run() (*keptRun, error) {
	k.tap.Close()
	switch {
	case k.err != nil:
		return nil, fmt.Errorf("record the drive: %w", k.err)
	case len(k.list) != 1:
		return nil, fmt.Errorf("nothing is updated: the drive had %s, and a recording is of one; mcprec record --target URL records each", plural(uint64(len(k.list)), "MCP session"))
	}
	return &keptRun{k.list[0], k.log}, nil
}
