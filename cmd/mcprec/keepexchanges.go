package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport/streamable"
)

// keptExchanges is the recording of a drive over HTTP, in memory as a [keptRun].
type keptExchanges struct {
	tap *recorder.HTTPTap
	run keptRun
	err error
}

// keepExchanges records what the client says and hears.
func keepExchanges(ctx context.Context, client *streamable.Client, recorded store.Header) (*keptExchanges, error) {
	u, err := url.Parse(client.URL)
	if err != nil {
		return nil, err
	}
	k := &keptExchanges{run: keptRun{log: memstore.New()}}
	k.tap = recorder.NewHTTP(recorder.HTTPOptions{
		Open: func(h store.Header) *recorder.Recorder { return k.open(ctx, h) }, Path: u.Path, Together: true,
		Header: store.Header{Label: recorded.Label, Expect: recorded.Expect, URL: client.URL, Recorder: "mcprec " + version()},
	})
	client.Client = &http.Client{Transport: k.tap.RoundTripper(http.DefaultTransport.(*http.Transport).Clone()),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return k, nil
}

func (k *keptExchanges) open(ctx context.Context, h store.Header) *recorder.Recorder {
	if k.run.Recorder, k.err = recorder.New(ctx, k.run.log, h); k.err != nil {
		k.run.Recorder = recorder.Unrecorded(k.err)
	}
	return k.run.Recorder
}

// end returns the recording of the drive, which is over.
func (k *keptExchanges) end() (*keptRun, error) {
	k.tap.Close()
	switch {
	case k.err != nil:
		return nil, fmt.Errorf("record the drive: %w", k.err)
	case k.run.Recorder == nil:
		return nil, fmt.Errorf("record the drive: the server was asked nothing")
	}
	return &k.run, nil
}
