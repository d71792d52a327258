package standin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
)

// A drive makes the requests without a message that were refused, each where it was made,
// and compares the status.
func TestAsides(t *testing.T) {
	_, events := rejectionsOf(t, `
POST /mcp - Content-Type=text/plain | {"jsonrpc":"2.0","id":1,"method":"initialize"} | 415 |
POST /mcp - | {"jsonrpc":"2.0","id":1,"method":"initialize"} | 200 Mcp-Session-Id=s | {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}
GET /other - | | 403 |
GET /mcp - | | 401 |
POST /mcp s Mcp-Protocol-Version=2025-11-25 | {"jsonrpc":"2.0","id":3,"method":"ping"} | 200 | {"jsonrpc":"2.0","id":3,"result":{}}
PATCH /mcp s | | 501 |
DELETE /mcp nobody | | 404 |
DELETE /mcp s | | 200 |`)
	web, asked := endpointBut(t, events, http.MethodPatch, http.StatusMethodNotAllowed)
	driver := NewDriver(events, match.Rules{})
	driver.OneByOne()
	asides, err := DialRaw(t.Context(), Dial(events, web+"/mcp"), events)
	if err != nil {
		t.Fatal(err)
	}
	if end, err := Drive(t.Context(), asides, driver, DriveOptions{}); end != Complete || err != nil {
		t.Fatalf("%s, %v, %v", end, err, driver.Pending())
	}
	var got []string
	for _, v := range asides.RawVerdicts() {
		got = append(got, fmt.Sprintf("#%d %s", v.Seq, v))
	}
	want := `#3 match: POST /mcp
#9 match: GET /other
#11 match: GET /mcp
#17 mismatch: PATCH /mcp was answered 501, and now 405 Method Not Allowed
#19 match: DELETE /mcp`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	wantAsked := "POST /mcp, POST /mcp, GET /other, GET /mcp, POST /mcp, PATCH /mcp, DELETE /mcp, DELETE /mcp"
	if text := strings.Join(asked(), ", "); text != wantAsked {
		t.Errorf("asked %s", text)
	}
}

// endpointBut serves a recording over HTTP, but answers one method with another status;
// asked says what it was asked.
func endpointBut(t *testing.T, events []store.Event, method string, status int) (url string, asked func() []string) {
	t.Helper()
	endpoint := NewEndpoint(events, match.Rules{}, EndpointOptions{})
	var mu sync.Mutex
	var all []string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r.Method+" "+r.URL.Path)
		mu.Unlock()
		if r.Method == method {
			w.WriteHeader(status)
			return
		}
		endpoint.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	go func() { _ = endpoint.Run(t.Context()) }()
	t.Cleanup(func() { endpoint.Close() })
	return web.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
