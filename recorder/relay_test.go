package recorder

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Whichever of an exchange's writes the disk does not answer, the client has its whole
// answer while the disk still waits, and the log has all of it, once and in order.
func TestProxyStuckWrite(t *testing.T) {
	for _, form := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"events", func(w http.ResponseWriter, r *http.Request) {
			for n := range 200 { // in several pieces, as it comes
				sse(w, fmt.Sprintf("data: {\"n\":%d}\n\n", n))
			}
		}},
		{"one frame", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":1,"result":"`+strings.Repeat("x", 3*readSize)+`"}`)
		}},
		{"text", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no such thing", http.StatusNotFound) }},
		{"nothing", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusAccepted) }},
	} {
		smooth, writes := stuckAt(t, &disk{}, 0, form.answer)
		for n := 2; n <= writes; n++ { // the first is the header's
			for _, before := range []bool{false, true} {
				t.Run(fmt.Sprint(form.name, n, before), func(t *testing.T) {
					t.Parallel()
					if log, _ := stuckAt(t, &disk{before: before}, n, form.answer); log != smooth {
						t.Errorf("log:\n%.999s\nwant:\n%.999s", log, smooth)
					}
				})
			}
		}
	}
}

// stuckAt returns the log of one exchange, one of whose writes waits until the client has
// all, and how many writes there were.
func stuckAt(t *testing.T, d *disk, n int, answer http.HandlerFunc) (log string, writes int) {
	t.Helper()
	d.stuck, d.wait = make(chan struct{}), func(write int) time.Duration {
		if write == n {
			return -1
		}
		return 0
	}
	server := httptest.NewServer(answer)
	defer server.Close()
	target, _ := url.Parse(server.URL + "/mcp")
	tap := NewHTTP(HTTPOptions{Path: "/mcp", Open: opening(t, d)})
	proxy := httptest.NewServer(tap.Proxy(ProxyOptions{Target: target}))
	own := &http.Transport{} // servers of other tests close what the default one has idle
	want := post(t, own, server.URL)
	if got := post(t, own, proxy.URL); got != want {
		t.Errorf("the client got %.99q, want %.99q", got, want)
	}
	close(d.stuck)
	proxy.Close()
	tap.Close()
	for _, e := range d.events[1:] {
		if e.Kind != store.Note {
			log += line(t, e)
		}
	}
	return log, d.writes - 1 // without that of the log's end
}

func post(t *testing.T, over *http.Transport, url string) string {
	t.Helper()
	req, _ := http.NewRequest("POST", url+"/mcp", strings.NewReader(`{"id":1}`))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "Mcp-Session-Id": {"s"}}
	resp, err := over.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer over.CloseIdleConnections()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}
