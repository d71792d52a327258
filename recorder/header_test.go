package recorder

import (
	"net/http"
	"reflect"
	"testing"
)

func TestKeepHeader(t *testing.T) {
	h := http.Header{}
	for name, value := range map[string]string{
		"Accept": "text/event-stream", "Mcp-Session-Id": "s", "Mcp-Param-Region": "eu", "Mcp-Auth-Token": "t", "User-Agent": "x", "Date": "now",
		"Authorization": "Bearer sesame", "Proxy-Authorization": "sesame", "Cookie": "a=b", "Set-Cookie": "a=b", "X-Api-Key": "k",
		"Location": "https://me:pw@host/cb?code=1&iss=2&%74oken=3#access_token=4",
	} {
		h.Set(name, value)
	}
	want := map[string][]string{
		"Accept": {"text/event-stream"}, "Mcp-Session-Id": {"s"}, "Mcp-Param-Region": {"eu"}, "Mcp-Auth-Token": {"[dropped]"},
		"Authorization": {"Bearer [dropped]"}, "Proxy-Authorization": {"[dropped]"}, "Cookie": {"[dropped]"},
		"Set-Cookie": {"[dropped]"}, "X-Api-Key": {"[dropped]"},
		"Location": {"https://[dropped]@host/cb?code=[dropped]&iss=2&%74oken=[dropped]#access_token=[dropped]"},
	}
	if got := keepHeader(h); !reflect.DeepEqual(got, want) {
		t.Errorf("kept %q\nwant %q", got, want)
	}
}

func TestDropInChallenge(t *testing.T) {
	for value, want := range map[string]string{
		`Bearer`: `Bearer`,
		`Bearer realm="a, b", resource_metadata="https://x/y"`:     `Bearer realm="a, b", resource_metadata="https://x/y"`,
		`Bearer error="invalid_token", nonce="sesame"`:             `Bearer error="invalid_token", nonce="[dropped]"`,
		`Digest nonce=sesame, realm="r \" , x"`:                    `Digest nonce="[dropped]", realm="r \" , x"`,
		`Negotiate c2VzYW1l`:                                       `Negotiate [dropped]`,
		`Negotiate c2VzYW1l, Basic realm="x"`:                      `Negotiate [dropped], Basic realm="x"`,
		`Negotiate c2VzYW1lCg==`:                                   `Negotiate [dropped]`,
		`Bearer scope="mcp:tools", session="sesame", realm="open"`: `Bearer scope="mcp:tools", session="[dropped]", realm="open"`,
	} {
		if got := dropInChallenge(value); got != want {
			t.Errorf("%s\n got %s\nwant %s", value, got, want)
		}
	}
}

func TestDropInURL(t *testing.T) {
	for value, want := range map[string]string{
		"/message?sessionId=7":             "/message?sessionId=7",
		"/mcp?api_key=x&b":                 "/mcp?api_key=[dropped]&b",
		"/mcp?%zz=x":                       "/mcp?%zz=[dropped]",
		"https://a:b@h?client_secret=x":    "https://[dropped]@h?client_secret=[dropped]",
		"/a@b?redirect=x&state=y&sig=z&=q": "/a@b?redirect=x&state=[dropped]&sig=[dropped]&=q",
	} {
		if got := dropInURL(value); got != want {
			t.Errorf("%s: got %s, want %s", value, got, want)
		}
	}
}
