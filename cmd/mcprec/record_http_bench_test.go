package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/httptap"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// BenchmarkTarget measures exchanges through the tap beside the same through a reverse
// proxy that records nothing: compare the two of one run.
func BenchmarkTarget(b *testing.B) {
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"text":"` + strings.Repeat("x", 150) + `"}}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	defer server.Close()
	target, _ := url.Parse(server.URL + "/mcp")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.DisableCompression = 0, 512, true
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1}
	b.Run("pass", func(b *testing.B) { exchanges(b, pass) })
	b.Run("record", func(b *testing.B) {
		db, err := boltstore.Open(b.TempDir(), boltstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		tap := httptap.New(httptap.Options{Path: "/mcp", Open: func(h store.Header) *recorder.Recorder {
			rec, err := recorder.New(b.Context(), db, h)
			if err != nil {
				b.Fatal(err)
			}
			return rec
		}})
		exchanges(b, tap.Proxy(httptap.ProxyOptions{Target: target}))
		tap.Close()
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	})
}

func exchanges(b *testing.B, h http.Handler) {
	proxy := httptest.NewUnstartedServer(h)
	httptap.OwnConnections(proxy.Config)
	proxy.Start()
	defer proxy.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	question := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", 100) + `"}}}`)
	b.SetParallelism(8)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			req, _ := http.NewRequest(http.MethodPost, proxy.URL+"/mcp", bytes.NewReader(question))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			req.Header.Set("Mcp-Session-Id", "s")
			resp, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}

// ratio is that of the medians: the second to the first.
func ratio(times [2][]time.Duration) float64 {
	return float64(median(times[1])) / float64(median(times[0]))
}

// median is the middle one; it sorts them.
func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
