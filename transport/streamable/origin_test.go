package streamable

import (
	"net/http"
	"testing"
)

// Pages of other sites may not ask, nor may anybody by another name of this machine.
func TestMayAsk(t *testing.T) {
	s := newSite(t, ServerOptions{Origins: []string{"https://app.example/"}})
	for _, c := range []struct {
		origin, host string
		want         int
	}{
		{"", "", 405}, {"http://localhost:3000", "", 405}, {"https://app.example", "", 405}, {"http://[::1]:80", "", 405},
		{"https://evil.example", "", 403}, {"null", "", 403}, {"http://localhost.evil.example", "", 403},
		{"", "evil.example", 403}, {"", "localhost:1", 405}, {"", "[::1]:80", 405},
		{"", "LocalHost.:80", 405}, {"", "app.example", 405}, {"", "App.Example:8443", 405}, {"", "sub.app.example", 403}, {"", "app.example.evil", 403},
	} {
		r, err := http.NewRequest(http.MethodPut, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		r.Host = c.host
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("origin %q, host %q: %d, want %d", c.origin, c.host, resp.StatusCode, c.want)
		}
	}
}
