package httpevent

import (
	"net/http"
	"reflect"
	"testing"
)

func TestHeader(t *testing.T) {
	h := http.Header{}
	for name, value := range map[string]string{
		"Accept": "text/event-stream", "Mcp-Session-Id": "s", "Mcp-Param-Region": "eu", "Mcp-Auth-Token": "t", "User-Agent": "x", "Date": "now", "Www-Authenticate": `Bearer realm="x", nonce="y"`,
		"Authorization": "Bearer sesame", "Proxy-Authorization": "sesame", "Cookie": "a=b", "Set-Cookie": "a=b", "X-Api-Key": "k",
		"Location": "https://me:pw@host/cb?code=1&iss=2&%74oken=3#access_token=4",
	} {
		h.Set(name, value)
	}
	want := map[string][]string{
		"Accept": {"text/event-stream"}, "Mcp-Session-Id": {"s"}, "Mcp-Param-Region": {"eu"}, "Mcp-Auth-Token": {"[dropped]"},
		"Authorization": {"Bearer [dropped]"}, "Proxy-Authorization": {"[dropped]"}, "Cookie": {"[dropped]"},
		"Set-Cookie": {"[dropped]"}, "X-Api-Key": {"[dropped]"}, "Www-Authenticate": {`Bearer realm="x", nonce="y"`},
		"Location": {"https://me:pw@host/cb?code=1&iss=2&%74oken=3#access_token=4"},
	}
	if got := Header(h); !reflect.DeepEqual(got, want) {
		t.Errorf("kept %q\nwant %q", got, want)
	}
}
